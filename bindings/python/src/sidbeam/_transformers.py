"""What the loops of :mod:`sidbeam.transformers` share: tokens, sessions, and a model's pass over a session's levels.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import copy
import functools
import os
from typing import Any, NamedTuple, Optional, Sequence, Union

try:
    import torch
    import transformers
except ImportError as missing:
    raise ImportError('sidbeam.transformers needs both: pip install torch "transformers>=5.3"') from missing
from torch import Tensor

from ._engines import need

need(
    "sidbeam.transformers", "transformers", transformers.__version__, "5.3 or later",
    {"transformers": {
        "GenerationMixin.generate": None,
        "GenerationMixin._prefill": "self input_ids generation_config model_kwargs ..",
        "GenerationMixin._update_model_kwargs_for_generation": "self outputs model_kwargs is_encoder_decoder ..",
        "GenerationMixin._expand_inputs_for_generation": None,
        "GenerationMixin.prepare_inputs_for_generation": "self input_ids next_sequence_length ..",
    }},
)  # fmt: skip

from . import forks
from . import torch as ops
from ._transformers_fields import check_arguments
from ._transformers_outputs import Outputs
from ._transformers_rules import Followed, Registered, Version, followed_by
from .arrays import stream_of
from .checks import shown
from .constraint_set import ConstraintSet
from .enums import Mode
from .errors import InvalidArgument, WrongType
from .following import Newest, is_live
from .index import Constraint, ConstraintLike, Index, constraint_of
from .live import Catalog, Path
from .session import Session
from .vocabulary import Vocabulary

Source = Union[ConstraintLike, Catalog, Path]

_SESSIONS = 8  # sessions that a loop keeps for later calls


class SidTokens:
    """Catalogues in the vocabulary of a model: which token is which code of which level.

    - ``constraints``: an index, or several that requests choose among by number (``which``); held. In place of an index
      a live catalogue (:class:`sidbeam.Catalog`), or the path of its folder, which is then followed: each call of
      generate() follows the version that is the newest when it begins, to its end.
    - ``vocabulary``: code t of level l is token ``offsets[l] + t``, or ``maps[l][t]``; the end, where lengths vary, is
      token ``end_column``. No token may stand for two codes of a level; -1 in a map is a code without a token.
    - ``device``: where the model's logits are, "cpu" or "cuda".
    """

    def __init__(
        self,
        constraints: Union[Source, Sequence[Source]],
        vocabulary: Optional[Vocabulary] = None,
        *,
        device: Any = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.device = torch.device(device or "cpu")
        one = isinstance(constraints, (Index, Constraint, Catalog, str, bytes, os.PathLike))
        self._followed = [self._follow(c) for c in ([constraints] if one else constraints)]
        self.live = any(isinstance(c, Newest) for c in self._followed)
        self._infos = [constraint_of(c).info for c in followed_by(self.now())]
        self.levels = max(info.levels for info in self._infos)
        self._registered = None if self.live else Registered(self, followed_by(self.now()))
        self._tokens = self._tokens_of_codes(vocabulary or Vocabulary())
        self._codes = self._codes_of_tokens(vocabulary or Vocabulary())

    def _follow(self, source: Source) -> Union[ConstraintLike, Newest[Version]]:
        if isinstance(source, (Index, Constraint)):
            return source
        if not is_live(source):
            expected = "an Index, a Constraint, a Catalog or its folder"
            raise WrongType(f"constraints has {shown(source)}, expected {expected}")
        vocabulary, device = self.vocabulary, self.device  # not self, with which the follower's thread is to go

        def version(index: Index, before: Optional[Version]) -> Version:
            """Fails where an item's code has no token, say; on CUDA it copies what searches read to the device."""
            return Version(index, ConstraintSet(index, vocabulary=vocabulary, device=device))

        return Newest(source, version)

    def now(self) -> list[Union[ConstraintLike, Version]]:
        """What a request follows, of each catalogue, that begins now."""
        return [c.value if isinstance(c, Newest) else c for c in self._followed]

    def refresh(self) -> None:
        """Takes over now what other processes have published; otherwise that comes by itself, within moments."""
        for one in self._followed:
            if isinstance(one, Newest):
                one.refresh()

    def registered(self) -> Registered:
        """The set of it."""
        return Registered(self, followed_by(self.now())) if self._registered is None else self._registered

    @functools.cached_property
    def stand_in(self) -> ConstraintLike:
        """What sessions are made for: the constraint of most levels, or, as live catalogues have many, an index of one
        SID in its form, so that sessions that wait hold no version."""
        if not self.live:
            return max(followed_by(self.now()), key=lambda c: constraint_of(c).info.levels)
        info, words = max(self._infos, key=lambda info: info.levels), self.vocabulary or Vocabulary()
        sid = [int((words.columns_of(info.codes, level) >= 0).argmax()) for level in range(info.levels)]
        return Index.build([sid], codes=info.codes, variable_length=info.variable_length)

    def _tokens_of_codes(self, vocabulary: Vocabulary) -> Tensor:
        """int64 [constraints, levels, most codes + 1], -1 for none; the end after a level's last code."""
        most = max(max(info.codes) for info in self._infos)
        tokens = torch.full((len(self._infos), self.levels, most + 1), -1)
        for which, info in enumerate(self._infos):
            for level, count in enumerate(info.codes):
                tokens[which, level, :count] = torch.from_numpy(vocabulary.columns_of(info.codes, level))
                tokens[which, level, count] = vocabulary.end_column
        return tokens.to(self.device)

    def _codes_of_tokens(self, vocabulary: Vocabulary) -> Tensor:
        """int32 [levels, columns], -1 where a token is no code."""
        columns = max(vocabulary.columns(info.codes) for info in self._infos)
        codes = torch.full((self.levels, columns), -1, dtype=torch.int32, device=self.device)
        for which, info in enumerate(self._infos):
            for level, count in enumerate(info.codes):
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
        level, -1 beyond; and their number ``[n]``. On the CPU :meth:`sidbeam.Index.find_many` takes them, and gives -1
        for a row that is no SID."""
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

    def means(self, level: int, token: int) -> bool:
        """Whether a token is a code of a level, of any constraint, or ends a SID there."""
        if self.vocabulary is not None and level > 0 and token == self.vocabulary.end_column:
            return True
        return 0 <= token < self._codes.shape[1] and int(self._codes[level, token]) >= 0

    def states(self, tokens: Tensor, which: Optional[Tensor] = None) -> Tensor:
        """States int64 ``[n]`` after the tokens ``[n, any]`` of a SID; -1 where no SID begins with them."""
        return self._states(self.registered(), tokens, which)

    def _states(self, by: Registered, tokens: Tensor, which: Optional[Tensor]) -> Tensor:
        """By a set of these catalogues' constraints."""
        lengths = torch.full((len(tokens),), tokens.shape[1], dtype=torch.int32, device=self.device)
        return ops.prefixes(by.handle, self._code_matrix(tokens), lengths, which)

    def tokens(self, level: int, codes: Tensor, which: Optional[Tensor] = None, dead: int = -1) -> Tensor:
        """Tokens int64 ``[n, m]`` of codes ``[n, m]`` of a level, ``dead`` where the code is -1; ``which`` ``[n]``."""
        of_level = self._tokens[:, level][0 if which is None else which.long()]
        found = of_level.expand(len(codes), -1).gather(1, codes.long().clamp(min=0))
        return torch.where(codes < 0, dead, found)


