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
from .index import Constraint, ConstraintLike
from .slot_rules import Rules, under_rules

Which = Optional[Sequence[Union[int, Constraint]]]


class Followed:
    """The constraint of each of `count` requests (None: of as many as `which` or the rules have, or one for all).

    ``sids``: a SidTokens, whose catalogues they are of.
    """

    def __init__(self, sids: Any, which: Which, rules: Rules, count: Optional[int] = None) -> None:
        self.sids = sids
        given = None if which is None else list(which)
        if count is None:
            count = len(given) if given is not None else rules.count() or 1
        elif given is not None and len(given) != count:
            raise InvalidArgument(f"which is {which}, expected a number or a Constraint for each of {count} requests")
        own = given is not None and any(isinstance(one, Constraint) for one in given)
        numbers = [self._number(one, which) for one in given] if given is not None else [0] * count
        if not numbers:
            raise InvalidArgument("which is empty, expected a number or a Constraint for each request")
        #: of each request, by number: whose tokens its codes have
        self.which = None if len(sids.constraints) == 1 else self._tensor(numbers)
        #: of each request; None: all follow the only one
        self.constraints: Optional[list[ConstraintLike]] = None
        self._ruled = own or rules.given()
        if self._ruled or self.which is not None:
            bases = [one if isinstance(one, Constraint) else sids.given[n] for one, n in zip(given or numbers, numbers)]
            self.constraints = under_rules(bases, bases[0], count, *rules) if rules.given() else bases

    def _number(self, one: Any, which: Which) -> int:
        if isinstance(one, Constraint):
            fingerprints = [c.info.fingerprint for c in self.sids.constraints]
            if one.info.fingerprint not in fingerprints:
                raise InvalidArgument("which has a Constraint of another index, expected one of those of sids")
            return fingerprints.index(one.info.fingerprint)
        if not 0 <= int(one) < len(self.sids.constraints):
            most = len(self.sids.constraints)
            raise InvalidArgument(f"which is {which}, expected a number below {most} for each request")
        return int(one)

    def _tensor(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int32, device=self.sids.device)

    @functools.cached_property
    def _handle(self) -> int:
        """Of a set in which each request has its constraint, or, without rules, of that of all catalogues."""
        if not self._ruled:
            return self.sids.handle
        made = ConstraintSet(self.constraints or (), vocabulary=self.sids.vocabulary, device=self.sids.device)
        handle = ops.register(made)
        weakref.finalize(self, ops.release, handle)
        return handle

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
        return self.sids._states(self._handle, tokens, self._of_rows(len(tokens)))

    def mask_(self, scores: Tensor, states: Tensor) -> None:
        """-inf in place wherever a token continues no SID, of rows ``[rows, vocabulary]``."""
        ops.mask_(self._handle, scores, states, self._of_rows(len(scores)))
