"""Filters: of texts, attributes, masks of every kind, ids and rows, against brute force over the items of
tests/bindings/make_attributed.c. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import gc
import os
import pickle
import struct
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import numpy as np
import pytest

import sidbeam

CASES = os.environ.get("SIDBEAM_CASES", "")
PATH = os.path.join(os.path.dirname(CASES), "attributed.sidx")


class Item(NamedTuple):
    price: Optional[int]
    weight: Optional[float]
    in_stock: bool
    region: Optional[str]
    tags: Optional[list[str]]


def item(i: int) -> Item:
    tags = [tag for bit, tag in enumerate(("new", "sale", "gift")) if i % 8 >> bit & 1]
    return Item(
        None if i % 11 == 0 else i % 40,
        None if i % 13 == 5 else i / 8,
        i % 3 != 0,
        None if i % 9 == 4 else ("us", "ca", "de", "fr")[i % 4],
        None if i % 10 == 9 else tags,
    )


ITEMS = {1000 + i: item(i) for i in range(120)}


@pytest.fixture
def shop() -> sidbeam.Index:
    if not CASES:
        pytest.skip("SIDBEAM_CASES is not set; test.sh does")
    return sidbeam.Index.open(PATH, verify="full")


def items_of(index: sidbeam.Index, kept: sidbeam.Filter) -> set[int]:
    rows = kept.rows()
    assert (np.diff(rows) > 0).all() and len(kept) == len(rows) == kept.info.items
    return set(index.item_ids(rows).tolist())


def passing(test: Callable[[Item], Any]) -> set[int]:
    return {number for number, one in ITEMS.items() if test(one)}


TEXTS: list[tuple[str, Callable[[Item], Any]]] = [
    ("price<20 and region in (us, ca)", lambda i: i.price is not None and i.price < 20 and i.region in ("us", "ca")),
    ("not price<20", lambda i: i.price is None or i.price >= 20),
    ("price!=3", lambda i: i.price not in (None, 3)),
    ("weight between 0.5 and 7.25", lambda i: i.weight is not None and 0.5 <= i.weight <= 7.25),
    ("in_stock or tags contains (sale, gift)", lambda i: i.in_stock or {"sale", "gift"} & set(i.tags or [])),
    ("region is null", lambda i: i.region is None),
    ("true", lambda i: True),
    ("false", lambda i: False),
]


@pytest.mark.parametrize("text, test", TEXTS, ids=[text for text, _ in TEXTS])
def test_a_text(shop: sidbeam.Index, text: str, test: Callable[[Item], Any]) -> None:
    kept = shop.filter(text)
    assert items_of(shop, kept) == passing(test)
    assert kept.text == str(kept) and items_of(shop, shop.filter(str(kept))) == passing(test)


NAMED: list[tuple[dict[str, Any], Callable[[Item], Any]]] = [
    ({"in_stock": True}, lambda i: i.in_stock),
    ({"in_stock": np.False_}, lambda i: not i.in_stock),
    ({"price": 7}, lambda i: i.price == 7),
    ({"price": np.array([3, 5], np.int32)}, lambda i: i.price in (3, 5)),
    ({"price": range(4)}, lambda i: i.price in range(4)),
    ({"price": 7.0}, lambda i: i.price == 7),
    ({"weight": [0.5, 1]}, lambda i: i.weight in (0.5, 1)),
    ({"weight": 2}, lambda i: i.weight == 2),
    ({"region": "us"}, lambda i: i.region == "us"),
    ({"region": ("us", "ca")}, lambda i: i.region in ("us", "ca")),
    ({"region": {"us", "ca"}}, lambda i: i.region in ("us", "ca")),
    ({"region": []}, lambda i: False),
    ({"region": None}, lambda i: i.region is None),
    ({"tags": "new"}, lambda i: "new" in (i.tags or [])),
    ({"tags": ["new", "gift"]}, lambda i: {"new", "gift"} & set(i.tags or [])),
    ({"region": "us", "in_stock": True}, lambda i: i.region == "us" and i.in_stock),
]


@pytest.mark.parametrize("named, test", NAMED, ids=[str(named) for named, _ in NAMED])
def test_attributes_by_name(shop: sidbeam.Index, named: dict[str, Any], test: Callable[[Item], Any]) -> None:
    kept = shop.filter(**named)
    assert items_of(shop, kept) == passing(test)
    assert items_of(shop, shop.filter(kept.text)) == passing(test)


def test_all_that_is_given_must_pass(shop: sidbeam.Index) -> None:
    some = list(range(1000, 1060))
    kept = shop.filter("price<20", ids=some, in_stock=True)
    assert items_of(shop, kept) == passing(lambda i: i.price is not None and i.price < 20 and i.in_stock) & set(some)


def test_filters_are_joined(shop: sidbeam.Index) -> None:
    cheap, american = shop.filter("price<20"), shop.filter(region=["us", "ca"])
    is_cheap, is_american = passing(TEXTS[1][1]) ^ set(ITEMS), passing(lambda i: i.region in ("us", "ca"))
    assert items_of(shop, cheap & american) == is_cheap & is_american
    assert items_of(shop, cheap | american) == is_cheap | is_american
    assert items_of(shop, ~cheap) == set(ITEMS) - is_cheap
    mixed = ~(cheap & american) | shop.filter(ids=[1001])
    assert items_of(shop, mixed) == set(ITEMS) - (is_cheap & is_american) | {1001}
    assert mixed.text is None and (cheap & american).text == "price<20 and region in (us, ca)"
    for other in (5, None, "price<20"):
        with pytest.raises(TypeError, match="unsupported operand"):
            cheap & other  # type: ignore[operator]
    with pytest.raises(sidbeam.InvalidArgument, match="^the second filter is of another index"):
        cheap | sidbeam.Index.open(PATH).filter("price<20")


def mask_of(index: sidbeam.Index) -> np.ndarray:
    return np.random.default_rng(5).random(index.info.items) < 0.4


def bits_after(index: sidbeam.Index, offset: int) -> Any:
    """An Arrow array that begins within another."""
    import pyarrow

    return pyarrow.array([True] * offset + mask_of(index).tolist())[offset:]


def roaring(rows: np.ndarray) -> bytes:
    """One array container, by the format's specification: cookie, size, key and cardinality, offset, values."""
    header = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16)
    return header + rows.astype("<u2").tobytes()


