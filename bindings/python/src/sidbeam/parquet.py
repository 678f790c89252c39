"""Files and folders that PyArrow reads, as tables that the library reads: Parquet, Feather and Arrow's own files,
folders of these, Delta tables, data sets that `datasets` saved. What a file is, its first bytes tell.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any, Iterator, Optional, Union

from .arrow import ArrowFile, Columns
from .checks import path_bytes, shown
from .errors import Corrupt, InvalidArgument, IOFailure, SidbeamError

_MAGICS = {
    b"SIDBEAM\n": "index",
    b"PAR1": "parquet",
    b"ARROW1": "ipc",
    b"FEA1": "feather of version 1",
    b"\xff\xff\xff\xff": "stream",
}
_SKIPPED = ("_", ".")  # what others leave in folders of data: markers, logs, checksums


def arrow_stream_of(path: Union[str, os.PathLike[str]], columns: Optional[Columns] = None) -> Optional[ArrowFile]:
    """The table in a file or a folder, or None where it is of another kind. Only the columns are read that a catalogue
    needs."""
    place, columns = Path(os.fsdecode(path_bytes(path))), columns or Columns()
    if not place.is_dir():
        kind = _kind_of(place)
        if kind == "index":
            raise InvalidArgument(f"{str(place)!r} is an index, expected a catalogue: Index.open opens it")
        return None if kind is None else _table([place], kind, columns)
    if (place / "_delta_log").is_dir():
        return _delta(place, columns)
    if (place / "dataset_dict.json").exists():
        raise InvalidArgument(f"{str(place)!r} holds several data sets, expected one of its folders")
    if (place / "state.json").exists() and (place / "dataset_info.json").exists():
        return _saved_dataset(place, columns)
    files = sorted(_files_below(place))
    if not files:
        raise InvalidArgument(f"{str(place)!r} is a folder without files, expected some of Parquet or Arrow")
    kinds = {_kind_of(file) for file in files}
    if None in kinds:
        other = next(file for file in files if _kind_of(file) is None)
        raise InvalidArgument(f"{str(other)!r} is no file of Parquet or Arrow, as those of a folder must be")
    if len(kinds) > 1:
        names = " and ".join(sorted(map(str, kinds)))
        raise InvalidArgument(f"{str(place)!r} holds files of {names}, expected one kind")
    return _table(files, str(kinds.pop()), columns)


def _kind_of(path: Path) -> Optional[str]:
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError as error:
        raise IOFailure(f"cannot open {str(path)!r}: {error.strerror}") from error
    except ValueError:
        raise InvalidArgument(f"path is {shown(str(path))}, which holds a NUL character") from None
    return next((kind for magic, kind in _MAGICS.items() if start.startswith(magic)), None)


def _files_below(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.name.startswith(_SKIPPED):
            continue
        if entry.is_dir():
            yield from _files_below(entry)
        else:
            yield entry


@contextlib.contextmanager
def _corrupt(path: Path) -> Iterator[None]:
    """What others raise where a file is not what its first bytes say."""
    try:
        yield
    except (MemoryError, SidbeamError):
        raise
    except Exception as error:
        raise Corrupt(f"{str(path)!r} cannot be read: {error}") from error


def _pyarrow(what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.dataset
    except ImportError as error:
        raise ImportError(f"{what} is read by PyArrow: pip install pyarrow") from error
    return pyarrow


def _table(files: list[Path], kind: str, columns: Columns) -> ArrowFile:
    arrow = _pyarrow(f"{str(files[0])!r}, a file of {kind},")
    if kind.startswith("feather"):
        raise InvalidArgument(f"{str(files[0])!r} is a file of {kind}, expected version 2: write it again")
    if kind == "stream":
        return ArrowFile(lambda: _streams(arrow, files, columns))
    with _corrupt(files[0]):
        return _scanned(arrow.dataset.dataset([str(file) for file in files], format=kind), columns)


def _scanned(dataset: Any, columns: Columns) -> ArrowFile:
    wanted = columns.wanted(dataset.schema.names)

    def reader() -> Any:
        # Without limits the scanner reads ahead sixteen batches of as many files as there are cores.
        return dataset.scanner(columns=wanted or None, batch_readahead=2, fragment_readahead=1).to_reader()

    return ArrowFile(reader, dataset.count_rows)


def _streams(arrow: Any, files: list[Path], columns: Columns) -> Any:
    """Files in Arrow's streaming format, one after the other, mapped."""
    with _corrupt(files[0]):
        first = arrow.ipc.open_stream(arrow.memory_map(str(files[0]))).schema
    wanted = columns.wanted(first.names) or first.names

    def batches() -> Iterator[Any]:
        for file in files:
            with arrow.ipc.open_stream(arrow.memory_map(str(file))) as reader:
                for batch in reader:
                    yield batch.select(wanted)

    schema = arrow.schema([first.field(name) for name in wanted])
    return arrow.RecordBatchReader.from_batches(schema, batches())


def _saved_dataset(folder: Path, columns: Columns) -> ArrowFile:
    """What `Dataset.save_to_disk` writes: files in the streaming format, and the list of them."""
    with _corrupt(folder / "state.json"):
        state = json.loads((folder / "state.json").read_text())
        names = [entry["filename"] for entry in state["_data_files"]]
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise InvalidArgument(f"{str(folder)!r} has indices over its rows, expected it saved after flatten_indices()")
    files = [folder / name for name in names]
    if not files:
        raise InvalidArgument(f"{str(folder)!r} names no data files in its state.json")
    return _table(files, "stream", columns)


def _delta(folder: Path, columns: Columns) -> ArrowFile:
    _pyarrow(f"{str(folder)!r}, a Delta table,")
    try:
        from deltalake import DeltaTable
    except ImportError as error:
        raise ImportError(f"{str(folder)!r} is a Delta table: pip install deltalake") from error
    with _corrupt(folder):
        return _scanned(DeltaTable(str(folder)).to_pyarrow_dataset(), columns)
