"""Attributes of items: given with pairs, tables and files, and read back. SPDX-License-Identifier: Apache-2.0"""

import json

import numpy as np
import pytest

import sidbeam
from sidbeam import AttributeType, InvalidArgument, WrongType

SIDS = np.array([[3, 1], [0, 2], [0, 1], [2, 2]], np.int32)
IDS = [13, 10, 12, 11]
ROWS = [2, 1, 3, 0]  # pairs in the order of their SIDs, which is that of the item rows
COLUMNS = {
    "price": [5, None, -7, 2**40],
    "score": [0.5, 2, None, -1e3],
    "stock": [True, False, None, True],
    "region": ["us", "", None, "caf\u00e9"],
    "tags": [["x", "y"], [], None, ["y", "y"]],
}
EXPECTED = {**COLUMNS, "tags": [["x", "y"], [], None, ["y"]]}


def build(columns, **options):
    return sidbeam.Index.build(SIDS, IDS, codes=[4, 4], attributes=columns, **options)


def values_of(index):
    return {name: [attribute.values()[ROWS.index(i)] for i in range(4)] for name, attribute in index.attributes.items()}


def test_values_come_back_with_their_items(tmp_path):
    index = build(COLUMNS, path=tmp_path / "a.sidx")
    assert index.info.format_minor == 3
    assert values_of(index) == EXPECTED
    index.verify()
    found = index.attributes
    assert list(found) == sorted(COLUMNS)
    assert [found[name].type for name in COLUMNS] == list(AttributeType)
    assert (found["price"].least, found["price"].greatest, found["price"].nulls) == (-7, 2**40, 1)
    assert (found["score"].least, found["score"].greatest, found["score"].distinct) == (-1000.0, 2.0, None)
    assert (found["stock"].least, found["stock"].greatest, found["stock"].distinct) == (False, True, 2)
    assert found["region"].strings == ["", "caf\u00e9", "us"]
    assert found["price"].values(1, 3) == [EXPECTED["price"][ROWS[1]], EXPECTED["price"][ROWS[2]]]
    masked = found["price"].masked()
    assert masked.dtype == np.int64 and masked.mask.tolist() == [EXPECTED["price"][i] is None for i in ROWS]
    with pytest.raises(WrongType, match="holds lists, expected single values"):
        found["tags"].masked()
    assert "region" in repr(found["region"])


def test_an_index_without_them_has_none():
    index = sidbeam.Index.build(SIDS, IDS, codes=[4, 4])
    assert index.attributes == {} and index.info.format_minor == 2


@pytest.mark.parametrize(
    "column, expected",
    [
        (np.array([1, 2, 3, 4], np.uint8), [1, 2, 3, 4]),
        (np.array([1, 2, np.nan, 4], np.float64), [1.0, 2.0, None, 4.0]),
        (np.array([True, False, True, True]), [True, False, True, True]),
        (np.ma.MaskedArray([1, 2, 3, 4], [0, 0, 1, 0]), [1, 2, None, 4]),
        (np.array(["a", None, "b", "a"], object), ["a", None, "b", "a"]),
        ([1, 2.5, None, 3], [1.0, 2.5, None, 3.0]),
        ([("a",), (), None, np.array(["b"])], [["a"], [], None, ["b"]]),
    ],
)
def test_columns_of_every_kind(column, expected):
    assert values_of(build({"a": column})) == {"a": expected}


def test_columns_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2, 3, 4], "b": [1.5, None, 2, 3], "c": ["x", None, "y", "x"]})
    frame["d"] = frame["c"].astype("category")
    frame["e"] = pandas.array([1, None, 3, 4], "Int64")
    index = build({name: frame[name] for name in frame})
    assert values_of(index) == {
        "a": [1, 2, 3, 4],
        "b": [1.5, None, 2.0, 3.0],
        "c": ["x", None, "y", "x"],
        "d": ["x", None, "y", "x"],
        "e": [1, None, 3, 4],
    }


def test_tables_name_columns():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"sid": SIDS.tolist(), "item": IDS, **COLUMNS})
    index = sidbeam.Index.build(table, codes=[4, 4], attributes=True)
    assert values_of(index) == EXPECTED
    index = sidbeam.Index.build(table, codes=[4, 4], attributes=["price", "tags"])
    assert values_of(index) == {name: EXPECTED[name] for name in ("price", "tags")}
    with sidbeam.Builder([4, 4]) as builder:
        assert builder.add_arrow(table, attributes=["region"]) == 4
        assert values_of(builder.finish()) == {"region": EXPECTED["region"]}
    with pytest.raises(InvalidArgument, match="an attribute's column is 'colour'"):
        sidbeam.Index.build(table, codes=[4, 4], attributes=["colour"])
    with pytest.raises(InvalidArgument, match="name columns of a table"):
        sidbeam.Index.build(SIDS, IDS, codes=[4, 4], attributes=["price"])