def with_nulls(index: sidbeam.Index, make: Callable[[list[Optional[bool]]], Any]) -> Any:
    """Of an item in three that would not pass nothing is known."""
    return make([None if not kept and row % 3 == 0 else kept for row, kept in enumerate(mask_of(index).tolist())])


def library(name: str) -> Any:
    return pytest.importorskip(name)


MASKS: dict[str, Callable[[sidbeam.Index], Any]] = {
    "numpy": mask_of,
    "strided": lambda i: np.repeat(mask_of(i), 2)[::2],
    "list": lambda i: mask_of(i).tolist(),
    "pandas": lambda i: library("pandas").Series(mask_of(i), index=np.arange(i.info.items)[::-1]),
    "pandas with nulls": lambda i: with_nulls(i, lambda m: library("pandas").Series(m, dtype="boolean")),
    "pandas of Arrow": lambda i: with_nulls(i, lambda m: library("pandas").Series(m, dtype="bool[pyarrow]")),
    "polars": lambda i: library("polars").Series(mask_of(i)),
    "polars with nulls": lambda i: with_nulls(i, library("polars").Series),
    "arrow": lambda i: library("pyarrow").array(mask_of(i)),
    "arrow with nulls": lambda i: with_nulls(i, lambda m: library("pyarrow").array(m)),
    "arrow in pieces": lambda i: library("pyarrow").chunked_array([mask_of(i)[:50], mask_of(i)[50:]]),
    "arrow in one piece": lambda i: library("pyarrow").chunked_array([mask_of(i)]),
    "arrow from a bit on": lambda i: library("pyarrow") and bits_after(i, 13),
    "roaring": lambda i: roaring(np.flatnonzero(mask_of(i))),
    "roaring in a bytearray": lambda i: bytearray(roaring(np.flatnonzero(mask_of(i)))),
}


@pytest.mark.parametrize("kind", MASKS)
def test_masks(shop: sidbeam.Index, kind: str) -> None:
    kept = shop.filter(MASKS[kind](shop))
    assert kept.rows().tolist() == np.flatnonzero(mask_of(shop)).tolist()
    assert kept.text is None and str(kept) == repr(kept) == f"<sidbeam.Filter of {len(kept)} items>"


def test_packed_bits(shop: sidbeam.Index) -> None:
    packed = np.packbits(mask_of(shop), bitorder="little")
    for bits in (packed, packed.tobytes(), memoryview(packed), np.append(packed, np.uint8(255))):
        assert shop.filter(bits, bits=True).rows().tolist() == np.flatnonzero(mask_of(shop)).tolist()
    with pytest.raises(sidbeam.InvalidArgument, match="120 bits from bit 0 on in 14 bytes"):
        shop.filter(packed[:-1], bits=True)
    with pytest.raises(sidbeam.InvalidArgument, match="mask has dtype bool and 1 dimensions, expected uint8 and one"):
        shop.filter(mask_of(shop), bits=True)
    with pytest.raises(sidbeam.InvalidArgument, match="bits is True, expected packed bits as the first argument"):
        shop.filter("price<20", bits=True)
    with pytest.raises(sidbeam.WrongType, match="bits is 'no', expected True or False"):
        shop.filter(packed, bits="no")  # type: ignore[arg-type]


