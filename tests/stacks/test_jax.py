"""sidbeam.jax, and Index.static_arrays() in JAX, against brute force. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import functools
import math
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp

import sidbeam
from conftest import index_of, vocabulary_of
from oracle import BIGRAM_TRAP, DUPLICATES, VARIABLE, Catalogue, beam_search, masked, random_catalogue
from rules_cases import NOTHING, Rules, Shop
from sidbeam import jax as sidbeam_jax

RANDOM = random_catalogue(np.random.default_rng(1), 300, (12, 20, 9), offsets=(3, 15, 35))
FAILS = (ValueError, jax.errors.JaxRuntimeError)  # of a compiled function, of a single operation
FLOATS = [jnp.float32, jnp.bfloat16, jnp.float16]


@pytest.fixture(params=[BIGRAM_TRAP, DUPLICATES, VARIABLE, RANDOM], ids=["bigrams", "duplicates", "variable", "random"])
def catalogue(request) -> Catalogue:
    return request.param


def set_of(*catalogues: Catalogue):
    return sidbeam_jax.ConstraintSet([index_of(c) for c in catalogues], vocabulary=vocabulary_of(catalogues[0]))


def prefixes_of(catalogue: Catalogue) -> list[tuple[int, ...]]:
    """Every prefix of a SID, and one that is none."""
    return sorted(catalogue.prefixes) + [(catalogue.codes[0] - 1,) * len(catalogue.codes)]


def states_of(constraints, prefixes):
    longest = max(map(len, prefixes))
    codes = jnp.array([[*prefix, *[0] * (longest - len(prefix))] for prefix in prefixes])
    return constraints.prefixes(codes, jnp.array([len(prefix) for prefix in prefixes]))


def logits_of(catalogue: Catalogue, *shape: int, dtype=jnp.float32):
    return jax.random.normal(jax.random.key(4), (*shape, catalogue.width())).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.__name__)
def test_mask(catalogue: Catalogue, dtype) -> None:
    constraints, prefixes = set_of(catalogue), prefixes_of(catalogue)
    logits, states = logits_of(catalogue, len(prefixes), dtype=dtype), states_of(constraints, prefixes)
    before = np.asarray(logits, np.float32)
    expected = np.stack([masked(catalogue, row, prefix) for row, prefix in zip(before, prefixes)])
    mask = constraints.mask
    for mask in (mask, jax.jit(mask), jax.vmap(mask), jax.jit(mask, donate_argnums=0)):
        np.testing.assert_array_equal(np.asarray(mask(jnp.copy(logits), states), np.float32), expected)
    out = jax.jit(lambda x, s: (constraints.mask(x, s), x))(logits, states)  # the logits are still wanted: no alias
    np.testing.assert_array_equal(np.asarray(out[1], np.float32), before)
    np.testing.assert_array_equal(np.asarray(out[0], np.float32), expected)


@pytest.mark.parametrize("normalization", ["full", "valid", "none"])
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.__name__)
def test_topk(catalogue: Catalogue, normalization: str, dtype) -> None:
    constraints, prefixes, k = set_of(catalogue), prefixes_of(catalogue), 6
    logits, states = logits_of(catalogue, len(prefixes), dtype=dtype), states_of(constraints, prefixes)
    found = jax.jit(lambda x, s: constraints.topk(x, s, k, normalization=normalization))(logits, states)
    codes, log_probs = np.asarray(found.codes), np.asarray(found.log_probs)
    for row, prefix in enumerate(prefixes):
        expected = catalogue.log_probs(np.asarray(logits[row], np.float64), prefix, normalization)
        best = sorted(expected.items(), key=lambda item: (-item[1], item[0]))[:k]
        kept = codes[row, : len(best)].tolist()
        assert set(kept) <= set(expected) and len(set(kept)) == len(kept)
        np.testing.assert_allclose(log_probs[row, : len(best)], [value for _, value in best], atol=2e-5)
        np.testing.assert_allclose([expected[token] for token in kept], [value for _, value in best], atol=2e-5)
        assert (codes[row, len(best) :] == -1).all() and (log_probs[row, len(best) :] == -math.inf).all()
    after = constraints.advance(jnp.repeat(states, k, axis=0), found.codes.reshape(-1))
    np.testing.assert_array_equal(after, found.states.reshape(-1, 2))


def test_advance(catalogue: Catalogue) -> None:
    constraints = set_of(catalogue)
    longest = max(map(len, catalogue.distinct))
    codes = np.array([sid for sid in catalogue.distinct if len(sid) == longest])
    advance = jax.jit(constraints.advance)
    states = constraints.start(len(codes))
    for level in range(longest):
        order = np.random.default_rng(level).permutation(len(codes))  # rows trade places, as in a beam search
        states = advance(states, codes[order, level], order)
        codes = codes[order]
        np.testing.assert_array_equal(states, states_of(constraints, codes[:, : level + 1].tolist()))
    outside = constraints.advance(constraints.start(2), codes[:2, 0], parents=jnp.array([-1, 2]))
    assert (outside == -1).all()


def test_codes_that_int32_cannot_hold_are_dead() -> None:
    """They are not equal to the code, nor to the -1, in their low halves; without x64 JAX has no such numbers."""
    constraints = set_of(BIGRAM_TRAP)
    with jax.enable_x64(True):
        wrapped = jnp.array([0, 2**32, 2**32 - 1, -(2**32)])
        assert wrapped.dtype == jnp.int64
        after = jax.jit(constraints.advance)(constraints.start(4), wrapped)
    assert (after[:, 0] >= 0).tolist() == [True, False, False, False]
    unsigned = jnp.array([0, 2**32 - 1], jnp.uint32)
    variable = set_of(VARIABLE)
    ended = variable.advance(states_of(variable, [(1,), (1,)]), jnp.full(2, VARIABLE.codes[1]))
    assert (variable.advance(ended, jnp.full(2, -1)) == ended).all() and (ended[:, 0] >= 0).all()
    assert (variable.advance(ended, unsigned)[:, 0] == -1).all()


def test_wrong_dtypes_are_refused() -> None:
    constraints = set_of(BIGRAM_TRAP)
    states = constraints.start(2)
    for name, call in (
        ("states", lambda: constraints.mask(jnp.zeros((2, 5)), states.astype(jnp.float32))),
        ("codes", lambda: constraints.advance(states, jnp.zeros(2))),
        ("which", lambda: constraints.mask(jnp.zeros((2, 5)), states, which=jnp.zeros(2, bool))),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=f"{name} has dtype .*, expected int32"):
            call()


def test_bigrams_are_not_enough() -> None:
    states = states_of(set_of(BIGRAM_TRAP), [(0, 1, 2), (0, 1, 4)])
    assert (states == -1).all(axis=1).tolist() == [False, True]


def test_rows_without_candidates() -> None:
    constraints = set_of(BIGRAM_TRAP)
    states = jnp.array([[-1, -1], [0, 0]])
    logits = jnp.zeros((2, 5)).at[1, jnp.array([0, 3])].set(-math.inf)
    found = constraints.topk(logits, states, 3)
    assert (found.codes == -1).all() and (found.log_probs == -math.inf).all() and (found.states == -1).all()
    assert (constraints.mask(logits, states) == -math.inf).all()


def test_constraints_of_rows() -> None:
    constraints = set_of(BIGRAM_TRAP, Catalogue([(0, 0, 0), (4, 4, 4)], [5, 5, 5]))
    which = jnp.array([[0, 1], [1, 0]])
    out = jax.jit(lambda x, s, w: constraints.mask(x, s, w))(jnp.zeros((2, 2, 5)), constraints.start(2, 2), which)
    allowed = [[set(np.flatnonzero(np.isfinite(row)).tolist()) for row in rows] for rows in np.asarray(out)]
    assert allowed == [[{0, 3}, {0, 4}], [{0, 4}, {0, 3}]]
    best = jax.vmap(lambda x, s, w: constraints.topk(x, s, 2, which=w).codes)
    each = best(jnp.zeros((2, 2, 5)), constraints.start(2, 2), which)
    assert each.tolist() == [[[0, 3], [0, 4]], [[0, 4], [0, 3]]]


@pytest.mark.parametrize("seed", range(3))
def test_rows_under_rules_of_their_own(catalogue: Catalogue, seed: int) -> None:
    """As if the allowed items were all there are; under jit, and under the rules of other requests without a new
    trace."""
    shop, rng, traces = Shop(catalogue, seed), np.random.default_rng(seed), []
    constraints = sidbeam_jax.ConstraintSet(shop.index, vocabulary=shop.vocabulary)

    @jax.jit
    def level(logits, codes, lengths, which):
        traces.append(logits.shape)
        states = constraints.prefixes(codes, lengths, which)
        return constraints.mask(logits, states, which), constraints.topk(logits, states, 3, which=which)

    prefixes, longest = prefixes_of(catalogue), len(catalogue.codes)
    codes = jnp.array([[*prefix, *[0] * (longest - len(prefix))] for prefix in prefixes] * 4)
    lengths = jnp.array([len(prefix) for prefix in prefixes] * 4)
    logits, which = logits_of(catalogue, len(codes)), jnp.repeat(jnp.arange(4), len(prefixes))
    for _ in range(3):
        rules = [NOTHING, Rules(), shop.draw(rng), shop.draw(rng)]
        constraints.follow(shop.index, **shop.arguments(rules))
        found, best = jax.block_until_ready(level(logits, codes, lengths, which))
        for row, (prefix, number) in enumerate(zip(prefixes * 4, which.tolist())):
            left = shop.left(rules[number])
            np.testing.assert_array_equal(found[row], masked(left, np.asarray(logits[row]), prefix))
            scores = left.log_probs(np.asarray(logits[row], np.float64), prefix, "full")
            assert [c for c in best.codes[row].tolist() if c >= 0] == sorted(scores, key=lambda c: -scores[c])[:3]
    assert len(traces) == 1


def test_calls_run_while_the_rules_change() -> None:
    """Each under the old rules or the new ones, whole."""
    shop = Shop(RANDOM)
    low = [item for item, sid in zip(shop.ids, RANDOM.sids) if sid[0] < 6]
    lists = (low, sorted(set(shop.ids) - set(low)))
    constraints = sidbeam_jax.ConstraintSet(shop.index, vocabulary=shop.vocabulary, exclude=low)
    mask = jax.jit(lambda logits: constraints.mask(logits, constraints.start(len(logits))))
    logits = jnp.tile(logits_of(RANDOM, 1), (64, 1))
    rows = [masked(shop.left(Rules(exclude=e)), np.asarray(logits[0]), ()).tobytes() for e in lists]
    found: set[bytes] = set()
    done = threading.Event()

    def call() -> None:
        while not done.is_set():
            found.update(row.tobytes() for row in np.asarray(mask(logits)))

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(20):
        constraints.follow(shop.index, exclude=lists[turn % 2])
        found_now = {row.tobytes() for row in np.asarray(mask(logits))}
        if found_now != {rows[turn % 2]}:
            break
    done.set()
    for thread in threads:
        thread.join()
    assert found_now == {rows[turn % 2]} and turn == 19 and found <= set(rows) and len(set(rows)) == 2


def test_what_follow_refuses() -> None:
    constraints = set_of(BIGRAM_TRAP)
    before = constraints.mask(jnp.zeros((1, 5)), constraints.start(1))
    with pytest.raises(sidbeam.WrongType, match="exclude is int, expected a list of ids"):
        constraints.follow(index_of(BIGRAM_TRAP), exclude=3)
    np.testing.assert_array_equal(constraints.mask(jnp.zeros((1, 5)), constraints.start(1)), before)
    constraints.close()
    with pytest.raises(sidbeam.BadState, match="constraint set is closed"):
        constraints.follow(index_of(BIGRAM_TRAP))


def rows_of(catalogue: Catalogue, prefixes) -> np.ndarray:
    seeds = [hash(prefix) % 2**31 for prefix in prefixes]
    return np.stack([np.random.default_rng(seed).normal(size=catalogue.width()) for seed in seeds]).astype(np.float32)


def search(catalogue: Catalogue, width: int, step) -> list[tuple[tuple[int, ...], float]]:
    """A beam search in JAX of a step (level, logits [M, V], scores [M], carry) -> (parents, codes, scores, carry)."""
    prefixes, scores, carry = [()] * width, jnp.full(width, -math.inf).at[0].set(0.0), None
    for level in range(len(catalogue.codes)):
        parents, codes, scores, carry = step(level, rows_of(catalogue, prefixes), scores, carry)
        prefixes = [(*prefixes[p], t) for p, t in zip(parents.tolist(), codes.tolist())]
    return [(prefix, score) for prefix, score in zip(prefixes, scores.tolist()) if score > -math.inf]


def assert_best(catalogue: Catalogue, width: int, found) -> None:
    best = beam_search(catalogue, lambda prefixes: rows_of(catalogue, prefixes), width)
    assert [prefix for prefix, _ in found] == [beam.prefix for beam in best]
    np.testing.assert_allclose([score for _, score in found], [beam.score for beam in best], atol=1e-4)


@pytest.mark.parametrize("width", [1, 40])
@pytest.mark.parametrize("of", [BIGRAM_TRAP, RANDOM], ids=["bigrams", "random"])
def test_beam_search(of: Catalogue, width: int) -> None:
    """Built of the masked top-K inside jit: as sidbeam.Session would."""
    constraints, k = set_of(of), min(width, max(of.codes))

    @jax.jit
    def level(logits, scores, states):
        found = constraints.topk(logits, states, k)
        total, flat = jax.lax.top_k((scores[:, None] + found.log_probs).reshape(-1), width)
        return flat // k, found.codes.reshape(-1)[flat], total, found.states.reshape(-1, 2)[flat]

    start = constraints.start(width)
    assert_best(
        of,
        width,
        search(of, width, lambda _, logits, scores, states: level(logits, scores, start if states is None else states)),
    )


def static_step(arrays, level: int, log_probs, states, last):
    """STATIC's masking step (Su et al. 2026): candidates (log_probs, codes, next states), each [M, K], of [M, V]."""
    codes = jnp.broadcast_to(jnp.arange(arrays.vocab_size), log_probs.shape)
    if level == 0:
        return jnp.where(arrays.start_mask, log_probs, -math.inf), codes, 1 + codes
    if level == 1 and arrays.dense_levels == 2:
        return jnp.where(arrays.dense_mask[last], log_probs, -math.inf), codes, arrays.dense_states[last]
    slots = arrays.csr_indptr[states][:, None] + jnp.arange(arrays.layer_max_branches[level])
    inside = slots < arrays.csr_indptr[states + 1][:, None]
    edges = arrays.packed_csr[jnp.minimum(slots, len(arrays.packed_csr) - 1)]
    found = jnp.take_along_axis(log_probs, jnp.minimum(edges[..., 0], arrays.vocab_size - 1), axis=1)
    return jnp.where(inside, found, -math.inf), edges[..., 0], edges[..., 1]


