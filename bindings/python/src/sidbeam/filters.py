"""Sets of an index's items. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from functools import reduce
from typing import Any, Optional

import numpy as np

from . import _native, catalogue
from .arrays import is_one
from .checks import flag, kind_of
from .enums import IdType
from .errors import InvalidArgument, Unsupported, WrongType
from .handle import Handle
from .item_lists import ItemRows, native_list
from .lookups import Lookups
from .row_masks import row_set
from .terms import term


@dataclasses.dataclass(frozen=True)
class FilterInfo:
    prepared: bool  #: whether what a search reads has been derived
    items: int  #: item rows in the filter
    sids: int  #: SIDs with such a row; -1 until it is prepared
    bytes: int  #: that the filter takes by now


class Filter(Handle):
    """Which items of an index may be shown, known in advance: in stock, of a region, of a campaign.

    Made by :meth:`Index.filter`, joined with others of the index by ``&``, ``|`` and ``~``, and given to
    :class:`Constraint`, :meth:`Session.start`, :meth:`Runner.run`. Immutable: any number of threads may share it. It
    holds the index's memory, so that the index may be closed before it. What a search reads is derived when a filter is
    first used, or by :meth:`prepare`. ``len(filter)``: its item rows. ``str(filter)``: its text, if it has one.
    """

    __slots__ = ("_id_type", "unknown")
    unknown: int  #: ids and item rows that were given to make it and name no item
    _id_type: IdType

    def __init__(self) -> None:
        raise TypeError("use Index.filter")

    @classmethod
    def _wrap(cls, handle: Any, id_type: IdType, unknown: int = 0) -> Filter:
        made = cls.__new__(cls)
        made._handle, made._id_type, made.unknown = handle, id_type, unknown
        return made

    @property
    def info(self) -> FilterInfo:
        numbers = np.zeros(_native.FLAT_FILTER_COUNT, np.int64)
        _native.flat_filter_get_info(self._handle, numbers)
        places = {f.name: int(numbers[getattr(_native, f"FLAT_FILTER_{f.name.upper()}")]) for f in _FIELDS}
        return FilterInfo(**places | {"prepared": bool(places["prepared"])})

    @property
    def text(self) -> Optional[str]:
        """Of which :meth:`Index.filter` makes a filter of the same rows; None: of a mask, of lists, or updated."""
        try:
            text = bytearray(_native.flat_filter_text(self._handle, None))
        except Unsupported:
            return None
        _native.flat_filter_text(self._handle, text)
        return text.decode()

    def rows(self) -> np.ndarray:
        """int64, rising: the item rows in the filter."""
        words = np.zeros(_native.flat_filter_rows(self._handle, None), np.int64)
        _native.flat_filter_rows(self._handle, words)
        return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))

    def prepare(self) -> None:
        """Derives now what a search reads, on the runtime's threads, so that no request waits for it."""
        _native.flat_filter_prepare(self._handle)

    def update(self, ids: Any = None, *, rows: Any = None, allowed: Any) -> Filter:
        """The filter after a change of some items, at the cost of these; this one stays as it is.

        ``ids``, or ``rows``: as of :meth:`Index.filter`. ``allowed``: whether they are in, True or False for all of
        them or one per entry; of an item that comes twice the last entry counts. A filter that is prepared gives one
        that is.
        """
        if (ids is None) == (rows is None):
            raise InvalidArgument("ids and rows are both None or both given, expected one of them")
        items = native_list(ids if rows is None else _rows(rows), self._id_type, "ids")
        count = len(items[1]) if items[3] is None else len(items[3]) - 1  # type: ignore[arg-type]
        wanted = catalogue.column([allowed] * count if is_one(allowed) else allowed, "allowed")
        if wanted.dtype != np.bool_ and count:
            raise InvalidArgument(f"allowed has dtype {wanted.dtype}, expected True or False for each of {count} items")
        if len(wanted) != count:
            raise InvalidArgument(f"allowed has {len(wanted)} entries, expected {count}, one per item")
        unknown = np.zeros(1, np.int64)
        handle = _native.flat_filter_update(self._handle, *items, wanted.astype(np.uint8), unknown)
        return Filter._wrap(handle, self._id_type, int(unknown[0]))

    def on(self, index: Lookups) -> Filter:
        """The same filter on another version of a live catalogue, or on another :class:`Index`.

        What was made of a text or of attributes is asked of that index's items. A set of items or rows has the same
        rows where both are versions on one base, or that base, and none that came later; otherwise it raises
        :class:`InvalidArgument`.
        """
        if not isinstance(index, Lookups):
            raise WrongType(f"index is {kind_of(index)}, expected an Index")
        return Filter._wrap(_native.flat_filter_on(self._handle, index._handle), self._id_type, self.unknown)

    def __len__(self) -> int:
        return self.info.items

    def __bool__(self) -> bool:
        """Always: ``if filter`` asks whether there is one, not whether it lets items through."""
        return True

    def _joined(self, op: int, other: Any) -> Any:
        if not isinstance(other, Filter):
            return NotImplemented
        handle = _native.flat_filter_combine(op, self._handle, other._handle)
        return Filter._wrap(handle, self._id_type, self.unknown + other.unknown)

    def __and__(self, other: Filter) -> Filter:
        result: Filter = self._joined(_native.SIDBEAM_FILTER_AND, other)
        return result

    def __or__(self, other: Filter) -> Filter:
        result: Filter = self._joined(_native.SIDBEAM_FILTER_OR, other)
        return result

    def __invert__(self) -> Filter:
        handle = _native.flat_filter_combine(_native.SIDBEAM_FILTER_NOT, self._handle, None)
        return Filter._wrap(handle, self._id_type, self.unknown)

    def __str__(self) -> str:
        text = None if self.closed else self.text
        return repr(self) if text is None else text

    def _describe(self) -> str:
        text = self.text
        return f"of {len(self)} items" + ("" if text is None else f": {text:.60}{'' if len(text) <= 60 else '...'}")


_FIELDS = dataclasses.fields(FilterInfo)


def _rows(rows: Any) -> ItemRows:
    return rows if isinstance(rows, ItemRows) else ItemRows(rows)


def make_filter(
    index: Lookups, given: Any, bits: Any, ids: Any, rows: Any, attributes: dict[str, Any]
) -> Filter:
    """As :meth:`Index.filter` has it."""
    handle, id_type, parts = index._handle, index.info.id_type, []
    packed = flag(bits, "bits")
    if packed and (given is None or isinstance(given, str)):
        raise InvalidArgument("bits is True, expected packed bits as the first argument")
    if isinstance(given, str):
        parts.append(Filter._wrap(_native.flat_filter_parse(handle, catalogue.utf8(given, "text")), id_type))
    elif given is not None:
        rows_in = row_set(given, packed, index.info.items)
        parts.append(Filter._wrap(_native.flat_filter_from_rows(handle, *rows_in), id_type))
    for items in (ids, None if rows is None else _rows(rows)):
        if items is not None:
            unknown = np.zeros(1, np.int64)
            listed = _native.flat_filter_from_items(handle, *native_list(items, id_type, "ids"), unknown)
            parts.append(Filter._wrap(listed, id_type, int(unknown[0])))
    parts += [Filter._wrap(term(handle, name, wanted), id_type) for name, wanted in attributes.items()]
    if not parts:
        raise InvalidArgument("no condition is given, expected a text, a mask, ids, rows, or attributes by name")
    return reduce(Filter.__and__, parts)
