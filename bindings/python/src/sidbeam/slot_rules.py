"""Rules of the slots of a start. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import expect_shape
from .checks import entries
from .constraint import ConstraintLike, constraint_under, is_constraint
from .item_lists import ItemRows

_LISTS = (list, tuple, set, frozenset, np.ndarray, ItemRows, type(None))


def _several(value: Any) -> bool:
    """Whether it is one list of items per slot rather than one for all: a list of lists, or of None."""
    if isinstance(value, np.ndarray):
        return value.ndim == 2
    lists = isinstance(value, (list, tuple)) and len(value) > 0
    return lists and all(isinstance(one, _LISTS) or hasattr(one, "to_numpy") for one in value)


def _per_slot(value: Any, count: int, name: str, several: bool) -> list[Any]:
    if not several:
        return [value] * count
    each = entries(value, name, "one per slot")
    expect_shape((len(each),), (count,), name)
    return each


def under_rules(
    constraints: Any, usual: ConstraintLike, count: int, filter: Any, exclude: Any, allow: Any
) -> list[ConstraintLike]:
    """The constraint of each slot, with its rules. Slots for which the same were given once share one."""
    several = not (constraints is None or is_constraint(constraints))
    given = _per_slot(constraints, count, "constraints", several)
    bases = [usual if base is None else base for base in given]
    filters = _per_slot(filter, count, "filter", isinstance(filter, (list, tuple)))
    excluded = _per_slot(exclude, count, "exclude", _several(exclude))
    allowed = _per_slot(allow, count, "allow", _several(allow))
    made: dict[tuple[int, ...], ConstraintLike] = {}
    result = []
    for base, *rules in zip(bases, filters, excluded, allowed):
        if all(rule is None for rule in rules):
            result.append(base)
            continue
        key = (id(base), *map(id, rules))
        if key not in made:
            made[key] = constraint_under(base, *rules)
        result.append(made[key])
    return result
