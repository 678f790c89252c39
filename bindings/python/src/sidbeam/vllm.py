"""vLLM: requests that may only say SIDs of a catalogue (needs vLLM with its PyTorch).

Installing sidbeam is enough: vLLM finds :class:`LogitsProcessor` by the entry point ``vllm.logits_processors``, and it
serves either of the engine's model runners, the newer one or V1. Catalogues have names (:mod:`sidbeam.serving`), and a
request chooses one:

    SamplingParams(max_tokens=3, extra_args={"sidbeam": "shop"})       # over HTTP: "vllm_xargs", which does not nest

Where a SID begins: with ``begin``, after the last such token, in the prompt or after it; everything else is free text.
Without ``begin``, the first generated token is a SID's first, whatever the prompt holds, and only ``end`` follows the
SID. The codes so far are read from the history of tokens at every step, so that rows may move and slots be reused.

``end`` is also the only token left where no SID goes on, or where the model gives -inf (or NaN) to all codes that do:
never a token that was not allowed. It must be given, in the request or with the catalogue: vLLM asks whether a
request is valid before it knows the model's own end token.

Rules (:mod:`sidbeam.serving_rules`) say which items may come to a request: ``{"sidbeam": "shop", "sidbeam_filter":
"cheap", "sidbeam_where": "region=us", "sidbeam_exclude": [17, 4]}``. A filter is named in the catalogue's settings, or
its text is given; lists hold ids. What is wrong in them fails the request when it comes (400 over HTTP). Requests with
the same rules share what the library makes of them.

Of a live catalogue a request follows the version that is the newest when vLLM gives it a row or slot, to its end; one
that vLLM preempted gets another row, and the newest version then. Requests of several versions are in one batch.

vLLM's own beam search sends each beam as a new request without ``extra_args``, whose prompt holds the codes so far: it
needs a catalogue that is the default and has a ``begin``, and ``--logprobs-mode processed_logprobs``.

A request may be drawn by the library instead of by vLLM, the same in any batch and on any device that gives the same
logits (:meth:`sidbeam.ConstraintSet.sample`): ``SamplingParams(seed=7, temperature=0.8, extra_args={"sidbeam": "shop",
"sidbeam_request": 3})``, and ``"sidbeam_draw": 1`` for another draw. Temperature, top-k and top-p then apply to the
model's row, before the mask, and only the drawn token is left of a row: sampled log-probabilities are 0, and penalties
and min_p count where vLLM applies them before its processors. A draw that dies, since truncation left no valid code,
says ``end``. With n > 1 vLLM gives each its own seed. DISC cannot be had: the interface returns nothing but logits, so
that nobody learns the valid mass; draw with :class:`sidbeam.transformers.SidSampler`, or a session.

For many beams use :class:`BeamSearch`, or :class:`AsyncBeamSearch`, in an engine whose ``worker_extension_cls`` is
:class:`Worker`: vLLM's own search computes each beam as a request of its own, ours all beams of a level at once.
:class:`Routes` has it over HTTP.

With V1 name it on the command line too: ``--logits-processors sidbeam.vllm:LogitsProcessor``. Where V1 finds it by the
entry point alone, asynchronous scheduling hands it unfinished histories (an error here, not a wrong answer), and
speculative decoding silently leaves it out instead of refusing to start.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib
import itertools
import logging
import sys
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

import numpy as np
import torch
from torch import Tensor

from ._engines import misfits
from .arrays import stream_of
from .constraint import Constraint
from .constraint_set import ConstraintSet, Sampled, TopK
from .errors import BadState, InvalidArgument, SidbeamError, Unsupported
from .serving import Catalogue, Choice, choice_of, named

try:
    from vllm.v1.sample.logits_processor.interface import LogitsProcessor as _V1
    from vllm.v1.sample.logits_processor.interface import MoveDirectionality
except ImportError:  # a vLLM without V1
    _V1 = None
try:
    from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsProcessor as _V2
except ImportError:  # a vLLM from before the newer runner
    _V2 = None

#: Loaded when they are asked for: engines that load this module for its processor alone need not have what they use.
_ELSEWHERE = {
    "AsyncBeamSearch": "._vllm_search",
    "BeamSearch": "._vllm_search",
    "Found": "._vllm_search",
    "Routes": "._vllm_http",
    "Worker": "._vllm_worker",
}
_LONG = 256  # steps; a request that goes on is in a batch meanwhile
_NOBODY = -1  # catalogue of requests that declined
_NEVER = -2  # token that no history has; -1 is what stands before a history
_log = logging.getLogger(__name__)


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE[name], __package__), name)


class _Rows(NamedTuple):
    """Rows of one batch. Of a history the last tokens are enough: the one before a SID, and its codes."""

    tail: Tensor  #: int64 [n, levels + 1], oldest first; -1 before the history
    generated: Tensor  #: int64 [n] tokens after the prompt
    wanted: Tensor  #: int64 [n, fields of _Wanted]
    drawn: bool  #: whether any of them is

    def of(self, name: str) -> Tensor:
        """[n], a field of _Wanted; numbers that are no integers go as their bits."""
        column = self.wanted[:, _Wanted._fields.index(name)]
        return column.int().view(torch.float32) if name in ("inverse_temperature", "top_p") else column.contiguous()


class _Mask:
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

    def apply(self, logits: Tensor, rows: _Rows, mine: Optional[Tensor]) -> Tensor:
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

    def _place(self, rows: _Rows) -> tuple[Tensor, Tensor, Tensor]:
        """For each row: the codes so far; whether it is free; whether it has a whole SID and must end."""
        beyond = self.levels + 1
        begin = rows.of("begin")
        after_begin = self._since(rows.tail, begin[:, None])
        tagged = begin != _NEVER
        level = torch.where(tagged, after_begin, rows.generated.clamp(0, self.levels))
        if self.end_column >= 0:
            level = torch.where(tagged & (self._since(rows.tail, self.end_column) < level), beyond, level)
        whole = level >= self.levels
        return level, whole & tagged, whole & ~tagged

    def _since(self, tail: Tensor, token: Any) -> Tensor:
        """How many tokens follow the last of its kind; levels + 1 where there is none."""
        return torch.where(tail == token, self.ages, self.levels + 1).amin(1)

    def _which(self, rows: _Rows, mine: Optional[Tensor]) -> Optional[Tensor]:
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

    def _draw(self, logits: Tensor, states: Tensor, which: Optional[Tensor], rows: _Rows) -> Tensor:
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


class _Own(NamedTuple):
    """What a request follows that is not its catalogue's: its rules, the version that it began with."""

    catalogue: int
    choice: Choice
    constraint: Constraint

    def renewed(self) -> _Own:
        """The same of the newest version."""
        choice = self.choice.renewed()
        return self._replace(choice=choice, constraint=choice.constraint())


