"""The items of an index by their ids. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

import numpy as np

from ..enums import IdType
from ..index import Index
from ..info import IndexInfo
from .ids import Id

_CHUNK = 1 << 16  # ids that are read at a time
_GROWTH = 16  # what came since is sorted into the rest once it is a sixteenth of it
_END = 2**31 - 1  # above every code: the end of a SID comes after all of them
_TYPES = {IdType.I64: np.int64, IdType.U64: np.uint64, IdType.STRING: np.object_}


class _Sorted(NamedTuple):
    keys: np.ndarray  #: int64, rising
    rows: np.ndarray  #: int64, of which they are the ids

    def joined(self, other: _Sorted) -> _Sorted:
        keys, rows = np.concatenate([self.keys, other.keys]), np.concatenate([self.rows, other.rows])
        order = np.argsort(keys, kind="stable")
        return _Sorted(keys[order], rows[order])

    def find(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of those keys that are there, and which of the keys each has."""
        first = self.keys.searchsorted(keys)
        counts = self.keys.searchsorted(keys, "right") - first
        owners = counts.nonzero()[0]
        if counts.max(initial=0) <= 1:
            return self.rows[first[owners]], owners
        owners = owners.repeat(counts[owners])
        within = np.arange(len(owners)) - (counts.cumsum() - counts)[owners]
        return self.rows[first[owners] + within], owners


_NONE = _Sorted(np.empty(0, np.int64), np.empty(0, np.int64))


class ItemTable:
    """Finds the rows of items. Immutable; 16 bytes per row.

    Rows are only ever added, so that the table of a version of a live catalogue begins with that of the version before
    it on the same base. Of names it has the hashes.
    """

    def __init__(self, index: Index, before: Optional[ItemTable] = None) -> None:
        self._index, self._info = index, index.info
        first, self._rest, self._added = 0, _NONE, _NONE
        if before is not None and before._goes_on_with(self._info):
            first, self._rest, self._added = before._info.items, before._rest, before._added
        if first < self._info.items:
            self._added = self._added.joined(self._sorted(first))
        if len(self._added.rows) * _GROWTH > len(self._rest.rows):
            self._rest, self._added = self._rest.joined(self._added), _NONE

    def _goes_on_with(self, info: IndexInfo) -> bool:
        return 0 < info.generation == self._info.generation and self._info.version <= info.version

    def _sorted(self, first: int) -> _Sorted:
        rows = np.arange(first, self._info.items)
        starts = range(first, self._info.items, _CHUNK)
        keys = [self._keys_of(self._index.item_ids(rows[at - first : at - first + _CHUNK])) for at in starts]
        return _NONE.joined(_Sorted(np.concatenate(keys), rows))

    def _keys_of(self, ids: np.ndarray) -> np.ndarray:
        if self._info.id_type == IdType.STRING:
            return np.fromiter(map(hash, ids.tolist()), np.int64, len(ids))
        return ids.view(np.int64)

    def find(self, ids: Sequence[Id]) -> tuple[np.ndarray, np.ndarray]:
        """The rows of those items that have some, and which of the ids each is of; ids of the index's type."""
        wanted = np.array(ids, _TYPES[self._info.id_type])
        keys = self._keys_of(wanted)
        rows, owners = self._rest.find(keys)
        if len(self._added.rows):
            more, of = self._added.find(keys)
            rows, owners = np.concatenate([rows, more]), np.concatenate([owners, of])
        if self._info.id_type == IdType.STRING:  # hashes may be equal by chance
            there = self._index.item_ids(rows) == wanted[owners]
            rows, owners = rows[there], owners[there]
        return rows, owners

    def sids(self, ids: Sequence[Id]) -> dict[int, list[int]]:
        """The SIDs of those items that are live, by their places in the list: of an item that has several the least."""
        rows, owners = self.find(ids)
        ordinals = self._index.item_ordinals(rows)
        if self._info.live_items < self._info.items:  # what has gone keeps its row
            live = np.isin(rows, self._index.item_rows_of(np.unique(ordinals)).rows)
            ordinals, owners = ordinals[live], owners[live]
        codes = self._index.sids(ordinals)[0]
        codes[codes < 0] = _END
        least: dict[int, list[int]] = {}
        for owner, sid in zip(owners.tolist(), codes.tolist()):
            if owner not in least or sid < least[owner]:
                least[owner] = sid
        if not self._info.variable_length:
            return least
        return {owner: [code for code in sid if code != _END] for owner, sid in least.items()}