def test_files(tmp_path):
    path = tmp_path / "a.jsonl"
    records = [
        {"item": item, "sid": sid, **{name: COLUMNS[name][i] for name in COLUMNS}}
        for i, (item, sid) in enumerate(zip(IDS, SIDS.tolist()))
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    index = sidbeam.Index.from_file(path, attributes="price,score,stock,region,tags")
    assert values_of(index) == EXPECTED
    assert values_of(sidbeam.Index.from_file(path, attributes=["price:f32"])) == {"price": [5.0, None, -7.0, 2.0**40]}
    with sidbeam.Builder([4, 4]) as builder:
        info = builder.add_file(path, attributes="tags:strings,price")
        assert info.attributes == {"tags": AttributeType.STRING_LIST, "price": AttributeType.I64}
        assert values_of(builder.finish()) == {name: EXPECTED[name] for name in ("price", "tags")}
    with pytest.raises(sidbeam.Corrupt, match="no record has a field 'colour'"):
        sidbeam.Index.from_file(path, attributes="colour")
    with pytest.raises(InvalidArgument, match="expected names: only a table's columns have types"):
        sidbeam.Index.from_file(path, attributes=True)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"sid": SIDS.tolist(), "item": IDS, **COLUMNS}), tmp_path / "a.parquet")
    assert values_of(sidbeam.Index.from_file(tmp_path / "a.parquet", attributes=True)) == EXPECTED
    some = sidbeam.Index.from_file(tmp_path / "a.parquet", attributes="region")
    assert values_of(some) == {"region": EXPECTED["region"]}
    with pytest.raises(InvalidArgument, match="expected names alone"):
        sidbeam.Index.from_file(tmp_path / "a.parquet", attributes="price:f32")


def test_several_calls_and_declared_types():
    with sidbeam.Builder([4, 4]) as builder:
        builder.declare_attribute("a", "f32")
        builder.declare_attribute("b", "string_list")
        builder.add(SIDS[:1], IDS[:1])
        builder.add(SIDS[1:3], IDS[1:3], attributes={"a": [None, 7], "b": [None, None]})
        with pytest.raises(sidbeam.BadState, match="attributes are declared before the first"):
            builder.add(SIDS[3:], IDS[3:], attributes={"c": [1]})
        builder.add(SIDS[3:], IDS[3:], attributes={"b": [["x"]]})
        assert values_of(builder.finish()) == {"a": [None, None, 7.0, None], "b": [None, None, None, ["x"]]}


def test_values_that_merge_must_agree():
    with pytest.raises(InvalidArgument, match="attribute 'a' of the item 13 with the SID 3,1 is"):
        sidbeam.Index.build([SIDS[0]] * 2, [13, 13], codes=[4, 4], attributes={"a": [1, 2]})
    index = sidbeam.Index.build([SIDS[0]] * 2, [13, 13], codes=[4, 4], attributes={"a": [None, 2]})
    assert index.attributes["a"].values() == [2]


@pytest.mark.parametrize(
    "columns, error, text",
    [
        ({"a": [1, 2]}, InvalidArgument, r"attributes\['a'\] has 2 entries, expected 4"),
        ({"a": [None] * 4}, InvalidArgument, "has no value, expected one, or its type by declare_attribute"),
        ({"a": [1, "x", 2, 3]}, WrongType, r"attributes\['a'\] holds 'x', expected integers"),
        ({"a": [1, 2, {}, 3]}, WrongType, "holds {}, expected integers"),
        ({"a": [2**63, 1, 2, 3]}, InvalidArgument, "integer of 64 bits"),
        ({"a": [["x"], [1], [], []]}, InvalidArgument, r"attributes\['a'\]\[1\] is \[1\], expected a list of str"),
        ({"a": ["\ud800", "", "", ""]}, InvalidArgument, "has surrogates"),
        ({"a": "abcd"}, WrongType, "is str, expected an array or a list"),
        ({"a": np.zeros((4, 2))}, InvalidArgument, r"shape \(4, 2\), expected one entry per SID"),
        ({"a" * 129: [1, 2, 3, 4]}, InvalidArgument, "has more than 128 bytes"),
        ({1: [1, 2, 3, 4]}, WrongType, "a name of attributes is int"),
        ([1], (WrongType, InvalidArgument), "attributes"),
    ],
)
def test_bad_columns(columns, error, text):
    with pytest.raises(error, match=text):
        build(columns)


def test_a_bad_column_adds_nothing():
    with sidbeam.Builder([4, 4]) as builder:
        builder.declare_attribute("a", "i64")
        for bad in ([1.5, 2, 3, 4], ["x"] * 4, [True] * 4):
            with pytest.raises(InvalidArgument, match=r"attributes\['a'\]\[0\] is .*, expected an integer"):
                builder.add(SIDS, IDS, attributes={"a": bad})
        builder.add(SIDS, IDS, attributes={"a": [1, 2, 3, 4]})
        assert len(builder.finish()) == 4