@pytest.mark.parametrize("dense_levels", [1, 2])
@pytest.mark.parametrize("width", [3, 40])
@pytest.mark.parametrize(
    "of",
    [BIGRAM_TRAP, DUPLICATES, random_catalogue(np.random.default_rng(8), 400, (9, 9, 9, 9))],
    ids=["bigrams", "duplicates", "random"],
)
def test_static_arrays(of: Catalogue, width: int, dense_levels: int) -> None:
    """What a TPU would run finds the same beams."""
    arrays = index_of(of).static_arrays(dense_levels)
    arrays = type(arrays)(*(jnp.asarray(v) if isinstance(v, np.ndarray) else v for v in vars(arrays).values()))

    @functools.partial(jax.jit, static_argnums=0)
    def step(level, logits, scores, carry):
        states, last = (jnp.zeros((2, width), jnp.int32)) if carry is None else carry
        found, codes, after = static_step(arrays, level, jax.nn.log_softmax(logits), states, last)
        total = (scores[:, None] + found).reshape(-1)
        total = jnp.pad(total, (0, max(0, width - len(total))), constant_values=-math.inf)
        total, flat = jax.lax.top_k(total, width)
        flat = jnp.minimum(flat, found.size - 1)
        codes = codes.reshape(-1)[flat]
        return (
            flat // found.shape[1],
            codes,
            total,
            (after.reshape(-1)[flat], jnp.minimum(codes, arrays.vocab_size - 1)),
        )

    assert_best(of, width, search(of, width, step))


