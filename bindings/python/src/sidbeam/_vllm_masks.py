"""The masks of :mod:`sidbeam.vllm`, by catalogue: what each row of a batch may say, and what it draws.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import itertools
import logging
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

import numpy as np
import torch
from torch import Tensor

from .arrays import stream_of
from .constraint import Constraint
from .constraint_set import ConstraintSet, Sampled, TopK
from .errors import InvalidArgument
from .serving import Catalogue, Choice, named

NOBODY = -1  # catalogue of requests that declined
NEVER = -2  # token that no history has; -1 is what stands before a history
_log = logging.getLogger("sidbeam.vllm")


class Wanted(NamedTuple):
    """What a request asks for, as integers."""

    catalogue: int
    begin: int
    end: int
    drawn: int = 0
    seed: int = 0
    request: int = 0
    draw: int = 0
    top_k: int = 0
    inverse_temperature: int = 0
    top_p: int = int(np.float32(1).view(np.int32))  # 1, which is none
    own: int = 0  # number of the request's own constraint among those of its catalogue; 0: the catalogue's


DECLINED = Wanted(NOBODY, NEVER, 0)


class Rows(NamedTuple):
    """Rows of one batch. Of a history the last tokens are enough: the one before a SID, and its codes."""

    tail: Tensor  #: int64 [n, levels + 1], oldest first; -1 before the history
    generated: Tensor  #: int64 [n] tokens after the prompt
    wanted: Tensor  #: int64 [n, fields of Wanted]
    drawn: bool  #: whether any of them is

    def of(self, name: str) -> Tensor:
        """[n], a field of Wanted; numbers that are no integers go as their bits."""
        column = self.wanted[:, Wanted._fields.index(name)]
        return column.int().view(torch.float32) if name in ("inverse_temperature", "top_p") else column.contiguous()


class Mask:
    """One catalogue's constraints on a device: its own, unless it is live, and those of requests."""

    constraints: Any  # a ConstraintSet; None: of a live catalogue that no request follows

    def __init__(self, catalogue: Catalogue, device: torch.device) -> None:
        self.levels = catalogue.levels
        self._catalogue, self._device = catalogue, str(device)
        self._of_requests: list[Constraint] = []
        self.constraints = self._own()
        self.codes = torch.from_numpy(catalogue.codes).to(device)
        self.tokens = torch.from_numpy(catalogue.padded_tokens).to(device)
        self.end_column = catalogue.vocabulary.end_column
        self.level_numbers = torch.arange(self.levels, device=device)
        self.ages = torch.arange(self.levels, -1, -1, device=device)

    def _own(self) -> Optional[ConstraintSet]:
        """Of requests that follow none of their own; of a live catalogue there are none, and no version is held."""
        return None if self._catalogue.live else self._catalogue.newest.constraints(self._device)

    def follow(self, of_requests: list[Constraint]) -> None:
        """Constraint i of requests is number i + 1 from now on; 0 is the catalogue's, or any, where it is live."""
        if of_requests == self._of_requests:
            return
        self._of_requests, self.constraints = of_requests, self._own()
        if of_requests:
            own = of_requests[0] if self._catalogue.live else self._catalogue.index.constraint
            vocabulary, device = self._catalogue.vocabulary, self._device
            self.constraints = ConstraintSet([own, *of_requests], vocabulary=vocabulary, device=device)

    def apply(self, logits: Tensor, rows: Rows, mine: Optional[Tensor]) -> Tensor:
        """Masks rows in place, except those that are free or not `mine`. Nothing waits for the device."""
        level, free, whole = self._place(rows)
        # Works on all rows, so that shapes do not depend on data; free rows are put back.
        which = self._which(rows, mine)
        states = torch.where(whole, -1, self._states(rows.tail, level, which))
        keep = free if mine is None else free | ~mine
        masked = logits.clone()
        best = self._best(masked, states, which)
        self.constraints.mask(masked, states, which=which, stream=stream_of(masked))
        end = rows.of("end")[:, None].clamp(max=logits.shape[1] - 1)  # a request may have named any number
        masked.scatter_(1, end, torch.where(best < 0, 0.0, masked.gather(1, end)))
        if rows.drawn:
            codes = self._draw(logits, states, which, rows)[:, None]
            tokens = self.tokens[level.clamp(max=self.levels - 1)].gather(1, codes.long().clamp(min=0))
            token = torch.where(codes < 0, end, tokens)
            alone = torch.full_like(masked, -torch.inf).scatter_(1, token, 0.0)
            masked = torch.where(rows.of("drawn")[:, None] != 0, alone, masked)
        return torch.where(keep[:, None], logits, masked, out=logits)

    def _place(self, rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
        """For each row: the codes so far; whether it is free; whether it has a whole SID and must end."""
        beyond = self.levels + 1
        begin = rows.of("begin")
        after_begin = self._since(rows.tail, begin[:, None])
        tagged = begin != NEVER
        level = torch.where(tagged, after_begin, rows.generated.clamp(0, self.levels))
        if self.end_column >= 0:
            level = torch.where(tagged & (self._since(rows.tail, self.end_column) < level), beyond, level)
        whole = level >= self.levels
        return level, whole & tagged, whole & ~tagged

    def _since(self, tail: Tensor, token: Any) -> Tensor:
        """How many tokens follow the last of its kind; levels + 1 where there is none."""
        return torch.where(tail == token, self.ages, self.levels + 1).amin(1)

    def _which(self, rows: Rows, mine: Optional[Tensor]) -> Optional[Tensor]:
        """The constraint of each row; None: all follow the catalogue's own. Others' numbers are of their catalogues."""
        if not self._of_requests:
            return None
        numbers = rows.of("own")
        return (numbers if mine is None else torch.where(mine, numbers, 0)).int()

    def _states(self, tail: Tensor, level: Tensor, which: Optional[Tensor]) -> Tensor:
        length = level.clamp(max=self.levels)
        places = (self.levels + 1 - length[:, None] + self.level_numbers).clamp(max=self.levels)
        tokens = tail.gather(1, places)
        known = (tokens >= 0) & (tokens < self.codes.shape[1])
        codes = self.codes[self.level_numbers, tokens.clamp(0, self.codes.shape[1] - 1)]
        codes = torch.where(known, codes, -1).to(torch.int32)
        states = torch.empty_like(length, dtype=torch.int64)
        lengths = length.to(torch.int32)
        self.constraints.prefixes(codes, lengths, which=which, out=states, stream=stream_of(tail))
        return states

    def _best(self, logits: Tensor, states: Tensor, which: Optional[Tensor]) -> Tensor:
        """The best valid code of each logits row, -1: none, as -inf and NaN are none. Reads valid codes only."""
        codes = torch.empty((len(states), 1), dtype=torch.int32, device=states.device)
        out = TopK(codes, torch.empty_like(codes, dtype=torch.float32), None)
        how = {"normalization": "none", "next_states": False, "stream": stream_of(logits)}
        self.constraints.topk(logits, states, 1, which=which, out=out, **how)
        return codes

    def _draw(self, logits: Tensor, states: Tensor, which: Optional[Tensor], rows: Rows) -> Tensor:
        """The code int32 [n] that each row draws; -1: none, a dead draw. Of rows that draw nothing it means nothing."""
        codes = torch.empty_like(states, dtype=torch.int32)
        numbers = [torch.empty_like(codes, dtype=torch.float32) for _ in range(2)]
        self.constraints.sample(
            logits,
            states,
            seeds=rows.of("seed"),
            requests=rows.of("request"),
            draws=rows.of("draw"),
            top_k=rows.of("top_k").int(),
            top_p=rows.of("top_p"),
            inverse_temperature=rows.of("inverse_temperature"),
            which=which,
            out=Sampled(codes, *numbers, torch.empty_like(states)),
            stream=stream_of(logits),
        )
        return codes


class Own(NamedTuple):
    """What a request follows that is not its catalogue's: its rules, the version that it began with."""

    catalogue: int
    choice: Choice
    constraint: Constraint

    def renewed(self) -> Own:
        """The same of the newest version."""
        choice = self.choice.renewed()
        return self._replace(choice=choice, constraint=choice.constraint())


class Masks:
    """The masks of a processor, by catalogue; one that :func:`serving.register` replaced stays while in use.

    ``in_use``: gives the numbers of the catalogues that requests follow.
    """

    def __init__(self, vllm_config: Any, device: Any, vocabulary: int, in_use: Callable[[], Sequence[int]]) -> None:
        self.device = torch.empty(0, device=device).device  # "cuda" without a number: torch knows which it is
        self._columns, self._in_use = vocabulary, in_use
        self._ranks = vllm_config.parallel_config.tensor_parallel_size
        self._next = itertools.count()
        self._numbers: dict[Catalogue, int] = {}
        self._masks: dict[int, Mask] = {}
        for catalogue in named():  # now, so that no request waits for it
            self.number(catalogue)
            catalogue.newest.rules.prepare()
            _log_as_vllm_does()
            info = catalogue.index.info
            _log.info("catalogue %r: version %d, fingerprint %s", catalogue.name, info.version, info.fingerprint)

    def number(self, catalogue: Catalogue) -> int:
        if catalogue not in self._numbers:
            catalogue.check_ranks(self._ranks)
            needed = catalogue.newest.constraints(str(self.device)).columns
            if needed > self._columns:
                name, most = catalogue.name, self._columns
                raise InvalidArgument(
                    f"catalogue {name!r} has tokens below {needed}, the model's vocabulary has {most}"
                )
            self._forget()
            number = next(self._next)
            self._masks[number], self._numbers[catalogue] = Mask(catalogue, self.device), number
        return self._numbers[catalogue]

    def _forget(self) -> None:
        still = {*self._in_use(), *(self._numbers[one] for one in named() if one in self._numbers)}
        self._numbers = {one: number for one, number in self._numbers.items() if number in still}
        self._masks = {number: self._masks[number] for number in self._numbers.values()}

    def __getitem__(self, number: int) -> Mask:
        return self._masks[number]

    def follow(self, own: Mapping[int, Own]) -> dict[int, int]:
        """Makes the catalogues' sets of what the requests of rows or slots follow, and numbers that."""
        of: dict[int, dict[Constraint, int]] = {number: {} for number in self._masks}
        numbers = {}
        for at, (catalogue, _, constraint) in own.items():
            numbers[at] = of[catalogue].setdefault(constraint, len(of[catalogue]) + 1)
        for number, constraints in of.items():
            self._masks[number].follow(list(constraints))
        return numbers


def _log_as_vllm_does() -> None:
    """What vLLM has set up for its own loggers alone serves ours, too, where nobody has set up any."""
    ours, theirs = logging.getLogger("sidbeam"), logging.getLogger("vllm")
    if not ours.hasHandlers():
        ours.setLevel(theirs.level)
        for handler in theirs.handlers:
            ours.addHandler(handler)
