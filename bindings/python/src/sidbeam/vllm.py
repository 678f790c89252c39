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
import inspect
import logging
from typing import Any, NamedTuple, Optional

import numpy as np
import torch
from torch import Tensor

from ._engines import misfits
from ._vllm_masks import DECLINED, NEVER, NOBODY, Masks, Own, Rows, Wanted
from .errors import BadState, InvalidArgument, SidbeamError, Unsupported
from .serving import Choice, asked_for, choice_of

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
_log = logging.getLogger(__name__)


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE[name], __package__), name)


def _bits(number: float) -> int:
    return int(np.float32(number).view(np.int32))


def _draw_of(sampling_params: Any) -> dict[str, int]:
    """The fields of Wanted that make a request draw; none: vLLM samples it."""
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


def _wanted(sampling_params: Any, masks: Masks) -> tuple[Wanted, Optional[Own]]:
    """And what the request alone follows, if it does."""
    choice = _choice(sampling_params)
    if choice is None or choice.end is None:
        return DECLINED, None
    begin = NEVER if choice.begin is None else choice.begin
    wanted = Wanted(masks.number(choice.catalogue), begin, choice.end, **_draw_of(sampling_params))
    constraint = choice.constraint()
    return wanted, None if constraint is None else Own(wanted.catalogue, choice, constraint)


class _Slots(_V2 or object):  # type: ignore[misc]
    """The newer runner's: a request has a slot, histories are on the device, rows name their slots."""

    def __init__(self, vllm_config: Any, req_states: Any) -> None:
        self._req_states = req_states
        self._host = np.full((req_states.max_num_reqs, len(DECLINED)), DECLINED, np.int64)
        in_use = lambda: self._host[:, 0].tolist()  # noqa: E731
        self._masks = Masks(vllm_config, req_states.device, req_states.vocab_size, in_use)
        self._settings = torch.from_numpy(self._host.copy()).to(req_states.device)
        self._own: dict[int, Own] = {}  # of slots, until another request has them
        self._seen = np.zeros(len(self._host), np.bool_)  # whether a slot was in a batch since the last _renew
        self._steps, self._changed = 0, False

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        self._own.pop(req_idx, None)
        wanted, own = _wanted(sampling_params, self._masks)
        self._host[req_idx], self._seen[req_idx] = wanted, True
        if own is not None:
            self._own[req_idx] = own
        self._changed = True
        return bool(self._host[req_idx, 0] != NOBODY)

    def apply_staged_writes(self) -> None:
        self._steps += 1
        if self._steps % _LONG == 0:
            self._renew()
        if self._changed:
            for slot, number in self._masks.follow(self._own).items():
                self._host[slot, Wanted._fields.index("own")] = number
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
        for number in numbers[numbers != NOBODY].tolist():
            mask = self._masks[number]
            settings = self._settings[slots]
            generated = ctx.pos.long() + 1 - self._req_states.prompt_len.gpu[slots]
            tail = self._tail(slots, ctx, mask.levels)
            drawn = bool(here[here[:, 0] == number, Wanted._fields.index("drawn")].any())
            rows = Rows(tail, generated, settings, drawn)
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
    wanted: Wanted
    own: Optional[Own]
    prompt: list[int]
    output: list[int]  # vLLM's own, which it appends to


class _Batch(_V1 or object):  # type: ignore[misc]
    """V1's: row i is the batch's request i; requests are removed, added and moved."""

    def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None:
        self._rows: dict[int, _Request] = {}
        in_use = lambda: [request.wanted.catalogue for request in self._rows.values()]  # noqa: E731
        self._masks = Masks(vllm_config, device, vllm_config.model_config.get_vocab_size(), in_use)

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
            if wanted.catalogue != NOBODY:
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

    def _gather(self, requests: list[_Request], levels: int) -> Rows:
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
        return Rows(torch.from_numpy(tail).to(device), generated, wanted, drawn)


class _Nothing:
    """Of a vLLM that neither of them fits, and where nothing was asked for: it starts, as it would without this
    package, whatever it may call."""

    def is_argmax_invariant(self) -> bool:
        return True

    def add_request(self, *_: Any, **__: Any) -> bool:
        return False

    def apply(self, logits: Tensor, *_: Any, **__: Any) -> Tensor:
        return logits

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: None


#: What vLLM calls of each, and with which arguments.
_USED = {
    _Batch: {
        "LogitsProcessor.update_state": "self batch_update",
        "LogitsProcessor.apply": "self logits",
    },
    _Slots: {
        "LogitsProcessor.add_request": "self req_idx sampling_params",
        "LogitsProcessor.apply_staged_writes": "self",
        "LogitsProcessor.apply": "self logits ctx",
    },
}


def _fitting(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The class of the runner that makes its processors with these. Raises TypeError where there is none."""
    for kind in (kind for base, kind in ((_V1, _Batch), (_V2, _Slots)) if base is not None):
        try:
            inspect.signature(kind).bind(*arguments, **named)
        except TypeError:
            continue
        if more := sorted(getattr(kind, "__abstractmethods__", ())):
            raise TypeError(f"it asks its logits processors for {', '.join(more)}")
        if wrong := misfits("it", {kind.__mro__[1].__module__: _USED[kind]}):
            raise TypeError("; ".join(wrong))
        return kind
    if _V1 is None and _V2 is None:
        raise TypeError("it has neither V1's LogitsProcessor nor the newer runner's")
    raise TypeError(f"it makes its logits processors with {len(arguments) + len(named)} arguments")


def _misfit(error: Exception) -> str:
    version = getattr(importlib.import_module("vllm"), "__version__", "of an unknown version")
    return f"vLLM is {version}, expected one that fits sidbeam, as 0.32 and 0.33 do: {error}"


class LogitsProcessor(*(base for base in (_V1, _V2) if base is not None)):  # type: ignore[misc]
    """What both runners load. Each makes it with its own arguments, and gets the processor that fits.

    One class, not a choice at import: only the engine's configuration knows which runner it takes, and each loader
    refuses (the newer) or crashes on (V1) the other's.

    Raises :class:`sidbeam.Unsupported` where the engine is one that does not fit and catalogues were named. Where none
    were, it starts, and its log says so; requests that ask for a catalogue all the same are refused.
    """

    _why_not: Optional[str] = None  # the engine that was made last does nothing

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        LogitsProcessor._why_not = None
        try:
            return _fitting(arguments, named)(*arguments, **named)
        except SidbeamError:  # what was asked for is wrong
            raise
        except Exception as error:
            if not asked_for():
                LogitsProcessor._why_not = _misfit(error)
                _log.warning("%s; sidbeam does nothing here", LogitsProcessor._why_not)
                return _Nothing()
            if isinstance(error, (AttributeError, LookupError, TypeError)):  # what is missing, or called otherwise
                raise Unsupported(_misfit(error)) from error
            raise

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        if _choice(sampling_params) is not None and LogitsProcessor._why_not is not None:
            raise Unsupported(LogitsProcessor._why_not)
