"""The stateless forms against the oracle. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidbeam
from conftest import build, catalogues, vocabulary_of
from oracle import Catalogue


def prefixes_of(catalogue: Catalogue, rng: np.random.Generator, count: int) -> list[tuple[int, ...]]:
    """Some prefixes that exist, some that do not."""
    known = sorted(catalogue.prefixes)
    result = [known[rng.integers(0, len(known))] for _ in range(count)]
    for i in range(0, count, 3):
        result[i] = tuple(int(rng.integers(0, c)) for c in catalogue.codes[: rng.integers(0, len(catalogue.codes) + 1)])
    return result


@given(catalogues(), st.integers(0, 2**32), st.sampled_from(["full", "level", "valid", "none"]))
def test_mask_bitmask_topk(catalogue: Catalogue, seed: int, normalization: str) -> None:
    rng = np.random.default_rng(seed)
    constraints = sidbeam.ConstraintSet(build(catalogue), vocabulary=vocabulary_of(catalogue))
    prefixes = prefixes_of(catalogue, rng, 6)
    states = constraints.prefixes(prefixes)
    assert [s >= 0 for s in states.tolist()] == [p in catalogue.prefixes for p in prefixes]
    columns = constraints.columns + 3
    logits = rng.normal(0, 2, (6, columns)).astype(np.float32)
    top = constraints.topk(logits, states, 4, normalization=normalization)
    masked = constraints.mask(logits.copy(), states)
    words = constraints.bitmask(states, columns=columns)
    bits = (words.view(np.uint32)[:, np.arange(columns) // 32] >> (np.arange(columns) % 32)) & 1
    for i, prefix in enumerate(prefixes):
        valid = {catalogue.column(len(prefix), t) for t in catalogue.children(prefix)}
        assert set(np.flatnonzero(bits[i]).tolist()) == valid
        assert set(np.flatnonzero(masked[i] > -np.inf).tolist()) == valid
        scores = catalogue.log_probs(logits[i], prefix, normalization)
        expected = sorted(scores.items(), key=lambda c: (-c[1], c[0]))[:4]
        assert [t for t in top.codes[i].tolist() if t >= 0] == [t for t, _ in expected]
        np.testing.assert_allclose(top.log_probs[i, : len(expected)], [s for _, s in expected], atol=2e-4)
    check_next(catalogue, constraints, prefixes, states, top)


def test_catalogues_of_another_codebook_are_refused() -> None:
    books, films, none = (sidbeam.Index.build([(0, 1)], codes=4, codebook=name) for name in ("books", "films", None))
    expected = r"constraints\[2\] is of codebook 'films', expected 'books', that of constraints\[1\]"
    with pytest.raises(sidbeam.InvalidArgument, match=expected):
        sidbeam.ConstraintSet([none, books, films])
    sidbeam.ConstraintSet([none, books])
    with sidbeam.Session(books, beams=2, slots=2) as session:
        expected = r"constraints\[1\] is of codebook 'films', expected 'books', that of the session's constraint"
        with pytest.raises(sidbeam.InvalidArgument, match=expected):
            session.start(constraints=[none, films])
        session.start(constraints=[none, books])


def check_next(
    catalogue: Catalogue,
    constraints: sidbeam.ConstraintSet,
    prefixes: list[tuple[int, ...]],
    states: np.ndarray,
    top: sidbeam.TopK,
) -> None:
    """The states of topk, of advance and of the longer prefixes are the same."""
    parents, place = np.nonzero(top.codes >= 0)
    codes = np.ascontiguousarray(top.codes[parents, place])
    after = constraints.advance(states, codes, parents=parents)
    assert (after == top.states[parents, place]).all() and (after >= 0).all()
    plain = [i for i, t in enumerate(codes) if t < catalogue.codes[len(prefixes[parents[i]])]]
    longer = [(*prefixes[parents[i]], int(codes[i])) for i in plain]
    if longer:
        assert (constraints.prefixes(longer) == after[plain]).all()


def test_rows_follow_their_own_catalogue(index: sidbeam.Index) -> None:
    other = sidbeam.Index.build([(1, 1)], codes=[4, 4])
    constraints = sidbeam.ConstraintSet([index, other])
    which = np.array([1, 0], np.int32)
    states = constraints.prefixes([(), ()], which=which)
    assert constraints.bitmask(states, which=which).ravel().tolist() == [0b0010, 0b0101]


def test_impossible_codes_are_dead(index: sidbeam.Index) -> None:
    constraints = sidbeam.ConstraintSet(index)
    states = constraints.prefixes([(0,), (0,), (1,)])
    assert (constraints.advance(states, np.array([2, 1, 1], np.int32)) >= 0).tolist() == [False, True, False]


def test_outputs_of_the_caller(index: sidbeam.Index) -> None:
    constraints = sidbeam.ConstraintSet(index)
    out = np.empty(2, np.int64)
    assert constraints.prefixes([(0,), (2,)], out=out) is out
    words = np.zeros((2, 3), np.int32)
    assert constraints.bitmask(out, out=words) is words and words[:, 0].tolist() == [0b1010, 0b0100]
    top = sidbeam.TopK(np.empty((2, 1), np.int32), np.empty((2, 1), np.float32), None)
    got = constraints.topk(np.zeros((2, 4), np.float32), out, 1, out=top)
    assert got.codes is top.codes and got.states is None and top.codes.ravel().tolist() == [1, 2]
    with pytest.raises(sidbeam.InvalidArgument, match=r"out has shape \(3,\), expected \(2,\)"):
        constraints.prefixes([(0,), (2,)], out=np.empty(3, np.int64))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint16])
def test_mask_in_every_dtype(index: sidbeam.Index, dtype: type) -> None:
    constraints = sidbeam.ConstraintSet(index)
    logits = np.zeros((1, 4), dtype)
    constraints.mask(logits, np.zeros(1, np.int64), dtype="bf16" if dtype == np.uint16 else None)
    infinity = 0xFF80 if dtype == np.uint16 else -np.inf
    assert logits.tolist() == [[0, infinity, 0, infinity]]
