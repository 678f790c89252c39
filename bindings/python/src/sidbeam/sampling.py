"""DISC: SIDs sampled exactly by the model's law. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _native
from .arrays import each, expect_shape, host, summary, vector
from .beams import Items
from .checks import flag, instance, integer, size_of
from .enums import Normalization
from .errors import InvalidArgument
from .handle import Handle
from .runtime import Runtime, runtime_or_default
from .session import Logits, Session


@dataclasses.dataclass(frozen=True)
class DiscResults:
    """Samples of DISC: n of one request, arrays ``[n]``, or of S requests, ``[S, n]``."""

    __repr__ = summary

    ordinals: np.ndarray  #: int64; -1: dead
    draws: np.ndarray  #: int64 number of the draw that became the result; -1: dead
    accepted: np.ndarray  #: bool; False: resampled, or dead
    draws_used: np.ndarray  #: int64 draws that decided it, as the paper counts them
    rows_run: np.ndarray  #: int64 draws that were run for it, needed or not
    log_probs: np.ndarray  #: float32 log P of the SID; -inf: dead
    log_masses: np.ndarray  #: float32 log x of the draw
    items: Optional[Items] = None  #: of :func:`disc`: SIDs and item rows, where a beam is a result


class Disc(Handle):
    """One request's bookkeeping of DISC: which draws to run, and what becomes of them. One thread at a time.

    ``next()`` gives numbers of draws; run them as ``draws=`` of :meth:`Session.start`, or one row at a time, with the
    same seed and request, and any normalization but "valid", with which x is 1; ``add()`` them; when ``next()`` gives
    none, ``results()``. :func:`disc` does all of this.

    - ``results``: n samples, independent, or, ``without_replacement``, different SIDs: a result that repeats an
      earlier one is drawn again, at most ``attempts`` times (0: 1000), and is dead then.
    - ``rounds``: K, draws that are accepted or rejected before K fresh ones are resampled. More are closer to the law.
    - ``side_by_side``: draws of a result that are handed out at a time, 1 .. 2 K. More are sooner done, and run more
      draws than are needed.
    - ``seed``, ``request``: integers of 64 bits, those of the draws. Equal ones give equal results.

    Raises :class:`InvalidArgument`, :class:`OutOfMemory`.
    """

    __slots__ = ("n",)

    def __init__(
        self,
        results: int = 1,
        *,
        seed: int,
        request: int = 0,
        rounds: int = 4,
        without_replacement: bool = False,
        attempts: int = 0,
        side_by_side: int = 1,
        runtime: Optional[Runtime] = None,
    ) -> None:
        self.n = integer(results, "results")
        if self.n < 1:
            raise InvalidArgument(f"results is {results}, expected at least 1")
        self._handle = _native.flat_disc_create(
            runtime_or_default(runtime)._handle,
            results,
            rounds,
            flag(without_replacement, "without_replacement"),
            attempts,
            side_by_side,
            seed,
            request,
        )

    def next(self, most: int) -> np.ndarray:
        """Numbers of draws to run, int64, at most ``most``; none: all that are wanted have been handed out."""
        draws = np.empty(size_of(most, "most"), np.int64)
        return draws[: _native.flat_disc_next(self._handle, draws)]

    def add(self, draws: Any, ordinals: Any, log_probs: Any, log_masses: Any) -> None:
        """Takes draws that were run, each ``[n]``: ordinals -1 where dead, else ``Beams.scores`` and
        ``Beams.log_masses``. Raises :class:`InvalidArgument` (a draw that was not handed out, or was added before);
        then nothing is added."""
        numbers = vector(draws, np.int64, "draws")
        count = numbers.size
        found = [host(ordinals, np.int64, "ordinals")]
        found += [host(log_probs, np.float32, "log_probs"), host(log_masses, np.float32, "log_masses")]
        for array, name in zip(found, ("ordinals", "log_probs", "log_masses")):
            expect_shape(array.shape, (count,), name)
        _native.flat_disc_add(self._handle, count, numbers, *found)

    def results(self) -> DiscResults:
        """The samples. Raises :class:`BadState` while one is not decided."""
        ordinals, draws, used, run = (np.empty(self.n, np.int64) for _ in range(4))
        accepted = np.empty(self.n, np.int32)
        log_probs, log_masses = (np.empty(self.n, np.float32) for _ in range(2))
        _native.flat_disc_get(self._handle, ordinals, draws, accepted, used, run, log_probs, log_masses)
        return DiscResults(ordinals, draws, accepted != 0, used, run, log_probs, log_masses)

    def _describe(self) -> str:
        return f"results={self.n}"


def disc(
    session: Session,
    logits: Logits,
    *,
    seed: Union[int, Sequence[int]],
    results: int = 1,
    rounds: int = 4,
    requests: Union[None, int, Sequence[int]] = None,
    without_replacement: bool = False,
    attempts: int = 0,
    side_by_side: int = 1,
    **start: Any,
) -> DiscResults:
    """``results`` samples of every slot's request, by the model's law restricted to items (DISC-PPV, Algorithm 1).

    - ``session``: of ``mode="sample"`` on the CPU, normalization "full" or "level", or "none" if logits are
      log-probabilities of whole rows; "valid" is refused. A slot is a request; its M beams run M draws at a time. All
      slots are started, as often as draws are wanted, and left as the last draws were.
    - ``logits``: as :meth:`Session.sample` has it; it is called anew for each batch of draws.
    - ``seed``, ``requests``: one number or one per slot; None: requests 0 .. S-1. Equal ones give equal results,
      whatever M and ``side_by_side``.
    - ``results``, ``rounds``, ``without_replacement``, ``attempts``, ``side_by_side``: see :class:`Disc`.
    - ``start``: ``inverse_temperature``, ``soft_cap``, ``top_k``, ``top_p``, ``constraints``, ``prefixes``,
      ``prefix_lengths`` of :meth:`Session.start`.

    A result is dead, which is no error, where no draw led to an item. Raises :class:`InvalidArgument` and others.
    """
    if instance(session, Session, "session")._normalization == Normalization.VALID:
        raise InvalidArgument(
            "session.normalization is 'valid', expected 'full' or 'level': with 'valid' x is 1, and every draw would "
            "be accepted"
        )
    slots = session.slots
    seeds = _numbers(seed, slots, "seed")
    keys = _numbers(np.arange(slots) if requests is None else requests, slots, "requests")
    options = dict(
        rounds=rounds, without_replacement=without_replacement, attempts=attempts, side_by_side=side_by_side
    )
    discs = [
        Disc(results, seed=int(s), request=int(r), runtime=session._runtime, **options) for s, r in zip(seeds, keys)
    ]
    found: list[dict[int, _Sid]] = [{} for _ in discs]
    # A slot without draws runs draw 0 beside the others, so that `start` is for all of them, and nobody takes it.
    while True:
        wanted = [one.next(session.width) for one in discs]
        if not any(map(len, wanted)):
            break
        numbers = np.zeros((slots, session.width), np.int64)
        for row, draws in zip(numbers, wanted):
            row[: len(draws)] = draws
        widths = [max(len(draws), 1) for draws in wanted]
        session.start(seeds=seeds, requests=keys, draws=numbers, widths=widths, **start)
        session._finish(logits)
        _add(session, discs, wanted, found)
    return _together([one.results() for one in discs], found, session._levels)


@dataclasses.dataclass(frozen=True)
class _Sid:
    codes: np.ndarray
    length: int
    item_rows: np.ndarray


def _add(session: Session, discs: list[Disc], wanted: list[np.ndarray], found: list[dict[int, _Sid]]) -> None:
    items, beams = session.items(), session.beams()
    for slot, (one, draws) in enumerate(zip(discs, wanted)):
        n = len(draws)
        one.add(draws, items.ordinals[slot, :n], beams.scores[slot, :n], beams.log_masses[slot, :n])
        for m, ordinal in enumerate(items.ordinals[slot, :n].tolist()):
            if ordinal >= 0 and ordinal not in found[slot]:
                rows = items.item_rows_of(slot, m)
                found[slot][ordinal] = _Sid(items.sids[slot, m], int(items.lengths[slot, m]), rows)


def _together(results: list[DiscResults], found: list[dict[int, _Sid]], levels: int) -> DiscResults:
    names = [field.name for field in dataclasses.fields(DiscResults) if field.name != "items"]
    arrays = {name: np.stack([getattr(one, name) for one in results]) for name in names}
    dead = _Sid(np.full(levels, -1, np.int32), 0, np.empty(0, np.int64))
    sids = [[known.get(o, dead) for o in one.ordinals.tolist()] for one, known in zip(results, found)]
    offsets = np.array([[0, *np.cumsum([len(s.item_rows) for s in row])] for row in sids], np.int64)
    item_rows = np.zeros((len(sids), int(offsets[:, -1].max())), np.int64)
    for to, row in zip(item_rows, sids):
        joined = np.concatenate([s.item_rows for s in row])
        to[: len(joined)] = joined
    items = Items(
        arrays["ordinals"],
        np.array([[s.codes for s in row] for row in sids], np.int32),
        np.array([[s.length for s in row] for row in sids], np.int32),
        item_rows,
        offsets,
        np.zeros(len(sids), np.int32),
    )
    return DiscResults(**arrays, items=items)


def _numbers(value: Any, slots: int, name: str) -> np.ndarray:
    """int64 [slots] from one number or one per slot."""
    return each(value, slots, np.int64, name)
