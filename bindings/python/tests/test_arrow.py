"""Tables by Arrow's PyCapsule protocol, and files that PyArrow reads: each gives the bytes that lists give.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import sidbeam

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow: its tables are what is read here")

SIDS = [[2, 2, 1], [0, 1, 2], [3, 0, 0], [0, 1, 3], [0, 3, 0], [0, 1, 2]]
IDS = [13, 10, 14, 11, 12, 15]
NAMES = ["thirteen", "ten", "a name that is longer than a view holds", "ß", "", "fifteen"]
RANKS = [0, 0, 0, 0, 0, 7]
RAGGED = [[0], [0, 1], [0, 1, 2], [2, 2, 1], [3, 0]]


class Stream:
    """An object that speaks the protocol and nothing else."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.data.__arrow_c_stream__(requested_schema)


class Array:
    def __init__(self, data: Any) -> None:
        self.data = data

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.data.__arrow_c_array__(requested_schema)


def table(sids: Any = SIDS, ids: Any = IDS, kind: Any = None, **more: Any) -> Any:
    lists = pa.array(sids, kind or pa.list_(pa.int32()))
    return pa.table({"title": ["?"] * len(sids), "item_id": ids, "sid": lists, **more})


def expected(sids: Any = SIDS, ids: Any = IDS, **options: Any) -> bytes:
    return sidbeam.Index.build(sids, ids, **options).to_bytes()


KINDS = [
    pa.list_(pa.int64()),
    pa.large_list(pa.uint8()),
    pa.list_(pa.int16(), 3),
    pa.list_(pa.float32()),
    pa.list_view(pa.uint32()),
    pa.large_list_view(pa.int8()),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_list(kind: Any) -> None:
    data = table(kind=kind, priority=RANKS)
    assert sidbeam.Index.build(data).to_bytes() == expected(priorities=RANKS)
    assert sidbeam.Index.build(Stream(data), sid="sid").to_bytes() == expected(priorities=RANKS)
    assert sidbeam.Index.build(data.slice(2)).to_bytes() == expected(SIDS[2:], IDS[2:], priorities=RANKS[2:])
    assert sidbeam.Index.build(data, priority="", item="").to_bytes() == expected(ids=None)


ID_TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.binary()]


@pytest.mark.parametrize("kind", ID_TYPES, ids=str)
def test_every_kind_of_name(kind: Any) -> None:
    names = [n.encode() for n in NAMES] if kind == pa.binary() else NAMES
    data = table(ids=pa.array(names, kind), kind=pa.list_(pa.int32(), 3))
    assert sidbeam.Index.build(data).to_bytes() == expected(ids=NAMES)
    assert sidbeam.Index.build(data.slice(1, 3)).to_bytes() == expected(SIDS[1:4], NAMES[1:4])


def test_chunks_have_their_own_dictionaries() -> None:
    chunks = [pa.array(NAMES[i : i + 2]).dictionary_encode() for i in (0, 2, 4)]
    data = pa.table({"sid": pa.array(SIDS), "item": pa.chunked_array(chunks)})
    batches = [b for b in data.to_batches(max_chunksize=1)] + [data.slice(0, 0).to_batches()[0:1]][0]
    assert sidbeam.Index.build(data).to_bytes() == expected(ids=NAMES)
    assert sidbeam.Index.build(pa.Table.from_batches(batches)).to_bytes() == expected(ids=NAMES)


def test_columns_per_level() -> None:
    columns = {f"c{l}": [sid[l] for sid in SIDS] for l in (2, 0, 1)}
    data = pa.table({**columns, "id": pa.array(IDS, pa.uint64())})
    for levels in ("c", ["c0", "c1", "c2"]):
        index = sidbeam.Index.build(data, levels=levels, id_type="i64")
        assert index.to_bytes() == expected()
    assert sidbeam.Index.build(data, levels="c").info.id_type == sidbeam.IdType.U64
    with pytest.raises(sidbeam.InvalidArgument, match="levels has|levels is 'x', expected columns"):
        sidbeam.Index.build(data, levels="x")


