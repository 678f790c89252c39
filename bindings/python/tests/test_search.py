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
    kept = [
        (float(beams.scores[slot, m]), int(beams.parents[slot, m]), int(beams.tokens[slot, m])) for m in range(live)
    ]
    assert live == min(search.width, len(expected))
    if exact:
        assert kept == expected[:live]
    else:
        score_of = {(parent, token): score for score, parent, token in expected}
        for place, (score, parent, token) in enumerate(kept):
            assert score == pytest.approx(score_of[parent, token], abs=2e-4)
            assert score == pytest.approx(expected[place][0], abs=2e-4)
        assert kept == sorted(kept, key=lambda c: -c[0])
    assert (beams.tokens[slot, live:] == -1).all() and (beams.scores[slot, live:] == -np.inf).all()
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
            rows = items.rows_of(slot, m)
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
    columns = catalogue.width() + int(rng.integers(0, 5))
    with sidbeam.Session(
        index,
        slots=slots,
        beams=width,
        strategy=strategy,
        normalization=normalization,
        vocabulary=vocabulary_of(catalogue),
    ) as session:
        beams = session.start(widths=widths)
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


def test_nan_flags_its_own_slot(index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, slots=2, beams=2)
    session.start()
    x = np.zeros((2, 2, 4), np.float32)
    x[1] = np.nan
    beams = session.step(x)
    assert beams.errors.tolist() == [sidbeam.SlotError.OK, sidbeam.SlotError.BAD_ROW]
    assert beams.live.tolist() == [2, 0]
    assert session.start([1]).errors.tolist() == [0, 0]


def test_slots_join_leave_and_mix_catalogues(index: sidbeam.Index) -> None:
    other = sidbeam.Index.build([(1, 1), (3, 3)], codes=[4, 4])
    session = sidbeam.Session(index, slots=3, beams=2)
    beams = session.start([2, 0], constraints=[other, None], widths=[1, 2])
    assert beams.level.tolist() == [0, -1, 0]
    session.step(np.zeros((2, 2, 4), np.float32), np.array([2, 0], np.int32))
    assert beams.tokens[2].tolist() == [1, -1] and beams.tokens[0].tolist() == [0, 2]
    session.stop([2])
    assert beams.level.tolist() == [1, -1, -1]
    stats = session.stats()
    assert (stats.steps, stats.slot_steps) == (1, 2) and stats.memory_bytes > 0


def test_approximate_strategies(index: sidbeam.Index) -> None:
    every = sidbeam.Index.build([(0, 1), (0, 3), (2, 2)], codes=[4, 4], kinds="trie sorted hash".split())
    for strategy, alive in (("sorted_topk", 2), ("hash_final", 2), ("none", 4)):
        session = sidbeam.Session(every, beams=4, strategy=strategy, top_k=4)
        session.start()
        for _ in range(2):
            session.step(np.zeros((4, 4), np.float32))
        assert session.beams().live[0] >= alive, strategy
