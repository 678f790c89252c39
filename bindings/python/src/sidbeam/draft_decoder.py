"""Beam search through a draft head. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from . import _native
from .arrays import DeviceArray, device_name, device_of, dtype_code, shape_of, stream_number, summary
from .checks import instance
from .draft import DraftHead, Verification
from .enums import DType, Normalization, member
from .handle import Handle
from .index import ConstraintLike, Index
from .runtime import Runtime, runtime_or
from .session import Session


@dataclasses.dataclass(frozen=True)
class Drafts:
    """What a run found: M beams for each of n requests, best first. NumPy arrays of the caller's own; on CUDA
    :class:`DeviceArray`, views of the decoder's memory, which have new contents after the next run."""

    __repr__ = summary

    live: Any  #: int32 [n] SIDs found; the beams after them are -1 throughout
    errors: Any  #: int32 [n] :class:`SlotError`; not 0: NaN or +inf in the logits, and ``live`` is 0
    sids: Any  #: int32 [n, M, L]
    scores: Any  #: float32 [n, M] log-probability
    ordinals: Any  #: int64 [n, M]; -1 where verification "none" found no SID

    @classmethod
    def _shaped(cls, count: int, beams: int, levels: int, array: Callable[[str, tuple[int, ...], Any], Any]) -> Drafts:
        """Of what ``array`` gives for a name, a shape and a dtype."""
        return cls(
            array("live", (count,), np.int32),
            array("errors", (count,), np.int32),
            array("sids", (count, beams, levels), np.int32),
            array("scores", (count, beams), np.float32),
            array("ordinals", (count, beams), np.int64),
        )