def test_lengths_that_vary_and_nulls() -> None:
    lists = pa.table({"sid": pa.array(RAGGED)})
    nulls = pa.table({"codes": pa.array([sid + [None] * (3 - len(sid)) for sid in RAGGED], pa.list_(pa.int64(), 3))})
    for data in (lists, nulls):
        index = sidbeam.Index.build(data, variable_length=True)
        assert index.to_bytes() == expected(RAGGED, None, variable_length=True)
        with pytest.raises(sidbeam.InvalidArgument, match="from 1 to 3 codes, .* or variable_length=True"):
            sidbeam.Index.build(data)
    with pytest.raises(sidbeam.InvalidArgument, match="column 'sid', row 1, level 0 is null, and a code follows"):
        sidbeam.Index.build(pa.table({"sid": [[1, 2], [None, 3]]}))


def test_several_sids_of_an_item() -> None:
    data = pa.table({"asin": ["a", "b"], "sids": [[[0, 1], [2, 0]], [[0, 1]]]})
    index = sidbeam.Index.build(data)
    assert index.to_bytes() == expected([[0, 1], [2, 0], [0, 1]], ["a", "a", "b"])
    with pytest.raises(sidbeam.InvalidArgument, match="column 'sids', row 1 is empty, expected SIDs"):
        sidbeam.Index.build(pa.table({"asin": ["a", "b"], "sids": [[[0, 1]], []]}))


def test_builders_take_streams_arrays_and_readers() -> None:
    batch = table().to_batches()[0]
    for data in (batch, Array(batch), Stream(table()), pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])):
        with sidbeam.Builder([4, 4, 4]) as builder:
            pairs = builder.add_arrow(data)
            assert pairs == (12 if isinstance(data, pa.RecordBatchReader) else 6)
            assert builder.finish().info.items == 6
    with sidbeam.Builder([4, 4, 4]) as builder:
        builder.add(SIDS[:2])
        assert builder.add_arrow(pa.array(SIDS[2:])) == 4
        assert builder.finish().to_bytes() == expected(ids=None)


def test_inspect_says_what_is_in_a_table() -> None:
    info = sidbeam.inspect_arrow(table(priority=RANKS))
    assert info == sidbeam.ArrowInfo(3, 3, (4, 4, 4), sidbeam.IdType.I64, True, True, 6)
    info = sidbeam.inspect_arrow(pa.array(RAGGED))
    assert info == sidbeam.ArrowInfo(3, 1, (4, 3, 3), sidbeam.IdType.I64, False, False, 5)


def test_errors_name_column_row_and_value() -> None:
    def fails(data: Any, match: str, error: type = sidbeam.InvalidArgument, **names: Any) -> None:
        with sidbeam.Builder([4, 4, 4]) as builder:
            builder.add(SIDS[:1], [1])
            with pytest.raises(error, match=match):
                builder.add_arrow(data, **names)
            assert builder.finish().info.items == 1

    fails(table([*SIDS[:5], [0, 4, 0]]), "column 'sid', row 5, level 1: code 4, expected 0 to 3")
    fails(table(ids=NAMES), "column 'item_id' holds text, expected integers")
    fails(table([*SIDS[:5], [0, 1]]), "column 'sid', row 5 has 2 codes, expected 3")
    fails(table(codes=SIDS), "columns 'sid' and 'codes' both fit: name one of them as sid")
    fails(table(), "sid is 'x', expected one of the columns 'title', 'item_id', 'sid'", sid="x")
    fails(pa.table({"sid": [["<a_1>", "<b_2>"]]}), "column 'sid' holds text, .* tokens are read by the importers")
    fails(pa.table({"a": [1]}), "no column of SIDs: there are 'a'; expected sid, sids")
    fails([[1, 2]], "data is list, expected an object with __arrow_c_stream__", TypeError)
    fails(table(), "sid is int, expected a str", TypeError, sid=3)
    fails(table(), "levels holds a NUL character", levels=["a\0b"])

    def batches() -> Any:
        yield table().to_batches()[0]
        raise RuntimeError("the disk is\non fire")

    reader = pa.RecordBatchReader.from_batches(table().schema, batches())
    fails(reader, r"the stream's get_next failed with .*the disk is\\x0aon fire", sidbeam.IOFailure)


def test_a_reader_is_read_once() -> None:
    def reader() -> Any:
        return pa.RecordBatchReader.from_batches(table().schema, table().to_batches())

    assert sidbeam.Index.build(reader(), codes=[4, 4, 4], id_type="i64").to_bytes() == expected()
    with pytest.raises((sidbeam.InvalidArgument, pa.ArrowInvalid)):
        sidbeam.Index.build(reader())
    with pytest.raises(sidbeam.InvalidArgument, match="name columns of a table that is given alone"):
        sidbeam.Index.build(SIDS, IDS, item="id")


