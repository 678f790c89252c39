"""Catalogue files as people have them. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from . import _native, aio
from .arrays import vector
from .arrow import ArrowFile, Columns, add
from .attributes import asked_for
from .build import Build, Progress, Watched
from .catalogue import Shape
from .checks import flag, function, instance, integer, path_bytes
from .enums import MAX_LEVELS, AttributeType, IdType, Phase, Quotes, member
from .errors import InvalidArgument, SidbeamError
from .handle import Handle
from .runtime import Runtime, runtime_or_default

Path = Union[str, os.PathLike[str]]


@dataclasses.dataclass(frozen=True)
class ImportInfo:
    """What a catalogue file was found to hold."""

    format: str  #: "lcrec", "records", "jsonl", "csv", "npy", "npz", "raw", "xllm"; "arrow": by PyArrow
    summary: str  #: "3 levels, families <a_*> <b_*> <c_*>, 10,310 items": one line for people
    codes: tuple[int, ...]  #: of each level
    families: tuple[str, ...]  #: of each level's tokens, * for the code; "*": plain numbers
    begin_tokens: str  #: of every SID, separated by spaces
    end_tokens: str
    rows: int  #: (SID, item) pairs
    variable_length: bool
    id_type: IdType
    codes_from_data: bool  #: codes are 1 + the largest of the file
    attributes: dict[str, AttributeType] = dataclasses.field(default_factory=dict)  #: those that were asked for


@dataclasses.dataclass(frozen=True)
class ImportOptions:
    """Of :meth:`Index.from_file`, :meth:`Builder.add_file` and :meth:`Catalog.add_file`; None and 0 ask for what the
    file says.

    - ``format``: one of those of :attr:`ImportInfo.format`; None: by content. ``ids``: a file of the ids of npy and raw
      rows.
    - ``item_column``, ``sid_columns``, ``priority_column``: fields, columns or arrays; "c0,c1,c2" is a CSV column per
      level, and a CSV file without names has numbers from "0" on. None: the names that people use.
    - ``token_pattern``: families where the file does not tell them: "<a_*> <b_*>", or "<s{level}_*>" for all levels.
    - ``token_base``: numbers are token ids, a range of ``codes`` per level; the first id of level 0.
    - ``quotes``: of CSV: "auto", "rfc4180", "text".
    - ``attributes``: fields or columns that are attributes of the items, with a type or without: "price,region:string",
      or a list of these; "i64", "f32", "bool", "string", "strings" (lists; in CSV | separates them). Without a type the
      file tells. Of a table of PyArrow's, whose columns have types: names, or True for all that nothing else uses.
    """

    format: Optional[str] = None
    ids: Optional[Path] = None
    item_column: Optional[str] = None
    sid_columns: Optional[str] = None
    priority_column: Optional[str] = None
    token_pattern: Optional[str] = None
    token_base: Optional[int] = None
    quotes: Union[Quotes, str] = Quotes.AUTO
    attributes: Union[None, bool, str, Sequence[str]] = None

    def columns(self) -> Columns:
        """Of a table, whose columns are named likewise."""
        if self.sid_columns is not None:
            instance(self.sid_columns, str, "sid_columns")
        names = None if self.sid_columns is None else self.sid_columns.split(",")
        several = names is not None and len(names) > 1
        return Columns(
            None if several else self.sid_columns,
            names if several else None,
            self.item_column,
            self.priority_column,
            self.attributes if isinstance(self.attributes, bool) else asked_for(self.attributes)[0],
        )

    def attribute_text(self) -> Optional[str]:
        """As the native layer takes it."""
        if isinstance(self.attributes, bool):
            raise InvalidArgument(f"attributes is {self.attributes}, expected names: only a table's columns have types")
        asked_for(self.attributes)  # what is wrong with it
        if self.attributes is None or isinstance(self.attributes, str):
            return self.attributes
        return ",".join(self.attributes)

    def check_table(self, levels: int) -> None:
        """Refuses what only text and arrays are read by."""
        for name in ("format", "ids", "token_pattern", "token_base"):
            if getattr(self, name) is not None:
                raise InvalidArgument(f"{name} is {getattr(self, name)!r}, expected None for a table of PyArrow's")
        if member(Quotes, self.quotes) != Quotes.AUTO:
            raise InvalidArgument(f"quotes is {self.quotes!r}, expected 'auto' for a table of PyArrow's")
        if not isinstance(self.attributes, bool) and asked_for(self.attributes)[1]:
            raise InvalidArgument(f"attributes is {self.attributes!r}, expected names alone: columns have types")
        if levels != 0:
            raise InvalidArgument(f"levels is {levels}, expected 0: a table's columns say how many codes a SID has")


class Import(Watched):
    """A file that has been surveyed."""

    __slots__ = ()

    def __init__(
        self,
        path: Path,
        options: ImportOptions,
        *,
        levels: int = 0,
        codes: Union[None, int, Sequence[int], np.ndarray] = None,
        variable_length: bool = False,
        text_ids: bool = False,
        catalog: Optional[Handle] = None,
        progress: Optional[Progress] = None,
        runtime: Optional[Runtime] = None,
    ) -> None:
        """``catalog``: the live one that the file is for, whose form it then has."""
        self._runtime = runtime_or_default(runtime)
        self._handle = _native.flat_import_create()
        base = -1 if options.token_base is None else integer(options.token_base, "token_base")
        if options.token_base is not None and base < 0:
            raise InvalidArgument(f"token_base is {base}, expected a token id")
        listed = None if codes is None else vector(codes, np.int32, "codes")
        arguments = (
            path_bytes(path),
            levels,
            listed,
            flag(variable_length, "variable_length"),
            options.format,
            None if options.ids is None else path_bytes(options.ids, "ids"),
            options.item_column,
            options.sid_columns,
            options.priority_column,
            options.token_pattern,
            base,
            member(Quotes, options.quotes),
            bool(text_ids),
            options.attribute_text(),
            None if catalog is None else catalog._handle,
        )
        self._run(lambda: _native.flat_import_open(self._handle, *arguments), progress)

    @property
    def info(self) -> ImportInfo:
        numbers, codes = np.zeros(_native.FLAT_IMPORT_COUNT, np.int64), np.zeros(MAX_LEVELS, np.int32)
        _native.flat_import_get_info(self._handle, numbers, codes)
        levels, rows, variable, id_type, from_data, attributes = numbers.tolist()
        return ImportInfo(
            self._text(_native.FLAT_IMPORT_FORMAT),
            self._text(_native.FLAT_IMPORT_SUMMARY),
            tuple(codes[:levels].tolist()),
            tuple(self._text(_native.FLAT_IMPORT_FAMILY + level) for level in range(levels)),
            self._text(_native.FLAT_IMPORT_BEGIN_TOKENS),
            self._text(_native.FLAT_IMPORT_END_TOKENS),
            rows,
            bool(variable),
            IdType(id_type),
            bool(from_data),
            dict(self._attribute(i) for i in range(attributes)),
        )

    def _attribute(self, i: int) -> tuple[str, AttributeType]:
        kind = np.zeros(1, np.int32)
        name = bytearray(_native.flat_import_get_attribute(self._handle, i, kind, None))
        _native.flat_import_get_attribute(self._handle, i, kind, name)
        return name.decode(), AttributeType(int(kind[0]))

    def _text(self, which: int) -> str:
        text = bytearray(_native.flat_import_text(self._handle, which, None))
        _native.flat_import_text(self._handle, which, text)
        return text.decode("utf-8", "replace")

    def add_to(self, build: Build, progress: Optional[Progress] = None) -> None:
        self._run(lambda: _native.flat_import_add_to(self._handle, build._handle), progress)

    def add_to_catalog(self, catalog: Handle, progress: Optional[Progress] = None) -> None:
        self._run(lambda: _native.flat_import_add_to_catalog(self._handle, catalog._handle), progress)


class _TableListener:
    """Calls progress for each record batch, and ends with the task that awaits the call. Arrow hands on but the text of
    what is raised there: ``raised`` holds that itself."""

    def __init__(self, table: ArrowFile, progress: Optional[Progress]) -> None:
        if progress is not None:
            function(progress, "progress", "phase, done and total")
        self._progress, self._total = progress, 0 if progress is None else table.count()
        self.raised: list[BaseException] = []
        self.table = table if progress is None and not aio.awaited() else table.told(self._tell)

    def _tell(self, rows: int) -> None:
        try:
            aio.check()
            if self._progress is not None:
                self._progress(Phase.READ, rows, self._total)
        except BaseException as error:
            self.raised.append(error)
            raise


def add_table(
    owner: Handle,
    table: ArrowFile,
    reading: ImportOptions,
    shape: Shape,
    codes: tuple[int, ...],
    call: Callable[..., Any] = _native.flat_builder_add_arrow,
    progress: Optional[Progress] = None,
) -> ImportInfo:
    """Adds what PyArrow reads, a few record batches at a time, to a builder, or to what the native function is of."""
    reading.check_table(0)
    listener = _TableListener(table, progress)
    try:
        rows = add(owner._handle, listener.table, reading.columns(), call)
    except SidbeamError:
        if listener.raised:
            raise listener.raised.pop() from None  # whose traceback knows the listener: no cycle of the two
        raise
    summary = f"{shape.levels} levels, {rows:,} pairs of a table"
    families = ("*",) * shape.levels
    return ImportInfo("arrow", summary, codes, families, "", "", rows, shape.variable, shape.id_type, False)


BUILDER_OPTIONS = (
    "kinds",
    "collisions",
    "codebook",
    "hash_seed",
    "threads",
    "memory_limit",
    "allow_attribute_loss",
    "keep_priorities",
)


def options_of(named: dict[str, Any], others: tuple[str, ...] = ()) -> tuple[ImportOptions, dict[str, Any]]:
    """Of keyword arguments, and those that are called like the others; names the one that there is not."""
    known = [field.name for field in dataclasses.fields(ImportOptions)]
    for name in named:
        if name not in known and name not in others:
            raise TypeError(f"unexpected option {name!r}, expected one of {', '.join([*known, *others])}")
    mine = {name: value for name, value in named.items() if name in known}
    return ImportOptions(**mine), {name: value for name, value in named.items() if name not in known}
