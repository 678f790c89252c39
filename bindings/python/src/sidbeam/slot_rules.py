"""Rules of the slots of a start, and of the constraints of a set. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from .arrays import expect_shape
from .checks import entries
from .constraint import ConstraintLike, constraint_of, constraint_under, is_constraint
from .item_lists import ItemRows

_LISTS = (list, tuple, set, frozenset, np.ndarray, ItemRows, type(None))


def several_lists(value: Any) -> bool:
    """Whether it is one list of items per slot rather than one for all: a list of lists, or of None."""
    if getattr(value, "ndim", 1) == 2:
        return True
    lists = isinstance(value, (list, tuple)) and len(value) > 0
    return lists and all(isinstance(one, _LISTS) or _is_column(one) for one in value)


def _is_column(value: Any) -> bool:
    """A column of PyTorch, JAX, pandas, Polars or Arrow; single elements of such are none."""
    return getattr(value, "ndim", 0) == 1 or hasattr(value, "to_numpy")


class Rules(NamedTuple):
    """As a caller gives them: each for all, or a list of one for each."""

    filter: Any = None
    exclude: Any = None
    allow: Any = None

    def given(self) -> bool:
        return any(rule is not None for rule in self)

    def count(self) -> Optional[int]:
        """For how many slots, requests or constraints they are; None: each is for all."""
        several = (isinstance(self.filter, (list, tuple)), several_lists(self.exclude), several_lists(self.allow))
        return max((len(rule) for rule, many in zip(self, several) if many), default=None)


def per_slot(value: Any, count: int, name: str, several: bool) -> list[Any]:
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
    given = per_slot(constraints, count, "constraints", several)
    bases = [usual if base is None else base for base in given]
    filters = per_slot(filter, count, "filter", isinstance(filter, (list, tuple)))
    excluded = per_slot(exclude, count, "exclude", several_lists(exclude))
    allowed = per_slot(allow, count, "allow", several_lists(allow))
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


def of_a_set(constraints: Any, rules: Rules) -> list[ConstraintLike]:
    """The constraints of a set: those that are given, or the one for each of the rules' lists, with its rules."""
    one = is_constraint(constraints)
    given = [constraints] if one else entries(constraints, "constraints", "indexes")
    if not rules.given() or not given:
        return given
    for base in given:
        constraint_of(base)
    several = given * ((rules.count() or 1) if one else 1)
    return under_rules(several, several[0], len(several), *rules)
