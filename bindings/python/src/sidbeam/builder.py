"""From a catalogue to an index. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, Optional

from . import catalogue, parquet
from .build import Build, Progress
from .enums import IdType
from .importing import Import, ImportInfo, Path, add_table, options_of
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
    - ``keep_priorities``: the index keeps the priorities, for :meth:`Index.item_priorities`. They take nothing where
      all are equal, and otherwise 2, 4 or 8 bytes an item row, as few as their range allows.

    The same pairs and options give the same bytes, whatever their order and the number of threads.
    """

    __slots__ = ()

    def add_file(self, path: Path, *, progress: Optional[Progress] = None, **options: Any) -> ImportInfo:
        """Adds all pairs of a catalogue file, of any kind of :meth:`Index.from_file`; returns what was seen in it.

        ``options`` are those of :class:`ImportOptions`. The codes, levels and lengths are the builder's. Ids of a
        builder of "string" may be integers in the file; otherwise their type must be the builder's. Raises
        :class:`Corrupt` with file, line and item where the file is no catalogue; then some of its pairs may have been
        added, and the builder is to be closed; so it is after an exception from ``progress(phase, done, total)``. Of
        what PyArrow reads, done and total are rows, told at each record batch; total is 0 where a file does not say.
        """
        reading = options_of(options)[0]
        table = parquet.arrow_stream_of(path, reading.columns())
        if table is not None:
            shape = catalogue.Shape(self._levels, self._variable, IdType(self._id_type))
            return add_table(self, table, reading, shape, tuple(self._codes.tolist()), progress=progress)
        with Import(
            path,
            reading,
            levels=self._levels,
            codes=self._codes,
            variable_length=self._variable,
            text_ids=self._id_type == IdType.STRING,
            progress=progress,
            runtime=self._runtime,
        ) as file:
            file.add_to(self, progress)
            return file.info

    def finish(self, progress: Optional[Progress] = None) -> Index:
        """The same index in memory."""
        return Index._wrap(self._finish(progress), self._runtime)
