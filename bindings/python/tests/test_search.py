"""Sessions against the oracle, on random catalogues. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidbeam
from conftest import build, catalogues, vocabulary_of
from oracle import Catalogue, Search

DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16}


def logits_of(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, whole: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(what the session reads, the same numbers for the oracle); whole numbers make ties and add up exactly."""
    x = rng.integers(-4, 1, shape).astype(np.float32) if whole else rng.normal(0, 3, shape).astype(np.float32)
    x[rng.random(shape) < 0.1] = -np.inf
    if dtype == "bf16":
        bits = (x.view(np.uint32) >> 16).astype(np.uint16)
        return bits, (bits.astype(np.uint32) << 16).view(np.float32)
    return x.astype(DTYPES[dtype]), x.astype(DTYPES[dtype]).astype(np.float32)


def check_level(search: Search, rows: np.ndarray, beams: sidbeam.Beams, slot: int, exact: bool) -> None:
    expected = search.candidates(rows)
    live = int(beams.live[slot])
    kept = [(float(beams.scores[slot, m]), int(beams.parents[slot, m]), int(beams.codes[slot, m])) for m in range(live)]
    assert live == min(search.width, len(expected))
    if exact:
        assert kept == expected[:live]
    else:
        score_of = {(parent, token): score for score, parent, token in expected}
        for place, (score, parent, token) in enumerate(kept):
            assert score == pytest.approx(score_of[parent, token], abs=2e-4)
            assert score == pytest.approx(expected[place][0], abs=2e-4)
        assert kept == sorted(kept, key=lambda c: -c[0])
    assert (beams.codes[slot, live:] == -1).all() and (beams.scores[slot, live:] == -np.inf).all()
    search.take(kept)
    assert beams.active[slot] == sum(not b.ended and len(b.prefix) < len(search.catalogue.codes) for b in search.beams)


def check_items(index: sidbeam.Index, searches: list[Search], items: sidbeam.Items) -> None:
    for slot, search in enumerate(searches):
        for m, beam in enumerate(search.beams):
            whole = beam.ended or len(beam.prefix) == len(search.catalogue.codes)
            sid = tuple(items.sids[slot, m, : items.lengths[slot, m]].tolist())
            assert sid == beam.prefix
            expected = search.catalogue.distinct.index(sid) if whole else -1
            assert items.ordinals[slot, m] == expected
            rows = items.item_rows_of(slot, m)
            wanted = [i for i, s in enumerate(search.catalogue.sids) if s == sid] if whole else []
            assert index.item_ids(rows).tolist() == wanted
        assert (items.ordinals[slot, len(search.beams) :] == -1).all()


@given(
    catalogues(),
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.integers(1, 9),
    st.sampled_from(["trie", "sorted"]),
    st.sampled_from(["full", "level", "valid", "none"]),
    st.sampled_from(list(DTYPES)),
    st.booleans(),
)
def test_same_beams_as_the_oracle(
    catalogue: Catalogue, seed: int, slots: int, width: int, strategy: str, normalization: str, dtype: str, mapped: bool
) -> None:
    rng = np.random.default_rng(seed)
    index = build(catalogue, kinds=["trie", "sorted"])
    whole = normalization == "none"
    widths = rng.integers(1, width + 1, slots)
    by_level = seed % 2 == 0
    rows_of_widths = rng.integers(1, width + 1, (slots, len(catalogue.codes)))
    columns = catalogue.width() + int(rng.integers(0, 5))
    with sidbeam.Session(
        index,
        slots=slots,
        beams=width,
        strategy=strategy,
        normalization=normalization,
        vocabulary=vocabulary_of(catalogue),
    ) as session:
        beams = session.start(widths=rows_of_widths if by_level else widths)
        searches = [Search(catalogue, int(w), normalization) for w in widths]
        while beams.active.any():
            x, numbers = logits_of(rng, (slots, width, columns), dtype, whole)
            running = np.flatnonzero(beams.active)
            if mapped:  # rows of all slots in another order
                order = rng.permutation(slots * width).astype(np.int32)
                flat = np.empty_like(x.reshape(-1, columns))
                flat[order] = x.reshape(-1, columns)
                chosen = running.astype(np.int32)
                session.step(flat, chosen, row_map=order.reshape(slots, width)[chosen], dtype=dtype)
            else:
                session.step(x, dtype=dtype)
            for slot in running:
                if by_level:
                    searches[slot].width = int(rows_of_widths[slot, beams.level[slot] - 1])
                check_level(searches[slot], numbers[slot], beams, slot, whole)
        check_items(index, searches, session.items())
        assert not beams.errors.any()


