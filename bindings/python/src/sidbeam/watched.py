"""An index file in whose place others come, by rename. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import threading
import time
import types
import weakref
from typing import Any, Optional

from .checks import path_bytes
from .errors import IOFailure
from .index import Index
from .live import Path

_LOOK = 0.25  # seconds between looks at the file


class WatchedFile:
    """What :class:`sidbeam.following.Newest` needs of a :class:`sidbeam.Catalog` that follows, of a single file.

    A file is taken over whole once its checksums are right. One that is not right raises when it is looked at first,
    and is not opened again: the last index stays until there is another file. Any thread may use it.
    """

    info = types.SimpleNamespace(follows=True)
    closed = False

    def __init__(self, path: Path) -> None:
        self._folder = os.path.abspath(os.fsdecode(path_bytes(path)))
        self._watchers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.RLock()
        self._seen = self._look()
        self._index = self._open()

    @classmethod
    def follow(cls, path: Path) -> WatchedFile:
        return cls(path)

    def snapshot(self) -> Index:
        return self._index

    def _watch(self, watcher: Any) -> None:
        self._watchers.add(watcher)

    def refresh(self, wait: Optional[float] = None) -> None:
        """Takes over another file that has come; where there is none, waits for one at most so many seconds."""
        end = time.monotonic() + (wait or 0.0)
        while not self._take_over():
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, _LOOK))

    def _take_over(self) -> bool:
        with self._lock:
            seen = self._look()
            if seen == self._seen:
                return False
            self._seen = seen
            self._index = self._open()
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
