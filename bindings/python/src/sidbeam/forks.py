"""What a child of fork() must find whole. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import threading

# Of everything in this package that threads share, for short work. A fork waits for it, so that a child finds nothing
# half done. Reentrant, because the work may run a finalizer, and that may close an index. Say forks.lock: a child has
# one of its own.
lock = threading.RLock()


def _wait() -> None:
    lock.acquire()


def _go_on() -> None:
    lock.release()


def _begin() -> None:
    # Not released: where a signal ended the wait, another thread of the parent may still have it.
    global lock
    lock = threading.RLock()


os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_begin)
