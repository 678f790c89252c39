"""The base of every object of the library in Python. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from . import _native

H = TypeVar("H", bound="Handle")


class Handle:
    """A native object: close it, use it with ``with``, or let it go.

    ``close()`` may be called again, and while another thread is inside a call. The memory goes once that call, and the
    last view of the object's arrays, are gone. Any use after close raises :class:`BadState`.
    """

    __slots__ = ("_handle", "__weakref__")
    _handle: Any

    def close(self) -> None:
        _native.flat_close(self._handle)

    @property
    def closed(self) -> bool:
        return bool(_native.flat_is_closed(self._handle))

    def __enter__(self: H) -> H:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot pickle {type(self).__name__}: it is native memory. Open the index by its path in the other process"
        )

    def __copy__(self) -> NoReturn:
        raise TypeError(f"cannot copy {type(self).__name__}: share the object itself")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def _describe(self) -> str:
        return ""

    def __repr__(self) -> str:
        return f"<sidbeam.{type(self).__name__} {'closed' if self.closed else self._describe()}>".replace(" >", ">")