def test_errors() -> None:
    constraints = set_of(RANDOM)
    for call, message in (
        (lambda: constraints.mask(jnp.zeros((2, 3)), constraints.start(2)), "columns"),
        (lambda: constraints.topk(jnp.zeros((2, 44)), constraints.start(3), 2), "states has 6 elements, expected 4"),
        (
            lambda: constraints.topk(jnp.zeros((2, 44), jnp.int32), constraints.start(2), 2),
            "logits have another dtype than float32",
        ),
        (
            lambda: constraints.topk(jnp.zeros((2, 44)), constraints.start(2), 2, which=jnp.zeros(3, int)),
            "which has 3 elements, expected 2",
        ),
        (lambda: constraints.topk(jnp.zeros((2, 44)), constraints.start(2), 2, which=jnp.array([0, 7])), "which"),
    ):
        with pytest.raises(FAILS, match=f"sidbeam: .*{message}"):
            jax.block_until_ready(call())


def test_no_k() -> None:
    with pytest.raises(sidbeam.InvalidArgument, match="k is 0, expected at least 1"):
        set_of(RANDOM).topk(logits_of(RANDOM, 2), sidbeam_jax.ConstraintSet.start(2), 0)


def test_closed() -> None:
    """A program that was compiled before fails, rather than read what is gone; a new set is not taken for the old."""
    constraints = set_of(RANDOM)
    step = jax.jit(lambda x: constraints.mask(x, constraints.start(2)))
    logits = logits_of(RANDOM, 2)
    assert np.isfinite(np.asarray(step(logits))).any()
    constraints.close()
    constraints.close()
    another = set_of(RANDOM)
    with pytest.raises(FAILS, match=r"sidbeam: constraint set \d+ is closed"):
        jax.block_until_ready(step(logits))
    with pytest.raises(sidbeam.BadState, match="constraint set is closed"):
        constraints.mask(logits, constraints.start(2))
    another.close()


