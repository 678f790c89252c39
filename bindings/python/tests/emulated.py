"""Memory and streams of the CUDA emulator of tests/gpu, which refuses to read the host's memory as a device's.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path
from typing import Any, Iterator

import numpy as np

import sidbeam

PLUGIN = os.environ.get("SIDBEAM_CUDA_EMULATED")
TO_DEVICE, TO_HOST = 1, 2
THREAD_LOCAL, NON_BLOCKING = 1, 1


class Device:
    """The emulator's cudaMalloc and cudaMemcpy."""

    def __init__(self, plugin: str) -> None:
        self.library = ctypes.CDLL(str(Path(plugin).with_name("libsidbeam_emulator.so")))

    def tensor(self, values: Any, dtype: Any) -> Tensor:
        return Tensor(self, np.ascontiguousarray(values, dtype))

    def stream(self) -> int:
        """A new one, which the default stream neither waits for nor holds up."""
        stream = ctypes.c_void_p()
        assert self.library.cudaStreamCreateWithFlags(ctypes.byref(stream), NON_BLOCKING) == 0
        return stream.value or 0

    @contextlib.contextmanager
    def capture(self, stream: int) -> Iterator[None]:
        """What is enqueued on the stream is not done: the graph is thrown away."""
        handle, graph = ctypes.c_void_p(stream), ctypes.c_void_p()
        assert self.library.cudaStreamBeginCapture(handle, THREAD_LOCAL) == 0
        try:
            yield
        finally:
            assert self.library.cudaStreamEndCapture(handle, ctypes.byref(graph)) == 0
            assert self.library.cudaGraphDestroy(graph) == 0

    def copy(self, to: int, source: int, size: int, kind: int) -> None:
        assert self.library.cudaMemcpy(ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size), kind) == 0

    def read(self, array: Any) -> np.ndarray:
        """A tensor, or an array of the library, on the host."""
        address, code, bits, shape, kind, _ = sidbeam._native.describe_tensor(array, "array")
        assert kind == 2
        result = np.empty(shape, f"{'iuf'[code]}{bits // 8}")
        self.library.cudaDeviceSynchronize()
        self.copy(result.ctypes.data, address, result.nbytes, TO_HOST)
        return result


class Tensor:
    """A framework's tensor on the device."""

    def __init__(self, device: Device, values: np.ndarray) -> None:
        self.device, self.dtype, self.shape = device, values.dtype, values.shape
        address = ctypes.c_void_p()
        assert device.library.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(max(values.nbytes, 1))) == 0
        self.address = address.value or 0
        device.copy(self.address, values.ctypes.data, values.nbytes, TO_DEVICE)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: int) -> Any:
        assert stream == -1  # the caller's stream orders the work
        code, bits = {"i": 0, "u": 1, "f": 2}[self.dtype.kind], 8 * self.dtype.itemsize
        return sidbeam._native.export_tensor(self, self.address, code, bits, self.shape, 2, 0)

    def __del__(self) -> None:
        self.device.library.cudaFree(ctypes.c_void_p(self.address))