class SessionKey(NamedTuple):
    """What a session is made with, and its stream, on which the work of its calls is ordered."""

    requests: int
    beams: int
    normalization: str
    mode: Mode
    stream: Any


class Sessions:
    """Sessions that calls take and give back: to take their memory costs more than a step. Any number of threads."""

    def __init__(self, sids: SidTokens) -> None:
        self._sids = sids
        # The most recently used one last, each with the process that made it: a child has no use for its parent's.
        self._idle: list[tuple[SessionKey, int, Session]] = []

    def take(self, key: SessionKey) -> Session:
        """A session for one call."""
        with forks.lock:
            for i in reversed(range(len(self._idle))):
                if self._idle[i][:2] == (key, os.getpid()):
                    return self._idle.pop(i)[2]
        return Session(
            self._sids.stand_in,
            slots=key.requests,
            beams=key.beams,
            normalization=key.normalization,
            mode=key.mode,
            vocabulary=self._sids.vocabulary,
            device=self._sids.device,
        )

    def give_back(self, key: SessionKey, session: Session) -> None:
        try:
            session.stop(stream=key.stream)  # what its requests followed may go
        finally:  # whatever that raised: the next call starts all of it anew
            self._keep(key, session)

    def _keep(self, key: SessionKey, session: Session) -> None:
        with forks.lock:
            self._idle.append((key, os.getpid(), session))
            dropped = self._idle[:-_SESSIONS]
            del self._idle[:-_SESSIONS]
        del dropped  # without the lock, since on CUDA a session's end may wait for the device


class Prompts(NamedTuple):
    """What a call of generate() is about."""

    ids: Tensor  #: int64 [requests, length]
    followed: Followed  #: by each request
    pad: int  #: token of dead beams