def test_compiler(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = subprocess.run([sys.executable, "-m", "sidbeam.jax"], capture_output=True, text=True)
    assert made.stdout.strip() == str(sidbeam_jax.build()) and pathlib.Path(made.stdout.strip()).exists()
    monkeypatch.setenv("SIDBEAM_JAX_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ImportError, match=r"needs a C\+\+ compiler, once; no-such-compiler is not there \(set CXX\)"):
        sidbeam_jax.build()
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(ImportError, match=r"sidbeam.jax: false -std=c\+\+17 .* failed"):
        sidbeam_jax.build()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not any(d.platform == "gpu" for d in jax.devices()), reason="CUDA: JAX has no GPU on this machine")
def test_cuda() -> None:
    constraints = sidbeam_jax.ConstraintSet(index_of(RANDOM), vocabulary=vocabulary_of(RANDOM), device="cuda")
    plain, logits = set_of(RANDOM), logits_of(RANDOM, 3)
    found = jax.jit(lambda x: constraints.topk(x, constraints.start(3), 4))(logits)
    cpu = jax.devices("cpu")[0]
    expected = plain.topk(jax.device_put(logits, cpu), jax.device_put(constraints.start(3), cpu), 4)
    np.testing.assert_array_equal(found.codes, expected.codes)
