"""Turns callers' arrays into what the native layer takes, without a copy where possible.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numbers
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from . import _native
from .checks import kind_of, shown, size_of
from .enums import DType, member
from .errors import InvalidArgument, WrongType

_DLPACK_CUDA = 2
_HOST_KINDS, _CUDA_KINDS = (1, 3), (_DLPACK_CUDA, 13)  # DLPack's; pinned and managed memory included
# DLPack's type code (int 0, uint 1, float 2, bfloat 4) and bits, by NumPy's kind.
_TYPE_CODES = {"i": 0, "u": 1, "f": 2}

Address = tuple[int, int]
NativeArray = Union[None, np.ndarray, Address]
Device = tuple[int, int]  #: as :func:`device_of` gives it


def host(value: Any, dtype: Any, name: str) -> np.ndarray:
    """A contiguous NumPy array of a dtype: the same object if it is one already; integers keep their value."""
    if type(value) is np.ndarray and value.dtype == dtype and value.flags.c_contiguous:
        return value
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value = from_dlpack(value, name)
    array = plain_array(value, name)
    if array.dtype == dtype:
        return np.ascontiguousarray(array)
    wanted = np.dtype(dtype)
    if array.dtype == object:
        given = unboxed(array.ravel().tolist(), wanted, name, _place_in(array.shape))
        array = np.array(given, wanted).reshape(array.shape)
    if array.size and wanted.kind in "iu" and array.dtype.kind == "f":
        raise InvalidArgument(
            f"{name} has dtype {array.dtype}, expected {wanted}: where all are whole, {name}.astype(np.{wanted})"
        )
    if array.size and array.dtype.kind not in "iufb":
        raise InvalidArgument(f"{name} has dtype {array.dtype}, expected {wanted}")
    if wanted.kind in "iu" and array.size:
        limits = np.iinfo(wanted)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise InvalidArgument(f"{name} has values out of the range of {wanted}")
    return np.ascontiguousarray(array.astype(wanted))


def vector(value: Any, dtype: Any, name: str) -> np.ndarray:
    """The same of one dimension; a number is an array of one."""
    array = np.atleast_1d(host(value, dtype, name))
    if array.ndim != 1:
        raise InvalidArgument(f"{name} has shape {array.shape}, expected one dimension")
    return array


def each(value: Any, count: int, dtype: Any, name: str) -> np.ndarray:
    """[count] from one number for all of them or one per each."""
    several = host(value, dtype, name)
    if is_one(value):
        return np.full(count, several.flat[0], dtype)
    expect_shape(several.shape, (count,), name)
    return several


def plain_array(value: Any, name: str) -> np.ndarray:
    """NumPy's array of a value, of whatever dtype."""
    if isinstance(value, (str, bytes)):
        raise WrongType(f"{name} is {kind_of(value)}, expected an array or a list")
    try:
        array = np.asarray(value)
    except (MemoryError, BufferError):  # the second one names its own mend
        raise
    except Exception as error:  # lists of different lengths; whatever its __array__ raises
        raise InvalidArgument(f"{name} is no array of numbers: {error}") from None
    if array.ndim == 0 and array.dtype == object:
        raise WrongType(f"{name} is {kind_of(value)}, expected an array or a list")
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise InvalidArgument(f"{name} is a masked array that hides values, expected one without: {name}.filled(..)")
    return array


def _place_in(shape: tuple[int, ...]) -> Callable[[int], str]:
    """Of an element by its number, in an array."""
    return lambda number: "".join(f"[{i}]" for i in np.unravel_index(number, shape))


def unboxed(values: list[Any], dtype: np.dtype[Any], name: str, place: Callable[[int], str]) -> list[Any]:
    """The same objects, all of which are numbers that the dtype holds; one that is not is named with its place."""
    integers = dtype.kind in "iu"
    for number, value in enumerate(values):
        if not isinstance(value, (numbers.Integral, np.bool_) if integers else numbers.Real):
            kind = "an integer" if integers else "a number"
            raise InvalidArgument(f"{name}{place(number)} is {shown(value)}, expected {kind}")
        if integers and not np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max:
            raise InvalidArgument(f"{name}{place(number)} is {shown(value)}, out of the range of {dtype}")
    return values


def is_one(value: Any) -> bool:
    """Whether it is a number rather than an array of numbers."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, (numbers.Number, np.generic))


def shape_of(value: Any, name: str) -> tuple[int, ...]:
    """That of an array of real numbers, or of a tensor, which is not looked into."""
    shape = getattr(value, "shape", None)
    return tuple(map(int, shape)) if isinstance(shape, Sequence) else real_array(value, name).shape


def real_array(value: Any, name: str) -> np.ndarray:
    """NumPy's array of anything that is an array of real numbers, of whatever dtype."""
    if value is None:
        raise InvalidArgument(f"{name} is None, expected an array")
    array = plain_array(value, name)
    if array.dtype.kind not in "iufb":
        raise InvalidArgument(f"{name} has dtype {array.dtype}, expected real numbers")
    return array


