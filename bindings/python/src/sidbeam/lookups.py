"""What an opened index answers: SIDs, ordinals, items. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import operator
from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _native, catalogue
from .arrays import vector
from .checks import kind_of
from .enums import IdType
from .errors import InvalidArgument, WrongType
from .handle import Handle
from .info import IndexInfo, info_arrays, info_from
from .runtime import Runtime


class ItemLists(NamedTuple):
    """The item rows of n ordinals: ordinal i has ``rows[offsets[i]:offsets[i + 1]]``."""

    rows: np.ndarray  #: int64, of all of them, in their order
    offsets: np.ndarray  #: int64 [n + 1]
    truncated: bool  #: whether a limit left rows out (that the cap would have listed)
    came_short: bool  #: whether the cap left rows out and there are fewer than ``limit``: more beams may find more


class Lookups(Handle):
    """Of an index, which :class:`Index` opens, builds and saves."""

    __slots__ = ("_info", "_runtime")
    _info: Optional[IndexInfo]
    _runtime: Runtime

    @property
    def info(self) -> IndexInfo:
        """What the header says, and how far the rest was checked."""
        if self._info is None or self.closed:
            numbers, fingerprint = info_arrays()
            _native.flat_index_get_info(self._handle, numbers, fingerprint)
            self._info = info_from(numbers, fingerprint)
        return self._info

    def __len__(self) -> int:
        """Distinct SIDs."""
        return self.info.sids

    def __contains__(self, sid: Sequence[int]) -> bool:
        return self.find(sid) >= 0

    def sid(self, ordinal: int) -> tuple[int, ...]:
        """The SID of an ordinal."""
        codes, lengths = self.sids([ordinal])
        return tuple(codes[0, : lengths[0]].tolist())

    def sids(self, ordinals: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """codes ``[n, levels]`` (-1 beyond the length) and lengths ``[n]`` of ordinals; None: of all of them."""
        wanted = np.arange(len(self)) if ordinals is None else vector(ordinals, np.int64, "ordinals")
        levels = self.info.levels
        codes, lengths = np.empty((len(wanted), levels), np.int32), np.empty(len(wanted), np.int32)
        _native.flat_index_sids(self._handle, wanted, levels, codes, lengths)
        return codes, lengths

    def find(self, sid: Sequence[int]) -> int:
        """The ordinal of a whole SID; -1: there is none."""
        return int(self.find_many([sid])[0])

    def find_many(self, sids: Any, lengths: Any = None) -> np.ndarray:
        """Ordinals ``[n]`` of whole SIDs, -1 where there is none; ``sids`` as :meth:`Builder.add` takes them."""
        codes, sizes = catalogue.sids_of(sids, lengths)
        if sizes is None:
            sizes = np.full(len(codes), codes.shape[1], np.int32)
        ordinals = np.empty(len(codes), np.int64)
        _native.flat_index_find_sids(self._handle, codes, codes.shape[1], sizes, ordinals)
        return ordinals

    def ordinals(self, prefix: Sequence[int] = ()) -> range:
        """The ordinals of the SIDs that begin with a prefix."""
        bounds = np.zeros(2, np.int64)
        _native.flat_index_ordinals(self._handle, vector(prefix, np.int32, "prefix"), bounds)
        return range(int(bounds[0]), int(bounds[1]))

    def children(self, prefix: Sequence[int] = ()) -> np.ndarray:
        """The codes that may follow a prefix, rising, int32."""
        codes = vector(prefix, np.int32, "prefix")
        end = np.zeros(1, np.int32)
        children = np.empty(_native.flat_index_children(self._handle, codes, None, end), np.int32)
        _native.flat_index_children(self._handle, codes, children, end)
        return children

    def item_rows(self, ordinal: int) -> range:
        """The item rows of an ordinal, by priority."""
        bounds = np.zeros(2, np.int64)
        _native.flat_index_item_rows(self._handle, ordinal, bounds)
        return range(int(bounds[0]), int(bounds[1]))

    def item_rows_of(
        self,
        ordinals: Any,
        *,
        limit_per_sid: int = 0,
        limit: int = 0,
        distinct: bool = False,
        cap: int = 0,
        cap_by: Optional[str] = None,
    ) -> ItemLists:
        """The item rows of ordinals ``[n]`` in their order, as :meth:`Session.items` gives those of beams (-1: none),
        with its limits and cap."""
        constraint: Any = self.constraint  # type: ignore[attr-defined]  # of an Index
        limits = {"limit_per_sid": limit_per_sid, "limit": limit, "distinct": distinct}
        found: ItemLists = constraint.item_rows_of(ordinals, **limits, cap=cap, cap_by=cap_by)
        return found

    def item_ordinals(self, item_rows: Any) -> np.ndarray:
        """The ordinals ``[n]`` of item rows."""
        wanted = vector(item_rows, np.int64, "item_rows")
        ordinals = np.empty(len(wanted), np.int64)
        _native.flat_index_item_ordinals(self._handle, wanted, ordinals)
        return ordinals

    def item_ids(self, item_rows: Any) -> np.ndarray:
        """The ids ``[n]`` of item rows: int64, uint64, or str as objects. Names that overlap, as only those of a
        damaged index do, are :class:`Corrupt`."""
        wanted = vector(item_rows, np.int64, "item_rows")
        ids, sizes = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64)
        _native.flat_index_item_ids(self._handle, wanted, ids, sizes)
        if self.info.id_type != IdType.STRING:
            return ids.view(np.uint64) if self.info.id_type == IdType.U64 else ids
        text = bytearray(int(sizes.sum()))
        _native.flat_index_item_names(self._handle, wanted, text)
        ends = np.cumsum(sizes).tolist()
        names = [text[end - size : end].decode("utf-8", "replace") for end, size in zip(ends, sizes.tolist())]
        return np.array(names, dtype=object)

    def item_priorities(self, item_rows: Any) -> np.ndarray:
        """The priorities ``[n]`` of item rows, of which those of a SID have the highest first.

        Raises :class:`MissingSection` where the index was built without ``keep_priorities``.
        """
        wanted = vector(item_rows, np.int64, "item_rows")
        priorities = np.empty(len(wanted), np.int64)
        _native.flat_index_item_priorities(self._handle, wanted, priorities)
        return priorities

    def find_item(self, item: Union[int, str, bytes], from_item_row: int = 0) -> int:
        """The first item row at or after `from_item_row` with this id; -1: none. One pass over the ids: for tools.
        An id that no id of this index can equal, by its type or sign, is :class:`InvalidArgument`."""
        if isinstance(item, (str, bytes)):
            name = catalogue.utf8(item, "item")
            return int(_native.flat_index_find_item(self._handle, 0, name, from_item_row))
        kind = self.info.id_type
        try:
            number = operator.index(item)
        except Exception:  # whatever its __index__ raises
            raise WrongType(f"item is {kind_of(item)}, expected a str, bytes or an integer") from None
        lowest = 0 if kind == IdType.U64 else -(2**63)
        if kind != IdType.STRING and not lowest <= number < lowest + 2**64:
            raise InvalidArgument(f"item is {item}, expected an id of 64 bits, {'un' if lowest == 0 else ''}signed")
        bits = number - 2**64 if number >= 2**63 else number
        return int(_native.flat_index_find_item(self._handle, bits, None, from_item_row))


def list_items(items: Callable[..., None], ordinals: Any, limit: int) -> ItemLists:
    """By a call of the library; its arguments are ordinals, limit, rows, offsets and flags."""
    wanted = vector(ordinals, np.int64, "ordinals")
    offsets, truncated = np.empty(len(wanted) + 1, np.int64), np.empty(1, np.int32)
    came_short = np.empty(1, np.int32)
    items(wanted, limit, None, offsets, truncated, came_short)
    rows = np.empty(offsets[-1], np.int64)  # as many as there are, so that the list is full
    if len(rows) > 0:
        items(wanted, len(rows), rows, offsets, truncated, None)
    return ItemLists(rows, offsets, bool(truncated[0]), bool(came_short[0]))
