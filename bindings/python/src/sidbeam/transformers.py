"""Hugging Face transformers (needs ``pip install "transformers>=5" torch``): ``import sidbeam.transformers``.

    sids = SidTokens(index, sidbeam.Vocabulary(offsets=[1000, 1256, 1512]))
    search = SidBeamSearch(sids)
    out = model.generate(**inputs, num_beams=20, num_return_sequences=20, custom_generate=search)
    ordinals = index.find_many(*sids.codes(out[:, inputs.input_ids.shape[1]:]))

:class:`SidBeamSearch` is the whole loop: exact, and without what generate() repeats. Where the loop must be
generate()'s own, :class:`SidLogitsProcessor` masks its scores instead of ``prefix_allowed_tokens_fn``. Both score as
generate() does: log-softmax over the whole row, then the mask. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import threading
from typing import Any, Optional, Sequence, Union

try:
    import torch
    import transformers
    from transformers.generation import GenerateBeamDecoderOnlyOutput, GenerateBeamEncoderDecoderOutput
except ImportError as missing:
    raise ImportError('sidbeam.transformers needs both: pip install torch "transformers>=5"') from missing
from torch import Tensor

from . import torch as ops
from .arrays import stream_of
from .constraint_set import ConstraintSet
from .errors import InvalidArgument
from .index import Constraint, ConstraintLike, Index, constraint_of
from .session import Session
from .vocabulary import Vocabulary

_SESSIONS = 8  # sessions that a search keeps for later calls
# Requests, beams and normalisation of a session, and its stream, on which the work of its calls is ordered.
_SessionKey = tuple[int, int, str, Any]


class SidTokens:
    """Catalogues in the vocabulary of a model: which token is which code of which level.

    - ``constraints``: an index, or several that requests choose among by number (``which``).
    - ``vocabulary``: code t of level l is token ``offsets[l] + t``, or ``maps[l][t]``; the end, where lengths vary, is
      token ``end_column``. No token may stand for two codes of a level; -1 in a map is a code without a token.
    - ``device``: where the model's logits are, "cpu" or "cuda".
    """

    def __init__(
        self,
        constraints: Union[ConstraintLike, Sequence[ConstraintLike]],
        vocabulary: Optional[Vocabulary] = None,
        *,
        device: Any = None,
    ) -> None:
        several = [constraints] if isinstance(constraints, (Index, Constraint)) else list(constraints)
        self.constraints = [constraint_of(c) for c in several]
        self.vocabulary = vocabulary
        self.device = torch.device(device or "cpu")
        self.set = ConstraintSet(self.constraints, vocabulary=vocabulary, device=device)
        self.levels = max(c.info.levels for c in self.constraints)
        self.handle = ops.register(self.set)
        self._tokens = self._tokens_of_codes(vocabulary or Vocabulary())
        self._codes = self._codes_of_tokens()

    def _tokens_of_codes(self, vocabulary: Vocabulary) -> Tensor:
        """int64 [constraints, levels, most codes + 1], -1 for none; the end after a level's last code."""
        most = max(max(c.info.codes) for c in self.constraints)
        tokens = torch.full((len(self.constraints), self.levels, most + 1), -1)
        for which, constraint in enumerate(self.constraints):
            for level, count in enumerate(constraint.info.codes):
                tokens[which, level, :count] = torch.from_numpy(vocabulary.columns_of(constraint.info.codes, level))
                tokens[which, level, count] = vocabulary.end_column
        return tokens.to(self.device)

    def _codes_of_tokens(self) -> Tensor:
        """int32 [levels, columns], -1 where a token is no code."""
        codes = torch.full((self.levels, self.set.columns), -1, dtype=torch.int32, device=self.device)
        for which, constraint in enumerate(self.constraints):
            for level, count in enumerate(constraint.info.codes):
                tokens = self._tokens[which, level, :count]
                named = tokens.ge(0).nonzero().flatten()
                codes[level, tokens[named]] = named.int()
                if len(tokens[named].unique()) < len(named):
                    raise InvalidArgument(
                        f"vocabulary has a token for two codes of level {level}, expected one for each"
                    )
        return codes

    def codes(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Codes int32 ``[n, levels]`` of generated tokens ``[n, any]``, up to the first token that is no code of its
        level, -1 beyond; and their number ``[n]``. On the CPU :meth:`Index.find_many` takes them, and gives -1 for a
        row that is no SID."""
        found = self._code_matrix(tokens)
        lengths = found.ge(0).int().cumprod(1).sum(1, dtype=torch.int32)
        beyond = torch.arange(self.levels, device=found.device) >= lengths[:, None]
        return found.masked_fill(beyond, -1), lengths

    def _code_matrix(self, tokens: Tensor) -> Tensor:
        """int32 [n, levels]; -1 for what is no code of its level."""
        tokens = tokens[:, : self.levels].to(self.device)
        outside = (tokens < 0) | (tokens >= self._codes.shape[1])
        found = torch.full((len(tokens), self.levels), -1, dtype=torch.int32, device=self.device)
        for level in range(tokens.shape[1]):
            found[:, level] = self._codes[level, tokens[:, level].masked_fill(outside[:, level], 0)]
        found[:, : tokens.shape[1]].masked_fill_(outside, -1)
        return found

    def states(self, tokens: Tensor, which: Optional[Tensor] = None) -> Tensor:
        """States int64 ``[n]`` after the tokens ``[n, any]`` of a SID; -1 where no SID begins with them."""
        lengths = torch.full((len(tokens),), tokens.shape[1], dtype=torch.int32, device=self.device)
        return ops.prefixes(self.handle, self._code_matrix(tokens), lengths, which)

    def tokens(self, level: int, codes: Tensor, which: Optional[Tensor] = None, dead: int = -1) -> Tensor:
        """Tokens int64 ``[n, m]`` of codes ``[n, m]`` of a level, ``dead`` where the code is -1; ``which`` ``[n]``."""
        of_level = self._tokens[:, level][0 if which is None else which.long()]
        found = of_level.expand(len(codes), -1).gather(1, codes.long().clamp(min=0))
        return torch.where(codes < 0, dead, found)

    def which_of(self, which: Optional[Sequence[int]], rows: int) -> Optional[Tensor]:
        """The constraint of each of ``rows`` sequences, from that of each request."""
        if which is None:
            return None
        chosen = torch.as_tensor(which, dtype=torch.int32, device=self.device)
        if (
            len(chosen) == 0
            or rows % len(chosen)
            or not 0 <= int(chosen.min()) <= int(chosen.max()) < len(self.constraints)
        ):
            raise InvalidArgument(f"which is {which}, expected a number below {len(self.constraints)} for each request")
        return chosen.repeat_interleave(rows // len(chosen))


class SidLogitsProcessor(transformers.LogitsProcessor):
    """Restricts generate(), with beams or without, to SIDs; make one for each call.

    generate() reorders rows between steps without telling, so a row's state is computed anew from its tokens: those
    after ``prompt_length`` (of ``input_ids``; 1 for encoder-decoder models), so that a prompt may itself hold SIDs.
    After a whole SID comes ``end_token``, with the score that the model gives it; if it is None, ``max_new_tokens``
    must end generate() there. A row that no SID continues is -inf throughout, never unconstrained. If there are fewer
    SIDs than beams, generate() fills up with repeats and bare prompts, whose scores are about -1e9; SIDs that do not
    exist never appear.
    """

    def __init__(
        self,
        sids: SidTokens,
        prompt_length: int,
        *,
        which: Optional[Sequence[int]] = None,
        end_token: Optional[int] = None,
    ) -> None:
        self.sids, self.prompt_length, self.which, self.end_token = sids, prompt_length, which, end_token

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """``input_ids`` ``[rows, length]``, ``scores`` ``[rows, vocabulary]``: new scores."""
        done = input_ids.shape[1] - self.prompt_length
        if done < 0:
            raise InvalidArgument(
                f"prompt_length is {self.prompt_length}, but input_ids has {input_ids.shape[1]} tokens"
            )
        if done >= self.sids.levels:
            return self._ended(scores, done)
        which = self.sids.which_of(self.which, len(input_ids))
        states = self.sids.states(input_ids[:, self.prompt_length :], which)
        scores = scores.clone(memory_format=torch.contiguous_format)
        ops.mask_(self.sids.handle, scores, states, which)
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


class SidBeamSearch:
    """A loop for ``generate(..., custom_generate=search)``: exact beam search over SIDs, of ``num_beams`` beams.

    Unlike generate()'s own it runs the prompt once per request instead of once per beam, reads logits where they are,
    reorders only the cache that differs between beams, and stops when the SIDs are complete. ``which=[..]``, an
    argument of generate(): the constraint of each request. Other logits processors are applied, before the mask, to
    log-probabilities, one logits row per beam.

    It gives ``num_return_sequences`` sequences per request, best first, prompt included; dead beams (fewer SIDs than
    beams) are the pad token with score -inf. ``sequences_scores`` are divided by length ** length_penalty as generate()
    does; the order, as the search itself, is that of the plain sums. Any number of threads may share a search.
    """

    def __init__(self, sids: SidTokens) -> None:
        self.sids = sids
        self._idle: list[tuple[_SessionKey, Session]] = []  # the most recently used one last
        self._lock = threading.Lock()

    @torch.no_grad()
    def __call__(
        self,
        model: Any,
        input_ids: Tensor,
        logits_processor: Sequence[Any] = (),
        stopping_criteria: Any = None,
        generation_config: Any = None,
        which: Optional[Sequence[int]] = None,
        **model_kwargs: Any,
    ) -> Any:
        self._check(input_ids, generation_config, model_kwargs)
        width, keep = generation_config.num_beams, generation_config.num_return_sequences
        input_ids, model_kwargs = _one_row_per_request(input_ids, model_kwargs, max(width, keep))
        pad = generation_config._pad_token_tensor
        key = (len(input_ids), width, "none" if len(logits_processor) else "full", stream_of(self.sids._tokens))
        session = self._take(key)
        search = _Search(self.sids, session, model, input_ids, which, logits_processor, 0 if pad is None else int(pad))
        search.run(generation_config, model_kwargs)
        sequences, scores = search.result(keep, generation_config.length_penalty)
        self._give_back(key, session)  # unless something was raised above
        if not generation_config.return_dict_in_generate:
            return sequences
        whole = GenerateBeamEncoderDecoderOutput if model.config.is_encoder_decoder else GenerateBeamDecoderOnlyOutput
        return whole(sequences=sequences, sequences_scores=scores)

    def _check(self, input_ids: Tensor, config: Any, model_kwargs: dict[str, Any]) -> None:
        if config.do_sample:
            raise InvalidArgument("do_sample is True, expected False: this is a beam search")
        room = config.max_length - input_ids.shape[1]
        if room < self.sids.levels:
            raise InvalidArgument(f"max_new_tokens is {room}, expected at least {self.sids.levels}, the codes of a SID")
        cache = model_kwargs.get("past_key_values")
        if cache is not None and (cache.get_seq_length() > 0 or getattr(cache, "is_compileable", False)):
            raise InvalidArgument("past_key_values is filled or static, expected an empty, dynamic cache")

    def _take(self, key: _SessionKey) -> Session:
        """A session for one call, an idle one if there is one: taking its memory costs more than a step."""
        with self._lock:
            for i in reversed(range(len(self._idle))):
                if self._idle[i][0] == key:
                    return self._idle.pop(i)[1]
        slots, beams, normalization, _ = key
        return Session(
            max(self.sids.constraints, key=lambda c: c.info.levels),
            slots=slots,
            beams=beams,
            normalization=normalization,
            vocabulary=self.sids.vocabulary,
            device=self.sids.device,
        )

    def _give_back(self, key: _SessionKey, session: Session) -> None:
        with self._lock:
            self._idle.append((key, session))
            del self._idle[:-_SESSIONS]


class _Search:
    """One call of generate()."""

    def __init__(
        self, sids: SidTokens, session: Session, model: Any, prompts: Tensor, which: Any, processors: Any, pad: int
    ) -> None:
        self.sids, self.session, self.model, self.processors, self.pad = sids, session, model, processors, pad
        self.width = width = session.width
        self.requests, self.prompt_length = prompts.shape
        if which is not None and len(which) != self.requests:
            raise InvalidArgument(f"which is {which}, expected a number for each of {self.requests} requests")
        self.which = self.sids.which_of(which, self.requests)
        chosen = None if which is None else [self.sids.constraints[w] for w in which]
        self.session.start(constraints=chosen, stream=stream_of(self.sids._tokens))
        self.beams = ops.beams(self.session)
        self.every = torch.arange(width, device=self.sids.device)
        self.first = width * torch.arange(self.requests, device=self.sids.device)[:, None]
        self.lengths = torch.zeros((self.requests, width), device=self.sids.device)
        shape = (self.requests, width, self.prompt_length + self.sids.levels)
        self.sequences = prompts.new_full(shape, pad)
        self.sequences[:, :, : self.prompt_length] = prompts[:, None]

    def run(self, config: Any, model_kwargs: dict[str, Any]) -> None:
        model, encoded = self.model, self.model.config.is_encoder_decoder
        outputs = model._prefill(self.sequences[:, 0, : self.prompt_length], config, model_kwargs)
        for level in range(self.sids.levels):
            model_kwargs = model._update_model_kwargs_for_generation(outputs, model_kwargs, is_encoder_decoder=encoded)
            parents = self.step(level, outputs.logits[:, -1, :])
            if level == self.sids.levels - 1 or self.done():
                break
            cache = model_kwargs.get("past_key_values")
            if level == 0:
                _, model_kwargs = model._expand_inputs_for_generation(self.width, encoded, **model_kwargs)
                if cache is not None:
                    cache.batch_repeat_interleave(self.width)
            elif cache is not None:
                # Cross-attention to the encoder is the same for all beams of a request.
                getattr(cache, "self_attention_cache", cache).reorder_cache(parents)
            so_far = self.sequences[:, :, : self.prompt_length + level + 1].flatten(0, 1)
            new = 1 if cache is not None else None
            inputs = model.prepare_inputs_for_generation(so_far, next_sequence_length=new, **model_kwargs)
            outputs = model(**inputs, return_dict=True)

    def step(self, level: int, logits: Tensor) -> Tensor:
        """Advances every request; returns the places [requests * beams] that the beams continue from."""
        if len(self.processors):
            if level == 0:  # the prompt has a logits row per request; generate() has prepared for one per beam
                logits = logits.repeat_interleave(self.width, 0)
            said = self.sequences[:, :, : self.prompt_length + level].flatten(0, 1)
            logits = self.processors(said, logits.float().log_softmax(-1))
        over = self.beams.active.eq(0)[:, None]  # the step changes nothing of these requests
        rows, dtype = ops._rows(logits.unflatten(0, (self.requests, -1)))
        self.session.step(rows, dtype=dtype, stream=stream_of(logits))
        parents = torch.where(over, self.every, self.beams.parents.long().clamp(min=0))
        codes = self.beams.codes.masked_fill(over, -1)
        self.sequences = self.sequences.gather(1, parents[:, :, None].expand_as(self.sequences))
        self.sequences[:, :, self.prompt_length + level] = self.sids.tokens(level, codes, self.which, self.pad)
        self.lengths = self.lengths.gather(1, parents) + (codes >= 0)
        return (self.first + parents).flatten()

    def done(self) -> bool:
        """Whether no request goes on. On CUDA that is unknown without waiting for the device, and a step does no
        harm."""
        return self.sids.device.type == "cpu" and not bool(self.beams.active.any())

    def result(self, keep: int, length_penalty: float) -> tuple[Tensor, Tensor]:
        """The best of each request: sequences [requests * keep, length] and scores [requests * keep]."""
        dead = self.every >= self.beams.live[:, None]
        self.sequences[:, :, self.prompt_length :].masked_fill_(dead[:, :, None], self.pad)
        scores = self.beams.scores / self.lengths.clamp(min=1) ** length_penalty
        return self.sequences[:, :keep].flatten(0, 1), scores[:, :keep].flatten()


def _one_row_per_request(input_ids: Tensor, model_kwargs: dict[str, Any], copies: int) -> tuple[Tensor, dict[str, Any]]:
    """Undoes what generate() does before it calls a loop: a row for every beam."""
    if copies == 1:
        return input_ids, model_kwargs

    def first(value: Any) -> Any:
        if isinstance(value, transformers.utils.ModelOutput):
            return type(value)(**{name: first(item) for name, item in value.items()})
        return value[::copies] if isinstance(value, Tensor) else value

    fewer = {name: first(value) for name, value in model_kwargs.items()}
    positions = model_kwargs.get("position_ids")
    if positions is not None and positions.ndim == 3:  # several kinds of position, of the batch in dimension 1
        fewer["position_ids"] = positions[:, ::copies]
    return input_ids[::copies], fewer
