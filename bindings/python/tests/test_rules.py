"""Requests under rules: what an index of the allowed items alone gives, bit for bit.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gc
import os
import weakref
from typing import Any, NamedTuple, Optional

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidbeam
from conftest import catalogues, vocabulary_of
from oracle import Catalogue

MODEL = os.environ.get("SIDBEAM_MODEL", "")


class Found(NamedTuple):
    sids: list[tuple[int, ...]]
    scores: list[float]
    ids: list[list[int]]  #: of each beam


class Shop:
    """An index whose items may have several SIDs, and SIDs several items; and its pairs by item row."""

    def __init__(self, catalogue: Catalogue, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.catalogue = catalogue
        count = len(catalogue.sids)
        self.index = self.build(catalogue.sids, rng.integers(0, max(1, count * 2 // 3), count))
        rows = np.arange(self.index.info.items)
        self.ids = self.index.item_ids(rows)
        self.sids = [self.index.sid(int(ordinal)) for ordinal in self.index.item_ordinals(rows)]
        self.logits = rng.normal(0, 2, (len(catalogue.codes), 64, catalogue.width() + 2)).astype(np.float32)

    def build(self, sids: Any, ids: Any) -> sidbeam.Index:
        return sidbeam.Index.build(sids, ids, codes=self.catalogue.codes, variable_length=self.catalogue.variable)

    def of_rows(self, allowed: np.ndarray) -> Optional[sidbeam.Index]:
        """An index of these rows alone; None: there are none."""
        rows = np.flatnonzero(allowed)
        return self.build([self.sids[row] for row in rows], self.ids[rows]) if len(rows) else None

    def session(self, constraint: Any, width: int, slots: int = 1) -> sidbeam.Session:
        return sidbeam.Session(
            constraint, slots=slots, beams=width, vocabulary=vocabulary_of(self.catalogue), normalization="valid"
        )

    def finish(self, session: sidbeam.Session) -> list[Found]:
        """Steps what is started, row m of a level's logits for beam m, and gives what it found."""
        beams = session.beams()
        for level in range(len(self.catalogue.codes)):
            if beams.active.any():
                rows = self.logits[level][: session.width]
                session.step(np.broadcast_to(rows, (session.slots, *rows.shape)))
        found = []
        for slot, results in enumerate(session.recommendations()):
            live = int(beams.live[slot])
            items = session.items([slot])
            sids = [tuple(items.sids[0, m, : items.lengths[0, m]].tolist()) for m in range(live)]
            by_beam: dict[tuple[int, ...], list[int]] = {sid: [] for sid in sids}
            for result in results:
                by_beam[result.sid].append(result.item)
            found.append(Found(sids, beams.scores[slot, :live].tolist(), [by_beam[sid] for sid in sids]))
        return found

    def alone(self, allowed: np.ndarray, width: int) -> Found:
        """By an index of the allowed rows."""
        index = self.of_rows(allowed)
        if index is None:
            return Found([], [], [])
        session = self.session(index, width)
        session.start()
        return self.finish(session)[0]


class Rules(NamedTuple):
    filter: Optional[sidbeam.Filter]
    exclude: Any
    allow: Any


def draw_rules(shop: Shop, rng: np.random.Generator) -> tuple[Rules, np.ndarray]:
    """Some of the three rules, each in some form, and the rows that they allow."""
    count, allowed = len(shop.ids), np.ones(len(shop.ids), bool)
    made: dict[str, Any] = {"filter": None, "exclude": None, "allow": None}
    if rng.random() < 0.6:
        mask = rng.random(count) < rng.choice([0.1, 0.5, 0.9])
        packed = np.packbits(mask, bitorder="little")
        made["filter"] = shop.index.filter(mask) if rng.random() < 0.5 else ~~shop.index.filter(packed, bits=True)
        allowed &= mask
    for name in ("exclude", "allow"):
        if rng.random() < 0.5:
            continue
        listed = rng.random(count) < rng.choice([0.0, 0.3, 0.8])
        if rng.random() < 0.5:
            made[name] = sidbeam.ItemRows([*np.flatnonzero(listed), -1, count])
        else:
            made[name] = [*shop.ids[listed].tolist(), 10**12]
            listed = np.isin(shop.ids, shop.ids[listed])
        allowed &= ~listed if name == "exclude" else listed
    return Rules(**made), allowed