def test_streams_are_released() -> None:
    before = pa.total_allocated_bytes()
    for names in ({}, {"sid": "none"}, {"sid": "title"}):
        data = table(kind=pa.list_(pa.int32(), 3))
        with sidbeam.Builder([4, 4, 4]) as builder:
            try:
                builder.add_arrow(data, **names)
            except sidbeam.InvalidArgument:
                assert names
        builder = sidbeam.Builder([4, 4, 4])
        builder.close()
        with pytest.raises(sidbeam.BadState, match="builder is closed"):
            builder.add_arrow(data)
        del data
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas", minversion="2.2", reason="pandas before 2.2 does not speak the protocol")
    frame = pandas.DataFrame({"item": IDS, "sid": SIDS})
    assert sidbeam.Index.build(frame).to_bytes() == expected()


def test_polars() -> None:
    polars = pytest.importorskip("polars", reason="pip install polars: its frames are what is read here")
    for sids in (SIDS, polars.Series(SIDS, dtype=polars.Array(polars.Int16, 3))):
        frame = polars.DataFrame({"item": NAMES, "sid": sids, "priority": RANKS})
        assert sidbeam.Index.build(frame).to_bytes() == expected(ids=NAMES, priorities=RANKS)
        assert sidbeam.Index.build(frame[1:4]).to_bytes() == expected(SIDS[1:4], NAMES[1:4], priorities=RANKS[1:4])
    categories = polars.DataFrame({"asin": polars.Series(NAMES, dtype=polars.Categorical), "sid": SIDS})
    assert sidbeam.Index.build(categories).to_bytes() == expected(ids=NAMES)
    columns = polars.DataFrame(SIDS, schema=["c0", "c1", "c2"], orient="row")
    assert sidbeam.Index.build(columns, levels="c").to_bytes() == expected(ids=None)


def test_a_large_table_is_the_builders() -> None:
    rng = np.random.default_rng(7)
    sids = rng.integers(0, 200, (100_000, 4))
    ids = rng.permutation(len(sids))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(sids.ravel()), 4)
    data = pa.table({"sid": lists, "id": ids})
    for part in (data, pa.Table.from_batches(data.to_batches(max_chunksize=777))):
        assert sidbeam.Index.build(part, codes=200).to_bytes() == expected(sids, ids, codes=200)


# --- Files ---


def parquet(path: Path, data: Any) -> Path:
    import pyarrow.parquet

    pyarrow.parquet.write_table(data, path, row_group_size=2)
    return path


def feather(path: Path, data: Any) -> Path:
    import pyarrow.feather

    pyarrow.feather.write_feather(data, str(path), chunksize=4)
    return path


def ipc_stream(path: Path, data: Any) -> Path:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, data.schema) as writer:
        writer.write_table(data, max_chunksize=4)
    return path


@pytest.mark.parametrize("write", [parquet, feather, ipc_stream])
def test_files_by_their_content(tmp_path: Path, write: Callable[[Path, Any], Path]) -> None:
    path = write(tmp_path / "items.txt", table(ids=NAMES, priority=RANKS))
    assert sidbeam.Index.from_file(path).to_bytes() == expected(ids=NAMES, priorities=RANKS)
    kept = sidbeam.Index.from_file(
        path, item_column="title", priority_column="", collisions="first", output=tmp_path / "a.sidx"
    )
    assert kept.info.items == 5 and kept.item_ids([0]).tolist() == ["?"]


