"""Stateless forms, for engines that own the beam loop and keep one state per sequence.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _native, catalogue
from .arrays import (
    argument,
    counted,
    device_name,
    device_of,
    dtype_code,
    expect_shape,
    is_one,
    output,
    refuse_view,
    shape_of,
    stream_number,
    summary,
)
from .checks import flag, instance, size_of
from .enums import DType, Normalization, member
from .errors import InvalidArgument
from .handle import Handle
from .index import ConstraintLike, constraint_of
from .runtime import Runtime, runtime_or
from .slot_rules import Rules, of_a_set
from .vocabulary import Vocabulary, native_vocabulary


@dataclasses.dataclass(frozen=True)
class TopK:
    """The k best valid codes of each logits row, log-probability falling, then code rising; left over: -1, -inf, -1."""

    __repr__ = summary

    codes: Any = None  #: int32 [n, k]
    log_probs: Any = None  #: float32 [n, k]; NaN first in a bad row; None where they were not wanted
    states: Any = None  #: int64 [n, k], or None likewise


@dataclasses.dataclass(frozen=True)
class Sampled:
    """One code drawn per logits row; a dead row has -1, -inf, -inf, -1."""

    __repr__ = summary

    codes: Any  #: int32 [n]; ``codes[level]`` is the end
    log_probs: Any  #: float32 [n] log P of the code; NaN: a bad row
    log_masses: Any  #: float32 [n] log of the valid mass
    states: Any  #: int64 [n] the states after the codes


class ConstraintSet(Handle):
    """Constraints by number, and the vocabulary of their logits rows. Immutable: many threads may use it.

    Entry i of a call follows constraint ``which[i]`` (None: all follow the first), so that one batch mixes catalogues.
    States are int64: -1 dead, 0 the beginning; where a state is dead no code is valid. Indexes need "trie". On CUDA
    (``device="cuda"``) all arrays, outputs too, are in the device's memory, and calls enqueue on ``stream`` without
    waiting.

    ``filter``, ``exclude``, ``allow``: rules, as of :class:`Constraint`. Each is for all constraints, or a list of one
    per constraint; a single index with such lists is as many constraints: ``ConstraintSet(index, exclude=[seen_by_a,
    seen_by_b])`` and ``which=[0, 1]`` for a row of each user.
    """

    __slots__ = ("_device", "columns")

    def __init__(
        self,
        constraints: Union[ConstraintLike, Sequence[ConstraintLike]],
        *,
        filter: Any = None,
        exclude: Any = None,
        allow: Any = None,
        vocabulary: Optional[Vocabulary] = None,
        device: Any = None,
        runtime: Optional[Runtime] = None,
    ) -> None:
        held = [constraint_of(c) for c in of_a_set(constraints, Rules(filter, exclude, allow))]
        if not held:
            raise InvalidArgument("constraints is empty, expected at least one")
        levels = max(c.info.levels for c in held)
        self._device = device_of(device)
        self._handle = _native.flat_constraint_set_create(
            runtime_or(runtime, held[0]._runtime)._handle,
            np.array([c._number for c in held], np.int64),
            *native_vocabulary(vocabulary, levels),
            *self._device,
        )
        #: least number of columns of a logits row
        self.columns = max((vocabulary or Vocabulary()).columns(c.info.codes) for c in held)

    def prefixes(
        self, prefixes: Any, lengths: Any = None, *, which: Any = None, out: Any = None, stream: Any = None
    ) -> Any:
        """The states int64 ``[n]`` of prefixes: sequences of codes, or a matrix and ``lengths``; -1: no SID has it."""
        if self._device[0] != _native.SIDBEAM_DEVICE_CPU:
            count, stride = prefixes.shape
            codes = argument(prefixes, np.int32, "prefixes", self._device)
            sizes = argument(lengths, np.int32, "lengths", self._device, (count,))
        else:
            codes, sizes = catalogue.sids_of(prefixes, lengths, name="prefixes")
            count, stride = codes.shape
            sizes = np.full(count, stride, np.int32) if sizes is None else sizes
            expect_shape(sizes.shape, (count,), "lengths")
        native, states = output(out, np.int64, (count,), "out", self._device)
        _native.flat_constraint_set_prefixes(
            self._handle, self._which(which, count), codes, stride, sizes, count, native, stream_number(stream)
        )
        return states

    def advance(
        self,
        states: Any,
        codes: Any,
        *,
        parents: Any = None,
        which: Any = None,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """The states ``[n]`` after ``codes`` int32 ``[n]`` in ``states[parents[i]]`` (None: ``states[i]``).

        -1 where the code may not follow. Code -1 keeps an ended state. ``out`` may be ``states`` without parents.
        """
        taken, count = counted(codes, np.int32, "codes", self._device)
        native, result = output(out, np.int64, (count,), "out", self._device)
        _native.flat_constraint_set_advance(
            self._handle,
            self._which(which, count),
            counted(states, np.int64, "states", self._device)[0],
            argument(parents, np.int32, "parents", self._device, (count,)),
            taken,
            count,
            native,
            stream_number(stream),
        )
        return result

    def mask(
        self,
        logits: Any,
        states: Any,
        *,
        which: Any = None,
        dtype: Union[None, DType, str] = None,
        stream: Any = None,
    ) -> Any:
        """Sets every column of ``logits`` ``[n, columns]`` that is no valid code of its state to -inf, in place."""
        refuse_view(logits, "logits")
        taken, count = counted(states, np.int64, "states", self._device)
        _native.set_mask(
            self._handle,
            self._which(which, count),
            taken,
            logits,
            dtype_code(dtype),
            stream_number(stream),
        )
        return logits

    def bitmask(
        self, states: Any, *, which: Any = None, columns: Optional[int] = None, out: Any = None, stream: Any = None
    ) -> Any:
        """The same as bits, int32 ``[n, words]``: column c of entry i is bit ``c % 32`` of ``words[i, c // 32]``.

        This is the layout of structured-output backends. ``columns``: of a logits row; None: as many as codes need.
        """
        taken, count = counted(states, np.int64, "states", self._device)
        wanted = self.columns if columns is None else size_of(columns, "columns")
        words = -(-wanted // 32) if out is None else (shape_of(out, "out") or (0,))[-1]
        native, result = output(out, np.int32, (count, words), "out", self._device)
        _native.flat_constraint_set_bitmask(
            self._handle, self._which(which, count), taken, count, words, native, stream_number(stream)
        )
        return result

    def topk(
        self,
        logits: Any,
        states: Any,
        k: int,
        *,
        normalization: Union[Normalization, str] = Normalization.FULL,
        which: Any = None,
        dtype: Union[None, DType, str] = None,
        next_states: bool = True,
        scores: bool = True,
        out: Optional[TopK] = None,
        stream: Any = None,
    ) -> TopK:
        """The k best valid codes of each logits row of ``logits`` ``[n, columns]``, and the states after them.

        ``next_states`` False: without these states; ``scores`` False: without log-probabilities. ``out``: arrays to
        write instead of new ones.
        """
        taken, count = counted(states, np.int64, "states", self._device)
        shape = (count, k)
        given = TopK() if out is None else instance(out, TopK, "out")
        best, t = output(given.codes, np.int32, shape, "out.codes", self._device)
        log_probs, p = output(given.log_probs, np.float32, shape, "out.log_probs", self._device)
        after, s = None, None
        if flag(next_states, "next_states") and (out is None or out.states is not None):
            after, s = output(given.states, np.int64, shape, "out.states", self._device)
        _native.set_topk(
            self._handle,
            self._which(which, count),
            taken,
            logits,
            dtype_code(dtype),
            member(Normalization, normalization),
            k,
            best,
            log_probs,
            after,
            stream_number(stream),
        )
        return TopK(t, p if flag(scores, "scores") else None, s)

    def sample(
        self,
        logits: Any,
        states: Any,
        *,
        seeds: Any,
        requests: Any,
        draws: Any = None,
        top_k: Any = None,
        top_p: Any = None,
        inverse_temperature: Any = None,
        normalization: Union[Normalization, str] = Normalization.FULL,
        which: Any = None,
        dtype: Union[None, DType, str] = None,
        out: Optional[Sampled] = None,
        stream: Any = None,
    ) -> Sampled:
        """Draws one valid code for each logits row of ``logits`` ``[n, columns]``, as a session of mode "sample" does:
        the same codes from the same seed, request and draw.

        - ``seeds``, ``requests``, ``draws`` (None: 0): integers. Together with the level of a row's state they are its
          random number. ``top_k`` (0: none), ``top_p``, ``inverse_temperature``: of the row, before anything is masked.
          Each is one number or ``[n]``, on CUDA an array of the device.
        - ``out``: arrays to write instead of new ones; ``out.states`` may be ``states``.

        Raises :class:`InvalidArgument` and others; then nothing is written.
        """
        taken, count = counted(states, np.int64, "states", self._device)
        given = Sampled(None, None, None, None) if out is None else instance(out, Sampled, "out")
        shape = (count,)
        drawn, codes = output(given.codes, np.int32, shape, "out.codes", self._device)
        probs, log_probs = output(given.log_probs, np.float32, shape, "out.log_probs", self._device)
        masses, log_masses = output(given.log_masses, np.float32, shape, "out.log_masses", self._device)
        after, next_states = output(given.states, np.int64, shape, "out.states", self._device)
        _native.set_sample(
            self._handle,
            self._which(which, count),
            taken,
            logits,
            dtype_code(dtype),
            member(Normalization, normalization),
            self._per_row(inverse_temperature, np.float32, count, "inverse_temperature"),
            self._per_row(seeds, np.int64, count, "seeds"),
            self._per_row(requests, np.int64, count, "requests"),
            self._per_row(draws, np.int64, count, "draws"),
            self._per_row(top_k, np.int32, count, "top_k"),
            self._per_row(top_p, np.float32, count, "top_p"),
            drawn,
            probs,
            masses,
            after,
            stream_number(stream),
        )
        return Sampled(codes, log_probs, log_masses, next_states)

    def _per_row(self, value: Any, dtype: Any, count: int, name: str) -> Any:
        """[count] from one number for all rows, which is on the host, or one per row."""
        if value is not None and is_one(value):
            if self._device[0] != _native.SIDBEAM_DEVICE_CPU:
                raise InvalidArgument(f"{name} is one number, expected an array on the device")
            value = np.full(count, value)
        return argument(value, dtype, name, self._device, (count,))

    def _which(self, which: Any, count: int) -> Any:
        return argument(which, np.int32, "which", self._device, (count,))

    def _describe(self) -> str:
        return f"columns={self.columns} on {device_name(self._device)}"