class Pass:
    """One pass of a model over the levels of a session."""

    def __init__(
        self,
        sids: SidTokens,
        session: Session,
        model: Any,
        prompts: Prompts,
        processors: Any,
        mode: Mode,
        outputs: Optional[Outputs] = None,
        **start: Any,
    ) -> None:
        self.sids, self.session, self.model, self.pad, self.outputs = sids, session, model, prompts.pad, outputs
        self.searches = mode == Mode.SEARCH
        self.width = width = session.width
        self.followed = prompts.followed
        self.requests, self.prompt_length = prompts.ids.shape
        self.before: Any = processors
        self.behind: Any = ()
        if self.searches:
            self.before, self.behind = _around_the_mask(processors)
        self.session.start(constraints=self.followed.constraints, stream=stream_of(self.sids._tokens), **start)
        self.beams = ops.beams(self.session)
        self.every = torch.arange(width, device=self.sids.device)
        self.first = width * torch.arange(self.requests, device=self.sids.device)[:, None]
        self.lengths = torch.zeros((self.requests, width), device=self.sids.device)
        shape = (self.requests, width, self.prompt_length + self.sids.levels)
        self.sequences = prompts.ids.new_full(shape, prompts.pad)
        self.sequences[:, :, : self.prompt_length] = prompts.ids[:, None]
        shape = (self.requests, width, self.sids.levels)
        self.rows = torch.full(shape, -1, dtype=torch.int32, device=self.sids.device)  # that each token comes from

    def run(self, outputs: Any, model_kwargs: dict[str, Any]) -> None:
        """From the outputs for the prompts on."""
        model, encoded = self.model, self.model.config.is_encoder_decoder
        for level in range(self.sids.levels):
            model_kwargs = model._update_model_kwargs_for_generation(outputs, model_kwargs, is_encoder_decoder=encoded)
            if self.outputs is not None:
                self.outputs.add(level, outputs)
            parents = self.step(level, outputs.logits[:, -1, :])
            last = level == self.sids.levels - 1 or (self.done() and not _shares_its_model())
            if last and (self.outputs is None or not self.outputs.wanted):
                break
            cache = model_kwargs.get("past_key_values")
            if level == 0:
                _, model_kwargs = model._expand_inputs_for_generation(self.width, encoded, **model_kwargs)
                if cache is not None:
                    cache.batch_repeat_interleave(self.width)
            elif cache is not None and self.searches:  # a draw stays in its row
                # Cross-attention to the encoder is the same for all beams of a request.
                getattr(cache, "self_attention_cache", cache).reorder_cache(parents)
            if last and self.outputs is not None:
                self.outputs.past_key_values = cache
                break
            so_far = self.sequences[:, :, : self.prompt_length + level + 1].flatten(0, 1)
            new = 1 if cache is not None else None
            inputs = model.prepare_inputs_for_generation(so_far, next_sequence_length=new, **model_kwargs)
            outputs = model(**inputs, return_dict=True)

    def step(self, level: int, logits: Tensor) -> Tensor:
        """Advances every request; returns the places [requests * beams] that the beams continue from."""
        if len(self.before) or len(self.behind):
            logits = self._processed(level, logits)
        if self.outputs is not None and self.outputs.scores is not None:
            self.outputs.add_scores(self._scores(level, logits))
        over = self.beams.active.eq(0)[:, None]  # the step changes nothing of these requests
        rows, dtype = ops._rows(logits.unflatten(0, (self.requests, -1)))
        if not self.done():
            self.session.step(rows, dtype=dtype, stream=stream_of(logits))
        parents = torch.where(over, self.every, self.beams.parents.long().clamp(min=0))
        codes = self.beams.codes.masked_fill(over, -1)
        places = self.first + parents
        self.rows = self.rows.gather(1, parents[:, :, None].expand_as(self.rows))
        self.rows[:, :, level] = places.int().masked_fill(codes < 0, -1)
        self.sequences = self.sequences.gather(1, parents[:, :, None].expand_as(self.sequences))
        self.sequences[:, :, self.prompt_length + level] = self.sids.tokens(level, codes, self.followed.which, self.pad)
        self.lengths = self.lengths.gather(1, parents) + (codes >= 0)
        return places.flatten()

    def _processed(self, level: int, logits: Tensor) -> Tensor:
        """Logits rows, one per beam, of which processors have seen all that the row's sequence is."""
        if level == 0:  # the prompt has a logits row per request; generate() has prepared for one per beam
            logits = logits.repeat_interleave(self.width, 0)
        said = self.sequences[:, :, : self.prompt_length + level].flatten(0, 1)
        logits = logits.float()
        logits = self.before(said, logits.log_softmax(-1) if self.searches else logits)
        if not len(self.behind):
            return logits
        logits = self._masked(level, logits)
        nothing = logits.amax(-1, keepdim=True).eq(-torch.inf)  # of dead beams; normalised, it would be NaN
        return self.behind(said, logits).masked_fill(nothing, -torch.inf)

    def _masked(self, level: int, rows: Tensor) -> Tensor:
        """A copy of rows, one per beam, in which tokens that continue no SID are -inf."""
        rows = rows.clone(memory_format=torch.contiguous_format)
        states = self.beams.states.flatten()
        self.followed.mask_(rows, torch.zeros_like(states) if level == 0 else states)
        return rows

    def _scores(self, level: int, logits: Tensor) -> Tensor:
        """What generate() calls scores: log-probabilities behind processors and mask, a row per beam."""
        if not len(self.before) and not len(self.behind):
            logits = logits.float().log_softmax(-1)
            if level == 0:
                logits = logits.repeat_interleave(self.width, 0)
        return self._masked(level, logits)

    def done(self) -> bool:
        """Whether no request goes on. On CUDA that is unknown without waiting for the device, and a step does no
        harm."""
        return self.sids.device.type == "cpu" and not bool(self.beams.active.any())

    def finish(self) -> Tensor:
        """The sequences [requests, beams, length] of all beams; dead ones are the prompt and padding."""
        dead = self.beams.scores.eq(-torch.inf)  # among draws they lie anywhere
        self.sequences[:, :, self.prompt_length :].masked_fill_(dead[:, :, None], self.pad)
        self.rows.masked_fill_(dead[:, :, None], -1)
        return self.sequences