def test_items_by_id_and_by_row(shop: sidbeam.Index) -> None:
    kept = shop.filter(ids=[1005, 7, 1005, 1119])
    assert items_of(shop, kept) == {1005, 1119} and kept.unknown == 1
    by_row = shop.filter(rows={3, 119, 120, -1})
    assert by_row.rows().tolist() == [3, 119] and by_row.unknown == 2
    assert (kept | by_row).unknown == 3 and shop.filter("true").unknown == 0
    assert shop.filter(rows=sidbeam.ItemRows([3])).rows().tolist() == [3]
    assert len(shop.filter(ids=[])) == len(shop.filter(rows=())) == 0
    assert shop.filter(ids=iter([1007])).rows().tolist() == shop.filter(ids=np.array([1007], np.int16)).rows().tolist()


def test_ids_that_are_texts() -> None:
    index = sidbeam.Index.build([(0,), (1,), (1,)], ["ärmel", "b", "c"], codes=2)
    kept = index.filter(ids=["c", "ärmel", "no such"])
    assert index.item_ids(kept.rows()).tolist() == ["ärmel", "c"] and kept.unknown == 1
    assert len(index.filter(ids=np.array(["b", "c"]))) == 2


def test_ids_without_sign() -> None:
    index = sidbeam.Index.build([(0,), (1,)], np.array([2**64 - 1, 5], np.uint64), codes=2)
    assert index.filter(ids=[2**64 - 1]).rows().tolist() == [0]
    assert index.filter(ids=[5, 2**64 - 1, 2**64 - 2]).unknown == 1
    with pytest.raises(sidbeam.InvalidArgument, match=r"ids\[1\] is 18446744073709551616, out of the range of uint64"):
        index.filter(ids=[5, 2**64])
    with pytest.raises(sidbeam.InvalidArgument, match=r"ids\[0\] is -1, out of the range of uint64|ids has values out"):
        index.filter(ids=[-1])


def test_an_update_is_a_filter_of_its_own(shop: sidbeam.Index) -> None:
    kept = shop.filter("price<20")
    before = items_of(shop, kept)
    kept.prepare()
    after = kept.update([1000, 1001, 5, 1001], allowed=[True, True, True, False])
    assert items_of(shop, kept) == before and items_of(shop, after) == (before | {1000}) - {1001}
    assert after.unknown == 1 and after.text is None and after.info.prepared
    assert items_of(shop, kept.update(ids=sorted(before), allowed=False)) == set()
    assert kept.update(rows=[0, 1], allowed=np.array([True, True])).rows()[:2].tolist() == [0, 1]
    with pytest.raises(sidbeam.InvalidArgument, match="ids and rows are both None or both given, expected one of them"):
        kept.update(allowed=True)
    with pytest.raises(sidbeam.InvalidArgument, match="allowed has 1 entries, expected 2, one per item"):
        kept.update([1, 2], allowed=[True])
    with pytest.raises(sidbeam.InvalidArgument, match="allowed has dtype int64, expected True or False for each of 2"):
        kept.update([1, 2], allowed=[1, 0])


def test_what_a_search_reads_is_derived_once(shop: sidbeam.Index) -> None:
    kept = shop.filter("price<20")
    assert (kept.info.prepared, kept.info.sids) == (False, -1)
    small = kept.info.bytes
    kept.prepare()
    sids = {shop.sid(int(ordinal)) for ordinal in shop.item_ordinals(kept.rows())}
    assert (kept.info.prepared, kept.info.sids, kept.info.items) == (True, len(sids), len(kept))
    assert kept.info.bytes > small
    assert repr(kept) == f"<sidbeam.Filter of {len(kept)} items: price<20>"