class _Masks:
    """The masks of a processor, by catalogue; one that :func:`serving.register` replaced stays while in use.

    ``in_use``: gives the numbers of the catalogues that requests follow.
    """

    def __init__(self, vllm_config: Any, device: Any, vocabulary: int, in_use: Callable[[], Sequence[int]]) -> None:
        self.device = torch.empty(0, device=device).device  # "cuda" without a number: torch knows which it is
        self._columns, self._in_use = vocabulary, in_use
        self._ranks = vllm_config.parallel_config.tensor_parallel_size
        self._next = itertools.count()
        self._numbers: dict[Catalogue, int] = {}
        self._masks: dict[int, _Mask] = {}
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
            self._masks[number], self._numbers[catalogue] = _Mask(catalogue, self.device), number
        return self._numbers[catalogue]

    def _forget(self) -> None:
        still = {*self._in_use(), *(self._numbers[one] for one in named() if one in self._numbers)}
        self._numbers = {one: number for one, number in self._numbers.items() if number in still}
        self._masks = {number: self._masks[number] for number in self._numbers.values()}

    def __getitem__(self, number: int) -> _Mask:
        return self._masks[number]

    def follow(self, own: Mapping[int, _Own]) -> dict[int, int]:
        """Makes the catalogues' sets of what the requests of rows or slots follow, and numbers that."""
        of: dict[int, dict[Constraint, int]] = {number: {} for number in self._masks}
        numbers = {}
        for at, (catalogue, _, constraint) in own.items():
            numbers[at] = of[catalogue].setdefault(constraint, len(of[catalogue]) + 1)
        for number, constraints in of.items():
            self._masks[number].follow(list(constraints))
        return numbers


