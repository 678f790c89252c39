"""Catalogues from lists, NumPy, pandas, Arrow and Polars. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import sidbeam

SIDS = [[5, 1, 2], [0, 3, 3], [5, 1, 0]]
RAGGED = [[5, 1, 2], [0], [5, 1]]


def same(index: sidbeam.Index, sids: list[list[int]], ids: Any = None) -> None:
    codes, lengths = index.sids()
    got = [c[:n].tolist() for c, n in zip(codes, lengths)]
    assert sorted(got) == sorted(sids)
    for row, sid in enumerate(sids):
        found = index.item_ids(index.item_rows(index.find(sid))).tolist()
        assert found == [row if ids is None else ids[row]]


@pytest.mark.parametrize(
    "sids",
    [
        SIDS,
        [tuple(s) for s in SIDS],
        [np.array(s, np.int16) for s in SIDS],
        np.array(SIDS),
        np.array(SIDS, np.uint8),
        np.array(SIDS, np.float64),
        np.asfortranarray(np.array(SIDS, np.int32)),
        np.array(SIDS, np.int32)[::-1][::-1],
        np.array(SIDS, object),
    ],
    ids=range(9),
)
def test_lists_and_arrays(sids: Any) -> None:
    same(sidbeam.Index.build(sids), SIDS)


def test_different_lengths() -> None:
    index = sidbeam.Index.build(RAGGED, variable_length=True)
    assert index.info.variable_length and index.info.codes == (6, 2, 3)
    same(index, RAGGED)
    padded = np.array([[5, 1, 2], [0, -7, -7], [5, 1, -7]])
    same(sidbeam.Index.build(padded, lengths=[3, 1, 2]), RAGGED)


HOLES = np.array([[5, 1, 2], [0, np.nan, np.nan], [5, 1, np.nan]])


@pytest.mark.parametrize(
    "sids, message",
    [
        (RAGGED, r"sids have different lengths: sids\[1\] has 1 codes, .* variable_length=True"),
        (HOLES, r"sids have missing codes \(NaN\): sids\[1\] has 1 codes, .* variable_length=True"),
        ([[5, 1, 2], []], r"sids have different lengths: sids\[1\] has 0 codes"),
        (np.array([[5, np.nan], [1, np.nan]]), r"sids have missing codes \(NaN\): sids\[0\] has 1 codes"),
    ],
    ids=range(4),
)
def test_no_index_of_different_lengths_unasked(sids: Any, message: str) -> None:
    for options in ({}, {"variable_length": False}):
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            sidbeam.Index.build(sids, **options)
    builder = sidbeam.Builder([6, 3, 3])
    with pytest.raises(sidbeam.InvalidArgument, match=message):
        builder.add(sids)
    with pytest.raises(sidbeam.InvalidArgument, match="the catalogue is empty: nothing was added"):
        builder.finish()
    same(sidbeam.Index.build(HOLES, variable_length=True), RAGGED)


def test_codes_of_levels() -> None:
    assert sidbeam.Index.build(SIDS).info.codes == (6, 4, 4)
    assert sidbeam.Index.build(SIDS, codes=9).info.codes == (9, 9, 9)
    assert sidbeam.Index.build(SIDS, codes=[7, 8, 9]).info.codes == (7, 8, 9)


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(SIDS, columns=["a", "b", "c"])
    names = pandas.Series(["x", "y", "z"], index=[7, 8, 9])
    same(sidbeam.Index.build(frame, names), SIDS, ["x", "y", "z"])
    same(sidbeam.Index.build(pandas.Series(SIDS), pandas.Series([3, 4, 5])), SIDS, [3, 4, 5])
    same(sidbeam.Index.build(pandas.Series(RAGGED), variable_length=True), RAGGED)
    missing = pandas.DataFrame([[5, 1, 2], [0, None, None], [5, 1, None]])  # NaN where there is no code
    same(sidbeam.Index.build(missing, variable_length=True), RAGGED)
    with pytest.raises(sidbeam.InvalidArgument, match="missing code before the last"):
        sidbeam.Index.build(pandas.DataFrame([[1, None, 2], [1, 2, 3]]), variable_length=True)


def test_arrow() -> None:
    arrow = pytest.importorskip("pyarrow")
    columns = [arrow.array([s[level] for s in SIDS]) for level in range(3)]
    frame = arrow.table(columns, names=["a", "b", "c"])
    same(sidbeam.Index.build(frame, arrow.array(["x", "y", "z"])), SIDS, ["x", "y", "z"])
    same(sidbeam.Index.build(arrow.array(SIDS), arrow.array([3, 4, 5])), SIDS, [3, 4, 5])
    same(sidbeam.Index.build(arrow.array(SIDS, arrow.list_(arrow.int32(), 3))), SIDS)
    same(sidbeam.Index.build(arrow.array(RAGGED), variable_length=True), RAGGED)
    chunked = arrow.chunked_array([arrow.array(SIDS[:1]), arrow.array(SIDS[1:])])
    same(sidbeam.Index.build(chunked, arrow.chunked_array([[1, 2], [3]])), SIDS, [1, 2, 3])
    same(sidbeam.Index.build(arrow.table([arrow.array(SIDS)], names=["sid"])), SIDS)


class Foreign:
    """An object that speaks Arrow's C interface alone."""

    def __init__(self, value: Any, name: str) -> None:
        setattr(type(self), name, lambda self, schema=None: getattr(value, name)(schema))


