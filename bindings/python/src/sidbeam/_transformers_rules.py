"""What the requests of a call of generate() follow: their constraints, and rules of their own.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import weakref
from typing import Any, Optional, Sequence, Union

import torch
from torch import Tensor

from . import torch as ops
from .constraint_set import ConstraintSet
from .errors import InvalidArgument
from .filters import Filter
from .index import Constraint, ConstraintLike, Index, constraint_of
from .slot_rules import Rules, under_rules

Which = Optional[Sequence[Union[int, Constraint]]]


class Registered:
    """A set of constraints that torch's operators know by a number, as long as this lives. ``sids``: a SidTokens."""

    def __init__(self, sids: Any, constraints: Sequence[ConstraintLike]) -> None:
        made = ConstraintSet(constraints, vocabulary=sids.vocabulary, device=sids.device)
        self.handle = ops.register(made)
        weakref.finalize(self, ops.release, self.handle)


class Version:
    """What requests of a live catalogue follow. ``made``: its set, on CUDA the holder of what was copied there."""

    def __init__(self, index: Index, made: ConstraintSet) -> None:
        self.index, self._made = index, made
        self._moved: weakref.WeakKeyDictionary[Filter, Filter] = weakref.WeakKeyDictionary()

    def filter(self, given: Any) -> Any:
        """A filter of any version on this one, moved once."""
        if not isinstance(given, Filter):
            return given
        moved = self._moved.get(given)
        if moved is None:
            moved = self._moved.setdefault(given, given.on(self.index))
        return moved


def followed_by(now: Sequence[Union[ConstraintLike, Version]]) -> list[ConstraintLike]:
    return [c.index if isinstance(c, Version) else c for c in now]


class Followed:
    """The constraint of each of `count` requests (None: of as many as `which` or the rules have, or one for all).

    ``sids``: a SidTokens, whose catalogues they are of; of a live one, the version that is the newest now. Filters of
    another version are moved to it.
    """

    def __init__(self, sids: Any, which: Which, rules: Rules, count: Optional[int] = None) -> None:
        self.sids = sids
        given = None if which is None else list(which)
        if count is None:
            count = len(given) if given is not None else rules.count() or 1
        elif given is not None and len(given) != count:
            raise InvalidArgument(f"which is {which}, expected a number or a Constraint for each of {count} requests")
        own = given is not None and any(isinstance(one, Constraint) for one in given)
        self._now = sids.now()
        self._catalogues = followed_by(self._now)
        numbers = [self._number(one, which) for one in given] if given is not None else [0] * count
        if not numbers:
            raise InvalidArgument("which is empty, expected a number or a Constraint for each request")
        #: of each request, by number: whose tokens its codes have
        self.which = None if len(self._catalogues) == 1 else self._tensor(numbers)
        #: of each request; None: all follow the only one
        self.constraints: Optional[list[ConstraintLike]] = None
        self._ruled = own or rules.given() or sids.live
        if self._ruled or self.which is not None:
            whole = [isinstance(one, Constraint) for one in given or numbers]
            bases = [one if own else self._catalogues[n] for own, one, n in zip(whole, given or numbers, numbers)]
            if sids.live:
                versions = [None if own else self._now[n] for own, n in zip(whole, numbers)]
                rules = rules._replace(filter=_moved(rules.filter, versions))
            self.constraints = under_rules(bases, bases[0], count, *rules) if rules.given() else bases

    def _number(self, one: Any, which: Which) -> int:
        if isinstance(one, Constraint):
            known = [constraint_of(c).info for c in self._catalogues]
            for number, info in enumerate(known):
                if info.fingerprint == one.info.fingerprint:
                    return number
            for number, info in enumerate(known):  # of another version
                if isinstance(self._now[number], Version) and info.codes == one.info.codes:
                    return number
            raise InvalidArgument("which has a Constraint of another index, expected one of those of sids")
        if not 0 <= int(one) < len(self._catalogues):
            most = len(self._catalogues)
            raise InvalidArgument(f"which is {which}, expected a number below {most} for each request")
        return int(one)

    def _tensor(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int32, device=self.sids.device)

    @functools.cached_property
    def _set(self) -> Registered:
        """In which each request has its constraint, or, without rules, that of all catalogues."""
        return Registered(self.sids, self.constraints or ()) if self._ruled else self.sids.registered()

    @functools.cached_property
    def _places(self) -> Optional[Tensor]:
        """Of the requests' constraints in that set."""
        return self._tensor(range(len(self.constraints or ()))) if self._ruled else self.which

    def _of_rows(self, rows: int) -> Optional[Tensor]:
        """Of rows, as many for each request, one request after another."""
        if self._places is None:
            return None
        if rows % len(self._places):
            raise InvalidArgument(f"there are {rows} rows, expected as many for each of {len(self._places)} requests")
        return self._places.repeat_interleave(rows // len(self._places))

    def states(self, tokens: Tensor) -> Tensor:
        """States int64 ``[rows]`` after the tokens ``[rows, any]`` of a SID."""
        return self.sids._states(self._set, tokens, self._of_rows(len(tokens)))

    def mask_(self, scores: Tensor, states: Tensor) -> None:
        """-inf in place wherever a token continues no SID, of rows ``[rows, vocabulary]``."""
        ops.mask_(self._set.handle, scores, states, self._of_rows(len(scores)))


def _moved(given: Any, followed: Sequence[Any]) -> Any:
    """One filter, or one per request, on the version that each follows; where that is none, as it is."""
    several = isinstance(given, (list, tuple))
    if given is None or (several and len(given) != len(followed)):
        return given  # a wrong number is refused where rules are read
    each = given if several else [given] * len(followed)
    return [version.filter(one) if isinstance(version, Version) else one for one, version in zip(each, followed)]
