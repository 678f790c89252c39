"""The items of an index by their ids. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

import numpy as np

from ..enums import IdType
from ..index import Index
from .ids import Id

_CHUNK = 1 << 16  # ids that are read at a time
_GROWTH = 16  # what came since is sorted into the rest once it is a sixteenth of it
_END = 1 << 31  # above every code: the end of a SID comes after all of them


class _Sorted(NamedTuple):
    keys: np.ndarray  #: int64, rising
    rows: np.ndarray  #: int64, of which they are the ids

    def joined(self, other: _Sorted) -> _Sorted:
        keys, rows = np.concatenate([self.keys, other.keys]), np.concatenate([self.rows, other.rows])
        order = np.argsort(keys, kind="stable")
        return _Sorted(keys[order], rows[order])

    def find(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of those keys that are there, and which of the keys each has."""
        first = np.searchsorted(self.keys, keys)
        counts = np.searchsorted(self.keys, keys, "right") - first
        owners = np.repeat(np.arange(len(keys)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.rows[first[owners] + within], owners


_NONE = _Sorted(np.empty(0, np.int64), np.empty(0, np.int64))


class ItemTable:
    """Finds the rows of items. Immutable; 16 bytes per row.

    Rows are only ever added, so that the table of a version of a live catalogue begins with that of the version before
    it on the same base. Of names it has the hashes.
    """

    def __init__(self, index: Index, before: Optional[ItemTable] = None) -> None:
        self._index, info = index, index.info
        self._generation, self._version, self._count = info.generation, info.version, info.items
        goes_on = before is not None and info.generation > 0 and before._generation == info.generation
        first = 0
        self._rest, self._added = _NONE, _NONE
        if before is not None and goes_on and before._version <= info.version:
            first, self._rest, self._added = before._read, before._rest, before._added
        self._read = max(first, info.items)
        if first < info.items:
            self._added = self._added.joined(self._sorted(first))
        if len(self._added.rows) * _GROWTH > len(self._rest.rows):
            self._rest, self._added = self._rest.joined(self._added), _NONE

    def _sorted(self, first: int) -> _Sorted:
        starts = range(first, self._count, _CHUNK)
        rows = np.arange(first, self._count)
        keys = [self._keys_of(self._index.item_ids(rows[at - first : at - first + _CHUNK])) for at in starts]
        return _NONE.joined(_Sorted(np.concatenate(keys), rows))

    def _keys_of(self, ids: np.ndarray) -> np.ndarray:
        if self._index.info.id_type == IdType.STRING:
            return np.fromiter(map(hash, ids.tolist()), np.int64, len(ids))
        return ids.view(np.int64)

    def find(self, ids: Sequence[Id]) -> tuple[np.ndarray, np.ndarray]:
        """The rows of those items that have some, and which of the ids each is of; ids of the index's type."""
        id_type = self._index.info.id_type
        dtype = {IdType.STRING: object, IdType.U64: np.uint64}.get(id_type, np.int64)
        wanted = np.array(ids, dtype)
        keys = self._keys_of(wanted)
        found = [part.find(keys) for part in (self._rest, self._added)]
        rows, owners = (np.concatenate(parts) for parts in zip(*found))
        there = rows < self._count  # of a version that was gone back to there may be more
        if id_type == IdType.STRING:
            there[there] = self._index.item_ids(rows[there]) == wanted[owners[there]]  # hashes may be equal by chance
        return rows[there], owners[there]

    def sids(self, ids: Sequence[Id]) -> dict[int, list[int]]:
        """The SIDs of those items that are live, by their places in the list: of an item that has several the least."""
        rows, owners = self.find(ids)
        if len(rows) == 0:
            return {}
        ordinals = self._index.item_ordinals(rows)
        live = self._live(rows, ordinals)
        codes = self._index.sids(ordinals[live])[0]
        least: dict[int, list[int]] = {}
        for owner, sid in zip(owners[live].tolist(), np.where(codes < 0, _END, codes.astype(np.int64)).tolist()):
            least[owner] = min(sid, least.get(owner, sid))
        return {owner: [code for code in least[owner] if code != _END] for owner in sorted(least)}

    def _live(self, rows: np.ndarray, ordinals: np.ndarray) -> np.ndarray:
        """Which of the rows, of these ordinals, are live: what has gone keeps its row."""
        if self._index.info.live_items == self._index.info.items:
            return np.ones(len(rows), bool)
        return np.isin(rows, self._index.item_rows_of(np.unique(ordinals)).rows)
