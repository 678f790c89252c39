"""Speculation: strict rounds give what plain search with the target gives, relaxed draws follow their laws.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import sidbeam
from conftest import build, vocabulary_of
from oracle import Catalogue


class Host:
    """Two models of one slot or more, which see prefixes through the tree's lists of ancestors alone."""

    def __init__(self, known: Catalogue, seed: int, agree: float) -> None:
        self.known, self.seed, self.agree = known, seed, agree
        self.codes: dict[int, int] = {}  # by place

    def row(self, prefix: tuple[int, ...], draft: bool = False) -> np.ndarray:
        row = np.random.default_rng([self.seed, *prefix]).normal(size=self.known.width() + 1).astype(np.float32)
        if draft:
            other = np.random.default_rng([self.seed, 99, *prefix]).normal(size=len(row)).astype(np.float32)
            row = np.float32(self.agree) * row + np.float32(1 - self.agree) * other
        return row

    def prefixes(self, tree: sidbeam.SpeculationTree) -> list[tuple[int, ...]]:
        self.codes.update(zip(tree.places.tolist(), tree.codes.tolist()))
        return [tuple(self.codes[place] for place in path if place >= 0) for path in tree.ancestors.tolist()]

    def target(self, tree: sidbeam.SpeculationTree) -> np.ndarray:
        return np.array([self.row(prefix) for prefix in self.prefixes(tree)])

    def draft(self, tree: sidbeam.SpeculationTree) -> np.ndarray:
        rows = np.array([self.row(prefix, draft=True) for prefix in self.prefixes(tree)])
        return rows if self.seed % 2 else rows[np.maximum(tree.draft_nodes, 0)]

    def plain(self, session: sidbeam.Session) -> None:
        while session.beams().active.any():
            sids, lengths = session.items().sids, session.items().lengths
            rows = [[self.row(tuple(s[:n])) for s, n in zip(*slot)] for slot in zip(sids.tolist(), lengths.tolist())]
            session.step(np.array(rows))


def random_catalogue(rng: np.random.Generator, variable: bool) -> Catalogue:
    levels = int(rng.integers(1, 5))
    codes = [int(c) for c in rng.integers(1, 9, levels)]
    lengths = rng.integers(1, levels + 1, 60) if variable else np.full(60, levels)
    sids = [tuple(int(rng.integers(0, codes[l])) for l in range(n)) for n in lengths]
    known = Catalogue(sids[: int(rng.integers(1, 61))], codes, variable, [int(o) for o in rng.integers(0, 5, levels)])
    known.end_column = known.width() if variable else -1
    return known