ERRORS: list[tuple[tuple[Any, ...], dict[str, Any], type, str]] = [
    ((), {}, sidbeam.InvalidArgument, "no condition is given, expected a text, a mask, ids, rows, or attributes"),
    (("price<",), {}, sidbeam.InvalidArgument, "filter: at byte 6 .*expected a value"),
    (("colour=red",), {}, sidbeam.InvalidArgument, "column 'colour' is not there, expected one of 'in_stock', 'price'"),
    (("price<cheap",), {}, sidbeam.InvalidArgument, "column 'price' holds integers, expected an integer"),
    (("price\ud800",), {}, sidbeam.InvalidArgument, "which is no text: it has surrogates"),
    (("(" * 10_000,), {}, sidbeam.InvalidArgument, "expected at most 200 open parentheses and nots"),
    (("x" * (2 << 20),), {}, sidbeam.InvalidArgument, "the text has 2097152 bytes, expected at most 1048576"),
    ((), {"colour": 1}, sidbeam.InvalidArgument, "column 'colour' is not there"),
    ((), {"price": "x"}, sidbeam.InvalidArgument, "column 'price' holds integers"),
    ((), {"price": float("nan")}, sidbeam.InvalidArgument, "column 'price': a value of = is NaN"),
    ((), {"price": 2**63}, sidbeam.InvalidArgument, "price is out of range, expected an integer of 64 bits"),
    ((), {"price": [3, None]}, sidbeam.InvalidArgument, "price has None among its values"),
    ((), {"price": object()}, sidbeam.WrongType, "price is <object .*, expected a str, int, float or bool"),
    ((), {"in_stock": [True, 1]}, sidbeam.WrongType, "in_stock is True, expected .* a list of these of one type"),
    ((), {"region": "a\0b"}, sidbeam.InvalidArgument, "region is 'a.x00b', expected a text without NUL characters"),
    ((), {"region": "\ud800"}, sidbeam.InvalidArgument, "which is no text: it has surrogates"),
    ((np.ones(7, bool),), {}, sidbeam.InvalidArgument, "mask has 7 entries, expected 120, one per item row"),
    ((np.ones(120),), {}, sidbeam.WrongType, "mask is of float64, expected booleans, one per item row"),
    (([1, 2],), {}, sidbeam.WrongType, "mask is of int64, .*: ids= and rows= take lists, bits=True packed bits"),
    ((np.ones((120, 1), bool),), {}, sidbeam.InvalidArgument, "mask has shape .120, 1., expected one dimension"),
    ((5,), {}, sidbeam.WrongType, "mask is of int64"),
    ((b"no bitmap",), {}, sidbeam.InvalidArgument, "Roaring bitmap: at byte 0"),
    ((), {"ids": ["a"]}, sidbeam.InvalidArgument, "ids are text, expected integers, as the ids of this index are"),
    ((), {"ids": 5}, sidbeam.WrongType, "ids is int, expected a list of ids, or ItemRows"),
    ((), {"ids": "abc"}, sidbeam.WrongType, "ids is str, expected a list of ids, or ItemRows"),
    ((), {"rows": [0.5]}, sidbeam.InvalidArgument, "rows has dtype float64, expected int64"),
    ((), {"rows": "abc"}, sidbeam.WrongType, "rows is str, expected a list of item rows"),
]


@pytest.mark.parametrize("given, named, error, message", ERRORS, ids=[message[:50] for *_, message in ERRORS])
def test_errors(
    shop: sidbeam.Index, given: tuple[Any, ...], named: dict[str, Any], error: type, message: str
) -> None:
    with pytest.raises(error, match=message):
        shop.filter(*given, **named)


def test_masks_of_other_types_are_refused(shop: sidbeam.Index) -> None:
    pyarrow, pandas = library("pyarrow"), library("pandas")
    with pytest.raises(sidbeam.WrongType, match="mask is of int64, expected booleans"):
        shop.filter(pyarrow.array([1] * 120))
    with pytest.raises(sidbeam.WrongType, match="mask is of Table, expected booleans"):
        shop.filter(pyarrow.table({"a": [1]}))
    with pytest.raises(sidbeam.WrongType, match="mask is of object, expected booleans"):
        shop.filter(pandas.Series([True, None] * 60))
    with pytest.raises(sidbeam.InvalidArgument, match="mask has 0 entries, expected 120"):
        shop.filter(pyarrow.chunked_array([], pyarrow.bool_()))


def test_a_filter_outlives_its_index(shop: sidbeam.Index) -> None:
    kept = shop.filter("price<20")
    expected = kept.rows().tolist()
    shop.close()
    with pytest.raises(sidbeam.BadState, match="index is closed"):
        shop.filter("price<20")
    del shop
    gc.collect()
    assert (kept & ~kept).rows().tolist() == [] and (kept | kept).rows().tolist() == expected
    assert len(kept.update(rows=[0], allowed=True)) >= len(expected)
    kept.close()
    kept.close()
    assert repr(kept) == str(kept) == "<sidbeam.Filter closed>" and kept
    for use in (kept.prepare, kept.rows, lambda: len(kept), lambda: kept | kept, lambda: ~kept):
        with pytest.raises(sidbeam.BadState, match="filter is closed"):
            use()


def test_a_filter_is_neither_made_by_hand_nor_pickled(shop: sidbeam.Index) -> None:
    with pytest.raises(TypeError, match="use Index.filter"):
        sidbeam.Filter()
    with pytest.raises(TypeError, match="cannot pickle Filter"):
        pickle.dumps(shop.filter("true"))


def test_threads_share_a_filter(shop: sidbeam.Index) -> None:
    kept, found = shop.filter("price<20"), []
    expected = len(kept)

    def work() -> None:
        for _ in range(20):
            made = sidbeam.Constraint(shop, filter=kept)
            found.append((made.info.allowed_items, len(kept.update(rows=[0], allowed=False) | kept)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(expected, expected)] * 80