def _shares_its_model() -> bool:
    """Whether other processes may have parts of the model: then all have to run it equally often."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def one_row_per_request(input_ids: Tensor, model_kwargs: dict[str, Any], copies: int) -> tuple[Tensor, dict[str, Any]]:
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


def another(outputs: Any, model_kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Copies, for one pass, of what a model gave for the prompts: a pass changes the cache and nested outputs."""
    kept = {
        name: type(value)(**value) if isinstance(value, transformers.utils.ModelOutput) else value
        for name, value in model_kwargs.items()
    }
    cache = copy.deepcopy(outputs.get("past_key_values"))
    if cache is None:
        return outputs, kept
    if "past_key_values" in kept:
        kept["past_key_values"] = cache
    return type(outputs)(**{**outputs, "past_key_values": cache}), kept


def check(
    sids: SidTokens, input_ids: Tensor, config: Any, stopping_criteria: Any, model_kwargs: dict[str, Any]
) -> None:
    """Refuses what depends on the catalogue, the prompts or the cache."""
    check_arguments(stopping_criteria)
    prompt = input_ids.shape[1]
    limits = [config.max_length, *(one.max_length for one in stopping_criteria or () if hasattr(one, "max_length"))]
    room = min(limits) - prompt
    if room < sids.levels:
        raise InvalidArgument(f"max_new_tokens is {room}, expected at least {sids.levels}, the codes of a SID")
    if prompt == 1 and config.forced_bos_token_id is not None:
        _check_forced("forced_bos_token_id", config.forced_bos_token_id, sids, 0)
    if room == sids.levels and config.forced_eos_token_id is not None:
        _check_forced("forced_eos_token_id", config.forced_eos_token_id, sids, sids.levels - 1)
    cache = model_kwargs.get("past_key_values")
    if cache is not None and (cache.get_seq_length() > 0 or getattr(cache, "is_compileable", False)):
        raise InvalidArgument("past_key_values is filled or static, expected an empty, dynamic cache")


def _check_forced(name: str, forced: Any, sids: SidTokens, level: int) -> None:
    tokens = torch.as_tensor(forced).flatten().tolist()
    if not any(sids.means(level, token) for token in tokens):
        raise InvalidArgument(
            f"{name} is {forced}, which no SID has at level {level}: expected None; a token before the SID belongs to"
            " the prompt (decoder_input_ids), one behind it needs a larger max_new_tokens"
        )


def _around_the_mask(processors: Any) -> tuple[Any, Any]:
    """Processors that generate() has before its prefix_allowed_tokens_fn, or that are the same on either side of it,
    and those at the end that go by the row as a whole, of which they must see what is valid alone."""
    behind = len(processors)
    while behind and isinstance(processors[behind - 1], _BEHIND):
        behind -= 1
    whole = transformers.LogitsProcessorList
    return whole(processors[:behind]), whole(processors[behind:])


_BEHIND = (
    transformers.LogitNormalization,
    transformers.WatermarkLogitsProcessor,
    transformers.SynthIDTextWatermarkLogitsProcessor,
)