@given(catalogues(variable=False), st.integers(0, 2**32))
def test_prefixes_begin_where_they_say(catalogue: Catalogue, seed: int) -> None:
    rng = np.random.default_rng(seed)
    index = build(catalogue)
    levels = len(catalogue.codes)
    prefixes = [
        tuple(int(rng.integers(0, c)) for c in catalogue.codes[: rng.integers(0, levels + 1)]) for _ in range(4)
    ]
    prefixes[0] = catalogue.sids[0][: rng.integers(0, levels + 1)]
    session = sidbeam.Session(index, slots=4, beams=3)
    beams = session.start(prefixes=prefixes)
    for slot, prefix in enumerate(prefixes):
        assert beams.live[slot] == (prefix in catalogue.prefixes)
        assert beams.level[slot] == len(prefix)


def test_scaled_and_capped_logits(index: sidbeam.Index) -> None:
    x = np.array([[3, 9, 2, 1]], np.float32)
    session = sidbeam.Session(index, beams=2)
    session.start()
    scores = session.step(x, inverse_temperature=0.5, soft_cap=4.0).scores[0].copy()
    y = 0.5 * 4.0 * np.tanh(x[0].astype(np.float64) / 4.0)
    expected = np.sort((y - np.log(np.exp(y).sum()))[[0, 2]])[::-1]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_given_log_sum_exp_is_used(session: sidbeam.Session) -> None:
    beams = session.step(np.zeros((1, 2, 4), np.float32), lse=np.full(2, 7, np.float32))
    assert beams.scores[0].tolist() == [-7, -7]


def test_one_row_for_all_beams(session: sidbeam.Session) -> None:
    for row in np.array([[3, 9, 2, 1], [1, 1, 4, 2]], np.float32):
        beams = session.step(np.broadcast_to(row, (2, 4)))
    assert session.items().ordinals.tolist() == [[2, 1]]
    np.testing.assert_allclose(beams.scores[0], [-7.215, -8.215], atol=1e-3)


@pytest.mark.parametrize("shared", ["slots", "beams", "both"])
def test_rows_for_several_slots(index: sidbeam.Index, shared: str) -> None:
    x = np.random.default_rng(5).normal(0, 3, (3, 2, 4)).astype(np.float32)
    x = x[:1] if shared != "beams" else x
    x = x[:, :1] if shared != "slots" else x
    sessions = [sidbeam.Session(index, slots=3, beams=2) for _ in range(2)]
    for session in sessions:
        session.start()
    for _ in range(2):
        wide = sessions[0].step(np.broadcast_to(x, (3, 2, 4)))
        dense = sessions[1].step(np.broadcast_to(x, (3, 2, 4)).copy())
        assert (wide.scores == dense.scores).all() and (wide.codes == dense.codes).all()


def test_one_prefix_for_all_slots(index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, slots=3, beams=2)
    beams = session.start(prefixes=np.broadcast_to(np.array([0, 3]), (3, 2)), prefix_lengths=[0, 1, 2])
    assert beams.level.tolist() == [0, 1, 2] and beams.live.tolist() == [1, 1, 1]
    assert session.items().sids[2, 0].tolist() == [0, 3]
    assert session.start(prefixes=[(), (), ()]).level.tolist() == [0, 0, 0]
    with pytest.raises(sidbeam.InvalidArgument, match="prefixes has 0 elements, expected at least 1"):
        session.start(prefixes=np.zeros((3, 0), np.int32), prefix_lengths=[0, 1, 0])