def from_dlpack(value: Any, name: str) -> np.ndarray:
    """NumPy's view of a tensor of the host."""
    place = _place(*_dlpack_device(value, name))
    if place != "cpu":
        raise InvalidArgument(f"{name} is on {place}, expected cpu")
    try:
        return np.from_dlpack(value)
    except BufferError:  # names its own mend: requires grad
        raise
    except Exception as error:  # an Arrow array with nulls, say
        raise InvalidArgument(f"{name} cannot be read by DLPack: {error}") from error


def _dlpack_device(value: Any, name: str) -> tuple[int, int]:
    try:
        kind, number = value.__dlpack_device__()
        return int(kind), int(number)
    except Exception as error:
        raise InvalidArgument(f"{name} cannot be read by DLPack: {error}") from error


def argument(value: Any, dtype: Any, name: str, device: Device, shape: Optional[tuple[int, ...]] = None) -> NativeArray:
    """The same for an argument that may be missing, or that lies on its owner's device."""
    if value is None:
        return None
    native: NativeArray
    if type(value) is not np.ndarray and _is_on_cuda(value, name):
        native, given = _tensor(value, dtype, name, device)
    else:
        native = host(value, dtype, name)
        given = native.shape
    if shape is not None:
        expect_shape(given, shape, name)
    return native


def counted(value: Any, dtype: Any, name: str, device: Device) -> tuple[NativeArray, int]:
    """The same for an argument that is required; also gives its number of elements."""
    native = argument(value, dtype, name, device)
    if native is None:
        raise WrongType(f"{name} is None, expected an array")
    return native, native[1] if isinstance(native, tuple) else native.size


def expect_shape(given: tuple[int, ...], shape: tuple[int, ...], name: str) -> None:
    if given != shape:
        raise InvalidArgument(f"{name} has shape {given}, expected {shape}")


def _is_on_cuda(value: Any, name: str) -> bool:
    return hasattr(value, "__dlpack_device__") and _dlpack_device(value, name)[0] in _CUDA_KINDS


def device_holding(value: Any, name: str) -> Device:
    """Where an array is, as :func:`device_of` has it."""
    if type(value) is np.ndarray or not _is_on_cuda(value, name):
        return _native.SIDBEAM_DEVICE_CPU, 0
    return _native.SIDBEAM_DEVICE_CUDA, _dlpack_device(value, name)[1]


def _place(kind: int, number: int) -> str:
    """DLPack's device, by the name that device_of takes."""
    if kind in _HOST_KINDS:
        return "cpu"
    return f"cuda:{number}" if kind in _CUDA_KINDS else f"device {number} of DLPack's type {kind}"


def _tensor(
    value: Any, dtype: Any, name: str, device: Device, writable: bool = False
) -> tuple[Address, tuple[int, ...]]:
    """Address and elements of a dense tensor in the memory of a device, and its shape."""
    if not hasattr(value, "__dlpack_device__"):
        raise WrongType(f"{name} is {type(value).__name__}, expected an array")
    address, code, bits, shape, *place = _native.describe_tensor(value, name, writable)
    if _place(*place) != device_name(device):
        raise InvalidArgument(f"{name} is on {_place(*place)}, expected {device_name(device)}")
    wanted = np.dtype(dtype)
    if code not in (_TYPE_CODES[wanted.kind], 1 if wanted.kind == "i" else 2) or bits != 8 * wanted.itemsize:
        raise InvalidArgument(f"{name} has DLPack type code {code} of {bits} bits, expected {wanted}")
    return (address, int(np.prod(shape, dtype=np.int64))), shape


def written(value: Any, dtype: Any, name: str, device: Device) -> tuple[NativeArray, tuple[int, ...]]:
    """An array to be written to, and its shape; the native layer asks NumPy's arrays whether they are writable."""
    if isinstance(value, np.ndarray):
        return value, value.shape
    refuse_view(value, name)
    # Not np.from_dlpack: it makes a framework's tensor read-only.
    return _tensor(value, dtype, name, device, writable=True)


def refuse_view(value: Any, name: str) -> None:
    """Its DLPack capsule does not say that it is read-only: frameworks refuse such capsules, or warn of them."""
    if isinstance(value, DeviceArray):
        raise InvalidArgument(f"{name} is a view of the library's own memory, expected an array that is writable")


