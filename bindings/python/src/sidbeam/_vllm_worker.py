"""What a vLLM engine's workers do for :mod:`sidbeam.vllm`: searches over the engine's model, and its catalogues.
Answers are what vLLM carries between processes: numbers, texts, lists and dicts. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np
import torch

from . import _vllm_paged as paged
from .errors import BadState, InvalidArgument, SidbeamError
from .info import IndexInfo
from .serving import Catalogue, Choice, choice_of, find, named
from .session import Session

_OF_MODEL = ("layers", "block", "block_bytes", "columns", "longest", "most_rows")

Answer = dict[str, Any]
Call = Callable[..., Answer]


def _answering(call: Call) -> Call:
    """Errors of ours become answers: vLLM would hand on their texts alone."""

    @functools.wraps(call)
    def answered(*arguments: Any, **named: Any) -> Answer:
        try:
            return call(*arguments, **named)
        except SidbeamError as error:
            return {"error": {"code": error.code, "message": error.message}}

    return answered


def _version_of(info: IndexInfo) -> Answer:
    return {"version": info.version, "fingerprint": info.fingerprint}


class Worker:
    """``LLM(..., worker_extension_cls="sidbeam.vllm.Worker")``, or ``--worker-extension-cls sidbeam.vllm.Worker``: vLLM
    makes it a base of its workers' class, and :class:`BeamSearch` calls it by ``collective_rpc``.

    Every rank of tensor parallelism searches by itself, with equal logits and so with equal results. Nothing changes
    in an engine that is not called.
    """

    @_answering
    def sidbeam_engine(self, name: str) -> Answer:
        """What a search in the catalogue of this name is to know of the engine."""
        catalogue, model = find(name), _model_of(self)
        catalogue.check_ranks(self.vllm_config.parallel_config.tensor_parallel_size)  # type: ignore[attr-defined]
        if model.impossible:
            return {"impossible": model.impossible, "untested": model.untested}
        needed = catalogue.vocabulary.columns(catalogue.shape.codes)
        if needed > model.columns:
            most = model.columns
            raise InvalidArgument(f"catalogue {name!r} has tokens below {needed}, the model's vocabulary has {most}")
        return {
            "impossible": [],
            "untested": model.untested,
            "levels": catalogue.levels,
            "begin": catalogue.begin,
            **{key: getattr(model, key) for key in _OF_MODEL},
        }

    @_answering
    def sidbeam_search(
        self,
        first: int,
        prompts: list[list[int]],
        asked: list[dict[str, Any]],
        beams: int,
        normalization: str,
        limits: dict[str, Any],
    ) -> Answer:
        """The items of each prompt. ``asked``: per prompt its arguments, as a request to the engine has them.
        ``first``: the first prompt's number, for messages."""
        choices = [_choice(arguments, first + i) for i, arguments in enumerate(asked)]
        with torch.inference_mode():
            return {"found": _Search(_model_of(self), first, prompts, choices, beams, normalization).found(limits)}

    @_answering
    def sidbeam_catalogues(self) -> Answer:
        """The version of each catalogue that requests follow which begin now."""
        return {"catalogues": {one.name: _version_of(one.index.info) for one in named()}}

    @_answering
    def sidbeam_refresh(self, name: str) -> Answer:
        """Takes over now what has been published, or has taken a followed file's place; returns the version."""
        catalogue = find(name)
        catalogue.refresh()
        return {"catalogues": {name: _version_of(catalogue.index.info)}}


def _model_of(worker: Any) -> paged.PagedModel:
    if not hasattr(worker, "_sidbeam_model"):
        worker._sidbeam_model = paged.PagedModel(worker)
    made: paged.PagedModel = worker._sidbeam_model
    return made


def _choice(arguments: dict[str, Any], place: int) -> Choice:
    try:
        choice = choice_of(arguments)
    except InvalidArgument as error:
        raise InvalidArgument(f"prompts[{place}]: {error.message}") from error
    assert choice is not None  # the front names a catalogue
    return choice


class _Places(NamedTuple):
    """The blocks of each prompt, and for each of its beams those of what comes after: the prompt's full blocks are
    shared."""

    tables: np.ndarray  #: int32 [prompts, beams, blocks]; 0, which nobody has, behind a prompt's last
    shared: np.ndarray  #: int64 [prompts] blocks
    count: int  #: of all


def _places(lengths: np.ndarray, beams: int, levels: int, block: int) -> _Places:
    shared, whole = lengths // block, -(-(lengths + levels - 1) // block)
    tables = np.zeros((len(lengths), beams, int(whole.max())), np.int32)
    count = 1
    for table, most, all_of in zip(tables, shared.tolist(), whole.tolist()):
        table[:, :most] = count + np.arange(most)
        count += most
        own = beams * (all_of - most)
        table[:, most:all_of] = count + np.arange(own).reshape(beams, -1)
        count += own
    return _Places(tables, shared, count)


