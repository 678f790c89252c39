"""The CUDA paths, on the emulator of tests/gpu: device arrays stay on the device, in and out, by DLPack.

The emulator refuses to read the host's memory as a device's. Nothing here has run on a GPU.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Iterator

import numpy as np
import pytest

import sidbeam
from conftest import SIDS
from emulated import PLUGIN, Device

pytestmark = pytest.mark.skipif(PLUGIN is None, reason="SIDBEAM_CUDA_EMULATED does not name the plugin; test.sh does")


@pytest.fixture
def index() -> Iterator[sidbeam.Index]:
    runtime = sidbeam.Runtime(cuda_library=PLUGIN)
    with sidbeam.Index.build(SIDS, codes=[4, 4], runtime=runtime) as index:
        yield index


ROWS = np.array([[3, 9, 2, 1], [1, 1, 4, 2]], np.float32)


def test_session(device: Device, index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, beams=2, device="cuda:0")
    assert index.uploaded().kinds == sidbeam.Kind.TRIE and "on cuda:0" in repr(session)
    beams = session.start(widths=[2])
    assert isinstance(beams.codes, sidbeam.DeviceArray) and beams.codes.device == "cuda:0"
    slots = device.tensor([0], np.int32)
    for row in ROWS:
        session.step(device.tensor([[row, row]], np.float32), slots)
    assert device.read(beams.codes).tolist() == [[2, 3]]
    fetched = session.fetch()
    device.library.cudaDeviceSynchronize()
    assert fetched.codes.tolist() == [[2, 3]] and not fetched.codes.flags.writeable
    np.testing.assert_allclose(fetched.scores[0], [-7.215, -8.215], atol=1e-3)
    out = sidbeam.Items(ordinals=device.tensor(np.zeros((1, 2)), np.int64))
    session.items(out=out)
    assert device.read(out.ordinals).tolist() == [[2, 1]]
    with pytest.raises(sidbeam.Unsupported, match="cap_by is given for a session on CUDA, expected none: caps"):
        session.items(out=out, cap=1, cap_by="brand")
    assert session.stats().steps == 2
    session.close()
    assert fetched.codes.tolist() == [[2, 3]]  # pinned memory lives as long as its views


def test_row_map_and_lse(device: Device, index: sidbeam.Index) -> None:
    session = sidbeam.Session(index, beams=2, device="cuda")
    session.start()
    rows, lse = device.tensor(ROWS, np.float32), device.tensor([5, 7], np.float32)
    session.step(rows, row_map=device.tensor([[1, -1]], np.int32), lse=lse)
    assert device.read(session.beams().scores).tolist() == [[-3, -6]]


def test_settings_and_shared_rows(device: Device, index: sidbeam.Index) -> None:
    """Settings of slots from their start, and of a step from the device, against the CPU."""
    session, plain = sidbeam.Session(index, slots=2, beams=2, device="cuda"), sidbeam.Session(index, slots=2, beams=2)
    logits = np.broadcast_to(ROWS[0], (2, 2, 4)).copy()
    for own in (None, [0.5, 0]):
        for one in (session, plain):
            one.start(inverse_temperature=own, soft_cap=[0, 4])
        given = np.array([0, 2], np.float32)
        session.step(device.tensor(logits, np.float32), inverse_temperature=device.tensor(given, np.float32))
        plain.step(logits, inverse_temperature=given)
        np.testing.assert_allclose(device.read(session.beams().scores), plain.beams().scores, atol=1e-5)
    assert session.counters()["slot_steps"] == 4


def test_codes_without_a_column(device: Device, index: sidbeam.Index) -> None:
    vocabulary = sidbeam.Vocabulary(maps=[[5, -1, 2, -1], None])
    for strategy, normalization in (("trie", "level"), ("trie", "full"), ("trie", "valid"), ("trie", "none")):
        options = {"beams": 2, "strategy": strategy, "normalization": normalization, "vocabulary": vocabulary}
        session, plain = sidbeam.Session(index, device="cuda", **options), sidbeam.Session(index, **options)
        row = np.array([[[8, 9, 3, 9, 9, 4]] * 2], np.float32)
        for one, logits in ((session, device.tensor(row, np.float32)), (plain, row)):
            one.start()
            one.step(logits)
        assert device.read(session.beams().codes).tolist() == plain.beams().codes.tolist() == [[0, 2]]
        np.testing.assert_allclose(device.read(session.beams().scores), plain.beams().scores, atol=1e-5)
        assert device.read(session.beams().errors).tolist() == [0]


def test_constraint_set(device: Device, index: sidbeam.Index) -> None:
    constraints = sidbeam.ConstraintSet(index, device="cuda")
    states = device.tensor([9, 9, 9], np.int64)
    prefixes, lengths = device.tensor([[0, 0], [2, 0], [1, 0]], np.int32), device.tensor([1, 1, 1], np.int32)
    assert constraints.prefixes(prefixes, lengths, out=states) is states
    assert (device.read(states) >= 0).tolist() == [True, True, False]
    after = device.tensor([0, 0, 0], np.int64)
    constraints.advance(states, device.tensor([3, 1, 1], np.int32), out=after)
    assert (device.read(after) >= 0).tolist() == [True, False, False]
    logits = device.tensor(np.zeros((3, 4)), np.float32)
    words = device.tensor(np.zeros((3, 1)), np.int32)
    constraints.bitmask(states, out=words)
    assert device.read(words).ravel().tolist() == [0b1010, 0b0100, 0]
    out = sidbeam.TopK(device.tensor(np.zeros((3, 1)), np.int32), device.tensor(np.zeros((3, 1)), np.float32), None)
    constraints.topk(logits, states, 1, out=out)
    assert device.read(out.codes).ravel().tolist() == [1, 2, -1]
    constraints.mask(logits, states)
    assert (device.read(logits) == 0).tolist() == [[0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_memory_of_the_host_is_refused(device: Device, index: sidbeam.Index) -> None:
    session, constraints = sidbeam.Session(index, beams=2, device="cuda"), sidbeam.ConstraintSet(index, device="cuda")
    session.start()
    rows = device.tensor([ROWS], np.float32)
    states = device.tensor([0, 0], np.int64)
    for call, message in (
        (lambda: session.step(ROWS), "device"),
        (lambda: session.step(rows, np.zeros(1, np.int32)), "slots"),
        (lambda: session.items(), "out is None, expected Items with arrays on the device"),
        (lambda: session.items(out=sidbeam.Items(ordinals=np.zeros((1, 2), np.int64))), "ordinals"),
        (
            lambda: constraints.advance(states, device.tensor([0, 0], np.int32)),
            "out is None, expected an array on the device",
        ),
        (lambda: constraints.advance(states, [0, 0], out=states), "codes"),
    ):
        with pytest.raises(sidbeam.SidbeamError, match=message):
            call()
    session.step(rows)


def test_tensors_of_another_device_are_refused(device: Device, index: sidbeam.Index) -> None:
    constraints = sidbeam.ConstraintSet(index, device="cuda")
    states, codes = device.tensor([0, 0], np.int64), device.tensor([0, 0], np.int32)
    elsewhere = sidbeam.DeviceArray(codes.address, (2,), np.int32, (1, 3), codes)
    with pytest.raises(sidbeam.InvalidArgument, match="^codes is on cuda:3, expected cuda:0"):
        constraints.advance(states, elsewhere, out=states)
    with pytest.raises(sidbeam.InvalidArgument, match=r"^which has shape \(2,\), expected \(1,\)"):
        constraints.advance(states, device.tensor([0], np.int32), which=codes, out=device.tensor([0], np.int64))


def test_upload_and_unload(index: sidbeam.Index) -> None:
    index.upload(kinds="trie", chunk_bytes=4096)
    assert index.uploaded().bytes > 0 and index.uploaded().kinds == sidbeam.Kind.TRIE
    index.unload()
    assert index.uploaded() == sidbeam.Upload(sidbeam.Kind(0), 0)
    with pytest.raises(sidbeam.MissingSection, match="kinds asks for .*, expected an index built with"):
        index.upload(kinds="hash")