def output(value: Any, dtype: Any, shape: tuple[int, ...], name: str, device: Device) -> Any:
    """(what the native layer takes, what the caller gets): the caller's own array, or a new one on the host."""
    if value is None:
        if device[0] != _native.SIDBEAM_DEVICE_CPU:
            raise InvalidArgument(f"{name} is None, expected an array on the device to write to")
        value = np.empty(tuple(size_of(extent, name) for extent in shape), dtype)
        return value, value
    native, given = written(value, dtype, name, device)
    if np.prod(given, dtype=np.int64) != np.prod(shape, dtype=np.int64):
        raise InvalidArgument(f"{name} has shape {given}, expected {shape}")
    return native, value


def dtype_code(dtype: DType | str | int | None) -> int:
    """The DTYPE number; -1: the array's own type decides."""
    return -1 if dtype is None else int(member(DType, dtype))


def device_of(device: Any) -> Device:
    """(device_type, device_id) from None, "cpu", "cuda", "cuda:1", ("cuda", 1) or a torch.device."""
    kind, number = "cpu", 0
    if isinstance(device, tuple):
        kind, number = device if len(device) == 2 else ("", -1)
    elif device is not None:
        kind, _, text = str(device).partition(":")
        number = int(text) if text.isascii() and text.isdigit() else 0 if text == "" else -1
    if kind not in ("cpu", "cuda") or not isinstance(number, int) or not 0 <= number < 2**31:
        raise InvalidArgument(f"device is {device!r}, expected 'cpu', 'cuda' or 'cuda:N'")
    return (_native.SIDBEAM_DEVICE_CPU if kind == "cpu" else _native.SIDBEAM_DEVICE_CUDA), number


def device_name(device: Device) -> str:
    return "cpu" if device[0] == _native.SIDBEAM_DEVICE_CPU else f"cuda:{device[1]}"


def stream_of(tensor: Any) -> Optional[int]:
    """torch's current stream where a tensor of torch is, for calls of a constraint set or a session."""
    if not tensor.is_cuda:
        return None
    import torch

    return int(torch.cuda.current_stream(tensor.device).cuda_stream)


def stream_number(stream: Any) -> int:
    """A CUDA stream as a number: None (the default one), an int, torch's and CuPy's streams, or ``__cuda_stream__``."""
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return int(getattr(stream, attribute))
    if isinstance(stream, numbers.Integral):
        return int(stream)
    raise WrongType(f"stream is {type(stream).__name__}, expected an int or a stream of torch or CuPy")


def summary(record: Any) -> str:
    """The text of a dataclass of arrays: a few numbers as they are, more by dtype and shape."""
    shown = (f"{name}={_shown(value)}" for name, value in vars(record).items() if value is not None)
    return f"{type(record).__name__}({', '.join(shown)})"


def _shown(value: Any) -> str:
    if not hasattr(value, "shape"):
        return repr(value)
    if isinstance(value, np.ndarray) and value.size <= 8:
        return str(value.tolist())
    return f"{value.dtype}{list(value.shape)}"


class DeviceArray:
    """A view of one of the library's arrays, on the device where it is: dense, of fixed shape, read-only by contract.

    ``torch.from_dlpack(a)``, ``jax.dlpack.from_dlpack(a)`` and ``cupy.asarray(a)`` see the same memory, which lives as
    long as they do. Work on it must be ordered after the session's calls, by the same stream or by events.
    """

    def __init__(self, address: int, shape: tuple[int, ...], dtype: Any, device: Device, keep: object) -> None:
        self._address = address
        self._keep = keep
        self._device = device
        self.shape = shape
        self.dtype = np.dtype(dtype)

    @property
    def device(self) -> str:
        return device_name(self._device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0) if self._device[0] == _native.SIDBEAM_DEVICE_CPU else (_DLPACK_CUDA, self._device[1])

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A capsule. The array is written on the caller's own stream, so nothing waits."""
        if copy:
            raise BufferError("a DeviceArray is a view: copy it after the import")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the array is on {self.device}")
        code, bits = _TYPE_CODES[self.dtype.kind], 8 * self.dtype.itemsize
        return _native.export_tensor(self._keep, self._address, code, bits, self.shape, *self.__dlpack_device__())

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._device[0] == _native.SIDBEAM_DEVICE_CPU:
            raise AttributeError("the array is on the host")
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self._address, True), "version": 3}

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device={self.device!r})"


class _HostMemory:
    """The object of which NumPy makes a view, and which it keeps as the base."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: Any, keep: object, writable: bool) -> None:
        self._keep = keep
        self.__array_interface__ = {
            "data": (address, not writable),
            "shape": shape,
            "typestr": np.dtype(dtype).str,
            "version": 3,
        }


def host_view(
    address: int, shape: tuple[int, ...], dtype: Any, keep: object, *, writable: bool = False
) -> np.ndarray:
    """A NumPy view of memory that `keep` keeps alive."""
    return np.asarray(_HostMemory(address, shape, dtype, keep, writable))