class _Search:
    """One of a group of prompts: a slot of a session each, their beams in one batch per level."""

    def __init__(
        self,
        model: paged.PagedModel,
        first: int,
        prompts: Sequence[Sequence[int]],
        choices: Sequence[Choice],
        beams: int,
        normalization: str,
    ) -> None:
        self._model, self._first, self._choices = model, first, choices
        self._prompts = [np.array(prompt, np.int32) for prompt in prompts]
        self._lengths = np.array([len(prompt) for prompt in prompts], np.int64)
        self._catalogue: Catalogue = choices[0].catalogue
        self._places = _places(self._lengths, beams, self._catalogue.levels, model.block)
        self._rows = np.zeros((len(prompts), beams), np.int64)  # of the tables, that each beam has
        under = [choice.constraint() or choice.version.index for choice in choices]
        vocabulary = self._catalogue.vocabulary
        self._session = Session(
            under[0], slots=len(prompts), beams=beams, vocabulary=vocabulary, normalization=normalization
        )
        self._session.start(constraints=under)

    def found(self, limits: dict[str, Any]) -> list[Answer]:
        with self._session, self._model.own_blocks(self._places.count) as caches:
            if (begun := np.flatnonzero(self._session.beams().active)).size:  # where rules leave nothing, none
                self._step(self._prefill(begun), np.stack([begun, np.zeros_like(begun)], 1))
            while (fed := self._fed()).size:
                self._follow_parents(caches, fed)
                self._step(self._model.logits(self._next(fed)), fed)
            listed = self._session.recommendations(**limits)
        return [
            {
                "items": [one.item for one in items],
                "scores": [one.score for one in items],
                "sids": [list(one.sid) for one in items],
                **_version_of(choice.version.index.info),
            }
            for items, choice in zip(listed, self._choices)
        ]

    def _prefill(self, slots: np.ndarray) -> torch.Tensor:
        """[slots, columns]; of prompts that are longer than a pass the beginning goes first, in several."""
        tables, most, rest, starts = self._places.tables[slots, 0], self._model.most_tokens, [], []
        for table, slot in zip(tables, slots):
            prompt, start = self._prompts[slot], 0
            while len(prompt) - start > most:
                chunk = prompt[start : start + most]
                self._model.logits(paged.Feed(table[None], np.array([start]), np.array([most]), chunk))
                start += most
            starts.append(start)
            rest.append(prompt[start:])
        begun = np.array(starts, np.int64)
        return self._model.logits(paged.Feed(tables, begun, self._lengths[slots] - begun, np.concatenate(rest)))

    def _fed(self) -> np.ndarray:
        """[n, 2] slot and beam of those that the model must be fed for: not dead, nor at their end."""
        beams, counts = self._session.beams(), np.array(self._catalogue.shape.codes)
        level = np.clip(beams.level - 1, 0, None)
        wanted = (beams.active[:, None] > 0) & (beams.codes >= 0) & (beams.codes < counts[level][:, None])
        return np.argwhere(wanted)

    def _follow_parents(self, caches: Sequence[torch.Tensor], fed: np.ndarray) -> None:
        """A parent's blocks become its first child's; other children get copies, in the place of those of beams that
        have no children."""
        beams, places = self._session.beams(), self._places
        sources, targets = [], []
        for slot in np.unique(fed[:, 0]):
            children = fed[fed[:, 0] == slot, 1]
            theirs = self._rows[slot, beams.parents[slot, children]]
            mine, (kept, first) = theirs.copy(), np.unique(theirs, return_index=True)
            others = np.delete(np.arange(len(children)), first)
            mine[others] = np.setdiff1d(np.arange(self._session.width), kept)[: len(others)]
            self._rows[slot, children] = mine
            written = int(self._lengths[slot]) + int(beams.level[slot]) - 1
            own = slice(int(places.shared[slot]), -(-written // self._model.block))
            sources.append(places.tables[slot, theirs[others], own].ravel())
            targets.append(places.tables[slot, mine[others], own].ravel())
        paged.copy_blocks(caches, np.concatenate(sources), np.concatenate(targets))

    def _next(self, fed: np.ndarray) -> paged.Feed:
        beams, (slots, of_slot) = self._session.beams(), fed.T
        level = beams.level[slots] - 1
        tokens = self._catalogue.padded_tokens[level, beams.codes[slots, of_slot]].astype(np.int32)
        ones = np.ones(len(fed), np.int64)
        tables = self._places.tables[slots, self._rows[slots, of_slot]]
        return paged.Feed(tables, self._lengths[slots] + level, ones, tokens)

    def _step(self, logits: torch.Tensor, fed: np.ndarray) -> None:
        rows = np.full((len(self._prompts), self._session.width), -1, np.int32)
        rows[tuple(fed.T)] = np.arange(len(fed))
        slots = np.unique(fed[:, 0]).astype(np.int32)
        beams = self._session.step(logits.cpu(), slots, row_map=rows[slots])
        if beams.errors.any():
            slot = int(np.flatnonzero(beams.errors)[0])
            raise BadState(f"prompts[{self._first + slot}]: the model's logits hold NaN or +inf")
