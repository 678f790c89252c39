"""DLPack in and out, streams, devices. Nothing here has run on a GPU. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import sidbeam
from sidbeam.arrays import stream_number


class Tensor:
    """A framework's tensor: DLPack and nothing else, so that the buffer protocol cannot help."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array = array
        self.shape = array.shape
        self.device = device
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(options)
        code = {"f": 2, "i": 0, "u": 1}[self.array.dtype.kind]
        address = self.array.ctypes.data
        bits = 8 * self.array.itemsize
        return sidbeam._native.export_tensor(self.array, address, code, bits, self.array.shape, *self.device)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_torch(session: sidbeam.Session, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    values = np.array([[3, 9, 2, 1]] * 2, np.float32)
    expected = session.step(values).scores.copy()
    logits = torch.zeros(2, 3, 8, dtype=getattr(torch, dtype))[:, 1, 2:6]  # a slice that begins and ends within a row
    logits.copy_(torch.from_numpy(values))
    for tensor in (logits, logits.contiguous(), logits[None]):
        session.start()
        assert (session.step(tensor).scores == expected).all()
    with pytest.raises(sidbeam.InvalidArgument, match=r"logits: tensor.strides\[last\] is"):
        session.step(logits.contiguous().t())
    with pytest.raises(sidbeam.InvalidArgument, match="logits: tensor.dtype.bits is 64"):
        session.step(logits.double())
    fake = pytest.importorskip("torch._subclasses").FakeTensorMode().from_tensor(logits)
    with pytest.raises(sidbeam.InvalidArgument, match="logits is a FakeTensor, expected one with memory"):
        session.step(fake)
    for nothing in (torch.zeros(2, 4, device="meta"), torch.eye(4).to_sparse()):
        with pytest.raises((BufferError, RuntimeError, ValueError)):
            session.step(nothing)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_jax(session: sidbeam.Session, dtype: str) -> None:
    jax = pytest.importorskip("jax")
    values = np.array([[3, 9, 2, 1]] * 2, np.float32)
    expected = session.step(values).scores.copy()
    session.start()
    assert (session.step(jax.numpy.asarray(values, dtype)).scores == expected).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_logits_by_dlpack(session: sidbeam.Session, dtype: type) -> None:
    logits = Tensor(np.array([[3, 9, 2, 1]] * 2, dtype))
    session.step(logits)
    expected = session.beams().scores.copy()
    session.start()
    assert (session.step(logits.array).scores == expected).all()
    assert logits.asked == [{}]  # on the CPU no stream is named


def test_lists_and_outputs_by_dlpack(index: sidbeam.Index, session: sidbeam.Session) -> None:
    beams = session.step(Tensor(np.zeros((2, 4), np.float32)), Tensor(np.zeros(1, np.int32)))
    assert beams.tokens.tolist() == [[0, 2]]
    table = sidbeam.Table(index)
    states = Tensor(np.zeros(2, np.int64))
    out = Tensor(np.empty((2, 1), np.int32))
    assert table.bitmask(states, out=out) is out and out.array.tolist() == [[5], [5]]
    logits = Tensor(np.zeros((2, 4), np.float32))
    assert table.mask(logits, states) is logits
    assert logits.array.tolist() == [[0, -np.inf, 0, -np.inf]] * 2
    ordinals = Tensor(np.zeros((1, 2), np.int64))
    session.step(np.zeros((2, 4), np.float32))
    session.items(out=sidbeam.Items(ordinals=ordinals))
    assert ordinals.array.tolist() == [[0, 1]]


def test_bfloat16_arrays_of_ml_dtypes(session: sidbeam.Session) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    logits = np.array([[3, 9, 2, 1]] * 2, np.float32)
    expected = session.step(logits).scores.copy()
    session.start()
    assert (session.step(logits.astype(ml_dtypes.bfloat16)).scores == expected).all()
    session.start()
    assert (session.step(logits.astype(ml_dtypes.bfloat16).view(np.uint16), dtype="bf16").scores == expected).all()


class OfADevice(np.ndarray):
    """Its type has buffers, this object has none (datetime64 has no format), but DLPack: as JAX's arrays on a GPU."""

    def __dlpack__(self, **options: Any) -> Any:
        return np.array([[3, 9, 2, 1]] * 2, np.float32).__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_where_the_buffer_protocol_fails(index: sidbeam.Index, session: sidbeam.Session) -> None:
    logits = np.zeros((2, 4), "M8[s]").view(OfADevice)
    assert session.step(logits).tokens.tolist() == [[0, 2]]
    with pytest.raises(
        sidbeam.InvalidArgument, match="logits: expected an array that is writable, of f32, f16 or bf16"
    ):
        sidbeam.Table(index).mask(logits, np.zeros(2, np.int64))
    with pytest.raises(sidbeam.InvalidArgument, match="logits: expected an array of f32, f16 or bf16"):
        session.step(np.zeros((2, 4), "M8[s]"))


def test_memoryviews_and_buffers(session: sidbeam.Session) -> None:
    logits = memoryview(bytearray(32)).cast("f", (2, 4))
    assert session.step(logits).tokens.tolist() == [[0, 2]]


def test_references_are_given_back(session: sidbeam.Session) -> None:
    import sys

    array = np.zeros((2, 4), np.float32)
    count = sys.getrefcount(array)
    for _ in range(10):
        session.start()
        session.step(Tensor(array))
        with pytest.raises(sidbeam.InvalidArgument):
            session.step(Tensor(array[:, :2].copy()))
    capsule = session.tensors().scores.__dlpack__()
    del capsule
    gc.collect()
    assert sys.getrefcount(array) == count


def test_views_as_tensors(session: sidbeam.Session) -> None:
    session.step(np.zeros((2, 4), np.float32))
    tensors = session.tensors()
    for name in ("parents", "tokens", "scores", "states", "live", "active", "level", "errors"):
        imported = np.from_dlpack(getattr(tensors, name))
        assert (
            np.array_equal(imported, getattr(session.beams(), name)) and imported.dtype == getattr(tensors, name).dtype
        )
    assert repr(tensors.tokens) == "DeviceArray(shape=(1, 2), dtype=int32, device='cpu')"
    assert not hasattr(tensors.tokens, "__cuda_array_interface__")
    with pytest.raises(BufferError, match="copy"):
        tensors.tokens.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="on cpu"):
        tensors.tokens.__dlpack__(dl_device=(2, 0))


