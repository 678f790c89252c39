"""SGLang: its beam search, over the SIDs of a catalogue only (needs SGLang 0.5.23, of ``sglang.srt.beam_search``).

Installing sidbeam is enough, and nothing is patched by hand: SGLang finds :func:`register` by the entry point
``sglang.srt.plugins`` and hooks what it names, if its version is one that the hooks were tried with and its functions
take what theirs do; ``SIDBEAM_SGLANG_UNTESTED=1`` takes other versions of the same functions. Another SGLang does not
start where ``SIDBEAM_CATALOGUES`` names catalogues, and is left alone where it does not. Catalogues have names
(:mod:`sidbeam.serving`); a request chooses one:

    {"beam_width": 50, "max_new_tokens": 3, "custom_params": {"sidbeam": {"index": "shop"}}}      # sampling params

The first generated token is a SID's first, whatever the prompt holds. Scores are log-softmax over the whole row, as
SGLang's own. A search ends with its SID, whatever ``max_new_tokens`` beyond it. Beams that no SID is left for stay as
dead ones (score -inf), since SGLang ends a search whose frontier is not full, and are no results; a search without any
result is aborted, with a message that says so.

Rules (:mod:`sidbeam.serving_rules`) say which items may come to a request: ``"custom_params": {"sidbeam": "shop",
"sidbeam_filter": "cheap", "sidbeam_where": "region=us", "sidbeam_exclude": [17, 4]}``. A filter is named in the
catalogue's settings, or its text is given; lists hold ids. A request is refused when it comes (400 over HTTP) if its
rules are wrong, if they leave no item, or if the library refuses them, for want of memory say.

What the hooks do, in SGLang's own terms:
  - ``Scheduler.init_beam_coordinator``: catalogues are opened, and their filters prepared, when the scheduler starts.
  - ``BeamCoordinator.request_beam_width``: a request of one beam that names a catalogue is refused, since SGLang would
    not search but sample, without a constraint.
  - ``BeamCoordinator.validate_and_init``: the request's arguments are read before they are made neutral, and its group
    gets a state per frontier row.
  - ``_rows_topk_logprobs`` does not know its group: it is put off until ``BeamCoordinator._select_group``, which does;
    there it becomes a masked top 2k of the raw rows, and the states follow the chosen parents and tokens.
  - ``BeamGroup.finalize`` drops dead beams; ``BeamCoordinator._finish_group`` aborts where none is left.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib.metadata
import logging
import os
import sys
from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

import torch
from torch import Tensor

from ._engines import misfits
from .arrays import stream_of
from .constraint_set import TopK
from .errors import SidbeamError
from .serving import ENVIRONMENT, KEY, Choice, asked_for, choice_of, named
from .serving_rules import KEYS

_COORDINATOR = "sglang.srt.beam_search.coordinator"
_GROUP = "sglang.srt.beam_search.beam_group"
_SCHEDULER = "sglang.srt.managers.scheduler"

TESTED_VERSIONS = ("0.5.23",)
UNTESTED = "SIDBEAM_SGLANG_UNTESTED"  #: variable: 1 takes other versions, if their functions are those of _USED
#: What is hooked or called, and what it takes.
_USED = {
    _COORDINATOR: {
        "_rows_topk_logprobs": "pieces num_candidates",
        "BeamCoordinator.request_beam_width": "recv_req",
        "BeamCoordinator.validate_and_init": "self req recv_req",
        "BeamCoordinator._select_group": "self group top_logprobs top_tokens tick",
        "BeamCoordinator._finish_group": "self group",
        "BeamCoordinator._abort_group": "self group",
        "BeamCoordinator.retire_group": "self req",
    },
    _GROUP: {"BeamGroup.finalize": "self"},
    "sglang.srt.plugins.hook_registry": {"HookRegistry.register": "target hook hook_type source"},
}
_log = logging.getLogger(__name__)


class _PutOff(NamedTuple):
    """A call of _rows_topk_logprobs that waits for its group."""

    select: Callable[[Sequence[Tensor], int], tuple[Tensor, Tensor]]
    pieces: Sequence[Tensor]
    candidates: int


class Search:
    """Where a group's frontier is in its version of its catalogue, under its request's rules."""

    def __init__(self, choice: Choice, device: Any) -> None:
        catalogue = choice.catalogue
        self._constraints = choice.constraints(str(device))
        self._codes = torch.from_numpy(catalogue.codes).to(device)
        self._tokens = torch.from_numpy(catalogue.padded_tokens).to(device)
        self._states = torch.zeros(1, dtype=torch.int64, device=device)
        self._level = 0

    def select(self, pieces: Sequence[Tensor], candidates: int) -> tuple[Tensor, Tensor]:
        """(log-probabilities, tokens), each [rows, candidates]: the best that may follow each row's state.

        Places left over are -inf and a real token, since that may be fed to the model.
        """
        pieces = [piece for piece in pieces if piece.shape[0]]
        states = self._states.split([piece.shape[0] for piece in pieces])
        found = [self._best(piece, part, candidates) for piece, part in zip(pieces, states)]
        codes, log_probs = (torch.cat(part) for part in zip(*found))
        tokens = self._tokens[self._level][codes.clamp(min=0).long()]
        return torch.where(codes < 0, -torch.inf, log_probs), tokens

    def advance(self, tokens: Tensor, parents: Tensor) -> None:
        """The states of the next frontier."""
        known = tokens < self._codes.shape[1]
        codes = self._codes[self._level][tokens.clamp(max=self._codes.shape[1] - 1)]
        states = torch.empty(len(tokens), dtype=torch.int64, device=tokens.device)
        self._constraints.advance(
            self._states,
            torch.where(known, codes, -1).to(torch.int32),
            parents=parents.to(torch.int32).contiguous(),
            out=states,
            stream=stream_of(tokens),
        )
        self._states = states
        self._level += 1

    def _best(self, logits: Tensor, states: Tensor, k: int) -> tuple[Tensor, Tensor]:
        codes = torch.empty((len(states), k), dtype=torch.int32, device=states.device)
        log_probs = torch.empty((len(states), k), dtype=torch.float32, device=states.device)
        out = TopK(codes, log_probs, None)
        self._constraints.topk(logits, states.contiguous(), k, next_states=False, out=out, stream=stream_of(states))
        return codes, log_probs


def _start(original: Callable[[Any], None], self: Any) -> None:
    """What is wrong with the catalogues or their filters ends the scheduler now."""
    original(self)
    for catalogue in named():
        catalogue.newest.rules.prepare()


def _beam_width(original: Callable[[Any], int], recv_req: Any) -> int:
    """So many that _admit sees every request that names a catalogue, or has rules."""
    custom = getattr(recv_req.sampling_params, "custom_params", None) or {}
    asks = custom.get(KEY) or any(custom.get(key) is not None for key in KEYS)
    return max(original(recv_req), 2 if asks else 1)


def _admit(original: Callable[..., Optional[str]], self: Any, req: Any, recv_req: Any) -> Optional[str]:
    """An error's text, or None."""
    from sglang.srt.runtime_context import get_parallel

    try:
        choice = choice_of(req.sampling_params.custom_params)
        if choice is not None:
            choice.catalogue.check_ranks(get_parallel().tp_size)
    except ValueError as wrong:
        return str(wrong)
    if choice is None:
        return original(self, req, recv_req)
    if (req.sampling_params.beam_width or 1) < 2:
        return "sidbeam constrains beam search: beam_width is 1, expected 2 or more."
    error = original(self, req, recv_req)
    if error is not None:
        return error
    group, catalogue = req.beam_group, choice.catalogue
    search = _search(choice, group, self.model_config.vocab_size)
    if isinstance(search, str):
        self.retire_group(req)
        req.beam_group = None
        return search
    # What ends a search is its SID.
    group.max_new_tokens = catalogue.levels
    ends = [catalogue.vocabulary.end_column] if catalogue.shape.variable_length else []
    group.stop_token_ids = torch.tensor(ends, dtype=torch.int64, device=group.stop_token_ids.device)
    group.sidbeam = search
    return None


