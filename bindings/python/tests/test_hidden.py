"""The step from hidden states, against the product and the ordinary step; the children, against the list of SIDs.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import array
import gc
import os
from typing import Any

import numpy as np
import pytest

import sidbeam
from conftest import build, vocabulary_of
from oracle import Catalogue

runner = pytest.mark.skipif("SIDBEAM_MODEL" not in os.environ, reason="the library was built without the runner")

L, V, WIDTH, SLOTS, M = 3, 7, 20, 2, 4


def catalogue(seed: int, variable: bool = False) -> Catalogue:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, L + 1, 60) if variable else np.full(60, L)
    made = Catalogue([tuple(rng.integers(0, V, n).tolist()) for n in lengths], [V] * L, variable, [2, 9, 9])
    made.end_column = made.width() if variable else -1
    return made


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.integers(-6, 7, shape) / 4).astype(np.float32)  # sums of products are exact


class Pair:
    """A session that is stepped from hidden states, and one that gets the product."""

    def __init__(self, known: Catalogue, normalization: str, weights: np.ndarray, layer: Any, **options: Any) -> None:
        index = build(known)
        shape = dict(slots=SLOTS, beams=M, normalization=normalization, vocabulary=vocabulary_of(known))
        self.by_hidden, self.by_hand = (sidbeam.Session(index, **shape) for _ in range(2))
        self.step = sidbeam.HiddenStep(self.by_hidden, layer, **options)
        self.weights = weights.astype(float)
        for session in (self.by_hidden, self.by_hand):
            session.start()

    def product(self, hidden: np.ndarray, bias: Any = 0) -> np.ndarray:
        return (hidden.astype(float) @ self.weights.T + bias).astype(np.float32)

    def check(self) -> None:
        got, expected = self.by_hidden.beams(), self.by_hand.beams()
        for name in ("codes", "parents", "scores", "live", "active", "level"):
            assert getattr(got, name).tolist() == getattr(expected, name).tolist(), name


@runner
@pytest.mark.parametrize("path", ["fastest", "children", "product"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("variable", [False, True])
def test_steps_as_product_and_step_do(path: str, dtype: str, variable: bool) -> None:
    rng = np.random.default_rng(5)
    known = catalogue(3, variable)
    columns = known.width() + 2
    weights, bias = numbers(rng, columns, WIDTH), numbers(rng, columns)
    stored = weights.astype(np.float16) if dtype == "f16" else weights
    if dtype == "bf16":
        stored = (weights.view(np.uint32) >> np.uint32(16)).astype(np.uint16)  # exact
    layer = sidbeam.OutputLayer(stored, bias=bias, dtype="bf16" if dtype == "bf16" else None)
    assert (layer.columns, layer.width) == (columns, WIDTH)
    pair = Pair(known, "valid", weights, layer, path=path)
    steps = 0
    while pair.by_hand.beams().active.any():
        hidden = numbers(rng, SLOTS, M, WIDTH)
        pair.by_hand.step(pair.product(hidden, bias), inverse_temperature=0.5)
        assert pair.step.step(hidden, inverse_temperature=0.5) is pair.by_hidden.beams()
        pair.check()
        steps += 1
    stats = pair.step.stats()
    assert stats.steps == steps and stats.memory_bytes > 0 and stats.break_even > 0
    slots = stats.child_slots, stats.union_slots, stats.product_slots
    assert sum(slots) == SLOTS * steps and {"children": slots[2] == 0, "product": slots[2] > 0}.get(path, True)


@runner
def test_slots_maps_strides_and_given_sums_mean_what_they_do_in_a_step() -> None:
    rng = np.random.default_rng(6)
    known = catalogue(4)
    weights = numbers(rng, known.width(), WIDTH)
    apart = np.zeros((known.width(), 2 * WIDTH), np.float32)[:, :WIDTH]
    apart[:] = weights
    pair = Pair(known, "full", weights, sidbeam.OutputLayer(apart, soft_cap=3))
    hidden = numbers(rng, 2 * M, WIDTH)
    row_map = rng.permutation(2 * M).astype(np.int32).reshape(2, M)
    pair.step.step(hidden[:M], slots=[1])
    pair.by_hand.step(pair.product(hidden[:M]), slots=[1], soft_cap=3)
    pair.check()
    logits = pair.product(hidden)
    pair.step.step(hidden, row_map=row_map, inverse_temperature=[0.5, 2])
    pair.by_hand.step(logits, row_map=row_map, inverse_temperature=[0.5, 2], soft_cap=3)
    pair.check()
    capped = 3 * np.tanh(logits / 3)
    lse = np.log(np.exp(capped).sum(axis=1)).astype(np.float32)
    before = pair.step.stats()
    pair.step.step(hidden, [0], row_map=row_map[:1], lse=lse)
    pair.by_hand.step(logits, [0], row_map=row_map[:1], lse=lse, soft_cap=3)
    pair.check()
    assert pair.step.stats().product_slots == before.product_slots == 3  # with the sums, children are enough


@runner
def test_a_step_may_name_its_path() -> None:
    rng = np.random.default_rng(8)
    known = catalogue(5)
    weights = numbers(rng, known.width(), WIDTH)
    pair = Pair(known, "valid", weights, sidbeam.OutputLayer(weights), path="children")
    for path, products in (("product", SLOTS), ("fastest", SLOTS), (None, SLOTS)):
        hidden = numbers(rng, SLOTS, M, WIDTH)
        pair.step.step(hidden, path=path)
        pair.by_hand.step(pair.product(hidden))
        pair.check()
        assert pair.step.stats().product_slots == products, path
    with pytest.raises(sidbeam.InvalidArgument, match="HiddenPath is 'all', expected one of"):
        pair.step.step(hidden, path="all")


def test_children_are_those_of_the_list_of_sids() -> None:
    known = catalogue(7, variable=True)
    session = sidbeam.Session(
        build(known), slots=2, beams=M, normalization="valid", vocabulary=vocabulary_of(known)
    )
    session.start([1])
    while session.beams().active.any():
        items, beams = session.items(), session.beams()
        offsets, columns = session.children()
        assert offsets.shape == (2 * M + 1,) and offsets[M] == 0 and offsets[-1] == len(columns)
        for m in range(M):
            prefix = tuple(items.sids[1, m, : items.lengths[1, m]].tolist())
            ended = known.variable and len(prefix) < beams.level[1]
            goes_on = m < beams.live[1] and not ended
            expected = [known.column(len(prefix), code) for code in known.children(prefix)] if goes_on else []
            assert columns[offsets[M + m] : offsets[M + m + 1]].tolist() == expected
        alone, same = session.children([1])
        assert same.tolist() == columns.tolist() and alone.tolist() == offsets[M:].tolist()
        session.step(np.random.default_rng(1).normal(size=(2, M, known.width())).astype(np.float32))
    full = sidbeam.Session(build(known), vocabulary=vocabulary_of(known))
    full.start()
    with pytest.raises(sidbeam.Unsupported, match="reads more than children"):
        full.children()
    assert len(full.children(lse_given=True)[1]) == len(known.children(()))
    with pytest.raises(sidbeam.InvalidArgument, match="slots"):
        full.children([1])


@runner
def test_the_layer_and_the_session_are_held_and_the_weights_stay() -> None:
    rng = np.random.default_rng(8)
    known = catalogue(5)
    weights, hidden = numbers(rng, known.width(), WIDTH), numbers(rng, SLOTS, M, WIDTH)
    flat = array.array("f", weights.ravel().tolist())
    view = memoryview(flat).cast("B").cast("f", weights.shape)
    layer = sidbeam.OutputLayer(view)
    view.release()
    with pytest.raises(BufferError):
        flat.append(1.0)  # would move them
    pair = Pair(known, "valid", weights, layer)
    layer.close()
    del layer, view, flat
    gc.collect()
    pair.by_hand.step(pair.product(hidden))
    pair.step.step(hidden)
    pair.check()
    beams = pair.by_hidden.beams()
    pair.by_hidden.close()
    with pytest.raises(sidbeam.BadState, match="session is closed"):
        pair.step.step(hidden)
    assert beams.live.tolist() == pair.by_hand.beams().live.tolist()  # its memory stays
    pair.step.close()
    with pytest.raises(sidbeam.BadState, match="hidden step is closed"):
        pair.step.step(hidden)
    with pytest.raises(sidbeam.BadState, match="hidden step is closed"):
        pair.step.stats()
    assert "closed" in repr(pair.step)


@runner
def test_what_is_refused_moves_nothing() -> None:
    rng = np.random.default_rng(9)
    known = catalogue(6)
    weights = numbers(rng, known.width(), WIDTH)
    layer = sidbeam.OutputLayer(weights)
    pair = Pair(known, "valid", weights, layer)
    hidden = numbers(rng, SLOTS, M, WIDTH)

    def refused(what: str, states: Any = hidden, error: Any = sidbeam.InvalidArgument, **changes: Any) -> None:
        with pytest.raises(error, match=what):
            pair.step.step(states, **changes)

    refused("hidden has 19 columns, expected 20, the width of the output layer", hidden[:, :, 1:])
    refused("the dtype of hidden is 1", hidden.astype(np.float16))
    refused("hidden has 1 slots", hidden[:1])
    refused("hidden has elements of format 'l'", np.zeros((2, M, WIDTH), np.int64))
    refused("slots\\[1\\] is 1, which is named before", slots=[1, 1])
    refused(r"row_map has shape \(3,\)", hidden[0], row_map=[0, 1, 2])
    refused("beam 0 of slot 1 must be fed", hidden[0], row_map=np.where(np.arange(8).reshape(2, 4) < 4, 0, -1))
    refused("lse has 3 elements, expected 8", lse=np.zeros(3, np.float32))
    refused(r"inverse_temperature has shape \(3,\)", inverse_temperature=[1, 1, 1])
    assert pair.by_hidden.beams().level.tolist() == [0, 0]
    pair.step.step(hidden)
    full = sidbeam.Session(build(known), beams=M, vocabulary=vocabulary_of(known))
    full.start()
    with pytest.raises(sidbeam.Unsupported, match="normalization is 0"):
        sidbeam.HiddenStep(full, layer, path="children").step(hidden[0])
    few = sidbeam.Session(build(known), beams=M, normalization="valid", vocabulary=vocabulary_of(known))
    few.start()
    with pytest.raises(sidbeam.InvalidArgument, match="expected one of the layer's, 0..2"):
        sidbeam.HiddenStep(few, sidbeam.OutputLayer(weights[:3]), path="children").step(hidden[0])
    with pytest.raises(sidbeam.InvalidArgument, match="HiddenPath is 'both'"):
        sidbeam.HiddenStep(few, layer, path="both")
    with pytest.raises(sidbeam.InvalidArgument, match="children is -1"):
        sidbeam.HiddenStep(few, layer, children=-1)
    few.close()
    with pytest.raises(sidbeam.BadState, match="session is closed"):
        sidbeam.HiddenStep(few, layer)


@runner
def test_weights_that_are_no_layer() -> None:
    def refused(what: str, *args: Any, **options: Any) -> None:
        with pytest.raises(sidbeam.InvalidArgument, match=what):
            sidbeam.OutputLayer(*args, **options)

    weights = np.zeros((4, 3), np.float32)
    refused("weights has dtype complex128, expected real numbers", [[1j, 2]])
    refused("weights (is no array of numbers|has dtype object)", [[1.0, 2.0], [3.0]])
    refused("weights is None, expected an array", None)
    refused("weights has elements of format 'O'", weights.astype(object))
    refused("weights has elements of format 'Zd'", weights.astype(complex))
    refused("bias has dtype complex128, expected float32", weights, bias=[1j, 2, 3, 4])
    refused("bias (is no array of numbers|has dtype object)", weights, bias=[[1], [2, 3]])
    refused(r"bias has shape \(3,\), expected \(4,\)", weights, bias=[1, 2, 3])
    refused("weights have three dimensions", np.zeros((2, 4, 3), np.float32))
    refused("weights", np.zeros(4, np.float32))
    refused("weights has elements of format 'l'", np.zeros((4, 3), np.int64))
    refused('weights are uint16, expected dtype="bf16"', np.zeros((4, 3), np.uint16))
    refused("width is 0", np.zeros((4, 0), np.float32))
    refused("columns is 0", np.zeros((0, 4), np.float32))
    refused("row_stride is", np.broadcast_to(weights[0], (4, 3)))
    refused("soft_cap is -1", weights, soft_cap=-1)
