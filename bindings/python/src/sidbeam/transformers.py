"""Hugging Face transformers (needs ``pip install "transformers>=5.3" torch``): ``import sidbeam.transformers``.

    sids = SidTokens(index, sidbeam.Vocabulary(offsets=[1000, 1256, 1512]))
    search = SidBeamSearch(sids)
    out = model.generate(**inputs, num_beams=20, num_return_sequences=20, custom_generate=search)
    ordinals = index.find_many(*sids.codes(out[:, inputs.input_ids.shape[1]:]))

    sampler = SidSampler(sids, rounds=4)                      # or SidSampler(sids)
    out = model.generate(**inputs, do_sample=True, num_return_sequences=20, custom_generate=sampler, seed=7)

    kept = index.filter("price<20 and in_stock")              # rules: for all requests, or a list of one for each
    out = model.generate(**inputs, num_beams=20, custom_generate=search, filter=kept, exclude=[seen_by_a, seen_by_b])

:class:`SidBeamSearch` and :class:`SidSampler` are whole loops: exact, and without what generate() repeats. Where the
loop must be generate()'s own, :class:`SidLogitsProcessor` masks its scores instead of ``prefix_allowed_tokens_fn``.
They score as generate() does: log-softmax over the whole row, then the mask.

Rules (``filter``, ``exclude``, ``allow``: those of :class:`sidbeam.Constraint`, each one for all requests or a list of
one per request, None: none) are arguments of generate() for the loops, and of the processor. What comes is what an
index of the allowed items alone would give. ``which=[..]`` is the constraint of each request: its number in ``sids``,
or a :class:`sidbeam.Constraint` of such an index; None: all follow the first.

Of a live catalogue (``SidTokens(catalog, ..)``, or its folder) a call follows the version that is the newest when it
begins; filters are moved to it. Ordinals are that version's: whoever wants these names it, ``version =
catalog.snapshot()`` and ``which=[version.constraint, ..]``.

:data:`HUB` is a folder in the hub's layout, for those who name a ``custom_generate`` by its path, or upload it::

    model.generate(**inputs, num_beams=20, custom_generate=sidbeam.transformers.HUB, trust_remote_code=True,
                   index="items.sidx", offsets=[1000, 1256, 1512])         # README.md there has all arguments

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any, Callable, NamedTuple, Optional, Sequence

import numpy as np

from ._transformers import Pass, Prompts, SessionKey, Sessions, SidTokens, another, check, one_row_per_request
from ._transformers_fields import SAMPLING, SEARCH, check_fields, documented
from ._transformers_outputs import Outputs
from ._transformers_rules import Followed, Which

import torch
import transformers
from torch import Tensor

from .arrays import expect_shape, host, stream_of
from .beams import Items
from .enums import MAX_BEAMS, Mode
from .errors import InvalidArgument
from .sampling import Disc, DiscResults
from .session import Session
from .slot_rules import Rules

HUB = str(pathlib.Path(__file__).with_name("hub"))  #: a folder for ``generate(custom_generate=HUB)``


class SidLogitsProcessor(transformers.LogitsProcessor):
    """Restricts generate(), with beams or without, to SIDs; make one for each call.

    generate() reorders rows between steps without telling, so a row's state is computed anew from its tokens: those
    after ``prompt_length`` (of ``input_ids``; 1 for encoder-decoder models), so that a prompt may itself hold SIDs.
    After a whole SID comes ``end_token``, with the score that the model gives it; if it is None, ``max_new_tokens``
    must end generate() there. A row that no SID continues is -inf throughout, never unconstrained. If there are fewer
    SIDs than beams, generate() fills up with repeats and bare prompts, whose scores are about -1e9; SIDs that do not
    exist never appear. ``which``, ``filter``, ``exclude``, ``allow``: what each request of the call follows.
    """

    def __init__(
        self,
        sids: SidTokens,
        prompt_length: int,
        *,
        which: Which = None,
        end_token: Optional[int] = None,
        filter: Any = None,
        exclude: Any = None,
        allow: Any = None,
    ) -> None:
        self.sids, self.prompt_length, self.end_token = sids, prompt_length, end_token
        self._followed = Followed(sids, which, Rules(filter, exclude, allow))

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """``input_ids`` ``[rows, length]``, ``scores`` ``[rows, vocabulary]``: new scores."""
        done = input_ids.shape[1] - self.prompt_length
        if done < 0:
            raise InvalidArgument(
                f"prompt_length is {self.prompt_length}, but input_ids has {input_ids.shape[1]} tokens"
            )
        if done >= self.sids.levels:
            return self._ended(scores, done)
        states = self._followed.states(input_ids[:, self.prompt_length :])
        scores = scores.clone(memory_format=torch.contiguous_format)
        self._followed.mask_(scores, states)
        return scores

    def _ended(self, scores: Tensor, done: int) -> Tensor:
        if self.end_token is None:
            raise InvalidArgument(
                f"generate() asks for token {done + 1} of SIDs of {self.sids.levels} codes:"
                f" expected max_new_tokens={self.sids.levels}, or end_token"
            )
        ended = torch.full_like(scores, -torch.inf)
        ended[:, self.end_token] = scores[:, self.end_token]
        return ended


@documented(SEARCH)
class SidBeamSearch:
    """A loop for ``generate(..., custom_generate=search)``: exact beam search over SIDs, of ``num_beams`` beams.

    Unlike generate()'s own it runs the prompt once per request instead of once per beam, reads logits where they are,
    reorders only the cache that differs between beams, and stops when the SIDs are complete. Arguments of generate():
    ``which``, ``filter``, ``exclude`` and ``allow``, what each request follows. Other logits processors are applied,
    before the mask, to log-probabilities, one logits row per beam.

    It gives ``num_return_sequences`` sequences per request, best first, prompt included; dead beams (fewer SIDs than
    beams) are the pad token with score -inf. ``sequences_scores`` are divided by length ** length_penalty as generate()
    does; the order, as the search itself, is that of the plain sums. Any number of threads may share a search.
    """

    def __init__(self, sids: SidTokens) -> None:
        self.sids = sids
        self._sessions = Sessions(sids)

    @torch.no_grad()
    def __call__(
        self,
        model: Any,
        input_ids: Tensor,
        logits_processor: Sequence[Any] = (),
        stopping_criteria: Any = None,
        generation_config: Any = None,
        which: Which = None,
        filter: Any = None,
        exclude: Any = None,
        allow: Any = None,
        **model_kwargs: Any,
    ) -> Any:
        config = generation_config
        check_fields(config, SEARCH)
        check(self.sids, input_ids, config, stopping_criteria, model_kwargs)
        width, keep = config.num_beams, config.num_return_sequences
        outputs = Outputs(config, model, model_kwargs, width)
        input_ids, model_kwargs = one_row_per_request(input_ids, model_kwargs, max(width, keep))
        normalization = "none" if len(logits_processor) else "full"
        followed = Followed(self.sids, which, Rules(filter, exclude, allow), len(input_ids))
        key = SessionKey(len(input_ids), width, normalization, Mode.SEARCH, stream_of(self.sids._tokens))
        session = self._sessions.take(key)
        prompts = Prompts(input_ids, followed, _pad_of(config))
        search = Pass(self.sids, session, model, prompts, logits_processor, Mode.SEARCH, outputs)
        search.run(model._prefill(input_ids, config, model_kwargs), model_kwargs)
        sequences = search.finish()[:, :keep].flatten(0, 1)
        scores = (search.beams.scores / search.lengths.clamp(min=1) ** config.length_penalty)[:, :keep].flatten()
        self._sessions.give_back(key, session)  # unless something was raised above
        if not config.return_dict_in_generate:
            return sequences
        return outputs.dict_of(sequences, scores, search.rows[:, :keep].flatten(0, 1))


@dataclasses.dataclass
class SidSamples(transformers.utils.ModelOutput):
    """What :class:`SidSampler` gives with ``return_dict_in_generate``: n samples of each request, one after another."""

    sequences: Any = None  #: int64 [requests * n, length], prompt included; a dead sample has the pad token after it
    log_probs: Any = None  #: float32 [requests * n] log P of the SID; -inf: dead
    log_masses: Any = None  #: float32 [requests * n] log x of the draw
    accepted: Any = None  #: bool [requests * n], of DISC: False: resampled, or dead
    draws_used: Any = None  #: int64 [requests * n], of DISC: draws that decided the sample
    rows_run: Any = None  #: int64 [requests * n], of DISC: draws that were run for it


@documented(SAMPLING)
class SidSampler:
    """A loop for ``generate(..., do_sample=True, custom_generate=sampler)``, which draws ``num_return_sequences`` SIDs
    for each request.

    - ``rounds`` None: each code is drawn among those that are valid. In law that is generate() with
      :class:`SidLogitsProcessor`, as long as nothing truncates (``top_k=0, top_p=1``: generate() masks first and
      truncates what is left, so that it cannot miss; here truncation comes first, and a draw may die).
    - ``rounds`` K: DISC (see :func:`sidbeam.disc`), by the model's own law restricted to SIDs, which masking step by
      step is not. The prompts are run once, draws in passes of ``draws`` for each request (None: two per sample; with
      processors other than temperature, top-k and top-p always one, since generate() has prepared them for that).
      ``without_replacement``: no SID twice.

    ``temperature``, ``top_k``, ``top_p`` of generate() and other processors are applied to the model's row, before the
    mask; of equal logits at the end of top-k and top-p the lower token is kept. As arguments of generate(): ``seed=7``
    (None: one from torch's generator); ``requests=[..]``, numbers of the requests (None: 0, 1, ..): equal seeds and
    numbers draw alike where logits are the same bits, in any batch; ``which``, ``filter``, ``exclude`` and ``allow``,
    what each follows. Any number of threads may share a sampler.
    """

    def __init__(
        self,
        sids: SidTokens,
        *,
        rounds: Optional[int] = None,
        without_replacement: bool = False,
        draws: Optional[int] = None,
    ) -> None:
        if rounds is None and (without_replacement or draws is not None):
            raise InvalidArgument("rounds is None, expected a number with without_replacement or draws")
        self.sids, self.rounds, self.without_replacement, self.draws = sids, rounds, without_replacement, draws
        self._sessions = Sessions(sids)

    @torch.no_grad()
    def __call__(
        self,
        model: Any,
        input_ids: Tensor,
        logits_processor: Sequence[Any] = (),
        stopping_criteria: Any = None,
        generation_config: Any = None,
        which: Which = None,
        filter: Any = None,
        exclude: Any = None,
        allow: Any = None,
        seed: Optional[int] = None,
        requests: Optional[Sequence[int]] = None,
        **model_kwargs: Any,
    ) -> Any:
        config = generation_config
        if not config.do_sample or config.num_beams != 1:
            raise InvalidArgument(
                f"do_sample is {config.do_sample} and num_beams {config.num_beams}, expected True and 1: this samples"
            )
        check_fields(config, SAMPLING)
        if self.rounds is not None and config.guidance_scale not in (None, 1):
            raise InvalidArgument(
                f"guidance_scale is {config.guidance_scale}, expected None with rounds: its processor keeps a cache of"
                " one pass, and rounds run several; use rounds=None"
            )
        check(self.sids, input_ids, config, stopping_criteria, model_kwargs)
        count = config.num_return_sequences
        input_ids, model_kwargs = one_row_per_request(input_ids, model_kwargs, count)
        left, settings = _native_settings(logits_processor)
        width = count if self.rounds is None or len(left) else min(self.draws or 2 * count, MAX_BEAMS)
        followed = Followed(self.sids, which, Rules(filter, exclude, allow), len(input_ids))
        key = SessionKey(len(input_ids), width, "full", Mode.SAMPLE, stream_of(self.sids._tokens))
        session = self._sessions.take(key)
        prompts = Prompts(input_ids, followed, _pad_of(config))
        draws = _Draws(self.sids, session, model, prompts, left, settings, _keys(seed, requests, len(input_ids)))
        outputs = model._prefill(input_ids, config, model_kwargs)
        if self.rounds is None:
            samples = draws.plain(outputs, model_kwargs)
        else:
            samples = self._disc(self.rounds, draws, count, outputs, model_kwargs)
        self._sessions.give_back(key, session)  # unless something was raised above
        return samples if config.return_dict_in_generate else samples.sequences

    def _disc(
        self, rounds: int, draws: _Draws, count: int, outputs: Any, model_kwargs: dict[str, Any]
    ) -> SidSamples:
        """`count` samples of each request."""
        discs = [
            Disc(
                count,
                seed=draws.seed,
                request=int(number),
                rounds=rounds,
                without_replacement=self.without_replacement,
                side_by_side=max(1, min(2 * rounds, draws.session.width // count)),
            )
            for number in draws.requests
        ]
        found: list[dict[int, Tensor]] = [{} for _ in discs]
        while True:
            wanted = [one.next(draws.session.width) for one in discs]
            if not any(map(len, wanted)):
                return _together([one.results() for one in discs], found, draws.prompts, self.sids.levels)
            drawn = draws.run(wanted, *another(outputs, model_kwargs))
            for i, (one, numbers) in enumerate(zip(discs, wanted)):
                n = len(numbers)
                one.add(numbers, drawn.ordinals[i, :n], drawn.log_probs[i, :n], drawn.log_masses[i, :n])
                for m, ordinal in enumerate(drawn.ordinals[i, :n].tolist()):
                    found[i].setdefault(ordinal, drawn.sequences[i, m].clone())


class _Drawn(NamedTuple):
    """Draws of a pass, [requests, beams]; NumPy's are the host's."""

    sequences: Tensor
    ordinals: np.ndarray
    log_probs: np.ndarray
    log_masses: np.ndarray


class _Draws:
    """Passes of one call of generate()."""

    def __init__(
        self,
        sids: SidTokens,
        session: Session,
        model: Any,
        prompts: Prompts,
        processors: Any,
        settings: dict[str, Any],
        keys: tuple[int, np.ndarray],
    ) -> None:
        self.sids, self.session, self.model, self.prompts = sids, session, model, prompts
        self.processors, self.settings = processors, settings
        self.seed, self.requests = keys

    def plain(self, outputs: Any, model_kwargs: dict[str, Any]) -> SidSamples:
        drawn = self.run(None, outputs, model_kwargs)
        device = drawn.sequences.device
        numbers = (torch.from_numpy(array.copy()).flatten().to(device) for array in (drawn.log_probs, drawn.log_masses))
        return SidSamples(drawn.sequences.flatten(0, 1), *numbers)

    def run(self, draws: Optional[list[np.ndarray]], outputs: Any, model_kwargs: dict[str, Any]) -> _Drawn:
        """Runs these draws of each request; None: as many as there are beams."""
        start = dict(self.settings, seeds=self.seed, requests=self.requests)
        if draws is not None:
            start["draws"] = np.zeros((len(draws), self.session.width), np.int64)
            for row, wanted in zip(start["draws"], draws):
                row[: len(wanted)] = wanted
            start["widths"] = [max(len(wanted), 1) for wanted in draws]  # nobody takes a draw that was not wanted
        one = Pass(self.sids, self.session, self.model, self.prompts, self.processors, Mode.SAMPLE, **start)
        one.run(outputs, model_kwargs)
        ordinals = torch.empty_like(one.beams.states)
        self.session.items(out=Items(ordinals=ordinals), stream=stream_of(ordinals))
        log_masses = torch.from_dlpack(self.session.tensors().log_masses)
        host = (array.cpu().numpy() for array in (ordinals, one.beams.scores, log_masses))
        return _Drawn(one.finish(), *host)


def _native_settings(processors: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
    """Processors without the temperature, top-k and top-p at their end, and these as arguments of a session's start,
    which needs no pass over the logits for each. Where another warper stands among them, torch does them all."""
    kept, start = list(processors), {}
    for kind, setting in _WARPERS:
        if kept and type(kept[-1]) is kind:
            start.update(setting(kept.pop()))
    left_over = any(isinstance(one, tuple(kind for kind, _ in _WARPERS)) for one in kept)
    return (processors, {}) if left_over else (transformers.LogitsProcessorList(kept), start)


_WARPERS: tuple[tuple[Any, Callable[[Any], dict[str, Any]]], ...] = (  # from the last one applied to the first
    (transformers.TopPLogitsWarper, lambda w: {"top_p": w.top_p}),
    (transformers.TopKLogitsWarper, lambda w: {"top_k": w.top_k}),
    (transformers.TemperatureLogitsWarper, lambda w: {"inverse_temperature": 1 / w.temperature}),
)


def _keys(seed: Optional[int], requests: Optional[Sequence[int]], count: int) -> tuple[int, np.ndarray]:
    chosen = int(torch.randint(2**63 - 1, ())) if seed is None else seed
    numbers = host(np.arange(count) if requests is None else requests, np.int64, "requests")
    expect_shape(numbers.shape, (count,), "requests")
    return chosen, numbers


def _together(
    results: list[DiscResults], found: list[dict[int, Tensor]], prompts: Prompts, levels: int
) -> SidSamples:
    dead = torch.nn.functional.pad(prompts.ids, (0, levels), value=prompts.pad)
    rows = [
        known[ordinal] if ordinal >= 0 else dead[i]
        for i, (one, known) in enumerate(zip(results, found))
        for ordinal in one.ordinals.tolist()
    ]
    names = ("log_probs", "log_masses", "accepted", "draws_used", "rows_run")
    arrays = {name: np.concatenate([getattr(one, name) for one in results]) for name in names}
    return SidSamples(torch.stack(rows), **{k: torch.from_numpy(v).to(dead.device) for k, v in arrays.items()})


def _pad_of(config: Any) -> int:
    return 0 if config._pad_token_tensor is None else int(config._pad_token_tensor)