def test_folders_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "items"
    (folder / "part").mkdir(parents=True)
    parquet(folder / "b.parquet", table(SIDS[4:], IDS[4:]))
    parquet(folder / "part" / "a.parquet", table(SIDS[:4], IDS[:4]))
    (folder / "_SUCCESS").write_text("")
    assert sidbeam.Index.from_file(folder).to_bytes() == expected()
    feather(folder / "c.feather", table())
    with pytest.raises(sidbeam.InvalidArgument, match="holds files of ipc and parquet, expected one kind"):
        sidbeam.Index.from_file(folder)
    (folder / "notes.txt").write_text("read me")
    with pytest.raises(sidbeam.InvalidArgument, match="notes.txt' is no file of Parquet or Arrow"):
        sidbeam.Index.from_file(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(sidbeam.InvalidArgument, match="empty' is a folder without files"):
        sidbeam.Index.from_file(tmp_path / "empty")


def test_saved_data_sets(tmp_path: Path) -> None:
    """As datasets' save_to_disk leaves them."""
    ipc_stream(tmp_path / "data-00000-of-00002.arrow", table(SIDS[:2], IDS[:2]))
    ipc_stream(tmp_path / "data-00001-of-00002.arrow", table(SIDS[2:], IDS[2:]))
    (tmp_path / "dataset_info.json").write_text("{}")
    files = '[{"filename": "data-00000-of-00002.arrow"}, {"filename": "data-00001-of-00002.arrow"}]'
    (tmp_path / "state.json").write_text(f'{{"_data_files": {files}, "_split": null}}')
    assert sidbeam.Index.from_file(tmp_path).to_bytes() == expected()
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train"]}')
    with pytest.raises(sidbeam.InvalidArgument, match="holds several data sets, expected one of its folders"):
        sidbeam.Index.from_file(tmp_path)


def test_delta_tables(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="pip install deltalake: its tables are what is read here")
    deltalake.write_deltalake(str(tmp_path / "t"), table(SIDS[:3], IDS[:3]))
    deltalake.write_deltalake(str(tmp_path / "t"), table(SIDS[3:], IDS[3:]), mode="append")
    assert sidbeam.Index.from_file(tmp_path / "t").to_bytes() == expected()


def test_files_that_are_none_of_these(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text('sid,item\n"[1, 2]",7\n')  # CSV, whatever its name says
    assert len(sidbeam.Index.from_file(tmp_path / "a.parquet")) == 1
    with pytest.raises(sidbeam.IOFailure, match="cannot open .*none.parquet.: No such file"):
        sidbeam.Index.from_file(tmp_path / "none.parquet")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing that follows")
    for begin in (b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff"):
        (tmp_path / "a.parquet").write_bytes(begin + b" and nothing that follows")
        with pytest.raises(sidbeam.Corrupt, match="a.parquet' cannot be read: "):
            sidbeam.Index.from_file(tmp_path / "a.parquet")
    sidbeam.Index.build(SIDS, path=tmp_path / "a.sidx")
    with pytest.raises(sidbeam.InvalidArgument, match="a.sidx' is an index, expected a catalogue: Index.open opens it"):
        sidbeam.Index.from_file(tmp_path / "a.sidx")


def test_builders_take_files_of_tables(tmp_path: Path) -> None:
    path = parquet(tmp_path / "items", table(ids=NAMES, priority=RANKS))
    codes = [1 + max(sid[level] for sid in SIDS) for level in range(3)]
    with sidbeam.Builder(codes, id_type="string") as builder:
        seen = builder.add_file(path)
        assert (seen.format, seen.rows, seen.codes, seen.id_type) == ("arrow", 6, tuple(codes), sidbeam.IdType.STRING)
        assert builder.finish().to_bytes() == expected(ids=NAMES, priorities=RANKS)
    with sidbeam.Builder(codes) as builder, pytest.raises(sidbeam.InvalidArgument, match="format is 'csv', expected"):
        builder.add_file(path, format="csv")


@pytest.mark.parametrize("write, total", [(parquet, 6), (feather, 6), (ipc_stream, 0)])
def test_progress_of_files_of_tables(tmp_path: Path, write: Callable[[Path, Any], Path], total: int) -> None:
    path, seen = write(tmp_path / "items", table(ids=range(6))), []
    codes = [1 + max(sid[level] for sid in SIDS) for level in range(3)]

    def stop(phase: sidbeam.Phase, done: int, total: int) -> None:
        if done > 0:
            raise ZeroDivisionError("enough")

    with sidbeam.Builder(codes) as builder, sidbeam.Catalog.create(sidbeam.Index.build(SIDS, codes=codes)) as catalog:
        for owner in (builder, catalog):
            seen.clear()
            owner.add_file(path, progress=lambda *now: seen.append(now))
            assert seen[0] == (sidbeam.Phase.READ, 0, total) and seen[-1] == (sidbeam.Phase.READ, 6, total)
            with pytest.raises(ZeroDivisionError, match="enough"):
                owner.add_file(path, progress=stop)
            with pytest.raises(sidbeam.WrongType, match="progress is int, expected a function of phase, done and"):
                owner.add_file(path, progress=3)
