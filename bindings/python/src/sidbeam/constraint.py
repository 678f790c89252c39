"""What beams must stay inside. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import weakref
from typing import Any, Optional, Union

import numpy as np

from . import _native
from .checks import flag, instance, kind_of
from .enums import IdType
from .errors import BadState, InvalidArgument, WrongType
from .filters import Filter
from .handle import Handle
from .info import ConstraintInfo, constraint_info
from .item_lists import native_list
from .lookups import ItemLists, Lookups, list_items
from .runtime import Runtime

class Constraint(Handle):
    """What beams must stay inside: an index, and rules on its items. Immutable and shared; holds the index's memory.

    - ``filter``: a :class:`Filter` of the index; None: all items.
    - ``exclude``: items that are left out, such as those that a user has seen: a list of ids, or :class:`ItemRows`.
    - ``allow``: the items that alone may come, in the same form; an empty list allows nothing.

    A search under rules returns, bit for bit, what a search of an index of the allowed items alone would; only ordinals
    and item rows are the index's. Ids that name no item are ignored, and counted in :attr:`info`. A constraint with
    rules is cheap, and made for one request: :meth:`Session.start` and :meth:`Runner.run` make it of such arguments.
    Rules need an index with "trie" (else :class:`MissingSection`) and sessions of the strategy "trie".
    """

    __slots__ = ("_id_type", "_index", "_info", "_number", "_runtime")
    _handle: Any
    _id_type: IdType
    _index: Union[Lookups, weakref.ref[Lookups]]
    _info: ConstraintInfo
    _number: int
    _runtime: Runtime

    def __init__(
        self, index: Lookups, *, filter: Optional[Filter] = None, exclude: Any = None, allow: Any = None
    ) -> None:
        if not isinstance(index, Lookups):
            raise WrongType(f"index is {kind_of(index)}, expected an Index")
        id_type = index.info.id_type
        handle = _native.flat_constraint_create_ruled(
            index._handle,
            None if filter is None else instance(filter, Filter, "filter")._handle,
            *native_list(exclude, id_type, "exclude"),
            *native_list(allow, id_type, "allow"),
        )
        self._hold(handle, index, id_type, index._runtime)

    def _hold(
        self, handle: Any, index: Union[Lookups, weakref.ref[Lookups]], id_type: IdType, runtime: Runtime
    ) -> None:
        self._handle, self._index, self._id_type, self._runtime = handle, index, id_type, runtime
        self._info = constraint_info(handle)
        self._number = _native.handle_number(handle)

    @classmethod
    def _of_all(cls, index: Lookups) -> Constraint:
        """That which an index keeps itself, and which must not keep the index."""
        made = cls(index)
        made._index = weakref.ref(index)
        return made

    def exclude(self, items: Any) -> Constraint:
        """The same constraint with further excluded items, at the cost of these: what a user has clicked since."""
        more = native_list([] if items is None else items, self._id_type, "items")
        made = Constraint.__new__(Constraint)
        made._hold(_native.flat_constraint_exclude(self._handle, *more), self._index, self._id_type, self._runtime)
        return made

    @property
    def index(self) -> Optional[Lookups]:
        """The index, which knows the items; None: it is gone."""
        held = self._index
        return held() if isinstance(held, weakref.ref) else held

    @property
    def info(self) -> ConstraintInfo:
        """Levels, codes and kinds, for hosts that have no index at hand, and what the rules allow."""
        return self._info

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
        """:meth:`Index.item_rows_of`, of the rows that the rules allow."""
        every = flag(distinct, "distinct")

        def items(wanted: Any, most: int, *arrays: Any) -> None:
            _native.flat_constraint_items(self._handle, wanted, limit_per_sid, most, every, cap_by, cap, *arrays)

        return list_items(items, ordinals, limit)

    def _describe(self) -> str:
        info = self._info
        rules = f", {info.allowed_items} of {info.items} items allowed" if info.rules else ""
        return f"{info.sids} SIDs of {info.levels} codes{rules}"


ConstraintLike = Union[Lookups, Constraint]  #: an Index is the one kind of Lookups there is


def is_constraint(value: Any) -> bool:
    """Whether it is one, rather than a list of them."""
    return isinstance(value, (Lookups, Constraint))


def constraint_of(value: ConstraintLike) -> Constraint:
    if isinstance(value, Lookups):
        held: Constraint = value.constraint  # type: ignore[attr-defined]  # of an Index
        return held
    if isinstance(value, Constraint):
        return value
    raise WrongType(f"constraint is {kind_of(value)}, expected an Index or a Constraint")


def index_of(value: ConstraintLike) -> Optional[Lookups]:
    """The index that knows the items; None: it is gone."""
    return value.index if isinstance(value, Constraint) else value


def constraint_under(base: ConstraintLike, filter: Any, exclude: Any, allow: Any) -> Constraint:
    """The constraint with the rules of a request. One that has rules already may only exclude more."""
    if isinstance(base, Constraint) and base.info.rules:
        if filter is not None or allow is not None:
            raise InvalidArgument(
                "filter or allow is given beside a constraint that has rules, expected exclude alone, or the rules of"
                " both in one Constraint"
            )
        return base.exclude(exclude)
    index = index_of(base)
    if index is None:
        raise BadState("the constraint's Index is gone, expected one that rules can be made of")
    return Constraint(index, filter=filter, exclude=exclude, allow=allow)