@given(catalogues(), st.integers(0, 2**32), st.integers(1, 9))
def test_slots_of_one_batch_under_rules_of_their_own(catalogue: Catalogue, seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    shop = Shop(catalogue, seed)
    drawn = [draw_rules(shop, rng) for _ in range(4)]
    session = shop.session(shop.index, width, slots=4)
    filters, excluded, allowed = zip(*(rules for rules, _ in drawn))
    session.start(filter=filters, exclude=list(excluded), allow=list(allowed))
    assert shop.finish(session) == [shop.alone(rows, width) for _, rows in drawn]


@given(catalogues(), st.integers(0, 2**32))
def test_a_constraint_says_what_its_rules_allow(catalogue: Catalogue, seed: int) -> None:
    shop = Shop(catalogue, seed)
    rules, allowed = draw_rules(shop, np.random.default_rng(seed))
    constraint = sidbeam.Constraint(shop.index, filter=rules.filter, exclude=rules.exclude, allow=rules.allow)
    info = constraint.info
    assert info.rules == any(rule is not None for rule in rules) and info.items == len(allowed)
    assert info.allowed_items == allowed.sum()
    assert info.allowed_sids == len({sid for sid, kept in zip(shop.sids, allowed) if kept})
    unknown = [0 if one is None else 2 if isinstance(one, sidbeam.ItemRows) else 1 for one in rules[1:]]
    assert [info.unknown_excluded, info.unknown_allowed] == unknown
    rows, offsets, truncated, _ = constraint.item_rows_of(np.arange(len(shop.index)))
    assert rows.tolist() == np.flatnonzero(allowed).tolist() and len(offsets) == len(shop.index) + 1 and not truncated


@given(catalogues(), st.integers(0, 2**32), st.integers(1, 5))
def test_excluding_more_is_excluding_all_at_once(catalogue: Catalogue, seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    shop = Shop(catalogue, seed)
    rules, allowed = draw_rules(shop, rng)
    more = rng.random(len(allowed)) < 0.4
    before = sidbeam.Constraint(shop.index, **rules._asdict())
    after = before.exclude(sidbeam.ItemRows(np.flatnonzero(more)))
    assert before.info.allowed_items == allowed.sum() and after.info.allowed_items == (allowed & ~more).sum()
    session = shop.session(after, width)
    session.start()
    assert shop.finish(session) == [shop.alone(allowed & ~more, width)]
    if before.info.rules:  # what a start excludes comes to the rules of its constraint
        session.start(constraints=before, exclude=sidbeam.ItemRows(np.flatnonzero(more)))
        assert shop.finish(session) == [shop.alone(allowed & ~more, width)]


@given(catalogues(variable=False), st.integers(0, 2**32))
def test_rows_of_a_constraint_set_under_rules_of_their_own(catalogue: Catalogue, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shop = Shop(catalogue, seed)
    drawn = [draw_rules(shop, rng) for _ in range(3)]
    vocabulary = vocabulary_of(catalogue)
    if seed % 2:
        ruled = [sidbeam.Constraint(shop.index, **rules._asdict()) for rules, _ in drawn]
        constraints = sidbeam.ConstraintSet(ruled, vocabulary=vocabulary)
    else:
        filters, excluded, allowed_lists = (list(each) for each in zip(*(rules for rules, _ in drawn)))
        rules = {"filter": filters, "exclude": excluded, "allow": allowed_lists}
        constraints = sidbeam.ConstraintSet(shop.index, **rules, vocabulary=vocabulary)
    which = np.repeat(np.arange(3, dtype=np.int32), 2)
    prefixes = [(), shop.sids[int(rng.integers(0, len(shop.sids)))][:1]] * 3
    words = constraints.bitmask(constraints.prefixes(prefixes, which=which), which=which)
    bits = (words.view(np.uint32)[:, np.arange(constraints.columns) // 32] >> (np.arange(constraints.columns) % 32)) & 1
    for i, prefix in enumerate(prefixes):
        allowed = drawn[which[i]][1]
        left = Catalogue([sid for sid, kept in zip(shop.sids, allowed) if kept], catalogue.codes)
        level = len(prefix)
        valid = {catalogue.column(level, code) for code in left.children(prefix)} if left.sids else set()
        assert set(np.flatnonzero(bits[i]).tolist()) == valid


def codes_of_roots(constraints: sidbeam.ConstraintSet, count: int) -> list[list[int]]:
    """The codes that each constraint of a set lets a SID begin with."""
    words = constraints.bitmask(np.zeros(count, np.int64), which=np.arange(count, dtype=np.int32))
    return [[code for code in range(3) if word >> code & 1] for word in words.ravel().tolist()]


def test_rules_of_the_constraints_of_a_set(small: sidbeam.Index) -> None:
    other, made = sidbeam.Index.build([(1, 2), (2, 1)], [13, 21], codes=3), sidbeam.ConstraintSet
    of_each = {"exclude": [[15], np.array([10, 11, 12]), None], "filter": [None, None, small.filter(ids=[15])]}
    assert codes_of_roots(made(small, **of_each), 3) == [[0, 1], [1, 2], [2]]
    assert codes_of_roots(made([small, other], exclude=[13, 14]), 2) == [[0, 2], [2]]
    assert codes_of_roots(made([small, other], allow=[[], None]), 2) == [[], [1, 2]]
    assert codes_of_roots(made(small, allow=[13]), 1) == [[1]]
    with pytest.raises(sidbeam.InvalidArgument, match=r"exclude has shape \(2,\), expected \(3,\)"):
        made(small, exclude=[[1], [2]], allow=[[1], [2], [3]])
    with pytest.raises(sidbeam.InvalidArgument, match=r"allow has shape \(1,\), expected \(2,\)"):
        made([small, other], allow=[[1]])
    with pytest.raises(sidbeam.WrongType, match="constraint is None, expected an Index or a Constraint"):
        made([None, small], exclude=[1])  # type: ignore[list-item]
    with pytest.raises(sidbeam.WrongType, match="filter is str, expected a Filter"):
        made(small, filter="price<3")


SIDS, IDS = [(0, 0), (0, 0), (0, 1), (1, 0), (1, 1), (2, 2)], [10, 11, 12, 13, 14, 15]


@pytest.fixture
def small() -> sidbeam.Index:
    return sidbeam.Index.build(SIDS, IDS, codes=3)


def found_ids(session: sidbeam.Session) -> list[list[int]]:
    for _ in range(2):
        if session.beams().active.any():
            session.step(np.zeros((session.slots, session.width, 3), np.float32))
    return [sorted(result.item for result in slot) for slot in session.recommendations()]


def test_one_rule_for_all_slots_or_one_per_slot(small: sidbeam.Index) -> None:
    session = sidbeam.Session(small, slots=2, beams=6)
    for rules, expected in (
        ({"exclude": [10, 12]}, [[11, 13, 14, 15]] * 2),
        ({"exclude": {10, 12}}, [[11, 13, 14, 15]] * 2),
        ({"exclude": np.array([[10, 11], [14, 15]])}, [[12, 13, 14, 15], [10, 11, 12, 13]]),
        ({"exclude": [[10], None]}, [[11, 12, 13, 14, 15], IDS]),
        ({"allow": []}, [[], []]),
        ({"allow": ([14], sidbeam.ItemRows([0]))}, [[14], [10]]),
        ({"allow": [[14, 99], {10}], "exclude": [14]}, [[], [10]]),
        ({"filter": small.filter(ids=[10, 15])}, [[10, 15]] * 2),
        ({"filter": [None, small.filter(ids=[10, 15])], "exclude": [15]}, [[10, 11, 12, 13, 14], [10]]),
        ({}, [IDS, IDS]),
    ):
        session.start(**rules)
        assert found_ids(session) == expected, rules
    session.start([1], exclude=[[10]])
    session.stop([0])
    assert session.beams().live.tolist() == [0, 1]


def test_rules_come_to_the_constraint_of_the_slot(small: sidbeam.Index) -> None:
    other = sidbeam.Index.build([(0, 2), (1, 2)], [20, 21], codes=3)
    session = sidbeam.Session(small, slots=3, beams=6)
    session.start(constraints=[other, None, small.constraint], exclude=[20, 11])
    assert found_ids(session) == [[21], [10, 12, 13, 14, 15], [10, 12, 13, 14, 15]]
    ruled = sidbeam.Constraint(small, allow=[10, 11, 12])
    session.start(constraints=ruled, exclude=[[11], [], None])
    assert found_ids(session) == [[10, 12], [10, 11, 12], [10, 11, 12]]
    with pytest.raises(sidbeam.InvalidArgument, match="beside a constraint that has rules, expected exclude alone"):
        session.start(constraints=ruled, allow=[11])
    with sidbeam.Session(ruled, beams=6) as under:
        under.start(exclude=[12])
        assert found_ids(under) == [[10, 11]]


def test_only_the_allowed_items_of_a_sid_come(small: sidbeam.Index) -> None:
    session = sidbeam.Session(small, beams=6)
    session.start(exclude=[10])
    found_ids(session)
    best = [result for result in session.recommendations()[0] if result.sid == (0, 0)]
    assert [(result.item, result.item_row) for result in best] == [(11, 1)]
    assert session.items(limit=1).truncated.tolist() == [1]


ERRORS: list[tuple[dict[str, Any], type, str]] = [
    ({"exclude": 5}, sidbeam.WrongType, "exclude is int, expected a list of ids, or ItemRows"),
    ({"exclude": "10"}, sidbeam.WrongType, "exclude is str, expected a list of ids, or ItemRows"),
    ({"exclude": ["a"]}, sidbeam.InvalidArgument, "exclude are text, expected integers, as the ids of this index are"),
    ({"allow": [0.5]}, sidbeam.InvalidArgument, "allow has dtype float64, expected int64"),
    ({"exclude": [[1], [2], [3]]}, sidbeam.InvalidArgument, r"exclude has shape \(3,\), expected \(2,\)"),
    ({"filter": [None]}, sidbeam.InvalidArgument, r"filter has shape \(1,\), expected \(2,\)"),
    ({"filter": "price<3"}, sidbeam.WrongType, "filter is str, expected a Filter"),
    ({"filter": 5}, sidbeam.WrongType, "filter is int, expected a Filter"),
]


@pytest.mark.parametrize("rules, error, message", ERRORS, ids=[message[:40] for *_, message in ERRORS])
def test_errors_leave_the_slots_as_they_were(
    small: sidbeam.Index, rules: dict[str, Any], error: type, message: str
) -> None:
    session = sidbeam.Session(small, slots=2, beams=6)
    session.start(exclude=[10])
    with pytest.raises(error, match=message):
        session.start(**rules)
    assert found_ids(session) == [IDS[1:]] * 2


def test_what_a_constraint_refuses(small: sidbeam.Index) -> None:
    with pytest.raises(sidbeam.WrongType, match="index is str, expected an Index"):
        sidbeam.Constraint("i.sidx")  # type: ignore[arg-type]
    with pytest.raises(sidbeam.WrongType, match="filter is list, expected a Filter"):
        sidbeam.Constraint(small, filter=[1])  # type: ignore[arg-type]
    other = sidbeam.Index.build(SIDS, IDS, codes=3)
    with pytest.raises(sidbeam.InvalidArgument, match="^filter is of another index, expected one of index"):
        sidbeam.Constraint(small, filter=other.filter(ids=[10]))
    with pytest.raises(sidbeam.MissingSection, match="rules need: build it with.*trie"):
        sidbeam.Constraint(sidbeam.Index.build(SIDS, kinds="sorted", codes=3), exclude=[1])
    both = sidbeam.Index.build(SIDS, IDS, kinds=["trie", "sorted"], codes=3)
    session = sidbeam.Session(both, beams=6, strategy="sorted")
    with pytest.raises(sidbeam.SidbeamError, match="rules"):
        session.start(exclude=[10])
    ruled = sidbeam.Constraint(small, exclude=[10, 99])
    assert repr(ruled) == "<sidbeam.Constraint 5 SIDs of 2 codes, 5 of 6 items allowed>"
    assert repr(small.constraint) == "<sidbeam.Constraint 5 SIDs of 2 codes>"
    assert ruled.exclude([98, 11]).info.unknown_excluded == 2
    ruled.close()
    with pytest.raises(sidbeam.BadState, match="constraint is closed"):
        ruled.exclude([1])


def test_a_constraint_under_rules_keeps_its_index_and_that_of_an_index_does_not() -> None:
    small = sidbeam.Index.build(SIDS, IDS, codes=3)
    ruled, usual, gone = sidbeam.Constraint(small, exclude=[10]), small.constraint, weakref.ref(small)
    session = sidbeam.Session(usual, slots=2, beams=6)
    assert ruled.index is small and usual.index is small
    del small
    gc.collect()
    assert gone() is ruled.index is usual.index
    session.start(constraints=[None, ruled])
    assert found_ids(session) == [IDS, IDS[1:]]
    session.start()
    del ruled
    gc.collect()
    assert gone() is None and usual.index is None
    with pytest.raises(sidbeam.BadState, match="slot 0 ran under a Constraint whose Index is gone"):
        session.recommendations()
    with pytest.raises(sidbeam.BadState, match="the constraint's Index is gone"):
        session.start(exclude=[10])


def test_an_index_goes_without_the_garbage_collector() -> None:
    index = sidbeam.Index.build(SIDS, IDS, codes=3)
    gone, session = weakref.ref(index), sidbeam.Session(index, beams=6)
    session.start(exclude=[10])
    session.start()
    gc.disable()
    try:
        session.close()
        del session, index
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.skipif(not MODEL, reason="SIDBEAM_MODEL is not set: the library was built without the runner")
@pytest.mark.parametrize("drafted", [False, True], ids=["alone", "with a draft"])
def test_a_runner_takes_rules_per_request(drafted: bool) -> None:
    rng = np.random.default_rng(1)
    sids, ids = rng.integers(0, 8, (60, 3)), np.arange(60) % 40
    index, history = sidbeam.Index.build(sids, ids, codes=8), [17, 25, 33, 20, 30, 39]
    seen, vocabulary = rng.permutation(40)[:25].tolist(), sidbeam.Vocabulary([16, 24, 32])
    left = ~np.isin(ids, seen)
    alone = sidbeam.Index.build(sids[left], ids[left], codes=8)
    model = sidbeam.Model.open(MODEL)
    draft = {"draft": model} if drafted else {}
    with sidbeam.Runner(model, index, beams=9, vocabulary=vocabulary, batch_requests=4, **draft) as runner:
        with sidbeam.Runner(model, alone, beams=9, vocabulary=vocabulary) as other:
            expected = other.run(history)
        whole = runner.run(history)
        for result in (
            runner.run(history, exclude=seen),
            runner.run(history, allow=sorted(set(range(40)) - set(seen))),
            runner.submit(history, filter=~index.filter(ids=seen)).result(),
            runner.submit(history, constraint=sidbeam.Constraint(index, exclude=seen[:9]), exclude=seen[9:]).result(),
        ):
            assert result.sids.tolist() == expected.sids.tolist()
            assert result.scores.tolist() == expected.scores.tolist()
            assert result.items.tolist() == expected.items.tolist() and not set(result.items.tolist()) & set(seen)
            assert result.find_items(distinct=True).tolist() == expected.find_items(distinct=True).tolist()
            assert "<table" in result._repr_html_()
        assert set(whole.items.tolist()) & set(seen) and runner.run(history).items.tolist() == whole.items.tolist()
        assert len(runner.run(history, allow=[])) == 0
        several = [runner.submit(history, allow=allowed) for allowed in ([], None, [10**9], range(40), [])]
        assert [len(future.result()) for future in several] == [0, 9, 0, 9, 0]
        with pytest.raises(sidbeam.WrongType, match="exclude is int, expected a list of ids"):
            runner.run(history, exclude=3)
        with pytest.raises(sidbeam.WrongType, match="filter is str, expected a Filter"):
            runner.submit(history, filter="price<3")  # type: ignore[arg-type]
    del index
    assert result.items.tolist() == expected.items.tolist()  # it holds what it needs, also of a runner that is closed
