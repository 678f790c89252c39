"""Lists of items, as filters and constraints take them. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any, Optional

import numpy as np

from . import _native, catalogue
from .arrays import is_one, vector
from .checks import kind_of
from .enums import IdType
from .errors import InvalidArgument, WrongType

#: by, numbers, names, offsets
NativeList = tuple[int, Optional[np.ndarray], Optional[np.ndarray], Optional[np.ndarray]]
NO_LIST: NativeList = (_native.SIDBEAM_ITEMS_BY_ID, None, None, None)


class ItemRows:
    """Item rows, where a list of items would otherwise be ids: ``exclude=ItemRows([5, 9])``.

    Rows are quicker than ids, most of all where they rise. :meth:`Session.items` and :meth:`Index.item_rows_of` give
    them.
    """

    __slots__ = ("rows",)

    def __init__(self, rows: Any) -> None:
        self.rows: np.ndarray = vector(_listed(rows, "rows", "item rows"), np.int64, "rows")  #: int64 [n]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"ItemRows({self.rows.tolist()!r:.60})"


def _listed(value: Any, name: str, of: str) -> Any:
    """What can be read once, or has no order of its own, as a list."""
    if isinstance(value, (str, bytes)) or is_one(value):
        raise WrongType(f"{name} is {kind_of(value)}, expected a list of {of}")
    return list(value) if isinstance(value, (Set, Iterator, range)) else value


def native_list(items: Any, id_type: IdType, name: str) -> NativeList:
    """What the native layer takes for a list of ids of that type, or of :class:`ItemRows`; None: no list."""
    if items is None:
        return NO_LIST
    if isinstance(items, ItemRows):
        return _native.SIDBEAM_ITEMS_BY_ROW, items.rows, None, None
    ids = _listed(items, name, "ids, or ItemRows")
    if id_type == IdType.STRING:
        return (_native.SIDBEAM_ITEMS_BY_ID, None, *catalogue.named_ids(ids, name))
    if isinstance(ids, (list, tuple)):
        if ids and isinstance(ids[0], (str, bytes)):
            raise InvalidArgument(f"{name} are text, expected integers, as the ids of this index are")
        array = catalogue.column(ids, name)
        # NumPy makes floats of integers on both sides of 2^63.
        ids = np.array(ids, object) if array.dtype.kind == "f" and set(map(type, ids)) == {int} else array
    return _native.SIDBEAM_ITEMS_BY_ID, catalogue.integer_ids(ids, id_type, name), None, None
