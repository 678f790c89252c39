"""DLPack in and out, streams, devices. Nothing here has run on a GPU. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import ctypes
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
    with pytest.raises(sidbeam.InvalidArgument, match=r"logits has columns 4 elements apart"):
        session.step(logits.contiguous().t())
    with pytest.raises(sidbeam.InvalidArgument, match="logits has elements of 64 bits"):
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
    assert beams.codes.tolist() == [[0, 2]]
    constraints = sidbeam.ConstraintSet(index)
    states = Tensor(np.zeros(2, np.int64))
    out = Tensor(np.empty((2, 1), np.int32))
    assert constraints.bitmask(states, out=out) is out and out.array.tolist() == [[5], [5]]
    logits = Tensor(np.zeros((2, 4), np.float32))
    assert constraints.mask(logits, states) is logits
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
    """Like JAX's arrays on a GPU: its type has buffers, this object has none (datetime64 has no format), but DLPack."""

    def __dlpack__(self, **options: Any) -> Any:
        return np.array([[3, 9, 2, 1]] * 2, np.float32).__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_where_the_buffer_protocol_fails(index: sidbeam.Index, session: sidbeam.Session) -> None:
    logits = np.zeros((2, 4), "M8[s]").view(OfADevice)
    assert session.step(logits).codes.tolist() == [[0, 2]]
    with pytest.raises(
        sidbeam.InvalidArgument, match="logits: expected an array that is writable, of f32, f16 or bf16"
    ):
        sidbeam.ConstraintSet(index).mask(logits, np.zeros(2, np.int64))
    with pytest.raises(sidbeam.InvalidArgument, match="logits: expected an array of f32, f16 or bf16"):
        session.step(np.zeros((2, 4), "M8[s]"))


def test_memoryviews_and_buffers(session: sidbeam.Session) -> None:
    logits = memoryview(bytearray(32)).cast("f", (2, 4))
    assert session.step(logits).codes.tolist() == [[0, 2]]


def test_references_are_given_back(session: sidbeam.Session) -> None:
    import sys

    array = np.zeros((2, 4), np.float32)
    count = sys.getrefcount(array)
    for _ in range(10):
        session.start()
        session.step(Tensor(array))
        with pytest.raises(sidbeam.InvalidArgument, match="logits has 2 columns, expected at least 4"):
            session.step(Tensor(array[:, :2].copy()))
    capsule = session.tensors().scores.__dlpack__()
    del capsule
    gc.collect()
    assert sys.getrefcount(array) == count


def test_views_as_tensors(session: sidbeam.Session) -> None:
    session.step(np.zeros((2, 4), np.float32))
    tensors = session.tensors()
    for name in ("parents", "codes", "scores", "states", "live", "active", "level", "errors"):
        imported = np.from_dlpack(getattr(tensors, name))
        assert (
            np.array_equal(imported, getattr(session.beams(), name)) and imported.dtype == getattr(tensors, name).dtype
        )
    assert repr(tensors.codes) == "DeviceArray(shape=(1, 2), dtype=int32, device='cpu')"
    assert not hasattr(tensors.codes, "__cuda_array_interface__")
    with pytest.raises(BufferError, match="a DeviceArray is a view: copy it after the import"):
        tensors.codes.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="the array is on cpu"):
        tensors.codes.__dlpack__(dl_device=(2, 0))


def test_arrays_of_a_device_say_where_they_are() -> None:
    array = sidbeam.DeviceArray(4096, (2, 3), np.float32, (1, 3), None)
    assert array.__dlpack_device__() == (2, 3) and array.device == "cuda:3"
    described = {"shape": (2, 3), "typestr": "<f4", "data": (4096, True), "version": 3}
    assert array.__cuda_array_interface__ == described
    assert sidbeam._native.describe_tensor(array, "array") == (4096, 2, 32, (2, 3), 2, 3)


def test_device_tensors_are_asked_not_to_wait(session: sidbeam.Session) -> None:
    """And a session of the CPU refuses them."""
    logits = Tensor(np.zeros((2, 4), np.float32), device=(2, 0))
    with pytest.raises(sidbeam.NoDevice, match=r"logits is on cuda, expected cpu"):
        session.step(logits)
    assert logits.asked == [{"stream": -1}]


def test_tensors_of_another_device_are_refused(index: sidbeam.Index, session: sidbeam.Session) -> None:
    """Their memory lies on the host; otherwise this test would end the process that reads or writes it."""

    def there(shape: tuple[int, ...], dtype: type) -> Tensor:
        return Tensor(np.zeros(shape, dtype), device=(2, 0))

    constraints = sidbeam.ConstraintSet(index)
    logits, states, i32, i64 = np.zeros((2, 4), np.float32), np.zeros(2, np.int64), np.int32, np.int64
    top = sidbeam.TopK(np.zeros((2, 1), i32), there((2, 1), np.float32), None)
    for name, call in (
        ("slots", lambda: session.step(logits, there((1,), i32))),
        ("row_map", lambda: session.step(logits, row_map=there((1, 2), i32))),
        ("lse", lambda: session.step(logits, lse=there((2,), np.float32))),
        ("widths", lambda: session.start(widths=there((1,), i32))),
        ("ordinals", lambda: session.items(out=sidbeam.Items(ordinals=there((1, 2), i64)))),
        ("prefixes", lambda: constraints.prefixes(there((2, 1), i32))),
        ("out", lambda: constraints.prefixes([(0,), (2,)], out=there((2,), i64))),
        ("states", lambda: constraints.advance(there((2,), i64), [0, 0])),
        ("codes", lambda: constraints.advance(states, there((2,), i32))),
        ("parents", lambda: constraints.advance(states, [0, 0], parents=there((2,), i64))),
        ("which", lambda: constraints.advance(states, [0, 0], which=there((2,), i32))),
        ("states", lambda: constraints.mask(logits, there((2,), i64))),
        ("states", lambda: constraints.topk(logits, there((2,), i64), 1)),
        ("out.log_probs", lambda: constraints.topk(logits, states, 1, out=top)),
        ("out", lambda: constraints.bitmask(states, out=there((2, 1), i32))),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=f"^{name} is on cuda:0, expected cpu"):
            call()
    for call in (
        lambda: constraints.mask(there((2, 4), np.float32), states),
        lambda: constraints.topk(there((2, 4), np.float32), states, 1),
    ):
        with pytest.raises(sidbeam.NoDevice, match=r"logits is on cuda, expected cpu"):
            call()
    assert (logits == 0).all() and session.beams().level[0] == 0


