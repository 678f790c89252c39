"""From a catalogue to an index. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Optional

from .build import Build, Progress
from .index import Index


class Builder(Build):
    """Collects (SID, item) pairs, then writes or makes an index. One thread at a time.

    - ``codes``: codes per level, ``[levels]``: those of level l are ``0 .. codes[l]-1``.
    - ``variable_length``: SIDs have from 1 to ``levels`` codes.
    - ``id_type``: "i64", "u64" or "string". ``kinds``: what strategies will need.
    - ``collisions``: items that share a SID: "keep", "error", "first".
    - ``memory_limit``: bytes; a build that needs more raises :class:`OutOfMemory` before it takes them.
    - ``codebook``: fingerprint of the codebook that made the SIDs, kept in the file.
    - ``hash_seed``: with the kind "hash", where strangers choose SIDs: 64 secret bits, which the file holds. 0: the
      first of a public list that serves. SIDs chosen to crowd the hash set raise :class:`InvalidArgument`.
    - ``allow_attribute_loss``: :meth:`write` replaces a file even if its owner, mode, access list (ACL) or extended
      attributes cannot be kept; the attributes that are left grant nobody more than the old file did. Otherwise it
      raises :class:`IOFailure`.

    The same pairs and options give the same bytes, whatever their order and the number of threads.
    """

    __slots__ = ()

    def finish(self, progress: Optional[Progress] = None) -> Index:
        """The same index in memory."""
        return Index._wrap(self._finish(progress), self._runtime)