class _Wanted(NamedTuple):
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


_DECLINED = _Wanted(_NOBODY, _NEVER, 0)


def _log_as_vllm_does() -> None:
    """What vLLM has set up for its own loggers alone serves ours, too, where nobody has set up any."""
    ours, theirs = logging.getLogger("sidbeam"), logging.getLogger("vllm")
    if not ours.hasHandlers():
        ours.setLevel(theirs.level)
        for handler in theirs.handlers:
            ours.addHandler(handler)


def _bits(number: float) -> int:
    return int(np.float32(number).view(np.int32))


def _draw_of(sampling_params: Any) -> dict[str, int]:
    """The fields of _Wanted that make a request draw; none: vLLM samples it."""
    extra = sampling_params.extra_args or {}
    if "sidbeam_request" not in extra:
        return {}
    for name, value, least, most in (
        ("seed", sampling_params.seed, -(2**63), 2**63),
        ("sidbeam_request", extra["sidbeam_request"], -(2**63), 2**63),
        ("sidbeam_draw", extra.get("sidbeam_draw", 0), 0, 2**52),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < most:
            raise InvalidArgument(
                f"{name} is {value!r}, expected an integer from {least} to {most - 1}, to draw with sidbeam_request"
            )
    if sampling_params.temperature <= 0:
        raise InvalidArgument(f"temperature is {sampling_params.temperature}, expected above 0 with sidbeam_request")
    return {
        "drawn": 1,
        "seed": sampling_params.seed,
        "request": extra["sidbeam_request"],
        "draw": extra.get("sidbeam_draw", 0),
        "top_k": max(sampling_params.top_k, 0),
        "inverse_temperature": _bits(1 / sampling_params.temperature),
        "top_p": _bits(sampling_params.top_p),
    }


def _choice(sampling_params: Any) -> Optional[Choice]:
    choice = choice_of(sampling_params.extra_args)
    if choice is not None and choice.end is None:
        raise InvalidArgument(
            f"catalogue {choice.catalogue.name!r} has no end token, expected one there or in the request"
        )
    drawn = _draw_of(sampling_params)
    if choice is None and drawn:
        raise InvalidArgument("sidbeam_request is given, expected a catalogue to draw from under sidbeam")
    return choice


def _wanted(sampling_params: Any, masks: _Masks) -> tuple[_Wanted, Optional[_Own]]:
    """And what the request alone follows, if it does."""
    choice = _choice(sampling_params)
    if choice is None or choice.end is None:
        return _DECLINED, None
    begin = _NEVER if choice.begin is None else choice.begin
    wanted = _Wanted(masks.number(choice.catalogue), begin, choice.end, **_draw_of(sampling_params))
    constraint = choice.constraint()
    return wanted, None if constraint is None else _Own(wanted.catalogue, choice, constraint)


class _Slots(_V2 or object):  # type: ignore[misc]
    """The newer runner's: a request has a slot, histories are on the device, rows name their slots."""

    def __init__(self, vllm_config: Any, req_states: Any) -> None:
        self._req_states = req_states
        self._host = np.full((req_states.max_num_reqs, len(_DECLINED)), _DECLINED, np.int64)
        in_use = lambda: self._host[:, 0].tolist()  # noqa: E731
        self._masks = _Masks(vllm_config, req_states.device, req_states.vocab_size, in_use)
        self._settings = torch.from_numpy(self._host.copy()).to(req_states.device)
        self._own: dict[int, _Own] = {}  # of slots, until another request has them
        self._seen = np.zeros(len(self._host), np.bool_)  # whether a slot was in a batch since the last _renew
        self._steps, self._changed = 0, False

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        self._own.pop(req_idx, None)
        wanted, own = _wanted(sampling_params, self._masks)
        self._host[req_idx], self._seen[req_idx] = wanted, True
        if own is not None:
            self._own[req_idx] = own
        self._changed = True
        return bool(self._host[req_idx, 0] != _NOBODY)

    def apply_staged_writes(self) -> None:
        self._steps += 1
        if self._steps % _LONG == 0:
            self._renew()
        if self._changed:
            for slot, number in self._masks.follow(self._own).items():
                self._host[slot, _Wanted._fields.index("own")] = number
            staged = torch.from_numpy(self._host.copy())
            # Fresh memory each time: torch keeps it until the copy is done, whatever add_request writes meanwhile.
            self._settings.copy_(staged.pin_memory() if self._settings.is_cuda else staged, non_blocking=True)
            self._changed = False

    def _renew(self) -> None:
        """The runner does not say when a request is over: slots that no batch has had for long go along with their
        catalogue, so that they hold no old version."""
        for slot, own in self._own.items():
            if not self._seen[slot] and own.choice.version is not own.choice.catalogue.newest:
                try:
                    self._own[slot] = own.renewed()
                    self._changed = True
                except SidbeamError as error:  # no memory, say: the next time
                    _log.debug("slot %d stays with its version: %s", slot, error)
        self._seen[:] = False

    def apply(self, logits: Tensor, ctx: Any) -> Tensor:
        self._seen[ctx.idx_mapping_np] = True
        here = self._host[ctx.idx_mapping_np]
        numbers = np.unique(here[:, 0])
        slots = ctx.expanded_idx_mapping.long()
        for number in numbers[numbers != _NOBODY].tolist():
            mask = self._masks[number]
            settings = self._settings[slots]
            generated = ctx.pos.long() + 1 - self._req_states.prompt_len.gpu[slots]
            tail = self._tail(slots, ctx, mask.levels)
            drawn = bool(here[here[:, 0] == number, _Wanted._fields.index("drawn")].any())
            rows = _Rows(tail, generated, settings, drawn)
            logits = mask.apply(logits, rows, settings[:, 0] == number)
        return logits

    def _tail(self, slots: Tensor, ctx: Any, levels: int) -> Tensor:
        """The last tokens up to each row's own: drafts are in the rows before it, the rest in its slot's history."""
        ages = torch.arange(levels, -1, -1, device=slots.device)
        row = torch.arange(len(slots), device=slots.device)[:, None]
        places = ctx.pos.long()[:, None] - ages
        history = self._req_states.all_token_ids.gpu[slots[:, None], places.clamp(min=0)]
        fed = ctx.input_ids[(row - ages).clamp(min=0)]
        tail = torch.where(ages <= ctx.expanded_local_pos[:, None], fed, history)
        return torch.where(places < 0, -1, tail).long()


class _Request(NamedTuple):
    wanted: _Wanted
    own: Optional[_Own]
    prompt: list[int]
    output: list[int]  # vLLM's own, which it appends to


class _Batch(_V1 or object):  # type: ignore[misc]
    """V1's: row i is the batch's request i; requests are removed, added and moved."""

    def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None:
        self._rows: dict[int, _Request] = {}
        in_use = lambda: [request.wanted.catalogue for request in self._rows.values()]  # noqa: E731
        self._masks = _Masks(vllm_config, device, vllm_config.model_config.get_vocab_size(), in_use)

    def is_argmax_invariant(self) -> bool:
        return False

    def update_state(self, batch_update: Any) -> None:
        if batch_update is None:
            return
        for index in batch_update.removed:
            self._rows.pop(index, None)
        for index, sampling_params, prompt, output in batch_update.added:
            self._rows.pop(index, None)
            wanted, own = _wanted(sampling_params, self._masks)
            if wanted.catalogue != _NOBODY:
                self._rows[index] = _Request(wanted, own, prompt or [], output)
        for source, target, direction in batch_update.moved:
            moved, other = self._rows.pop(source, None), self._rows.pop(target, None)
            if moved is not None:
                self._rows[target] = moved
            if other is not None and direction == MoveDirectionality.SWAP:
                self._rows[source] = other
        of_rows = {i: request.own for i, request in self._rows.items() if request.own is not None}
        for index, number in self._masks.follow(of_rows).items():
            held = self._rows[index]
            self._rows[index] = held._replace(wanted=held.wanted._replace(own=number))

    def apply(self, logits: Tensor) -> Tensor:
        for number in sorted({request.wanted.catalogue for request in self._rows.values()}):
            mask = self._masks[number]
            held = {i: request for i, request in sorted(self._rows.items()) if request.wanted.catalogue == number}
            places = torch.tensor(list(held), device=logits.device)
            logits[places] = mask.apply(logits[places], self._gather(list(held.values()), mask.levels), None)
        return logits

    def _gather(self, requests: list[_Request], levels: int) -> _Rows:
        tail = np.full((len(requests), levels + 1), -1, np.int64)
        for row, request in zip(tail, requests):
            last = (request.prompt[-levels - 1 :] + request.output[-levels - 1 :])[-levels - 1 :]
            if request.output and request.output[-1] < 0:
                raise BadState(
                    "vLLM schedules asynchronously and has not filled in this request's history: start it with "
                    "--logits-processors sidbeam.vllm:LogitsProcessor, or with --no-async-scheduling"
                )
            row[levels + 1 - len(last) :] = last
        device = self._masks.device
        generated = torch.tensor([len(request.output) for request in requests], device=device)
        wanted = torch.tensor([request.wanted for request in requests], device=device)
        drawn = any(request.wanted.drawn for request in requests)
        return _Rows(torch.from_numpy(tail).to(device), generated, wanted, drawn)


class _Nothing:
    """Of a vLLM that has neither interface, or other ones: the engine starts, as it would without this package."""

    def __init__(self, wrong: Sequence[str] = ()) -> None:
        if named():
            raise Unsupported(
                "SIDBEAM_CATALOGUES names catalogues, expected a vLLM with V1's or the newer runner's LogitsProcessor"
                + "".join(f"; {one}" for one in wrong)
            )

    def is_argmax_invariant(self) -> bool:
        return True

    def update_state(self, batch_update: Any) -> None:
        pass

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        return False

    def apply_staged_writes(self) -> None:
        pass

    def apply(self, logits: Tensor, *_: Any) -> Tensor:
        return logits


def _misfits(kind: type) -> list[str]:
    """In what vLLM's interface differs from the one that a processor has; empty: in nothing."""
    engine = f"vLLM {sys.modules['vllm'].__version__}"
    base = kind.__mro__[1]
    found = misfits(
        engine, {base.__module__: {f"LogitsProcessor.{name}": takes for name, takes in _USED[kind].items()}}
    )
    more = sorted(getattr(kind, "__abstractmethods__", ()))
    return found + [f"LogitsProcessor of {engine} has {name}, which sidbeam.vllm lacks" for name in more]


#: What vLLM calls of each, and with which arguments.
_USED = {
    _Batch: {
        "__init__": "self vllm_config device is_pin_memory",
        "update_state": "self batch_update",
        "apply": "self logits",
    },
    _Slots: {
        "__init__": "self vllm_config req_states",
        "add_request": "self req_idx sampling_params",
        "apply_staged_writes": "self",
        "apply": "self logits ctx",
    },
}


class LogitsProcessor(*(base for base in (_V1, _V2) if base is not None)):  # type: ignore[misc]
    """What both runners load. Each makes it with its own arguments, and gets the processor that fits.

    One class, not a choice at import: only the engine's configuration knows which runner it takes, and each loader
    refuses (the newer) or crashes on (V1) the other's.
    """

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        if _V1 is None and _V2 is None:
            return _Nothing()
        kind = _Batch if len(arguments) + len(named) == 3 else _Slots
        wrong = _misfits(kind)
        return _Nothing(wrong) if wrong else kind(*arguments, **named)

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        _choice(sampling_params)
