"""An index file in whose place others come, by rename. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import threading
import time
import types
import weakref
from typing import Any, Optional

from .checks import path_bytes
from .errors import IOFailure, SidbeamError
from .index import Index
from .live import Path

_LOOK = 0.25  # seconds between looks at the file


class WatchedFile:
    """What :class:`sidbeam.following.Newest` needs of a :class:`sidbeam.Catalog` that follows, of a single file.

    A file is taken over whole once its checksums are right. One that is not right is opened once: the last index stays
    until there is another file, and each :meth:`refresh` without `wait` raises what was wrong. Any thread may use it.
    """

    info = types.SimpleNamespace(follows=True)
    closed = False

    def __init__(self, path: Path) -> None:
        self._folder = os.path.abspath(os.fsdecode(path_bytes(path)))
        self._watchers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.RLock()
        self._seen = self._look()
        self._failed: Optional[SidbeamError] = None  # what is wrong with the file that was seen
        self._opened = self._open(), self._seen

    @classmethod
    def follow(cls, path: Path) -> WatchedFile:
        return cls(path)

    def opened(self) -> tuple[Index, tuple[int, ...]]:
        """The index, and what tells its file from others."""
        return self._opened

    def _watch(self, watcher: Any) -> None:
        self._watchers.add(watcher)

    def refresh(self, wait: Optional[float] = None) -> None:
        """Takes over another file that has come; where there is none, waits for one at most so many seconds.

        Raises what is wrong with it. Without `wait`, also where that raised in another call already, which may have
        been another thread's.
        """
        end = time.monotonic() + (wait or 0.0)
        while not self._take_over(again=wait is None):
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, _LOOK))

    def _take_over(self, again: bool) -> bool:
        """Whether another file has come; `again`: raises once more what is wrong with the one that was seen."""
        with self._lock:
            seen, failed = self._look(), self._failed
            if seen == self._seen:
                if again and failed is not None:
                    raise _copy_of(failed)
                return False
            self._seen, self._failed = seen, None
            try:
                self._opened = self._open(), seen
            except SidbeamError as error:
                self._failed = _copy_of(error)
                raise
            for watcher in list(self._watchers):
                watcher.take(self)
            return True

    def _look(self) -> tuple[int, ...]:
        try:
            now = os.stat(self._folder)
        except OSError as error:
            raise IOFailure(f"cannot open '{self._folder}': {error.strerror}") from error
        return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns

    def _open(self) -> Index:
        return Index.open(self._folder, verify="checksums")


def _copy_of(error: SidbeamError) -> SidbeamError:
    """Without its traceback, which holds those that have called."""
    return type(error)(error.message, error.code)
