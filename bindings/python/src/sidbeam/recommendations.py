"""Items with their scores in rank order, as applications want them. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from .beams import Items
from .errors import BadState
from .constraint import ConstraintLike, index_of, is_constraint
from .lookups import Lookups


class Recommendation(NamedTuple):
    item: Any  #: id: int, or str
    score: float  #: log-probability of its SID
    sid: tuple[int, ...]
    item_row: int


class Under:
    """What each slot of a session runs under, which knows the items."""

    __slots__ = ("_of_slots", "_others", "usual")

    def __init__(self, usual: ConstraintLike, slots: int) -> None:
        self.usual = usual
        self._of_slots = [usual] * int(slots)
        self._others = False  # whether a start has brought constraints of its own

    def note(self, constraints: Any, slots: Optional[np.ndarray]) -> None:
        """As :meth:`Session.start` takes them; None: the session's own."""
        if constraints is None and not self._others:
            return
        self._others = True
        several = not (constraints is None or is_constraint(constraints))
        for i, slot in enumerate(range(len(self._of_slots)) if slots is None else slots.tolist()):
            given = constraints[i] if several else constraints
            self._of_slots[slot] = self.usual if given is None else given

    def recommendations(
        self, items: Items, scores: np.ndarray, slots: Optional[np.ndarray]
    ) -> list[list[Recommendation]]:
        """Of items that were asked for these slots."""
        numbers = range(len(self._of_slots)) if slots is None else slots.tolist()
        return [_of_slot(self._index(slot), items, scores[slot], i) for i, slot in enumerate(numbers)]

    def _index(self, slot: int) -> Lookups:
        index = index_of(self._of_slots[slot])
        if index is None:
            raise BadState(f"slot {slot} ran under a Constraint whose Index is gone, which knew the items")
        return index


def _of_slot(index: Lookups, items: Items, scores: np.ndarray, place: int) -> list[Recommendation]:
    """Those of the slot at a place in ``items``, beam after beam, and by priority within one."""
    rows = items.item_rows_of(place)
    beams = np.repeat(np.arange(len(scores)), np.diff(items.offsets[place]))
    sids = [tuple(sid[:length].tolist()) for sid, length in zip(items.sids[place], items.lengths[place])]
    ids = index.item_ids(rows).tolist()
    return [
        Recommendation(item, float(scores[beam]), sids[beam], row)
        for item, beam, row in zip(ids, beams.tolist(), rows.tolist())
    ]