def test_nan_flags_its_own_slot(index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, slots=2, beams=2)
    session.start()
    x = np.zeros((2, 2, 4), np.float32)
    x[1] = np.nan
    beams = session.step(x)
    assert beams.errors.tolist() == [0, sidbeam.SlotError.BAD_ROW]
    assert beams.live.tolist() == [2, 0]
    assert session.start([1]).errors.tolist() == [0, 0]


def test_a_bad_log_sum_exp_has_a_flag_of_its_own(index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, slots=3, beams=2)
    session.start()
    lse = np.full((3, 2), 5, np.float32)
    lse[1], lse[2] = np.nan, np.inf
    beams = session.step(np.zeros((3, 2, 4), np.float32), lse=lse)
    assert beams.errors.tolist() == [0, sidbeam.SlotError.BAD_LSE, sidbeam.SlotError.BAD_LSE]
    assert beams.live.tolist() == [2, 0, 0]
    assert sidbeam.SlotError(3) == sidbeam.SlotError.BAD_ROW | sidbeam.SlotError.BAD_LSE


def capped(row: np.ndarray, inverse_temperature: float, soft_cap: float) -> list[float]:
    """Scores of the codes 0 and 2 after log-softmax, best first."""
    x = row.astype(np.float64)
    y = inverse_temperature * (soft_cap * np.tanh(x / soft_cap) if 0 < soft_cap < np.inf else x)
    return sorted((y - np.log(np.exp(y).sum()))[[0, 2]].tolist(), reverse=True)


ROW = np.array([3, 9, 2, 1], np.float32)


@pytest.mark.parametrize(
    "start, step, expected",
    [
        ({}, {}, [(1, 0), (1, 0)]),
        ({"inverse_temperature": 0.5, "soft_cap": 4}, {}, [(0.5, 4), (0.5, 4)]),
        ({"inverse_temperature": [0.5, 0]}, {}, [(0.5, 0), (1, 0)]),
        ({"soft_cap": np.array([4, 8], np.float32)}, {"inverse_temperature": 2.0}, [(2, 4), (2, 8)]),
        ({"inverse_temperature": [0.5, 2]}, {"inverse_temperature": [0, 0.25]}, [(0.5, 0), (0.25, 0)]),
        ({"soft_cap": 4}, {"soft_cap": [np.inf, 2]}, [(1, 0), (1, 2)]),
        ({"soft_cap": 4}, {"soft_cap": np.inf}, [(1, 0), (1, 0)]),
    ],
    ids=range(7),
)
def test_settings_of_slots_and_steps(index: sidbeam.Index, start: dict, step: dict, expected: list) -> None:
    session = sidbeam.Session(index, slots=2, beams=2)
    session.start(**start)
    beams = session.step(np.broadcast_to(ROW, (2, 2, 4)), **step)
    for slot, (inverse_temperature, soft_cap) in enumerate(expected):
        np.testing.assert_allclose(beams.scores[slot], capped(ROW, inverse_temperature, soft_cap), atol=1e-5)