class VersionedTensor(ctypes.Structure):
    """Of dlpack.h, version 1."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("major", "minor")),
        *((name, ctypes.c_void_p) for name in ("context", "deleter")),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        *((name, ctypes.c_int32) for name in ("device_type", "device_id", "ndim")),
        *((name, ctypes.c_uint8) for name in ("code", "bits")),
        ("lanes", ctypes.c_uint16),
        *((name, ctypes.c_void_p) for name in ("shape", "strides")),
        ("offset", ctypes.c_uint64),
    ]


class Versioned(Tensor):
    """A producer of DLPack 1, which tells consumers of that version whether its tensor is read-only."""

    def __dlpack__(self, **options: Any) -> Any:
        if "max_version" not in options:
            return super().__dlpack__(**options)
        self.asked.append(options)
        array, self.extents = self.array, (ctypes.c_int64 * self.array.ndim)(*self.array.shape)
        flags, code = int(not array.flags.writeable), "iuf".index(array.dtype.kind)
        tensor = (array.ctypes.data, *self.device, array.ndim, code, 8 * array.itemsize, 1)
        self.capsule = VersionedTensor(1, 0, None, None, flags, *tensor, ctypes.addressof(self.extents), None, 0)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.capsule), b"dltensor_versioned", None)


class Old(Tensor):
    """A producer from before version 1."""

    def __dlpack__(self) -> Any:
        return super().__dlpack__()


class Frozen(bytes):
    """Like an array of JAX: its buffers refuse to be written, and its DLPack does not say so."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self) -> Any:
        address = np.frombuffer(self, np.int64).ctypes.data
        return sidbeam._native.export_tensor(self, address, 0, 64, (len(self) // 8,), 1, 0)


def read_only(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    array = np.zeros(shape, dtype)
    array.flags.writeable = False
    return array


def test_outputs_that_are_read_only(index: sidbeam.Index, session: sidbeam.Session) -> None:
    constraints, states, i64 = sidbeam.ConstraintSet(index), np.zeros(2, np.int64), np.int64
    for array in (read_only((2,), i64), Versioned(read_only((2,), i64)), Frozen(16)):
        with pytest.raises(sidbeam.InvalidArgument, match="^out: expected an array that is writable"):
            constraints.advance(states, [2, 2], out=array)
        assert not any(bytes(getattr(array, "array", array)))
    with pytest.raises(sidbeam.InvalidArgument, match="^logits: expected an array that is writable"):
        constraints.mask(Versioned(read_only((2, 4), np.float32)), states)
    with pytest.raises(sidbeam.InvalidArgument, match="^ordinals: expected an array that is writable"):
        session.items(out=sidbeam.Items(ordinals=Versioned(read_only((1, 2), i64))))
    out = Old(np.zeros(2, i64))
    assert constraints.advance(states, [0, 0], out=out) is out and (out.array > 0).all()


def test_outputs_by_versioned_dlpack(index: sidbeam.Index) -> None:
    out = Versioned(np.zeros(2, np.int64))
    sidbeam.ConstraintSet(index).advance([0, 0], [0, 0], out=out)
    assert (out.array > 0).all() and out.asked == [{"max_version": (1, 0)}]


def test_the_librarys_own_memory_is_not_written(index: sidbeam.Index, session: sidbeam.Session) -> None:
    arrays, constraints = session.tensors(), sidbeam.ConstraintSet(index)
    before = session.beams().scores.copy()
    for name, call in (
        ("out", lambda: constraints.advance(np.zeros(2, np.int64), [0, 0], out=arrays.states)),
        ("logits", lambda: constraints.mask(arrays.scores, [0])),
        ("lengths", lambda: session.items(out=sidbeam.Items(lengths=arrays.codes))),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=f"^{name} is a view of the library's own memory"):
            call()
    assert (session.beams().scores == before).all()


def test_wrong_tensors(index: sidbeam.Index, session: sidbeam.Session) -> None:
    with pytest.raises(sidbeam.InvalidArgument, match="logits has elements of 64 bits"):
        session.step(Tensor(np.zeros((2, 4))))
    with pytest.raises(sidbeam.InvalidArgument, match="logits is on a device of DLPack's type 7"):
        session.step(Tensor(np.zeros((2, 4), np.float32), device=(7, 0)))
    constraints = sidbeam.ConstraintSet(index)
    with pytest.raises(sidbeam.InvalidArgument, match="out has DLPack type code 0 of 64 bits, expected int32"):
        constraints.bitmask([0], out=Tensor(np.zeros((1, 1), np.int64)))


class Stream:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def test_streams() -> None:
    class New:
        def __cuda_stream__(self) -> tuple[int, int]:
            return (0, 42)

    given = (None, 7, Stream(cuda_stream=8), Stream(ptr=9), New())
    assert [stream_number(s) for s in given] == [0, 7, 8, 9, 42]
