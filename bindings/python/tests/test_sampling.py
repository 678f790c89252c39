"""Draws, stochastic beams and DISC: their laws on a small catalogue, and which numbers they depend on.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sidbeam
from conftest import SIDS

# Of prefixes (), (0) and (2): the prefix (0) has little valid mass after it, (2) much.
ROWS = {(): [1.0, 2.0, 1.0, 0.0], (0,): [3.0, 0.5, 2.5, 0.0], (2,): [-1.0, -1.0, 2.0, 0.0]}


def model(prefixes: np.ndarray) -> np.ndarray:
    """Logits [S, M, 4] of the codes so far [S, M, level]."""
    rows = [[ROWS.get(tuple(codes), [0.0] * 4) for codes in slot] for slot in prefixes.tolist()]
    return np.array(rows, np.float32)


def law() -> tuple[np.ndarray, np.ndarray]:
    """P and x of the three SIDs, by enumeration."""
    probs, masses = [], []
    for sid in SIDS:
        p = x = 1.0
        for level, code in enumerate(sid):
            row = np.exp(np.array(ROWS[sid[:level]]))
            row /= row.sum()
            p *= row[code]
            x *= row[sorted({other[level] for other in SIDS if other[:level] == sid[:level]})].sum()
        probs.append(p)
        masses.append(x)
    return np.array(probs), np.array(masses)


def chi_square(ordinals: np.ndarray, expected: np.ndarray) -> float:
    counts = np.bincount(ordinals.ravel(), minlength=len(expected))
    wanted = expected * ordinals.size
    return float(((counts - wanted) ** 2 / wanted).sum())


BOUND = 18.4  # 1e-4 of chi-square with two degrees of freedom


@pytest.fixture
def sampler(index: sidbeam.Index) -> sidbeam.Session:
    return sidbeam.Session(index, slots=2, beams=500, mode="sample")


def test_plain_sampling_draws_by_p_over_x_and_disc_by_p(sampler: sidbeam.Session) -> None:
    p, x = law()
    plain, exact = p / x, p / p.sum()
    assert plain.sum() == pytest.approx(1)
    drawn = sampler.sample(model, seed=11)
    assert drawn.ordinals.shape == (2, 500)
    assert chi_square(drawn.ordinals, plain) < BOUND < chi_square(drawn.ordinals, exact)
    np.testing.assert_allclose(drawn.log_probs, np.log(p)[drawn.ordinals], atol=1e-5)
    np.testing.assert_allclose(drawn.log_masses, np.log(x)[drawn.ordinals], atol=1e-5)
    found = sidbeam.disc(sampler, model, seed=11, results=2000, rounds=16)
    assert found.ordinals.shape == (2, 2000)
    assert chi_square(found.ordinals, exact) < BOUND < chi_square(found.ordinals, plain)
    rejected = 1 - p.sum()
    mean = (1 - rejected**16) / (1 - rejected) + 16 * rejected**16
    assert found.draws_used.mean() == pytest.approx(mean, rel=0.1)


def test_disc_refuses_a_session_whose_x_says_nothing(index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, beams=4, mode="sample", normalization="valid")
    with pytest.raises(sidbeam.InvalidArgument, match="session.normalization is 'valid', expected 'full' or 'level'"):
        sidbeam.disc(session, model, seed=1)
    assert session.stats().steps == 0


def test_disc_of_log_probabilities_is_that_of_logits(sampler: sidbeam.Session, index: sidbeam.Index) -> None:
    def log_probs(prefixes: np.ndarray) -> np.ndarray:
        logits = model(prefixes)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    session = sidbeam.Session(index, slots=2, beams=500, mode="sample", normalization="none")
    found = sidbeam.disc(session, log_probs, seed=11, results=300)
    assert (found.draws == sidbeam.disc(sampler, model, seed=11, results=300).draws).all()
    with pytest.raises(sidbeam.InvalidArgument, match="log_masses"):
        sidbeam.disc(session, model, seed=11)  # of which no row sums up to 1


def test_results_tell_what_they_are(sampler: sidbeam.Session, index: sidbeam.Index) -> None:
    p, x = law()
    found = sidbeam.disc(sampler, model, seed=[3, 4], results=5, rounds=2, side_by_side=3)
    assert found.items is not None and found.accepted.dtype == bool
    for slot in range(2):
        for k in range(5):
            ordinal = int(found.ordinals[slot, k])
            assert tuple(found.items.sids[slot, k, : found.items.lengths[slot, k]].tolist()) == SIDS[ordinal]
            assert found.items.item_rows_of(slot, k).tolist() == [ordinal]
            assert found.log_probs[slot, k] == pytest.approx(math.log(p[ordinal]), abs=1e-5)
            assert found.log_masses[slot, k] == pytest.approx(math.log(x[ordinal]), abs=1e-5)
    assert (found.draws_used <= found.rows_run).all() and (found.draws_used[~found.accepted] == 4).all()


@pytest.mark.parametrize("slots,beams", [(1, 1), (3, 7), (2, 64)])
def test_draws_depend_on_seed_request_and_number_alone(
    sampler: sidbeam.Session, index: sidbeam.Index, slots: int, beams: int
) -> None:
    wide = sampler.sample(model, seed=-5, requests=[8, 9])
    results = sidbeam.disc(sampler, model, seed=-5, requests=[8, 9], results=20)
    session = sidbeam.Session(index, slots=slots, beams=beams, mode="sample")
    few = session.sample(model, seed=-5, requests=9)
    numbers = np.arange(beams) + 100
    later = session.sample(model, seed=-5, requests=9, draws=np.tile(numbers, (slots, 1)))
    again = sidbeam.disc(session, model, seed=-5, requests=9, results=20, side_by_side=2)
    for slot in range(slots):
        assert few.ordinals[slot].tolist() == wide.ordinals[1, :beams].tolist()
        assert later.ordinals[slot].tolist() == wide.ordinals[1, numbers].tolist()
        assert again.ordinals[slot].tolist() == results.ordinals[1].tolist()
        assert again.draws[slot].tolist() == results.draws[1].tolist()
    assert wide.ordinals[0].tolist() != wide.ordinals[1].tolist()
    assert sampler.sample(model, seed=-4, requests=9).ordinals[0].tolist() != wide.ordinals[1].tolist()


def test_fewer_draws_than_beams_are_a_width(sampler: sidbeam.Session) -> None:
    whole = sampler.sample(model, seed=1).ordinals
    some = sampler.sample(model, seed=1, draws=[[4, 2, 0], [1, 1, 1]])
    assert some.ordinals[0, :3].tolist() == whole[0, [4, 2, 0]].tolist()
    assert some.ordinals[1, :3].tolist() == whole[1, [1, 1, 1]].tolist()
    assert (some.ordinals[:, 3:] == -1).all() and (some.log_probs[:, 3:] == -np.inf).all()
    assert sampler.beams().live.tolist() == [3, 3]


def test_truncation_comes_before_the_mask(sampler: sidbeam.Session) -> None:
    """The best code of the beginning is 1, which no SID has: top-k of 1 leaves nothing."""
    dead = sampler.sample(model, seed=1, top_k=[1, 0])
    assert (dead.ordinals[0] == -1).all() and (dead.log_masses[0] == -np.inf).all() and (dead.ordinals[1] >= 0).all()
    found = sidbeam.disc(sampler, model, seed=1, top_k=[1, 0], results=3)
    assert found.items is not None
    assert found.ordinals[0].tolist() == [-1] * 3 and not found.accepted[0].any() and (found.items.sids[0] == -1).all()
    assert found.ordinals[1].min() >= 0
    assert (sampler.sample(model, seed=1, top_p=0.3).ordinals == -1).all()
    cold = sampler.sample(model, seed=1, inverse_temperature=[50, 1])
    assert set(cold.ordinals[0].tolist()) == {0, 2} and set(cold.ordinals[1].tolist()) == {0, 1, 2}


def test_disc_without_replacement_repeats_nothing(sampler: sidbeam.Session) -> None:
    found = sidbeam.disc(sampler, model, seed=2, results=4, without_replacement=True, attempts=200)
    for slot in range(2):
        assert sorted(found.ordinals[slot, :3].tolist()) == [0, 1, 2]  # there is no fourth
        assert found.ordinals[slot, 3] == -1 and found.log_probs[slot, 3] == -np.inf


def test_a_prefix_without_items_gives_dead_results(sampler: sidbeam.Session) -> None:
    found = sidbeam.disc(sampler, model, seed=2, results=3, prefixes=[[1], [2]])
    assert (found.ordinals[0] == -1).all() and (found.ordinals[1] == 2).all()


def test_steps_may_be_given_instead_of_a_model(sampler: sidbeam.Session) -> None:
    rows = np.zeros((2, 2, 1, 4), np.float32)  # by step; one row for all draws
    shared = [np.broadcast_to(step, (2, 500, 4)) for step in rows]
    drawn = sampler.sample(shared, seed=1)
    assert set(drawn.ordinals.ravel().tolist()) == {0, 1, 2}
    with pytest.raises(sidbeam.InvalidArgument, match="logits has 1 steps, expected another"):
        sampler.sample(shared[:1], seed=1)


def test_stochastic_beams_are_different_sids_by_the_law_of_plain_sampling(index: sidbeam.Index) -> None:
    p, x = law()
    session = sidbeam.Session(index, slots=400, beams=2, mode="stochastic")
    drawn = session.sample(model, seed=21)
    assert drawn.perturbed is not None and drawn.log_inclusions is not None and drawn.thresholds is not None
    assert (drawn.ordinals[:, 0] != drawn.ordinals[:, 1]).all()
    assert (np.diff(drawn.perturbed, axis=1) <= 0).all() and (drawn.thresholds[:, None] <= drawn.perturbed).all()
    assert chi_square(drawn.ordinals[:, 0], p / x) < BOUND  # the first is a draw
    np.testing.assert_allclose(drawn.log_probs, np.log(p / x)[drawn.ordinals], atol=1e-5)
    inclusion = -np.expm1(-np.exp(drawn.log_probs - drawn.thresholds[:, None]))
    np.testing.assert_allclose(drawn.log_inclusions, np.log(inclusion), atol=1e-4)
    # Horvitz and Thompson: the mass of the catalogue, each SID corrected by its x.
    estimates = np.exp(drawn.log_probs + drawn.log_masses - drawn.log_inclusions).sum(1)
    assert estimates.mean() == pytest.approx(p.sum(), rel=0.1)


def test_stochastic_beams_without_noise_are_the_search(index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, beams=2, mode="stochastic")
    drawn = session.sample(model, seed=1, noise_scale=0)
    search = sidbeam.Session(index, beams=2, normalization="valid")
    search.start()
    while search.beams().active[0]:
        search.step(model(search._codes()))
    assert drawn.ordinals.tolist() == search.items().ordinals.tolist()
    assert drawn.log_probs.tobytes() == search.beams().scores.tobytes()


def test_views_are_those_of_the_mode(index: sidbeam.Index) -> None:
    names = ("log_masses", "perturbed", "log_inclusions", "thresholds")
    for mode, there in (("search", ()), ("sample", names[:1]), (sidbeam.Mode.STOCHASTIC, names)):
        beams = sidbeam.Session(index, beams=2, mode=mode).beams()
        assert [name for name in names if getattr(beams, name) is not None] == list(there)


def test_the_stateless_form_draws_as_a_session_does(index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, beams=5, mode="sample")
    drawn = session.sample(model, seed=77, requests=3, top_p=0.9)
    constraints = sidbeam.ConstraintSet(index)
    states, prefixes = np.zeros(5, np.int64), np.zeros((1, 5, 0), np.int32)
    log_probs = np.zeros(5, np.float32)
    for _ in range(2):
        one = constraints.sample(model(prefixes)[0], states, seeds=77, requests=3, draws=np.arange(5), top_p=0.9)
        prefixes = np.concatenate([prefixes, one.codes[None, :, None]], axis=2)
        states, log_probs = one.states, log_probs + one.log_probs
    dead = (prefixes[0] < 0).any(1)
    assert np.where(dead[:, None], -1, prefixes[0]).tolist() == drawn.items.sids[0].tolist()
    assert 0 < dead.sum() < 5
    np.testing.assert_allclose(log_probs, drawn.log_probs[0], rtol=1e-6)
    out = sidbeam.Sampled(*(np.zeros(5, t) for t in (np.int32, np.float32, np.float32, np.int64)))
    states = np.array([0, 0, -1, 0, 0])
    assert constraints.sample(model(prefixes[:, :, :0])[0], states, seeds=1, requests=2, out=out).codes is out.codes
    assert out.codes[2] == -1 and out.log_probs[2] == -np.inf and out.states[2] == -1 and len({*out.codes[[0, 1]]}) == 1


@pytest.mark.parametrize(
    "arguments,message",
    [
        ({}, 'seeds and requests are None, expected both in mode "sample"'),
        ({"seeds": 1}, "requests is None"),
        ({"seeds": 1.5, "requests": 0}, "seeds has dtype float64, expected int64"),
        ({"seeds": "1", "requests": 0}, "seeds is str, expected an array or a list"),
        ({"seeds": 2**63, "requests": 0}, "seeds has values out of the range of int64"),
        ({"seeds": [1, 2, 3], "requests": 0}, r"seeds has shape \(3,\), expected \(2,\)"),
        ({"seeds": 1, "requests": 0, "top_p": 0}, r"top_p\[0\] is 0, expected a number above 0 and at most 1"),
        ({"seeds": 1, "requests": 0, "top_p": [1, 1.5]}, r"top_p\[1\] is 1.5"),
        ({"seeds": 1, "requests": 0, "top_p": math.nan}, r"top_p\[0\] is nan"),
        ({"seeds": 1, "requests": 0, "top_k": -1}, r"top_k\[0\] is -1, expected at least 1, or 0 for none"),
        ({"seeds": 1, "requests": 0, "noise_scale": 1}, 'noise_scale is given, expected None in mode "sample"'),
        ({"seeds": 1, "requests": 0, "draws": [0, 1]}, r"draws has shape \(2,\), expected \(2, 1 .. 500\)"),
        ({"seeds": 1, "requests": 0, "draws": np.zeros((2, 501))}, r"draws has dtype float64, expected int64"),
        ({"seeds": 1, "requests": 0, "draws": np.zeros((2, 501), int)}, r"draws has shape \(2, 501\)"),
        ({"seeds": 1, "requests": 0, "draws": [[0], [1]], "widths": [1, 2]}, r"widths is \[1, 2\], expected 1 .. 1"),
        ({"seeds": 1, "requests": 0, "draws": [[0], [1]], "widths": 0}, r"widths is \[0, 0\], expected 1 .. 1"),
        ({"seeds": 1, "requests": 0, "draws": [[0], [-1]]}, r"draws\[1\]\[0\] is -1, expected 0"),
        ({"seeds": 1, "requests": 0, "inverse_temperature": -1}, "inverse_temperature"),
        ({"seeds": 1, "requests": 0, "inverse_temperature": math.nan}, "inverse_temperature"),
    ],
)
def test_starts_that_are_refused(sampler: sidbeam.Session, arguments: dict[str, Any], message: str) -> None:
    before = sampler.sample(model, seed=6).ordinals
    codes = sampler.beams().codes.copy()
    with pytest.raises(sidbeam.InvalidArgument, match=message):
        sampler.start(**arguments)
    assert (sampler.beams().codes == codes).all()
    assert (sampler.sample(model, seed=6).ordinals == before).all()


def test_what_draws_nothing_takes_no_seed(index: sidbeam.Index, session: sidbeam.Session) -> None:
    with pytest.raises(sidbeam.InvalidArgument, match='seeds and requests are given, expected None in mode "search"'):
        session.start(seeds=1, requests=0)
    with pytest.raises(sidbeam.InvalidArgument, match="Mode is 'draw', expected one of 'search', 'sample'"):
        sidbeam.Session(index, mode="draw")
    everything = sidbeam.Index.build(SIDS, codes=[4, 4], kinds=["trie", "sorted", "hash"])
    with pytest.raises(sidbeam.SidbeamError, match="hash_final"):
        sidbeam.Session(everything, strategy="hash_final", mode="sample")
    with pytest.raises(sidbeam.InvalidArgument, match=r"seeds has shape \(2,\), expected \(1,\)"):
        sidbeam.ConstraintSet(index).sample(np.zeros((1, 4), np.float32), [0], seeds=[1, 2], requests=0)


def test_a_disc_checks_what_it_is_given() -> None:
    for arguments, message in (
        ({"rounds": 0}, "rounds is 0"),
        ({"results": 0}, "results is 0, expected at least 1"),
        ({"rounds": 2, "side_by_side": 5}, "side_by_side is 5"),
        ({"attempts": -1, "without_replacement": True}, "attempts is -1"),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            sidbeam.Disc(seed=1, **arguments)
    with pytest.raises(TypeError, match="seed is float, expected an integer"):
        sidbeam.Disc(seed=1.0)  # type: ignore[arg-type]
    with pytest.raises(sidbeam.InvalidArgument, match="seed is out of range, expected an integer of 64 bits"):
        sidbeam.Disc(seed=2**63)
    disc = sidbeam.Disc(2, seed=1, rounds=1)
    with pytest.raises(sidbeam.BadState):
        disc.results()
    first = disc.next(10)
    assert first.tolist() == [0, 2]
    with pytest.raises(sidbeam.InvalidArgument, match=r"log_masses has shape \(1,\), expected \(2,\)"):
        disc.add(first, [0, 0], [-1, -1], [0])
    with pytest.raises(sidbeam.InvalidArgument, match="handed out"):
        disc.add([1, 0], [0, 0], [-1, -1], [0, 0])
    disc.add(first, [4, 5], [-1, -2], [0, 0])
    assert len(disc.next(10)) == 0
    results = disc.results()
    assert results.ordinals.tolist() == [4, 5] and results.accepted.all() and results.items is None
    disc.close()
    with pytest.raises(sidbeam.BadState, match="disc is closed"):
        disc.next(1)
