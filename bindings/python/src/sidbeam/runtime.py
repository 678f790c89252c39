"""The runtime: threads, instruction set, devices and the log. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import logging
from typing import Any, Callable, Optional, Union

from . import _native, forks
from .checks import instance, kind_of
from .enums import LogLevel, member
from .errors import WrongType
from .handle import Handle

Logger = Union[logging.Logger, Callable[[LogLevel, str], object], bool, None]

_PYTHON_LEVELS = {LogLevel.ERROR: logging.ERROR, LogLevel.WARNING: logging.WARNING, LogLevel.INFO: logging.INFO}


def logger_of(log: Logger) -> Logger:
    if log is True:
        return logging.getLogger("sidbeam")
    if log is None or log is False:
        return None
    if isinstance(log, logging.Logger) or callable(log):
        return log
    raise WrongType(f"log is {kind_of(log)}, expected a logging.Logger, a callable, True or None")


def hand_over_log(log: Logger) -> None:
    """Hands waiting messages to the logger, if there is one."""
    if log is None:
        return
    text = bytearray(512)
    while (level := _native.flat_log_take(text)) >= 0:
        message = text.split(b"\0", 1)[0].decode("utf-8", "replace")
        if isinstance(log, logging.Logger):
            log.log(_PYTHON_LEVELS.get(LogLevel(level), logging.INFO), "%s", message)
        elif callable(log):
            log(LogLevel(level), message)


class Runtime(Handle):
    """What every other object is made from. Immutable: any number of threads may share it.

    Objects hold the runtime that they were made from, so it may be closed before them. A call without a runtime uses
    the process's default one.

    - ``threads``: of a build or a verification; 0: one per core.
    - ``step_threads``: of a step, the caller's included; 0: the caller's alone. Results have the same bits whatever
      it is.
    - ``step_grain``: logits elements that justify one thread of a step; 0: 32768.
    - ``log``: a ``logging.Logger``, a callable ``(LogLevel, str)``, True for the logger "sidbeam", None for
      silence. Messages are handed over after the call that made them, on its thread. The library keeps them in one
      queue, so with several runtimes that log, any of them may hand over a message of another.
    - ``cpu_target``: "avx512", "avx2", "neon", "baseline"; None: the best that there is.
    - ``cuda_library``: path of the CUDA plugin; None: beside the library.
    - ``device_allocator``: (allocate, release, context), addresses of C functions as ``sidbeam_device_allocator`` in
      ``runtime.h`` describes them.
    """

    __slots__ = ("_log",)

    def __init__(
        self,
        threads: int = 0,
        step_threads: int = 0,
        step_grain: int = 0,
        log: Logger = None,
        log_level: LogLevel = LogLevel.INFO,
        cpu_target: Optional[str] = None,
        cuda_library: Optional[str] = None,
        device_allocator: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        self._log = logger_of(log)
        level = -1 if self._log is None else int(member(LogLevel, log_level))
        if not isinstance(device_allocator, tuple) or len(device_allocator) != 3:
            raise WrongType(f"device_allocator is {kind_of(device_allocator)}, expected a tuple of three addresses")
        self._handle: Any = _native.flat_runtime_create(
            threads, step_threads, step_grain, level, cpu_target, cuda_library, *device_allocator
        )

    def _hand_over_log(self) -> None:
        """Hands waiting messages to the logger."""
        hand_over_log(self._log)


_default: Optional[Runtime] = None


def runtime_or(runtime: Optional[Runtime], other: Runtime) -> Runtime:
    return other if runtime is None else instance(runtime, Runtime, "runtime")


def runtime_or_default(runtime: Optional[Runtime]) -> Runtime:
    global _default
    if runtime is not None:
        return instance(runtime, Runtime, "runtime")
    with forks.lock:
        if _default is None or _default.closed:
            _default = Runtime()
        return _default
