"""Draft heads, steps from hidden states and speculation on CUDA, on the emulator of tests/gpu, against the CPU.

Nothing here has run on a GPU. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest

import sidbeam
import test_draft
import test_hidden
import test_speculation
from conftest import build, vocabulary_of
from emulated import PLUGIN, Device, Tensor
from sidbeam import draft
from test_hidden import SLOTS

runner = pytest.mark.skipif(
    "SIDBEAM_RUNNER_CUDA_LIBRARY" not in os.environ, reason="the library was built without the runner"
)


@pytest.fixture
def runtime(device: Device) -> Iterator[sidbeam.Runtime]:
    with sidbeam.Runtime(cuda_library=PLUGIN) as runtime:
        yield runtime


def refused(error: Any, message: str, call: Any, *args: Any, **options: Any) -> None:
    with pytest.raises(error, match=message):
        call(*args, **options)


L, V, D, M = test_draft.L, test_draft.V, test_draft.D, test_draft.M


def decoders(tmp_path: Path, runtime: sidbeam.Runtime, *devices: str, **options: Any) -> list[sidbeam.DraftDecoder]:
    """Of the same head and catalogue."""
    draft.write(tmp_path / "head", **test_draft.arrays("gru"))
    sids = np.random.default_rng(3).integers(0, V, (100, L))
    index = sidbeam.Index.build(sids, codes=V, kinds="trie|hash", runtime=runtime)
    with sidbeam.DraftHead.open(tmp_path / "head") as head:
        return [sidbeam.DraftDecoder(head, index, beams=M, requests=3, device=where, **options) for where in devices]


def same_drafts(device: Device, drafts: sidbeam.Drafts, expected: sidbeam.Drafts) -> None:
    for name in ("live", "errors", "sids", "ordinals"):
        assert device.read(getattr(drafts, name)).tolist() == getattr(expected, name).tolist(), name
    assert device.read(drafts.scores).ravel() == pytest.approx(expected.scores.ravel(), abs=1e-4)


@runner
@pytest.mark.parametrize("verification", ["trie", "hash"])
def test_drafts(tmp_path: Path, device: Device, runtime: sidbeam.Runtime, verification: str) -> None:
    here, there = decoders(tmp_path, runtime, "cpu", "cuda:0", verification=verification)
    hidden, stream = test_draft.hidden_states(3), device.stream()
    states = device.tensor(hidden, np.float32)
    drafts = there.run(states, stream=stream)
    assert isinstance(drafts.sids, sidbeam.DeviceArray) and drafts.sids.device == "cuda:0" and "cuda:0" in repr(there)
    same_drafts(device, drafts, here.run(hidden))
    two = sidbeam.Index.build([(0, 1, 2), (7, 7, 7)], codes=V, kinds="trie|hash", runtime=here._index._runtime)
    how = dict(constraints=[None, two, two], widths=[1, 0, 1])
    refused(sidbeam.BadState, "expected Index.upload.. before", there.run, states, **how)
    two.upload(kinds=verification)
    there.start(states, stream=stream, **how)
    halves = there.decode(states, stream=stream)
    same_drafts(device, halves, here.run(hidden, **how))
    one = there.run(device.tensor(hidden[1], np.float32))
    there.close()
    same_drafts(device, one, here.run(hidden[1]))  # the decoder's memory lives as long as its views


@runner
def test_drafts_are_refused(tmp_path: Path, device: Device, runtime: sidbeam.Runtime) -> None:
    here, there = decoders(tmp_path, runtime, "cpu", "cuda")
    hidden, stream = test_draft.hidden_states(3), device.stream()
    states = device.tensor(hidden, np.float32)
    refused(sidbeam.NoDevice, "hidden is on cpu, expected cuda", there.run, hidden)
    refused(sidbeam.NoDevice, "hidden is on cuda", here.run, states)
    for half in (here.start, here.decode):
        refused(sidbeam.Unsupported, "draft decoder is on the CPU, expected one on a device", half, states)
    refused(sidbeam.NoDevice, "the device's number is 7", decoders, tmp_path, runtime, "cuda:7")
    there.run(states, stream=stream)
    with device.capture(stream):
        refused(sidbeam.BadState, "captured", there.run, states, stream=stream)
        there.decode(states, stream=stream)
    there.close()
    refused(sidbeam.BadState, "draft decoder is closed", there.run, states)


def sessions(
    runtime: sidbeam.Runtime, *devices: str, normalization: str = "valid", stream: int = 0
) -> list[sidbeam.Session]:
    known = test_hidden.catalogue(3)
    shape = dict(slots=SLOTS, beams=test_hidden.M, normalization=normalization, vocabulary=vocabulary_of(known))
    made = [sidbeam.Session(build(known, runtime=runtime), device=where, **shape) for where in devices]
    for session in made:
        session.start(stream=stream)
    return made


WIDTH = 16  # whose rows are aligned in all types


def layers(device: Device, dtype: Any, columns: int) -> tuple[sidbeam.OutputLayer, sidbeam.OutputLayer]:
    rng = np.random.default_rng(5)
    weights, bias = test_hidden.numbers(rng, columns, WIDTH).astype(dtype), test_hidden.numbers(rng, columns)
    there = sidbeam.OutputLayer(device.tensor(weights, dtype), bias=device.tensor(bias, np.float32), soft_cap=9)
    return sidbeam.OutputLayer(weights, bias=bias, soft_cap=9), there


@runner
@pytest.mark.parametrize("path", ["fastest", "product"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_hidden_steps(device: Device, runtime: sidbeam.Runtime, path: str, dtype: Any) -> None:
    columns, stream = test_hidden.catalogue(3).width(), device.stream()
    here, there = sessions(runtime, "cpu", "cuda", stream=stream)
    by_hand, on_device = (
        sidbeam.HiddenStep(session, layer, path=path)
        for session, layer in zip((here, there), layers(device, dtype, columns))
    )
    rng = np.random.default_rng(6)
    for level in range(test_hidden.L):
        hidden = test_hidden.numbers(rng, SLOTS, test_hidden.M, WIDTH)
        given = np.array([0, 2], np.float32)
        by_hand.step(hidden, inverse_temperature=given)
        states, scales = device.tensor(hidden, dtype), device.tensor(given, np.float32)
        beams = on_device.step(states, inverse_temperature=scales, stream=stream)
        for name in ("codes", "parents", "live", "level"):
            assert device.read(getattr(beams, name)).tolist() == getattr(here.beams(), name).tolist(), (level, name)
        np.testing.assert_allclose(device.read(beams.scores), here.beams().scores, atol=1e-4)
    stats = on_device.stats()
    assert stats.steps == test_hidden.L and (stats.product_slots > 0) == (path == "product")


@runner
def test_hidden_steps_with_maps_and_sums(device: Device, runtime: sidbeam.Runtime) -> None:
    known, stream = test_hidden.catalogue(3), device.stream()
    here, there = sessions(runtime, "cpu", "cuda", normalization="full", stream=stream)
    by_hand, on_device = (
        sidbeam.HiddenStep(session, layer)
        for session, layer in zip((here, there), layers(device, np.float32, known.width()))
    )
    hidden = test_hidden.numbers(np.random.default_rng(7), 3, WIDTH)
    row_map, lse = np.array([[2, -1, -1, -1]], np.int32), np.array([5, 6, 7], np.float32)
    by_hand.step(hidden, [1], row_map=row_map, lse=lse)
    states = device.tensor(hidden, np.float32)
    on_lists = dict(row_map=device.tensor(row_map, np.int32), lse=device.tensor(lse, np.float32), stream=stream)
    slots = device.tensor([1], np.int32)
    on_device.step(states, slots, **on_lists)
    assert device.read(there.beams().codes).tolist() == here.beams().codes.tolist()
    np.testing.assert_allclose(device.read(there.beams().scores), here.beams().scores, atol=1e-5)
    assert on_device.stats().product_slots == 0
    with device.capture(stream):
        on_device.step(states, slots, path="product", **on_lists)
    assert on_device.stats().product_slots == 1
    assert device.read(there.beams().level).tolist() == [0, 1]


@runner
def test_hidden_steps_are_refused(device: Device, runtime: sidbeam.Runtime) -> None:
    here, there = sessions(runtime, "cpu", "cuda")
    columns = test_hidden.catalogue(3).width()
    of_cpu, of_cuda = layers(device, np.float32, columns)
    weights, bias = np.zeros((columns, WIDTH), np.float32), np.zeros(columns, np.float32)
    invalid, unsupported = sidbeam.InvalidArgument, sidbeam.Unsupported
    layer, step = sidbeam.OutputLayer, sidbeam.HiddenStep
    weights_there, bias_there = device.tensor(weights, np.float32), device.tensor(bias, np.float32)
    refused(invalid, "bias is memory of the host", layer, weights_there, bias=bias)
    refused(invalid, "bias is on cuda:0, expected cpu", layer, weights, bias=bias_there)
    refused(unsupported, "session is on CUDA, expected one on the CPU", step, there, of_cpu)
    refused(unsupported, "session is elsewhere, expected one on CUDA device 0", step, here, of_cuda)
    on_host, on_device = sidbeam.HiddenStep(here, of_cpu), sidbeam.HiddenStep(there, of_cuda)
    hidden = np.zeros((SLOTS, test_hidden.M, WIDTH), np.float32)
    states = device.tensor(hidden, np.float32)
    slots = device.tensor([0, 1], np.int32)
    refused(sidbeam.NoDevice, r"hidden is on cpu, expected cuda", on_device.step, hidden)
    refused(sidbeam.NoDevice, "hidden is on cuda", on_host.step, states)
    refused(invalid, "slots is memory of the host", on_device.step, states, [0, 1])
    refused(invalid, "slots is on cuda:0, expected cpu", on_host.step, hidden, slots)
    assert device.read(there.beams().level).tolist() == here.beams().level.tolist() == [0, 0]


class DeviceHost(test_speculation.Host):
    """Its models give their logits on the device."""

    there: Device

    def target(self, tree: sidbeam.SpeculationTree) -> Any:
        return self.there.tensor(super().target(tree), np.float32)

    def draft(self, tree: sidbeam.SpeculationTree) -> Any:
        return self.there.tensor(super().draft(tree), np.float32)

    def upload(self, array: np.ndarray) -> Tensor:
        assert array.dtype == np.int32
        return self.there.tensor(array, np.int32)


@pytest.mark.parametrize("mode", ["search", "stochastic"])
@pytest.mark.parametrize("seed", [1, 2])  # rows by node, and rows by beam
def test_strict_speculation(
    device: Device, runtime: sidbeam.Runtime, monkeypatch: pytest.MonkeyPatch, mode: str, seed: int
) -> None:
    known = test_speculation.random_catalogue(np.random.default_rng(seed), variable=False)
    index, host = build(known, runtime=runtime), DeviceHost(known, seed, agree=0.9)
    host.there = device
    shape = dict(slots=2, mode=mode, normalization="none", vocabulary=vocabulary_of(known))  # the same bits anywhere
    sampling = dict(seeds=seed, requests=[3, 4]) if mode == "stochastic" else {}
    alone = sidbeam.Session(index, beams=3, **shape)
    target, drafting = (sidbeam.Session(index, beams=n, device="cuda", **shape) for n in (3, 5))
    stream = device.stream()
    for session in (alone, target, drafting):
        session.start(stream=stream, **sampling)
    host.plain(alone)
    speculation = sidbeam.Speculation(target, drafting, draft_levels=2, stream=stream)
    refused(sidbeam.InvalidArgument, "^upload is None, expected a function", speculation.run, host.target, host.draft)
    step, streams = sidbeam.Session.step, []

    def on_stream(self: sidbeam.Session, *args: Any, stream: Any, **options: Any) -> sidbeam.Beams:
        streams.append(stream)
        return step(self, *args, stream=stream, **options)

    monkeypatch.setattr(sidbeam.Session, "step", on_stream)
    stats = speculation.run(host.target, host.draft, upload=host.upload)
    assert set(streams) == {stream}
    for name in ("codes", "scores", "live", "level", "perturbed"):
        got, expected = getattr(target.beams(), name), getattr(alone.beams(), name)
        assert (got is None) == (expected is None)
        assert got is None or device.read(got).tobytes() == expected.tobytes(), name
    assert 0 < stats.rounds <= stats.levels == 2 * len(known.codes)


def test_speculation_is_refused(device: Device, runtime: sidbeam.Runtime) -> None:
    index = sidbeam.Index.build(test_speculation.SIDS, codes=4, runtime=runtime)
    target, drafting, here = (
        sidbeam.Session(index, beams=n, device=where) for n, where in ((2, "cuda"), (3, "cuda"), (3, "cpu"))
    )
    refused(sidbeam.InvalidArgument, "draft is on", sidbeam.Speculation, target, here)
    stream, row = device.stream(), test_speculation.ROW[None]
    for session in (target, drafting):
        session.start(stream=stream)
    speculation = sidbeam.Speculation(target, drafting, stream=stream)
    with device.capture(stream):
        refused(sidbeam.BadState, "captured", speculation.begin)
    assert speculation.begin() == 1
    refused(sidbeam.NoDevice, "logits is on cpu", speculation.verify, row)
    rows, lse = device.tensor(row, np.float32), np.zeros(1, np.float32)
    refused(sidbeam.InvalidArgument, "lse is memory of the host", speculation.verify, rows, lse=lse)
    speculation.verify(rows, lse=device.tensor(lse, np.float32))
    assert device.read(target.beams().level).tolist() == [1]
