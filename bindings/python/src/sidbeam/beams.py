"""What a session gives: beams, items, statistics. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from html import escape
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from . import _native, pages
from .arrays import DeviceArray, host_view, summary

Array = Union[np.ndarray, DeviceArray]


@dataclasses.dataclass(frozen=True)
class Beams:
    """Views of a session's arrays, S slots of M beams: NumPy, read-only, or on CUDA :class:`DeviceArray`.

    Their addresses are fixed: the contents change with start, step and stop. They keep the session's memory, even after
    its close. For instance: reorder the KV cache by ``parents``, feed ``codes`` to the model.
    """

    parents: Any  #: int32 [S, M] beam of the previous level that this one continues; -1 dead
    codes: Any  #: int32 [S, M] code that was chosen; -1 dead, or ended before; ``codes[level]`` is the end
    scores: Any  #: float32 [S, M] cumulative log-probability, falling in mode "search"; -inf dead
    states: Any  #: int64 [S, M] place in the constraint, for :class:`ConstraintSet`
    live: Any  #: int32 [S] beams that are not dead; they come first, except in mode "sample"
    active: Any  #: int32 [S] live beams that the model must be fed for; 0: the slot is done
    level: Any  #: int32 [S] codes decided so far; -1 idle
    errors: Any  #: int32 [S] :class:`SlotError`, or'ed; 0: none
    #: float32 [S, M] log of the valid mass over the levels, log x; -inf dead; None in mode "search"
    log_masses: Any = None
    #: float32 [S, M] score with its noise, which the beams are ordered by; None except in mode "stochastic"
    perturbed: Any = None
    #: float32 [S, M] log of the probability that the beam is in the result, given the threshold; None as above
    log_inclusions: Any = None
    #: float32 [S] perturbed score of the best prefix that was left out; -inf: none was; None as above
    thresholds: Any = None

    def __repr__(self) -> str:
        shape = f"slots={self.live.shape[0]}, beams={self.codes.shape[1]}"
        if not isinstance(self.live, np.ndarray):
            return f"Beams({shape}, on {self.live.device})"
        return f"Beams({shape}, live={_few(self.live)}, active={_few(self.active)}, level={_few(self.level)})"

    def _repr_html_(self) -> str:
        if not isinstance(self.live, np.ndarray):
            return f"<code>{escape(repr(self))}</code>"
        best = [f"{score:.4g}" if live else "" for score, live in zip(self.scores.max(1).tolist(), self.live.tolist())]
        width = self.codes.shape[1]
        live = [pages.Bar(n, n / width, f"{n} of {width}") for n in self.live.tolist()]
        rows = list(zip(range(len(live)), self.level.tolist(), live, self.active.tolist(), best, self.errors.tolist()))
        return pages.table("Beams", ("slot", "level", "live", "active", "best score", "errors"), rows)


def _few(array: np.ndarray) -> str:
    """The numbers of the first slots."""
    shown = ", ".join(map(str, array[:8].tolist()))
    return f"[{shown}, ..]" if len(array) > 8 else f"[{shown}]"


_FIELDS = (
    ("parents", _native.FLAT_BEAMS_PARENTS, np.int32, True),
    ("codes", _native.FLAT_BEAMS_CODES, np.int32, True),
    ("scores", _native.FLAT_BEAMS_SCORES, np.float32, True),
    ("states", _native.FLAT_BEAMS_STATES, np.int64, True),
    ("live", _native.FLAT_BEAMS_LIVE, np.int32, False),
    ("active", _native.FLAT_BEAMS_ACTIVE, np.int32, False),
    ("level", _native.FLAT_BEAMS_LEVEL, np.int32, False),
    ("errors", _native.FLAT_BEAMS_ERRORS, np.int32, False),
    ("log_masses", _native.FLAT_BEAMS_LOG_MASSES, np.float32, True),
    ("perturbed", _native.FLAT_BEAMS_PERTURBED, np.float32, True),
    ("log_inclusions", _native.FLAT_BEAMS_LOG_INCLUSIONS, np.float32, True),
    ("thresholds", _native.FLAT_BEAMS_THRESHOLDS, np.float32, False),
)


def beams_from(numbers: np.ndarray, keep: object, device: Optional[tuple[int, int]]) -> Beams:
    """Views of the arrays at these addresses: NumPy, or, with a device, tensors there."""
    slots, beams = int(numbers[_native.FLAT_BEAMS_SLOTS]), int(numbers[_native.FLAT_BEAMS_BEAMS])
    views: dict[str, Array] = {}
    for name, place, dtype, of_beams in _FIELDS:
        address, shape = int(numbers[place]), (slots, beams) if of_beams else (slots,)
        if address == 0:  # the mode has none
            continue
        if device is None:
            views[name] = host_view(address, shape, dtype, keep)
        else:
            views[name] = DeviceArray(address, shape, dtype, device, keep)
    return Beams(**views)


class Limits(NamedTuple):
    """How far a list of items goes, as :meth:`Session.items` takes it."""

    per_sid: int
    limit: int
    distinct: bool
    cap: int
    cap_by: Optional[str]


@dataclasses.dataclass
class Items:
    """What the beams of n slots stand for. A beam has an ordinal once its SID is complete and in the index."""

    ordinals: Any = None  #: int64 [n, M]; -1 none
    sids: Any = None  #: int32 [n, M, L] codes so far, -1 beyond the length
    lengths: Any = None  #: int32 [n, M] codes so far; 0 dead
    item_rows: Any = None  #: int64 [n, limit] item rows by beam, then priority; as far as ``offsets`` says
    offsets: Any = None  #: int64 [n, M + 1] beam m has ``item_rows[offsets[m]:offsets[m + 1]]`` of its slot
    truncated: Any = None  #: int32 [n] 1 where a limit left item rows out (that the cap would have listed)
    #: int32 [n] 1 where the cap left item rows out and there are fewer than ``limit``: more beams may find more
    came_short: Any = None

    def item_rows_of(self, slot: int, beam: Optional[int] = None) -> np.ndarray:
        """Item rows of the i-th slot that was asked for: of one beam, or of all in their order."""
        offsets = self.offsets[slot]
        first, last = (0, -1) if beam is None else (beam, beam + 1)
        return np.asarray(self.item_rows[slot, offsets[first] : offsets[last]])

    def __repr__(self) -> str:
        given = {name: array for name, array in vars(self).items() if array is not None}
        if not all(isinstance(array, np.ndarray) for array in given.values()):
            return f"Items({', '.join(f'{name} {tuple(array.shape)}' for name, array in given.items())})"
        parts = [f"slots={len(next(iter(given.values())))}" if given else "nothing"]
        if "ordinals" in given:
            parts.append(f"complete={int((self.ordinals >= 0).sum())} of {self.ordinals.size} beams")
        if "offsets" in given:
            parts.append(f"items={int(self.offsets[:, -1].sum())}")
        if "truncated" in given and self.truncated.any():
            parts.append("truncated")
        if "came_short" in given and self.came_short.any():
            parts.append("came short")
        return f"Items({', '.join(parts)})"

    def _repr_html_(self) -> str:
        arrays = (self.ordinals, self.sids, self.lengths, self.offsets)
        if not all(isinstance(array, np.ndarray) for array in arrays):
            return f"<code>{escape(repr(self))}</code>"
        slots, beams = self.ordinals.shape
        counts = np.diff(self.offsets, axis=1)
        bars = pages.bars(counts.flatten())
        rows = [
            (slot, beam, tuple(self.sids[slot, beam, : self.lengths[slot, beam]].tolist()), ordinal, bars[i])
            for i, (slot, beam, ordinal) in enumerate(
                (slot, beam, int(self.ordinals[slot, beam])) for slot in range(slots) for beam in range(beams)
            )
            if self.lengths[slot, beam] > 0
        ]
        return pages.table(repr(self), ("slot", "beam", "SID", "ordinal", "items"), rows)


@dataclasses.dataclass(frozen=True)
class Samples:
    """What :meth:`Session.sample` drew, S requests of M draws; arrays of the caller's own."""

    __repr__ = summary

    items: Items  #: SIDs, ordinals (-1: a dead draw) and item rows
    log_probs: np.ndarray  #: float32 [S, M] log P of the SID, over the valid codes in mode "stochastic"; -inf dead
    log_masses: np.ndarray  #: float32 [S, M] log x: a SID is drawn with probability P / x
    perturbed: Optional[np.ndarray] = None  #: of mode "stochastic", as the next two: see :class:`Beams`
    log_inclusions: Optional[np.ndarray] = None
    thresholds: Optional[np.ndarray] = None

    @property
    def ordinals(self) -> np.ndarray:
        """int64 [S, M]; -1: dead"""
        return np.asarray(self.items.ordinals)


@dataclasses.dataclass(frozen=True)
class Stats:
    """Counted since the session's creation; see ``sidbeam_stats``. :meth:`Session.counters` has internal counters."""

    steps: int  #: calls of step
    rows_read: int  #: logits rows
    rows_skipped: int  #: logits rows that could not matter
    rows_bad: int  #: logits rows with NaN or +inf
    dead_beams: int  #: beams that a step could not fill
    memory_bytes: int  #: memory that the session holds


def stats_from(numbers: np.ndarray) -> Stats:
    places = {f.name: getattr(_native, f"FLAT_STATS_{f.name.upper()}") for f in dataclasses.fields(Stats)}
    return Stats(**{name: int(numbers[place]) for name, place in places.items()})


def counters_from(values: np.ndarray, names: bytearray, count: int) -> dict[str, int]:
    return {name.decode(): int(value) for name, value in zip(names.split(b"\0")[:count], values)}
