"""Exceptions: one class per status, all of them :class:`SidbeamError`. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from . import _native
from .messages import in_python


class SidbeamError(Exception):
    """A call of the library failed.

    ``code`` is the status (``SIDBEAM_*`` of the C ABI), ``name`` its name, ``message`` one line: what, expected, came.
    """

    code: int = 0

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code

    @property
    def name(self) -> str:
        return str(_native.sidbeam_status_name(self.code))

    def __str__(self) -> str:
        return f"{self.message} ({self.name})"


class InvalidArgument(SidbeamError, ValueError):
    """An argument, or a value in an array; the message names it."""

    code = 1


class WrongType(InvalidArgument, TypeError):
    """An argument of a Python type that none of its values may have; a ``TypeError`` too."""


class OutOfMemory(SidbeamError, MemoryError):
    """The allocator returned nothing, or a build would exceed its memory limit."""

    code = 2


class IOFailure(SidbeamError, OSError):
    """The operating system refused: no such file, no space, no permission."""

    code = 3


class Corrupt(SidbeamError):
    """The bytes of an index are damaged, or are not an index."""

    code = 4


class Unsupported(SidbeamError):
    """Made for a newer library, or a combination that is not offered."""

    code = 5


class MissingSection(SidbeamError):
    """The index was built without what this call needs; the message names the option."""

    code = 6


class Collision(SidbeamError):
    """Two items share a SID and the builder was told to refuse that."""

    code = 7


class Cancelled(SidbeamError):
    """A build or a request was cancelled."""

    code = 8


class BadState(SidbeamError):
    """Called at the wrong time: a slot that is done, an object that is closed or in use by another thread."""

    code = 9


class NoDevice(SidbeamError):
    """The device, its driver or its plugin is missing."""

    code = 10


class InternalError(SidbeamError):
    """A defect of the library."""

    code = 11


class DeviceError(SidbeamError):
    """The device reported an error, in this call or in work enqueued before it."""

    code = 12


class QueueFull(SidbeamError):
    """The runner holds as many requests as it may; nothing was taken."""

    code = 13


class DeadlineExceeded(SidbeamError, TimeoutError):
    """The request's deadline passed before it could start."""

    code = 14


_CLASSES = {cls.code: cls for cls in SidbeamError.__subclasses__()}


def make(code: int, message: str, wrong_type: bool = False) -> SidbeamError:
    """The exception of a status and the native library's message; an unknown status gives the base class."""
    cls = WrongType if wrong_type else _CLASSES.get(code, SidbeamError)
    return cls(in_python(message), code)


_native.set_make_error(make)
