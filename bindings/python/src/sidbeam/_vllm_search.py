"""Searches over a running vLLM engine's model; :mod:`sidbeam.vllm` hands them on. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _vllm_check as check
from .arrays import host
from .checks import entries, flag, integer, kind_of
from .enums import Normalization, member
from .errors import BadState, InvalidArgument, Unsupported, WrongType
from .serving import KEY
from .slot_rules import per_slot, several_lists

Prompt = Union[Sequence[int], np.ndarray, Mapping[str, Any]]

_LIMITS = ("limit", "limit_per_sid", "distinct", "cap", "cap_by")  # of Session.items
_EXTENSION = "sidbeam.vllm.Worker"
_ROWS = 256  # of a batch; more gain little, and the engine's other requests wait for all of them


@dataclasses.dataclass(frozen=True)
class Found:
    """The items of one prompt, best first."""

    items: list[Any]  #: ids: int, or str
    scores: np.ndarray  #: float32 [n] log-probability of each item's SID
    sids: list[tuple[int, ...]]
    version: int  #: of the catalogue that was searched; 0, unless it is live
    fingerprint: str  #: and of its contents

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        """``items, scores = found``"""
        return iter((self.items, self.scores))


class _Engine(NamedTuple):
    """What workers say of it."""

    levels: int
    begin: Optional[int]
    layers: int
    block: int
    block_bytes: int
    columns: int
    longest: int
    most_rows: int


class _Call(NamedTuple):
    """Of ``sidbeam_search``; a group of prompts."""

    first: int  #: the first prompt's number
    prompts: list[list[int]]
    asked: list[dict[str, Any]]


class _Base:
    def __init__(
        self, engine: Any, config: Any, catalogue: str, beams: int, normalization: Any, untested: bool
    ) -> None:
        if not isinstance(catalogue, str):
            raise WrongType(f"catalogue is {kind_of(catalogue)}, expected the name of one")
        self.catalogue, self.beams = catalogue, integer(beams, "beams")
        if self.beams < 1:
            raise InvalidArgument(f"beams is {self.beams}, expected 1 or more")
        self._normalization = member(Normalization, normalization).name.lower()
        self._engine, self._untested = engine, flag(untested, "untested")
        self._known: Optional[_Engine] = None
        extension = config.parallel_config.worker_extension_cls
        if not extension:
            raise InvalidArgument(f"the engine has no worker_extension_cls, expected {_EXTENSION!r}")
        self._refuse(check.impossible_settings(config), check.untested_version())

    def _refuse(self, impossible: list[str], untested: list[str]) -> None:
        found = impossible + ([] if self._untested else untested)
        if found:
            raise Unsupported("; ".join(found))

    def _learn(self, answers: list[Any]) -> _Engine:
        said = check.answered(answers[0])
        self._refuse(said["impossible"], said["untested"])
        self._known = _Engine(**{key: said[key] for key in _Engine._fields})
        return self._known

    def _calls(self, engine: _Engine, prompts: Any, rules: Mapping[str, Any]) -> list[_Call]:
        given = [_tokens(prompt, i, engine) for i, prompt in enumerate(entries(prompts, "prompts", "prompts"))]
        asked = self._asked(len(given), rules)
        group = self._group(engine)
        return [_Call(i, given[i : i + group], asked[i : i + group]) for i in range(0, len(given), group)]

    def _asked(self, count: int, rules: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The arguments that each prompt would have as a request to the engine."""
        asked: list[dict[str, Any]] = [{KEY: self.catalogue} for _ in range(count)]
        for key, given in rules.items():
            several = isinstance(given, (list, tuple)) if key in ("filter", "where") else several_lists(given)
            for arguments, one in zip(asked, per_slot(given, count, key, several)):
                if one is not None:
                    arguments[f"{KEY}_{key}"] = one if isinstance(one, str) else _plain(one)
        return asked

    def _arguments(self, call: _Call, limits: Mapping[str, Any]) -> tuple[Any, ...]:
        for name in limits.keys() - set(_LIMITS):
            raise TypeError(f"search() got an unexpected keyword argument {name!r}")
        return (*call, self.beams, self._normalization, dict(limits))

    def memory_bytes(self, prompt: int = 0) -> int:
        """What a search takes at most in each worker while it runs, beside the model's own buffers, whose passes have
        as many tokens as the engine's: the KV of a group of prompts of at most so many tokens (0: of any that there may
        be), and their beams' logits."""
        engine = self._known
        if engine is None:
            raise BadState("the engine's workers have not been asked yet, which the first search does")
        longest = engine.longest - engine.levels + 1
        length = min(integer(prompt, "prompt") or longest, longest)
        own = -(-(engine.block + engine.levels - 2) // engine.block)  # where a prompt all but fills its last block
        blocks = 1 + self._group(engine) * (length // engine.block + self.beams * own)
        moved = blocks * engine.block_bytes // engine.layers  # a layer's blocks are read before they are written
        logits = 2 * 4 * self._group(engine) * self.beams * engine.columns  # of passes, and of all of them together
        return blocks * engine.block_bytes + moved + logits

    def _group(self, engine: _Engine) -> int:
        """Prompts of a call."""
        return max(1, min(_ROWS, engine.most_rows) // self.beams)


class BeamSearch(_Base):
    """Beam search over the model of a running ``vllm.LLM``, by ours instead of by vLLM's: a call has the engine read
    each prompt once, and then all beams of a level in one batch.

        llm = vllm.LLM(..., worker_extension_cls="sidbeam.vllm.Worker")
        search = BeamSearch(llm, catalogue="shop", beams=50)
        for items, scores in search.search([history_of_a, history_of_b], exclude=[seen_by_a, seen_by_b]):

    - ``catalogue``: a name of :mod:`sidbeam.serving` in the engine's processes (``SIDBEAM_CATALOGUES``). With ``begin``
      that token comes after each prompt that does not end with it.
    - ``beams``: M. ``normalization``: as of :class:`sidbeam.Session`; "full" is vLLM's log-probabilities.
    - ``untested``: searches on versions of vLLM and attention backends, too, with which this was not tested. It has run
      with vLLM 0.32.0 on CPUs.

    Results are those of a :class:`sidbeam.Runner` of the same model, up to the rounding of logits. The engine's other
    requests wait while a group of prompts is searched, which have at most 256 beams together, and go on between groups.
    Prefixes that the engine has cached are not used. Memory: :meth:`memory_bytes`.

    Raises :class:`sidbeam.Unsupported`, which names what rules it out: pipeline, data and context parallelism, LoRA,
    speculative decoding, KV transfer, quantized KV caches, and models of other layers than plain attention (Mamba).
    """

    def __init__(
        self,
        llm: Any,
        catalogue: str,
        *,
        beams: int = 50,
        normalization: Union[Normalization, str] = Normalization.FULL,
        untested: bool = False,
    ) -> None:
        engine = getattr(llm, "llm_engine", llm)
        super().__init__(llm, engine.vllm_config, catalogue, beams, normalization, untested)
        self._learn(llm.collective_rpc("sidbeam_engine", args=(catalogue,)))

    def search(
        self,
        prompts: Sequence[Prompt],
        *,
        filter: Any = None,
        where: Any = None,
        exclude: Any = None,
        allow: Any = None,
        **limits: Any,
    ) -> list[Found]:
        """The items of each prompt: a list of token ids, or ``{"prompt_token_ids": [..]}``.

        ``filter`` (a name), ``where`` (a text), ``exclude`` and ``allow`` (lists of ids): the rules of
        :mod:`sidbeam.serving_rules`, one for all prompts or a list of one per prompt. ``limits``: ``limit``,
        ``limit_per_sid``, ``distinct``, ``cap`` and ``cap_by``, as of :meth:`sidbeam.Session.items`.

        What is wrong with a prompt fails the call, and the message names it.
        """
        assert self._known is not None
        rules = {"filter": filter, "where": where, "exclude": exclude, "allow": allow}
        found: list[Found] = []
        for call in self._calls(self._known, prompts, rules):
            arguments = self._arguments(call, limits)
            found += _found(self._engine.collective_rpc("sidbeam_search", args=arguments))
        return found

    def refresh(self) -> tuple[int, str]:
        """Takes over now, in all workers, what has been published; returns its version and fingerprint. Otherwise that
        comes by itself, within moments."""
        return _version(self._engine.collective_rpc("sidbeam_refresh", args=(self.catalogue,)), self.catalogue)


class AsyncBeamSearch(_Base):
    """:class:`BeamSearch` for ``vllm.AsyncLLM``, whose calls are awaited. What only its workers know, such as the
    model's layers, is looked at by the first search."""

    def __init__(
        self,
        engine: Any,
        catalogue: str,
        *,
        beams: int = 50,
        normalization: Union[Normalization, str] = Normalization.FULL,
        untested: bool = False,
    ) -> None:
        super().__init__(engine, engine.vllm_config, catalogue, beams, normalization, untested)

    async def search(
        self,
        prompts: Sequence[Prompt],
        *,
        filter: Any = None,
        where: Any = None,
        exclude: Any = None,
        allow: Any = None,
        **limits: Any,
    ) -> list[Found]:
        """As :meth:`BeamSearch.search`."""
        call_all = self._engine.collective_rpc
        known = self._known or self._learn(await call_all("sidbeam_engine", args=(self.catalogue,)))
        rules = {"filter": filter, "where": where, "exclude": exclude, "allow": allow}
        found: list[Found] = []
        for call in self._calls(known, prompts, rules):
            arguments = self._arguments(call, limits)
            found += _found(await call_all("sidbeam_search", args=arguments))
        return found

    async def refresh(self) -> tuple[int, str]:
        """As :meth:`BeamSearch.refresh`."""
        return _version(await self._engine.collective_rpc("sidbeam_refresh", args=(self.catalogue,)), self.catalogue)


def _tokens(prompt: Any, place: int, engine: _Engine) -> list[int]:
    name = f"prompts[{place}]"
    if isinstance(prompt, Mapping):
        prompt = prompt.get("prompt_token_ids")
    if prompt is None or isinstance(prompt, (str, bytes)):
        raise WrongType(f"{name} is {kind_of(prompt)}, expected token ids")
    ids = host(prompt, np.int32, name)
    if ids.ndim != 1 or len(ids) == 0:
        raise InvalidArgument(f"{name} has shape {ids.shape}, expected (tokens,), one or more")
    if not 0 <= int(ids.min()) <= int(ids.max()) < engine.columns:
        raise InvalidArgument(f"{name} has tokens {ids.min()} to {ids.max()}, expected 0 to {engine.columns - 1}")
    tokens: list[int] = ids.tolist()
    if engine.begin is not None and tokens[-1] != engine.begin:
        tokens.append(engine.begin)
    most = engine.longest - engine.levels + 1
    if len(tokens) > most:
        length = f"{name} has {len(tokens)} tokens"
        raise InvalidArgument(f"{length}, expected at most {most}: max_model_len and {engine.levels} levels")
    return tokens


def _plain(ids: Any) -> Any:
    """A list of ids as vLLM carries it; what is none is refused by the workers, as of any request."""
    if isinstance(ids, np.ndarray):
        return ids.tolist()
    if isinstance(ids, (list, tuple, set, frozenset, range)):
        return [one.item() if isinstance(one, np.generic) else one for one in ids]
    return ids


def _found(answers: list[Any]) -> list[Found]:
    return [
        Found(
            one["items"],
            np.array(one["scores"], np.float32),
            [tuple(sid) for sid in one["sids"]],
            one["version"],
            one["fingerprint"],
        )
        for one in check.answered(answers[0])["found"]
    ]


def _version(answers: list[Any], name: str) -> tuple[int, str]:
    said = check.answered(answers[0])["catalogues"][name]
    return said["version"], said["fingerprint"]