def test_arrow_by_its_c_interface() -> None:
    arrow = pytest.importorskip("pyarrow")
    columns = [arrow.array([s[level] for s in SIDS]) for level in range(3)]
    stream = type("Stream", (Foreign,), {})(arrow.table(columns, names=["a", "b", "c"]), "__arrow_c_stream__")
    array = type("Array", (Foreign,), {})(arrow.array(["x", "y", "z"]), "__arrow_c_array__")
    same(sidbeam.Index.build(stream, array), SIDS, ["x", "y", "z"])


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    same(
        sidbeam.Index.build(polars.DataFrame(SIDS, orient="row"), polars.Series(["x", "y", "z"])), SIDS, ["x", "y", "z"]
    )
    same(sidbeam.Index.build(polars.Series(RAGGED), variable_length=True), RAGGED)


@pytest.mark.parametrize(
    "sids, options, message",
    [
        ([], {}, "levels is 0, expected 1 to 255"),
        ([[]], {}, r"sids\[0\] has 0 codes, expected as many as the others"),
        ([1, 2], {}, "sids are not sequences of codes"),
        (np.zeros(3, np.int32), {}, r"sids have shape \(3,\), expected \[items, levels\]"),
        (np.zeros((1, 1, 1), np.int32), {}, "sids have shape"),
        ([[0, 4]], {"codes": 4}, r"sids\[0\] has 4 at level 1, expected 0..3"),
        ([[0, -1]], {"codes": 4}, r"sids\[0\] has -1 at level 1, expected 0..3: codes are not"),
        ([[0.5, 1]], {}, "sids have codes that are no integers"),
        ([["a", "b"]], {}, "sids has the text 'a', expected codes, .*: Index.from_file"),
        ([[2**40]], {}, "sids has values out of the range of int32"),
        (SIDS, {"codes": [4, 4]}, "sids have 3 codes, expected at most 2"),
        (SIDS, {"ids": [1]}, "ids has 1 entries, expected 3"),
        (SIDS, {"priorities": [1]}, "priorities has 1 entries, expected 3"),
        (SIDS, {"lengths": [1]}, "lengths has 1 entries, expected 3"),
        (SIDS, {"lengths": [1, 2, 4]}, "lengths: row 2 has 4 codes, expected 1 to 3"),
        (RAGGED, {"lengths": [3, 1, 2]}, "expected a matrix where lengths are given"),
        (RAGGED, {"variable_length": False}, "different lengths"),
        (SIDS, {"ids": [1.5, 2, 3]}, "ids has dtype float64, expected int64"),
        (SIDS, {"ids": ["a", "b", "c"], "id_type": "i64"}, 'ids are text, expected integers with id_type="i64"'),
        (SIDS, {"ids": [1, None, 3]}, r"ids\[1\] is None, expected an integer"),
        (SIDS, {"ids": [1, 2**70, 3]}, r"ids\[1\] is 1180591620717411303424, out of the range of int64"),
        (SIDS, {"ids": ["a", None, "c"]}, r"ids\[1\] is None, expected a str, bytes or an integer"),
        (SIDS, {"ids": ["a", "\ud800", "c"]}, r"ids\[1\] is '\\ud800', which is no text: it has surrogates"),
        (SIDS, {"ids": np.array([1, 2, -3]), "id_type": "u64"}, "ids has values out of the range of uint64"),
        (SIDS, {"ids": np.array([1, 2, 2**63], np.uint64), "id_type": "i64"}, "ids has values out of the range of int"),
        (SIDS, {"ids": np.ma.array([1, 2, 3], mask=[0, 1, 0])}, "ids is a masked array that hides values, expected"),
        (np.ma.array([[0, 1], [2, 3]], mask=[[0, 0], [0, 1]]), {}, "sids is a masked array that hides values"),
        ([[0, [1]], [0, [1, 2]]], {}, r"sids\[0\]\[1\] is \[1\], expected an integer"),
        ([[0, 1], [None, 2], [3]], {"variable_length": True}, r"sids\[1\]\[0\] is None, expected an integer"),
        ([[0, 1], None], {}, r"sids are not sequences of codes: sids\[1\] is None"),
    ],
    ids=range(30),
)
def test_what_is_no_catalogue(sids: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(sidbeam.InvalidArgument, match=message):
        sidbeam.Index.build(sids, **options)


def test_what_has_other_types_than_arrays() -> None:
    same(sidbeam.Index.build(tuple(map(list, SIDS))), SIDS)
    same(sidbeam.Index.build(sid for sid in SIDS), SIDS)
    same(sidbeam.Index.build(np.array(SIDS, object), np.array([7, 8, 9], object)), SIDS, [7, 8, 9])
    same(sidbeam.Index.build(np.ma.array(SIDS)), SIDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        same(sidbeam.Index.build(np.matrix(SIDS)), SIDS)