def test_settings_that_cannot_be(index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, slots=2, beams=2)
    for call, message in (
        (lambda: session.start(inverse_temperature=-1), r"inverse_temperature\[0\] is -1"),
        (lambda: session.start(soft_cap=[1, np.nan]), r"soft_cap\[1\] is -?nan"),
        (lambda: session.start(soft_cap=[1]), r"soft_cap has shape \(1,\), expected \(2,\)"),
        (lambda: session.start(soft_cap="x"), "soft_cap is str, expected"),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            call()
    session.start()
    with pytest.raises(sidbeam.InvalidArgument, match=r"inverse_temperature has shape \(3,\), expected \(2,\)"):
        session.step(np.zeros((2, 2, 4), np.float32), inverse_temperature=np.ones(3, np.float32))


def test_slots_join_leave_and_mix_catalogues(index: sidbeam.Index) -> None:
    other = sidbeam.Index.build([(1, 1), (3, 3)], codes=[4, 4])
    session = sidbeam.Session(index, slots=3, beams=2)
    beams = session.start([2, 0], constraints=[other, None], widths=[1, 2])
    assert beams.level.tolist() == [0, -1, 0]
    session.step(np.zeros((2, 2, 4), np.float32), np.array([2, 0], np.int32))
    assert beams.codes[2].tolist() == [1, -1] and beams.codes[0].tolist() == [0, 2]
    session.stop([2])
    assert beams.level.tolist() == [1, -1, -1]
    stats, counters = session.stats(), session.counters()
    assert (stats.steps, stats.rows_read, stats.rows_bad) == (1, 2, 0) and stats.memory_bytes > 0
    assert (counters["slot_steps"], counters["split_slots"]) == (2, 0) and counters["candidates"] == 4


def test_approximate_strategies(index: sidbeam.Index) -> None:
    every = sidbeam.Index.build([(0, 1), (0, 3), (2, 2)], codes=[4, 4], kinds="trie sorted hash".split())
    for strategy, alive in (("sorted_topk", 2), ("hash_final", 2), ("none", 4)):
        session = sidbeam.Session(every, beams=4, strategy=strategy, top_k=4)
        session.start()
        for _ in range(2):
            session.step(np.zeros((4, 4), np.float32))
        assert session.beams().live[0] >= alive, strategy


def test_item_rows_and_their_limits() -> None:
    index = sidbeam.Index.build([(0,)] * 5 + [(1,)], codes=[2])
    session = sidbeam.Session(index, slots=2, beams=2)
    session.start()
    session.step(np.array([[[1, 0]], [[0, 1]]], np.float32))
    every = session.items()
    assert [every.item_rows_of(i).tolist() for i in (0, 1)] == [[0, 1, 2, 3, 4, 5], [5, 0, 1, 2, 3, 4]]
    assert every.item_rows.shape == (2, 6) and every.truncated.tolist() == [0, 0]
    assert every.item_rows_of(1, 0).tolist() == [5]
    few = session.items(limit=3)
    assert few.item_rows.tolist() == [[0, 1, 2], [5, 0, 1]] and few.truncated.tolist() == [1, 1]
    assert session.items(limit_per_sid=1).item_rows.tolist() == [[0, 5], [5, 0]]
    out = sidbeam.Items(item_rows=np.empty((2, 4), np.int64), offsets=np.empty((2, 3), np.int64))
    assert session.items(out=out).item_rows.tolist() == [[0, 1, 2, 3], [5, 0, 1, 2]]
    session.stop()
    assert session.items().item_rows.shape == (2, 0)


def test_distinct_items_and_their_limits() -> None:
    """SIDs 0 1 2 have items 7 5, 5 8 7, 8 9: rows 0 .. 6."""
    sids, ids = [(0,), (0,), (1,), (1,), (1,), (2,), (2,)], [7, 5, 5, 8, 7, 8, 9]
    index = sidbeam.Index.build(sids, ids=ids, priorities=[1, 0, 2, 1, 0, 1, 0], codes=[3])
    session = sidbeam.Session(index, beams=3)
    session.start()
    session.step(np.array([[2, 1, 3]], np.float32))  # SIDs 2 0 1
    every, distinct = session.items(), session.items(distinct=True)
    assert every.item_rows_of(0).tolist() == [5, 6, 0, 1, 2, 3, 4]
    assert distinct.item_rows_of(0).tolist() == [5, 6, 0, 1] and distinct.offsets.tolist() == [[0, 2, 4, 4]]
    assert session.items(distinct=True, limit=3).truncated.tolist() == [1]
    assert session.items(distinct=True, limit=4).truncated.tolist() == [0]
    rows, offsets, truncated, _ = index.item_rows_of([1, -1, 0, 1], distinct=True)
    assert (rows.tolist(), offsets.tolist(), truncated) == ([2, 3, 4], [0, 3, 3, 3, 3], False)
    rows, offsets, truncated, _ = index.item_rows_of([1, 0], limit_per_sid=1)
    assert (rows.tolist(), offsets.tolist(), truncated) == ([2, 0], [0, 1, 2], True)
    with pytest.raises(sidbeam.InvalidArgument, match=r"ordinals\[0\] is 3, expected -1..2"):
        index.item_rows_of([3])


def test_widths_per_level(index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, slots=2, beams=3)
    beams = session.start(widths=[[1, 3]])
    live = []
    while beams.active.any():
        session.step(np.zeros((2, 3, 4), np.float32))
        live.append(beams.live.tolist())
    assert live == [[1, 1], [2, 2]]  # of the two SIDs that begin alike
    session.start(widths=[[3, 1], [1, 1]])
    session.step(np.zeros((2, 3, 4), np.float32))
    assert beams.live.tolist() == [2, 1]
    for widths, message in (
        ([[1, 2], [3, 4]], r"widths\[1\]\[1\] is 4, expected 1..3"),
        (np.ones((3, 2), np.int32), r"widths has shape \(3, 2\), expected \(2, 2\)"),
        ([[1, 1, 1]], "the number of levels of widths is 3, expected 0..2"),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            session.start(widths=widths)


HOLES = [[5, -1, 2, -1], None]  # of SIDS: no SID begins with 1 or 3


def test_codes_without_a_column(index: sidbeam.Index) -> None:
    """A tokenizer has only the codes that occur; the others are never chosen, and count as -inf."""
    rows = np.full((2, 7), np.nan, np.float32)  # NaN before the first column, where column -1 would be
    rows[:, 1:] = [[8, 9, 3, 9, 9, 4], [0, 1, 1, 4, 2, 9]]
    session = sidbeam.Session(index, beams=2, normalization="level", vocabulary=sidbeam.Vocabulary(maps=HOLES))
    beams = session.start()
    for row in rows:
        session.step(np.broadcast_to(row[1:], (2, 6)))
        assert not beams.errors.any()
    assert session.items().sids.tolist() == [[[0, 3], [0, 1]]]
    expected = log_prob(np.array([4, 3]), 0) + log_prob(rows[1, 1:5], 3)
    np.testing.assert_allclose(beams.scores[0, 0], expected, atol=1e-5)


def log_prob(row: np.ndarray, place: int) -> float:
    x = row.astype(np.float64)
    return float(x[place] - np.log(np.exp(x).sum()))


def test_codes_of_sids_need_a_column(index: sidbeam.Index) -> None:
    message = r"vocabulary.maps\[0\]\[2\] is -1, expected a column, since .* has SIDs with code 2 at level 0"
    vocabulary = sidbeam.Vocabulary(maps=[[5, -1, -1, -1], None])
    for call in (
        lambda: sidbeam.Session(index, vocabulary=vocabulary),
        lambda: sidbeam.ConstraintSet(index, vocabulary=vocabulary),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            call()
    other = sidbeam.Index.build([(1, 1)], codes=[4, 4])
    session = sidbeam.Session(index, vocabulary=sidbeam.Vocabulary(maps=HOLES))
    with pytest.raises(sidbeam.InvalidArgument, match=r"since constraints\[0\] has SIDs with code 1 at level 0"):
        session.start(constraints=other)
    with pytest.raises(sidbeam.InvalidArgument, match=r"maps\[0\]\[3\] is -2, expected a column >= 0, or -1 for none"):
        sidbeam.Session(index, vocabulary=sidbeam.Vocabulary(maps=[[5, -1, 2, -2], None]))