def _search(choice: Choice, group: Any, vocabulary: int) -> Union[Search, str]:
    """That of a group, or why there is none."""
    catalogue = choice.catalogue
    length, needed = group.max_new_tokens, catalogue.codes.shape[1]
    if length < catalogue.levels:
        return f"A SID has {catalogue.levels} tokens; max_new_tokens and the context leave {length}."
    if vocabulary < needed:
        return f"Catalogue {catalogue.name!r} has tokens below {needed}, the model's vocabulary has {vocabulary}."
    try:
        rules = choice.constraint() if choice.rules is not None else None
        if rules is not None and rules.info.allowed_items == 0:
            return f"The rules of the request leave no item of catalogue {catalogue.name!r}."
        return Search(choice, group.frontier_cum_logprobs.device)
    except SidbeamError as error:  # no memory, say
        return str(error)


def _put_off(original: Any, pieces: Sequence[Tensor], num_candidates: int) -> tuple[Any, Any]:
    call = _PutOff(original, pieces, num_candidates)
    return call, call


def _select(original: Any, self: Any, group: Any, top_logprobs: Any, top_tokens: Any, tick: int) -> Any:
    search: Optional[Search] = getattr(group, "sidbeam", None)
    if isinstance(top_logprobs, _PutOff):
        call = top_logprobs
        select = call.select if search is None else search.select
        top_logprobs, top_tokens = select(call.pieces, call.candidates)
    next_tokens, parents = original(self, group, top_logprobs, top_tokens, tick)
    if search is not None and parents is not None:
        search.advance(next_tokens, parents)
    return next_tokens, parents


