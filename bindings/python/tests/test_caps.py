"""Caps on lists of items, against brute force over the items of tests/bindings/make_attributed.c.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np
import pytest

import sidbeam
from test_filters import CASES, ITEMS, PATH

MODEL = os.environ.get("SIDBEAM_MODEL", "")


@pytest.fixture
def shop() -> sidbeam.Index:
    if not CASES:
        pytest.skip("SIDBEAM_CASES is not set; test.sh does")
    return sidbeam.Index.open(PATH)


def searched(index: Any, beams: int = 25) -> sidbeam.Session:
    session = sidbeam.Session(index, slots=2, beams=beams, normalization="none")
    rng = np.random.default_rng(beams)
    session.start()
    for _ in range(3):
        session.step(rng.normal(-9, 1, (2, beams, 8)).astype(np.float32))
    return session


def values_of(item: int, attribute: str) -> list[Any]:
    value = getattr(ITEMS[item], attribute)
    return value if isinstance(value, list) else [] if value is None else [value]


def capped(items: list[int], attribute: str, cap: int) -> list[int]:
    counts: Counter[Any] = Counter()
    kept = []
    for item in items:
        values = values_of(item, attribute)
        if all(counts[value] < cap for value in values):
            counts.update(values)
            kept.append(item)
    return kept


@pytest.mark.parametrize("attribute", ["price", "in_stock", "region", "tags"])
@pytest.mark.parametrize("cap", [1, 2, 5, 1000])
def test_a_cap_lists_the_best_of_each_value(shop: sidbeam.Index, attribute: str, cap: int) -> None:
    session = searched(shop)
    every, found = session.items(), session.items(cap=cap, cap_by=attribute)
    for slot in range(2):
        items = shop.item_ids(every.item_rows_of(slot)).tolist()
        expected = capped(items, attribute, cap)
        assert shop.item_ids(found.item_rows_of(slot)).tolist() == expected
        assert found.came_short[slot] == (len(expected) < len(items)) and not every.came_short[slot]
        for limit in (1, len(expected), len(expected) + 1):
            fewer = session.items(slot, limit=limit, cap=cap, cap_by=attribute)
            assert shop.item_ids(fewer.item_rows_of(0)).tolist() == expected[:limit]
            assert fewer.came_short[0] == (len(expected) < min(len(items), limit))
            assert fewer.truncated[0] == (len(expected) > limit)
    best = session.recommendations(limit=3, cap=cap, cap_by=attribute)
    assert [r.item for r in best[1]] == shop.item_ids(found.item_rows_of(1)[:3]).tolist()
    assert ("came short" in repr(found)) == bool(found.came_short.any())


def test_ordinals_and_rules_take_a_cap(shop: sidbeam.Index) -> None:
    under = sidbeam.Constraint(shop, exclude=[1000, 1001, 1002])
    ordinals = np.random.default_rng(1).permutation(len(shop))
    for of, forbidden in ((shop, set()), (under, {1000, 1001, 1002})):
        every = shop.item_ids(of.item_rows_of(ordinals).rows).tolist()
        assert not set(every) & forbidden
        found = of.item_rows_of(ordinals, cap=2, cap_by="region")
        assert shop.item_ids(found.rows).tolist() == capped(every, "region", 2)
        assert found.came_short and not found.truncated and found.offsets[-1] == len(found.rows)
        assert not of.item_rows_of(ordinals, limit=4, cap=2, cap_by="region").came_short
        assert not of.item_rows_of(ordinals).came_short


def test_the_caller_brings_the_array_of_flags(shop: sidbeam.Index) -> None:
    session = searched(shop)
    out = sidbeam.Items(came_short=np.full(2, -1, np.int32), offsets=np.empty((2, 26), np.int64))
    assert session.items(out=out, cap=1, cap_by="region") is out
    assert out.came_short.tolist() == [1, 1]
    session.items(out=out)
    assert out.came_short.tolist() == [0, 0]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"cap": 1}, "cap is 1 and cap_by is None, expected the attribute that it is for"),
        ({"cap_by": "region"}, "cap is 0 and cap_by 'region', expected a cap of at least 1 for it"),
        ({"cap": -1, "cap_by": "region"}, "cap is -1, expected at least 0"),
        ({"cap": 1, "cap_by": "colour"}, "cap_by 'colour' is not there, expected one of 'in_stock', 'price'"),
        ({"cap": 1, "cap_by": "weight"}, "cap_by 'weight' holds numbers \\(f32\\)"),
        ({"cap": "1", "cap_by": "region"}, "cap is str, expected an integer"),
        ({"cap": 1, "cap_by": 7}, "cap_by is int"),
    ],
)
def test_wrong_caps_are_refused(shop: sidbeam.Index, arguments: dict[str, Any], message: str) -> None:
    session = searched(shop)
    for call in (session.items, lambda **given: shop.item_rows_of([0], **given)):
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            call(**arguments)


@pytest.mark.skipif(not MODEL, reason="SIDBEAM_MODEL is not set; test.sh does where the runner was built")
def test_results_of_a_runner_take_a_cap() -> None:
    rng = np.random.default_rng(1)
    sids, makers = rng.integers(0, 8, (60, 3)), rng.integers(0, 3, 60)
    index = sidbeam.Index.build(sids, np.arange(60), codes=8, attributes={"maker": makers})
    with sidbeam.Runner(
        sidbeam.Model.open(MODEL), index, beams=20, vocabulary=sidbeam.Vocabulary([16, 24, 32])
    ) as runner:
        for result in (runner.run([17, 25, 33]), runner.run([17, 25, 33], exclude=range(0, 60, 7))):
            counts: Counter[int] = Counter()
            expected = []
            for item in result.items.tolist():
                counts[makers[item]] += 1
                if counts[makers[item]] <= 2:
                    expected.append(item)
            assert result.find_items(cap=2, cap_by="maker").tolist() == expected and len(expected) == 6
            assert result.find_item_rows(cap=2, cap_by="maker").came_short
            assert not result.find_item_rows(limit=6, cap=2, cap_by="maker").came_short
            assert result.find_items(limit=3, cap=2, cap_by="maker").tolist() == expected[:3]
            with pytest.raises(sidbeam.InvalidArgument, match="cap_by 'brand' is not there, expected one of"):
                result.find_items(cap=2, cap_by="brand")
