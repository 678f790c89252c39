"""What a child of fork() must find whole. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import threading

# Of everything in this package that threads share, for short work. A fork waits for it: a child finds it free, and
# nothing half done. Reentrant, because the work may run a finalizer, and that may close an index.
lock = threading.RLock()
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