@pytest.mark.parametrize("mode", ["search", "stochastic"])
@pytest.mark.parametrize("seed", range(30))
def test_strict_rounds_are_plain_search_whatever_the_draft_says(mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = random_catalogue(rng, variable=bool(seed % 3 == 0))
    index, host = build(known), Host(known, seed, agree=float(rng.choice([0, 0.9, 1])))
    shape = dict(slots=2, mode=mode, vocabulary=vocabulary_of(known))
    beams = int(rng.integers(1, 8))
    width = beams + int(rng.integers(0, 8))
    sampling = dict(seeds=seed, requests=[3, 4]) if mode == "stochastic" else {}
    alone, target, draft = (sidbeam.Session(index, beams=n, **shape) for n in (beams, beams, width))
    for session in (alone, target, draft):
        session.start(**sampling)
    host.plain(alone)
    speculation = sidbeam.Speculation(target, draft, draft_levels=int(rng.integers(1, 4)))
    stats = speculation.run(host.target, host.draft)
    for name in ("codes", "scores", "live", "level", "perturbed", "thresholds"):
        got, expected = getattr(target.beams(), name), getattr(alone.beams(), name)
        assert (got is None) == (expected is None)
        assert got is None or (got.tobytes() == expected.tobytes() and got.shape == expected.shape), name
    assert target.items().ordinals.tolist() == alone.items().ordinals.tolist()
    assert stats == speculation.stats() and stats.rounds <= stats.levels and stats.nodes >= stats.rounds
    assert stats.accepted_levels <= stats.drafted_levels and speculation.begin() == 0
    if host.agree == 1:
        assert stats.accepted_levels == stats.drafted_levels


SIDS = [(0, 1, 2), (0, 3, 0), (2, 2, 1), (3, 0, 0)]


def sessions(index: Any, *beams: int, **options: Any) -> list[sidbeam.Session]:
    made = [sidbeam.Session(index, beams=n, normalization="none", **options) for n in beams]
    for session in made:
        session.start()
    return made


@pytest.fixture
def three() -> sidbeam.Index:
    return sidbeam.Index.build(SIDS, codes=4)


ROW = np.array([-1, -2, -4, -8], np.float32)


def test_a_round_by_hand(three: sidbeam.Index) -> None:
    target, draft = sessions(three, 2, 3)
    speculation = sidbeam.Speculation(target, draft, draft_levels=2)
    assert len(speculation.tree().tokens) == 0
    assert speculation.begin() == 1
    tree = speculation.tree()
    assert (tree.tokens.tolist(), tree.draft_slots.tolist(), tree.draft_nodes.tolist()) == ([-1], [0], [[0, -1, -1]])
    for _ in range(2):
        draft.step(np.broadcast_to(ROW, (1, 3, 4)), tree.draft_slots)
        speculation.add()
        tree = speculation.tree()
    # Of the codes 0, 2, 3; of (0,1), (2,2), (0,3): what is left of the first codes' best.
    assert len(tree.draft_slots) == 0 and tree.draft_nodes.shape == (0, 3)
    assert tree.slots.tolist() == [0] and tree.node_offsets.tolist() == [0, 7]
    assert tree.tokens.tolist() == [-1, 0, 2, 3, 1, 2, 3] and tree.codes.tolist() == tree.tokens.tolist()
    assert tree.positions.tolist() == [-1, 0, 0, 0, 1, 1, 1] and tree.parents.tolist() == [-1, 0, 0, 0, 1, 2, 1]
    assert tree.places.tolist() == [-1, 1, 2, 3, 4, 5, 6] and not tree.places.flags.writeable
    assert tree.ancestors.tolist()[4:] == [[1, 4, -1], [2, 5, -1], [1, 6, -1]]
    mask = speculation.mask()
    assert mask.dtype == bool and mask.shape == (7, tree.place_stride)
    for node, path in enumerate(tree.ancestors.tolist()):
        assert np.flatnonzero(mask[node]).tolist() == sorted(place for place in path if place >= 0)
    assert speculation.mask(20).shape == (7, 20)
    speculation.verify(np.broadcast_to(ROW, (7, 4)))
    assert target.beams().level.tolist() == [3] and speculation.begin() == 0
    assert target.beams().scores.tolist() == [[-7, -10]]
    assert speculation.stats() == sidbeam.SpeculationStats(1, 3, 2, 2, 7)


def test_views_keep_the_memory_and_closed_handles_are_refused(three: sidbeam.Index) -> None:
    target, draft = sessions(three, 2, 3)
    speculation = sidbeam.Speculation(target, draft, draft_levels=2)
    speculation.begin()
    tree = speculation.tree()
    draft.close()
    with pytest.raises(sidbeam.BadState, match="session is closed"):
        speculation.add()
    with pytest.raises(sidbeam.BadState, match="session is closed"):
        speculation.begin()
    speculation.close()
    for call in (speculation.begin, speculation.tree, speculation.add, speculation.stats):
        with pytest.raises(sidbeam.BadState, match="speculation is closed"):
            call()
    with pytest.raises(sidbeam.BadState, match="speculation is closed"):
        speculation.verify(np.zeros((1, 4), np.float32))
    with pytest.raises(sidbeam.BadState, match="session is closed"):
        sidbeam.Speculation(target, draft)
    del speculation, draft
    gc.collect()
    assert tree.tokens.tolist() == [-1] and tree.draft_nodes.tolist() == [[0, -1, -1]]
    target.step(np.broadcast_to(ROW, (1, 2, 4)))  # is left as it was


def test_sessions_that_do_not_fit_are_refused(three: sidbeam.Index) -> None:
    target, draft = sessions(three, 2, 3)

    def refused(what: str, a: Any = target, b: Any = draft, **options: Any) -> None:
        with pytest.raises(sidbeam.InvalidArgument, match=what):
            sidbeam.Speculation(a, b, **options)

    refused("draft is target", target, target)
    refused("draft has 2 beams, expected at least 3", draft, target)
    refused("draft_levels is 0", draft_levels=0)
    refused("draft has slots 2, expected 1", b=sidbeam.Session(three, beams=3, slots=2))
    refused("draft has mode 2, expected 0", b=sidbeam.Session(three, beams=3, mode="stochastic"))
    refused("draft has levels 2, expected 3", b=sidbeam.Session(sidbeam.Index.build([(0, 1)], codes=4), beams=3))
    other = sidbeam.Index.build(SIDS, codes=4)
    speculation = sidbeam.Speculation(target, sidbeam.Session(three, beams=3, normalization="valid"))
    with pytest.raises(sidbeam.BadState, match="slot 0 of the draft is not started"):
        speculation.begin()
    speculation.draft.start(constraints=other)
    with pytest.raises(sidbeam.InvalidArgument, match="slot 0 of the draft follows another constraint"):
        speculation.begin()
    with pytest.raises(sidbeam.InvalidArgument, match="slots"):
        speculation.begin([1])
    assert target.beams().level.tolist() == [0]


def test_rows_for_another_number_of_nodes_and_wrong_steps_are_refused(three: sidbeam.Index) -> None:
    target, draft = sessions(three, 2, 3)
    speculation = sidbeam.Speculation(target, draft, draft_levels=2)

    def refused(what: str, call: Any, error: Any = sidbeam.InvalidArgument) -> None:
        with pytest.raises(error, match=what):
            call()

    refused("no round is under way", lambda: speculation.verify(np.zeros((1, 4), np.float32)), sidbeam.BadState)
    refused("no round is under way", speculation.add, sidbeam.BadState)
    speculation.begin()
    draft.step(np.broadcast_to(ROW, (1, 3, 4)))
    speculation.add()
    rows = np.broadcast_to(ROW, (4, 4))
    refused(r"rows are \[0, 3, ...\], expected \[4, ...\]", lambda: speculation.verify(rows[:3]))
    refused("a logits row per node of the tree", lambda: speculation.verify(rows[None]))
    refused("logits has 3 columns", lambda: speculation.verify(rows[:, :3]))
    refused("lse has 3 elements, expected 4", lambda: speculation.verify(rows, lse=np.zeros(3, np.float32)))
    refused("columns is 14, expected at least 15", lambda: speculation.mask(14))
    draft.step(np.broadcast_to(ROW, (1, 3, 4)))
    draft.step(np.broadcast_to(ROW, (1, 3, 4)))
    refused("slot 0 of the draft is at level 3, expected 1", speculation.add, sidbeam.BadState)
    assert target.beams().level.tolist() == [0]
    speculation.verify(rows)  # the round goes on
    assert target.beams().level.tolist() == [2]


def law(log_probs: np.ndarray, scale: float = 1) -> np.ndarray:
    weights = np.exp(scale * log_probs.astype(float))
    return weights / weights.sum()


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    wanted = expected[expected > 0] * counts.sum()
    assert not counts[expected == 0].any()
    return float(((counts[expected > 0] - wanted) ** 2 / wanted).sum())


def logs(*probabilities: float) -> np.ndarray:
    return np.array([np.log(p) if p > 0 else -np.inf for p in probabilities], np.float32)


TARGET, DRAFT = logs(0.4, 0.3, 0.2, 0.1, 0), logs(0.1, 0.5, 0, 0.2, 0.2)
BOUND = 21.1  # 1e-4 of chi-square with three degrees of freedom


def test_relaxed_draws_with_replacement_follow_the_target() -> None:
    drawn, found = np.zeros(5, int), np.zeros(5, int)
    for request in range(60):
        how = dict(seed=7, request=request, level=1, inverse_temperature=0.5)
        drafts = sidbeam.relaxed_draw(DRAFT, 100, **how)
        assert drafts.tolist() == sidbeam.relaxed_draw(DRAFT, 100, **how).tolist()
        beams = sidbeam.relaxed_verify(TARGET, DRAFT, drafts, 100, **how)
        assert beams.live == 100 and beams.goes_on == (beams.accepted == 100)
        drawn += np.bincount(drafts, minlength=5)
        found += np.bincount(beams.extensions, minlength=5)
    assert chi_square(drawn, law(DRAFT, 0.5)) < BOUND and chi_square(found, law(TARGET, 0.5)) < BOUND
    assert chi_square(drawn, law(DRAFT)) > BOUND


def test_relaxed_draws_without_replacement_are_different() -> None:
    accepted = set()
    for request in range(200):
        how = dict(seed=-3, request=request, without_replacement=True)
        drafts = sidbeam.relaxed_draw(DRAFT, 5, **how)
        assert sorted(drafts.tolist()) == [-1, 0, 1, 3, 4]
        beams = sidbeam.relaxed_verify(TARGET, DRAFT, drafts[:3], 3, **how)
        assert beams.live == 3 and len({*beams.extensions.tolist()} - {4, -1}) == 3
        all_there_are = sidbeam.relaxed_verify(TARGET, DRAFT, drafts[:0], 5, **how)
        assert all_there_are.live == 4 and all_there_are.extensions[-1] == -1 and not all_there_are.goes_on
        accepted.add(beams.accepted)
    assert len(accepted) > 1
    sure = sidbeam.relaxed_verify(TARGET, TARGET, [2, 0], 2, seed=1)
    assert sure == sidbeam.RelaxedBeams(sure.extensions, 2, 2, True) and sure.extensions.tolist() == [2, 0]


def test_relaxed_calls_refuse_what_is_no_distribution() -> None:
    def refused(what: str, call: Any, *args: Any, **options: Any) -> None:
        with pytest.raises(sidbeam.InvalidArgument, match=what):
            call(*args, seed=1, **options)

    draw, verify = sidbeam.relaxed_draw, sidbeam.relaxed_verify
    refused(r"log_probs\[1\] is nan", draw, np.array([0, np.nan], np.float32), 1)
    refused("draws is 0", draw, TARGET, 0)
    refused("log_probs has shape", draw, TARGET[None], 1)
    refused("level is 255", draw, TARGET, 1, level=255)
    refused("inverse_temperature is -1", draw, TARGET, 1, inverse_temperature=-1)
    refused("draft has 4 elements, expected 5, as target", verify, TARGET, DRAFT[:4], [0], 1)
    refused(r"drafts\[0\] is 5, expected 0..4", verify, TARGET, DRAFT, [5], 1)
    refused(r"drafts\[0\] is 2, which the draft gives no probability", verify, TARGET, DRAFT, [2], 1)
    refused("the number of drafts is 1, expected 2", verify, TARGET, DRAFT, [0], 2)
    refused(r"drafts\[1\] is 1, which comes before", verify, TARGET, DRAFT, [1, 1], 2, without_replacement=True)
    refused("beams is 0", verify, TARGET, DRAFT, [], 0)