class DraftDecoder(Handle):
    """Beam search through a head: all levels of many requests in one call. One thread at a time."""

    __slots__ = ("_device", "_index", "_levels", "beams")

    def __init__(
        self,
        head: DraftHead,
        index: Index,
        *,
        beams: int,
        requests: int = 1,
        verification: Union[Verification, str] = Verification.TRIE,
        normalization: Union[Normalization, str] = Normalization.FULL,
        top_k: int = 0,
        max_listed: int = 0,
        device: Any = None,
        runtime: Optional[Runtime] = None,
    ) -> None:
        """Makes a decoder and all its memory.

        - ``index``: of the head's numbers of codes and, where both name one, of its codebook.
        - ``beams``: M. ``requests``: the most of a run.
        - ``verification``: "trie", "hash" or "none".
        - ``normalization``: "full" or, with "trie", "valid".
        - ``top_k``: codes per beam that "hash" looks up; 0: M.
        - ``max_listed``: on CUDA the most item rows that a request's rules may list, excluded or allowed; 0: 4096.
        - ``device``: "cpu", "cuda", "cuda:1". On CUDA hidden states and drafts are in the device's memory, and calls
          enqueue on ``stream``, as a :class:`Session`'s do; products are rounded to the type of the weights. The
          weights are uploaded for the head's first decoder there, the index if it is not there yet; those of runs'
          ``constraints`` must be. Close it when its work has ended.

        Raises :class:`InvalidArgument`, :class:`MissingSection` (the index was built without what the verification
        needs), :class:`Unsupported`, :class:`NoDevice`, :class:`OutOfMemory`.
        """
        instance(head, DraftHead, "head")
        self._index, self._levels, self.beams = instance(index, Index, "index"), head.info.levels, beams
        self._device = device_of(device)
        self._handle = _native.flat_draft_decoder_create(
            runtime_or(runtime, index._runtime)._handle,
            head._handle,
            index._handle,
            requests,
            beams,
            member(Verification, verification),
            member(Normalization, normalization),
            top_k,
            max_listed,
            *self._device,
        )

    def run(
        self,
        hidden: Any,
        *,
        constraints: Union[None, ConstraintLike, Sequence[Optional[ConstraintLike]]] = None,
        widths: Union[None, int, Sequence[int], Sequence[Sequence[int]]] = None,
        dtype: Union[None, DType, str] = None,
        stream: Any = None,
    ) -> Drafts:
        """Decodes all levels of all requests.

        - ``hidden``: ``[n, L + 1, D]``, or ``[L + 1, D]`` for one request: h_0 and a state per placeholder; float32,
          float16 or bfloat16, NumPy, the buffer protocol or DLPack, read in place. uint16 arrays need ``dtype="bf16"``.
        - ``constraints``: one for all requests, or one per request, of the head's numbers of codes and, where both name
          one, of its codebook; None: the decoder's index.
        - ``widths``: beams, 1 .. M, one number or one per request, or lists per level, as :meth:`Session.start` has
          them.
        - ``stream``: on CUDA; the hidden states are a tensor there.

        Raises :class:`InvalidArgument`, :class:`NoDevice` (hidden states of another device) and others; the decoder can
        be used as before.
        """
        count, chosen, several, held = self._requests(hidden, constraints, widths)
        if self._device[0] != _native.SIDBEAM_DEVICE_CPU:
            drafts = self._enqueue(_native.FLAT_DRAFT_RUN, hidden, count, dtype, chosen, several, stream)
        else:
            drafts = Drafts._shaped(count, self.beams, self._levels, lambda name, shape, kind: np.empty(shape, kind))
            _native.draft_run(self._handle, hidden, dtype_code(dtype), chosen, *several, *vars(drafts).values())
        del held  # keeps the constraints alive until here
        return drafts

    def start(
        self,
        hidden: Any,
        *,
        constraints: Union[None, ConstraintLike, Sequence[Optional[ConstraintLike]]] = None,
        widths: Union[None, int, Sequence[int], Sequence[Sequence[int]]] = None,
        dtype: Union[None, DType, str] = None,
        stream: Any = None,
    ) -> None:
        """The first half of :meth:`run` on CUDA, for CUDA graphs, which hold the second alone: starts as many requests
        as there are hidden states, which it does not read, and holds the constraints until the next start. Raises what
        :meth:`run` raises, and :class:`Unsupported` on the CPU."""
        count, chosen, several, held = self._requests(hidden, constraints, widths)
        self._enqueue(_native.FLAT_DRAFT_START, hidden, count, dtype, chosen, several, stream)
        del held

    def decode(self, hidden: Any, *, dtype: Union[None, DType, str] = None, stream: Any = None) -> Drafts:
        """The second half: decodes the requests that :meth:`start` has started. It may be captured, after a run of as
        many requests; ``draft.h`` says what a graph fixes."""
        return self._enqueue(_native.FLAT_DRAFT_DECODE, hidden, _requests_of(hidden), dtype, None, (None, 0), stream)

    def _requests(
        self, hidden: Any, constraints: Any, widths: Any
    ) -> tuple[int, Optional[np.ndarray], tuple[Optional[np.ndarray], int], Any]:
        """How many there are, numbers of their constraints, their widths; and what keeps the constraints alive."""
        count = _requests_of(hidden)
        held = Session._constraints(constraints, count)
        numbers = None if held is None else np.array([0 if c is None else c._number for c in held], np.int64)
        return count, numbers, Session._widths(widths, count), held

    def _enqueue(
        self, what: int, hidden: Any, count: int, dtype: Any, constraints: Any, widths: Any, stream: Any
    ) -> Drafts:
        """A run on the device, or a half of it; views of the decoder's arrays there."""
        keep = _native.view(self._handle)
        places = np.zeros(_native.FLAT_DRAFTS_COUNT, np.int64)
        _native.draft_enqueue(
            self._handle, what, hidden, dtype_code(dtype), constraints, *widths, stream_number(stream), places
        )

        def view(name: str, shape: tuple[int, ...], kind: Any) -> DeviceArray:
            address = int(places[getattr(_native, f"FLAT_DRAFTS_{name.upper()}")])
            return DeviceArray(address, shape, kind, self._device, keep)

        return Drafts._shaped(count, self.beams, self._levels, view)

    def _describe(self) -> str:
        return f"{self.beams} beams of {self._levels} levels on {device_name(self._device)}"


def _requests_of(hidden: Any) -> int:
    """[n, L + 1, D] are n requests, [L + 1, D] is one."""
    shape = shape_of(hidden, "hidden")
    return int(shape[0]) if len(shape) == 3 else 1