def _finalize(original: Any, group: Any) -> list[Any]:
    results = original(group)
    return results if getattr(group, "sidbeam", None) is None else [r for r in results if r.cum_logprob > -torch.inf]


def _finish(original: Any, self: Any, group: Any) -> Any:
    if getattr(group, "sidbeam", None) is not None and not group.finalize():
        from sglang.srt.managers.schedule_batch import FINISH_ABORT

        group.leader.to_finish = FINISH_ABORT("sidbeam: the model gives no SID of the catalogue a probability")
        return self._abort_group(group)
    return original(self, group)


def _misfits() -> list[str]:
    """In what this SGLang differs from what the hooks are for; empty: in nothing."""
    version = importlib.metadata.version("sglang")
    found = misfits(f"SGLang {version}", _USED)
    if version not in TESTED_VERSIONS and os.environ.get(UNTESTED) != "1":
        found.insert(0, f"SGLang is {version}, expected {' or '.join(TESTED_VERSIONS)}, or {UNTESTED}=1")
    return found


def register() -> None:
    """The plugin: SGLang calls it in each of its processes.

    An SGLang that it does not fit is left as it is, with a warning in the log; where catalogues are named, it ends: a
    plugin's exceptions SGLang only logs, and would serve on, unconstrained.
    """
    wrong = _misfits()
    if wrong:
        message = "sidbeam.sglang cannot constrain this engine: " + "; ".join(wrong)
        if asked_for():
            raise SystemExit(f"{ENVIRONMENT} names catalogues, but {message}")
        _log.warning("%s", message)
        return
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    hooks = {
        f"{_COORDINATOR}.BeamCoordinator.request_beam_width": _beam_width,
        f"{_COORDINATOR}.BeamCoordinator.validate_and_init": _admit,
        f"{_COORDINATOR}._rows_topk_logprobs": _put_off,
        f"{_COORDINATOR}.BeamCoordinator._select_group": _select,
        f"{_COORDINATOR}.BeamCoordinator._finish_group": _finish,
        f"{_GROUP}.BeamGroup.finalize": _finalize,
    }
    if _SCHEDULER in sys.modules:  # elsewhere SGLang would import it for this alone
        hooks[f"{_SCHEDULER}.Scheduler.init_beam_coordinator"] = _start
    for target, hook in hooks.items():
        HookRegistry.register(target, hook, HookType.AROUND)