def test_arrays_of_a_device_say_where_they_are() -> None:
    array = sidbeam.DeviceArray(4096, (2, 3), np.float32, (1, 3), None)
    assert array.__dlpack_device__() == (2, 3) and array.device == "cuda:3"
    described = {"shape": (2, 3), "typestr": "<f4", "data": (4096, True), "version": 3}
    assert array.__cuda_array_interface__ == described
    assert sidbeam._native.describe_tensor(array, "array") == (4096, 2, 32, (2, 3), 2, 3)


def test_device_tensors_are_asked_not_to_wait(session: sidbeam.Session) -> None:
    """And a session of the CPU refuses them."""
    logits = Tensor(np.zeros((2, 4), np.float32), device=(2, 0))
    with pytest.raises(sidbeam.NoDevice):
        session.step(logits)
    assert logits.asked == [{"stream": -1}]


def test_wrong_tensors(index: sidbeam.Index, session: sidbeam.Session) -> None:
    with pytest.raises(sidbeam.InvalidArgument, match="logits: tensor.dtype.bits is 64"):
        session.step(Tensor(np.zeros((2, 4))))
    with pytest.raises(sidbeam.InvalidArgument, match="logits: tensor.device.device_type is 7"):
        session.step(Tensor(np.zeros((2, 4), np.float32), device=(7, 0)))
    table = sidbeam.Table(index)
    with pytest.raises(sidbeam.InvalidArgument, match="out has DLPack type code 0 of 64 bits, expected int32"):
        table.bitmask([0], out=Tensor(np.zeros((1, 1), np.int64)))


class Stream:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def test_streams() -> None:
    class New:
        def __cuda_stream__(self) -> tuple[int, int]:
            return (0, 42)

    given = (None, 7, Stream(cuda_stream=8), Stream(ptr=9), New())
    assert [stream_number(s) for s in given] == [0, 7, 8, 9, 42]
