"""Speculation: beam search by a draft model and a target model (AtSpeed).

The draft writes several levels; one call of the target then checks them all. Strict: the target's beams have the bits
that plain search gives with the target alone, and in mode "stochastic" those of its own draw::

    target = sidbeam.Session(index, beams=10)
    draft = sidbeam.Session(index, beams=20)
    speculation = sidbeam.Speculation(target, draft, draft_levels=2)
    target.start(), draft.start()
    speculation.run(target_model, draft_model)         # or begin, tree, add, verify by hand
    items = target.items()

Relaxed: :func:`relaxed_draw` and :func:`relaxed_verify`, over lists of log-probabilities.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from . import _native
from .arrays import argument, dtype_code, host_view, shape_of, stream_number, summary, vector
from .checks import flag, function, instance, size_of
from .enums import DType
from .errors import InvalidArgument
from .handle import Handle
from .runtime import Runtime, runtime_or, runtime_or_default
from .session import Session


@dataclasses.dataclass(frozen=True)
class SpeculationTree:
    """The nodes of a round, slot by slot: read-only NumPy views of the speculation's own memory, whose contents hold
    until its next call. They keep that memory, also after close.

    A root is a beam of the target that must be fed, every other node a beam of the draft; a prefix is one node, which
    all that continue it share. Node n writes its keys and values at ``places[n]``, and the lists of ancestors have the
    form that ``attention.h`` takes.
    """

    slots: np.ndarray  #: int32 [count] of the round, rising
    node_offsets: np.ndarray  #: int64 [count + 1] slot ``slots[i]`` has nodes ``node_offsets[i] .. [i + 1] - 1``
    tokens: np.ndarray  #: int64 [nodes] column of the last code in the target's vocabulary; -1: the prompt's last row
    codes: np.ndarray  #: int32 [nodes] last code; -1 likewise
    positions: np.ndarray  #: int32 [nodes] codes before the last one; -1 likewise
    parents: np.ndarray  #: int32 [nodes] node; -1: a root
    places: np.ndarray  #: int32 [nodes] slot * place_stride + ...; -1 likewise
    ancestors: np.ndarray  #: int32 [nodes, D] places of the codes on the way, the node's own last, then -1
    draft_slots: np.ndarray  #: int32 [n] of the draft to step next; empty: the tree is complete
    draft_nodes: np.ndarray  #: int32 [n, N] node of each beam of the draft; -1: dead or ended
    place_stride: int  #: places that a slot may use during a request

    def __repr__(self) -> str:
        return f"SpeculationTree(slots={len(self.slots)}, nodes={len(self.tokens)}, to_draft={len(self.draft_slots)})"


@dataclasses.dataclass(frozen=True)
class SpeculationStats:
    """Counted since a speculation was made, over all slots. Plain search would have called the target ``levels``
    times."""

    rounds: int  #: of single slots: their calls of the target's model
    levels: int  #: that the target's slots advanced
    drafted_levels: int  #: that became part of a tree
    accepted_levels: int  #: of these, whose beams held all of the target's that must be fed
    nodes: int  #: logits rows of the target


Model = Callable[[SpeculationTree], Any]


class Speculation(Handle):
    """Rounds of a target session and a draft session: begin, tree, [the draft's step, add, tree] while there are
    ``draft_slots``, then verify. :meth:`run` does all of it. It and its sessions are used by one thread at a time.

    - ``target``, ``draft``: sessions on one device, in mode "search" or "stochastic", with the same slots, levels,
      strategy and mode; the draft has at least as many beams. Columns, normalization and temperatures may differ. Both
      are started by the caller, with the same constraints, and stay when this is closed; while it is open they keep
      their memory, but a closed one is refused.
    - ``draft_levels``: most that are drafted in a round. The last level never is.
    - ``stream``: on CUDA, of begin, add and verify, which wait for it; held. What else is enqueued for the sessions
      must be ordered with it. The tree is on the host all the same, and logits and ``lse`` are on the device.

    Raises :class:`InvalidArgument` (sessions that do not fit each other: the message says in what),
    :class:`OutOfMemory`, on CUDA :class:`DeviceError`.
    """

    __slots__ = ("_stream", "draft", "draft_levels", "target")

    def __init__(
        self,
        target: Session,
        draft: Session,
        *,
        draft_levels: int = 1,
        stream: Any = None,
        runtime: Optional[Runtime] = None,
    ) -> None:
        self.target, self.draft = instance(target, Session, "target"), instance(draft, Session, "draft")
        self.draft_levels, self._stream = draft_levels, stream
        runtime = runtime_or(runtime, target._runtime)
        self._handle = _native.flat_speculation_create(
            runtime._handle, target._handle, draft._handle, draft_levels, stream_number(stream)
        )

    def begin(self, slots: Union[None, int, Sequence[int]] = None) -> int:
        """Begins a round of slots (None: all) that are started, passing over those that are done. The draft's slots
        take over the target's beams. Returns how many slots are in the round; 0: all are done.

        Raises :class:`InvalidArgument` (a draft's slot under another constraint, or narrower than the target's beams),
        :class:`BadState` (a slot that is not started, or was stepped by others); then no slot has changed.
        """
        return int(_native.flat_speculation_begin(self._handle, *self.target._chosen(slots)))

    def tree(self) -> SpeculationTree:
        """Views of the round's nodes as they are now; ask again after :meth:`begin` and :meth:`add`."""
        keep = _native.view(self._handle)
        numbers = np.zeros(_native.FLAT_TREE_COUNT, np.int64)
        _native.flat_speculation_get_tree(self._handle, numbers)
        return _tree_from(numbers, self.draft.width, keep)

    def add(self) -> None:
        """Adds the beams of the draft's slots that were stepped since. Slots that were not are drafted no further.
        Raises :class:`BadState` (no round, or a slot that is not where one step leads)."""
        _native.flat_speculation_add(self._handle)

    def mask(self, columns: Optional[int] = None) -> np.ndarray:
        """The tree as a new dense mask, bool [nodes, columns]: whether a node attends to a place of its slot, counted
        from 0 in every slot. ``columns``: at least ``place_stride``, which None means."""
        tree = self.tree()
        places = tree.place_stride if columns is None else size_of(columns, "columns")
        mask = np.zeros((len(tree.tokens), places), np.bool_)
        _native.flat_speculation_get_mask(self._handle, mask.view(np.uint8), mask.shape[1])
        return mask

    def verify(self, logits: Any, *, lse: Any = None, dtype: Union[None, DType, str] = None) -> None:
        """Steps the target's slots on the logits of the nodes, ``[nodes, columns]``, and ends the round. Types, strides
        and ``lse`` (float32 ``[nodes]``) are as in :meth:`Session.step`.

        Raises :class:`InvalidArgument` (rows for another number of nodes), :class:`BadState` (no round), and what
        :meth:`Session.step` raises. Where the first step fails, no slot has changed and the round goes on.
        """
        several = argument(lse, np.float32, "lse", self.target._device)
        _native.speculation_verify(self._handle, logits, dtype_code(dtype), several)

    def run(
        self,
        target: Model,
        draft: Model,
        slots: Union[None, int, Sequence[int]] = None,
        *,
        upload: Optional[Callable[[np.ndarray], Any]] = None,
    ) -> SpeculationStats:
        """Runs slots (None: all) to their end, and gives :meth:`stats`.

        - ``target``: called with the complete tree of a round, for the logits of its nodes, ``[nodes, columns]``.
        - ``draft``: called with the tree so far, for the logits of the draft's beams, ``[n, N, columns]``: row (i, m)
          is that of node ``draft_nodes[i, m]``. Or ``[nodes, columns]``, of which those nodes alone are read.
        - ``upload``: needed on CUDA, where both models give logits of the device, in the order of ``stream``: called
          with an int32 array for a copy of it there, ``lambda array: torch.from_numpy(array).cuda()``.
        """
        if upload is None and self.target._device[0] != _native.SIDBEAM_DEVICE_CPU:
            raise InvalidArgument("upload is None, expected a function that copies an array to the device")
        function(target, "target", "the round's tree"), function(draft, "draft", "the tree so far")
        while self.begin(slots) > 0:
            tree = self.tree()
            while len(tree.draft_slots) > 0:
                rows = draft(tree)
                chosen, by_node = tree.draft_slots, tree.draft_nodes if len(shape_of(rows, "logits")) == 2 else None
                if upload is not None:
                    chosen, by_node = upload(chosen.copy()), None if by_node is None else upload(by_node.copy())
                self.draft.step(rows, chosen, row_map=by_node, stream=self._stream)
                self.add()
                tree = self.tree()
            self.verify(target(tree))
        return self.stats()

    def stats(self) -> SpeculationStats:
        numbers = np.zeros(_native.FLAT_SPECULATION_STATS_COUNT, np.int64)
        _native.flat_speculation_get_stats(self._handle, numbers)
        names = [field.name for field in dataclasses.fields(SpeculationStats)]
        return SpeculationStats(*(int(numbers[getattr(_native, f"FLAT_SPECULATION_STATS_{n.upper()}")]) for n in names))

    def _describe(self) -> str:
        return f"{self.target.width} of {self.draft.width} beams, {self.draft_levels} levels ahead"


def _tree_from(numbers: np.ndarray, width: int, keep: object) -> SpeculationTree:
    count, nodes = int(numbers[_native.FLAT_TREE_SLOT_COUNT]), int(numbers[_native.FLAT_TREE_NODES])
    depth, drafts = int(numbers[_native.FLAT_TREE_DEPTH]), int(numbers[_native.FLAT_TREE_DRAFT_COUNT])
    shapes: dict[str, tuple[int, ...]] = {
        "slots": (count,),
        "node_offsets": (count + 1,),
        **dict.fromkeys(("tokens", "codes", "positions", "parents", "places"), (nodes,)),
        "ancestors": (nodes, depth),
        "draft_slots": (drafts,),
        "draft_nodes": (drafts, width),
    }
    views = {}
    for name, shape in shapes.items():
        address = int(numbers[getattr(_native, f"FLAT_TREE_{name.upper()}")])
        views[name] = host_view(address, shape, np.int64 if name in ("node_offsets", "tokens") else np.int32, keep)
    return SpeculationTree(**views, place_stride=int(numbers[_native.FLAT_TREE_PLACE_STRIDE]))


@dataclasses.dataclass(frozen=True)
class RelaxedBeams:
    """What :func:`relaxed_verify` gives."""

    __repr__ = summary

    extensions: np.ndarray  #: int64 [K] the beams' extensions, then -1
    live: int  #: beams there are
    accepted: int  #: drafts that were accepted
    goes_on: bool  #: whether there are beams, all accepted drafts, so that the next level may be verified


def relaxed_draw(
    log_probs: Any,
    draws: int,
    *,
    seed: int,
    request: int = 0,
    level: int = 0,
    inverse_temperature: float = 1.0,
    without_replacement: bool = False,
    runtime: Optional[Runtime] = None,
) -> np.ndarray:
    """Draws extensions of the current beams by one code (AtSpeed, Algorithm 2); int64 ``[draws]``, -1: none was left.

    - ``log_probs``: float32 ``[n]``, of the whole sequence, the draft's or the target's: an extension's number is its
      place in the list. -inf: no extension. They are multiplied by ``inverse_temperature`` and normalized.
    - ``without_replacement``: draws are different.
    - ``seed``, ``request``, ``level``: of the random numbers; equal ones draw alike on every machine.

    Raises :class:`InvalidArgument`, :class:`OutOfMemory`. Calls may run at the same time.
    """
    drafts = np.empty(size_of(draws, "draws"), np.int64)
    _native.flat_relaxed_draw(
        runtime_or_default(runtime)._handle,
        vector(log_probs, np.float32, "log_probs"),
        inverse_temperature,
        flag(without_replacement, "without_replacement"),
        seed,
        request,
        level,
        drafts,
    )
    return drafts


def relaxed_verify(
    target: Any,
    draft: Any,
    drafts: Any,
    beams: int,
    *,
    seed: int,
    request: int = 0,
    level: int = 0,
    inverse_temperature: float = 1.0,
    without_replacement: bool = False,
    runtime: Optional[Runtime] = None,
) -> RelaxedBeams:
    """Accepts drafts, or draws others in their place, so that ``beams`` extensions follow the target.

    - ``target``, ``draft``: float32 ``[n]``, as ``log_probs`` of :func:`relaxed_draw`, of the same extensions.
    - ``drafts``: int64, extensions that were drawn from the draft's: ``beams`` of them with replacement, which gives
      the target's law exactly; otherwise those of the N whose beams were kept, which gives it approximately.
    - The other arguments are those that the drafts were drawn with.

    Raises :class:`InvalidArgument` (a draft out of range, drawn twice without replacement, or without probability, a
    log-probability that is NaN or +inf), :class:`OutOfMemory`.
    """
    extensions = np.empty(size_of(beams, "beams"), np.int64)
    found = np.zeros(_native.FLAT_RELAXED_COUNT, np.int32)
    _native.flat_relaxed_verify(
        runtime_or_default(runtime)._handle,
        vector(target, np.float32, "target"),
        vector(draft, np.float32, "draft"),
        vector(drafts, np.int64, "drafts"),
        inverse_temperature,
        flag(without_replacement, "without_replacement"),
        seed,
        request,
        level,
        extensions,
        found,
    )
    live, accepted, goes_on = found.tolist()
    return RelaxedBeams(extensions, live, accepted, bool(goes_on))
