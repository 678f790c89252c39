"""The decoder session: slots x beams, one level per step. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from . import _native, catalogue
from .arrays import (
    argument,
    counted,
    device_name,
    device_of,
    dtype_code,
    each,
    expect_shape,
    host,
    is_one,
    stream_number,
    vector,
    written,
)
from .beams import Beams, Items, Limits, Samples, Stats, beams_from, counters_from, stats_from
from .checks import entries, flag, instance, integer
from .enums import DType, Mode, Normalization, Strategy, member
from .errors import InvalidArgument
from .filters import Filter
from .handle import Handle
from .constraint import Constraint, ConstraintLike, constraint_of, is_constraint
from .recommendations import Recommendation, Under
from .runtime import Runtime, runtime_or
from .slot_rules import under_rules
from .vocabulary import Vocabulary, native_vocabulary

_step = _native.session_step
_ROOM = 1 << 16  # item rows of a slot that memory is taken for unseen

Logits = Union[Callable[[np.ndarray], Any], Sequence[Any]]  #: a model, as :meth:`Session.sample` takes it


class Session(Handle):
    """Beam search, or sampling, of S requests at a time, each at its own level. One thread at a time.

    ``session.start()`` per request; ``session.step(logits)`` per level; then ``session.items()``.

    - ``constraint``: an :class:`Index` or :class:`Constraint`, for slots that name none. ``slots``: S. ``beams``: M.
    - ``strategy``: "trie", "sorted", "sorted_topk", "hash_final", "none".
    - ``normalization``: "full", "level", "valid", or "none" where logits are log-probabilities already.
    - ``top_k``: codes per beam that "sorted_topk" and "hash_final" look up; 0: M.
    - ``vocabulary``: which column a code has; None: code t is column t.
    - ``device``: "cpu", "cuda", "cuda:1". On CUDA logits and all arrays are in the device's memory, and calls enqueue
      on ``stream`` (an int, a stream of torch or CuPy; None: the default stream) without waiting.
    - ``mode``: "search"; "sample": a beam is a draw, independent of the others; "stochastic": the beams are drawn
      without replacement (stochastic beam search). P is the law of ``normalization``.
    - ``log_probs_promised``: promises that logits of "none" never exceed 0; rows that cannot matter are then skipped.
    - ``max_listed``: on CUDA the most item rows that a slot's rules may list, excluded or allowed; 0: 4096.

    All memory is taken here: a step allocates nothing in the library. Raises :class:`InvalidArgument`,
    :class:`MissingSection`, :class:`Unsupported`, :class:`NoDevice`, :class:`OutOfMemory`.
    """

    __slots__ = ("_beams", "_device", "_levels", "_normalization", "_runtime", "_under", "slots", "width")

    def __init__(
        self,
        constraint: ConstraintLike,
        *,
        slots: int = 1,
        beams: int = 1,
        strategy: Union[Strategy, str] = Strategy.TRIE,
        normalization: Union[Normalization, str] = Normalization.FULL,
        top_k: int = 0,
        vocabulary: Optional[Vocabulary] = None,
        device: Any = None,
        log_probs_promised: bool = False,
        mode: Union[Mode, str] = Mode.SEARCH,
        max_listed: int = 0,
        runtime: Optional[Runtime] = None,
    ) -> None:
        held = constraint_of(constraint)
        self._device = device_of(device)
        self._beams: Optional[Beams] = None
        self._levels = held.info.levels
        self._normalization = member(Normalization, normalization)
        self.slots, self.width = slots, beams
        self._runtime = runtime_or(runtime, held._runtime)
        self._handle = _native.flat_session_create(
            self._runtime._handle,
            held._handle,
            slots,
            beams,
            member(Strategy, strategy),
            self._normalization,
            top_k,
            *native_vocabulary(vocabulary, self._levels),
            *self._device,
            flag(log_probs_promised, "log_probs_promised"),
            member(Mode, mode),
            max_listed,
        )
        self._under = Under(constraint, slots)

    def start(
        self,
        slots: Union[None, int, Sequence[int]] = None,
        *,
        constraints: Union[None, ConstraintLike, Sequence[Optional[ConstraintLike]]] = None,
        widths: Union[None, int, Sequence[int], Sequence[Sequence[int]]] = None,
        prefixes: Any = None,
        prefix_lengths: Any = None,
        inverse_temperature: Any = None,
        soft_cap: Any = None,
        seeds: Any = None,
        requests: Any = None,
        draws: Any = None,
        top_k: Any = None,
        top_p: Any = None,
        noise_scale: Any = None,
        filter: Union[None, Filter, Sequence[Optional[Filter]]] = None,
        exclude: Any = None,
        allow: Any = None,
        stream: Any = None,
    ) -> Beams:
        """Starts slots (None: all) afresh, running ones too: one live beam each, at its prefix.

        - ``constraints``: one for all of them, or one per slot; None: the session's.
        - ``widths``: beams, 1 .. M (0: M), one number or one per slot; or ``[n, W]``, one list of up to L widths per
          slot, ``[1, W]`` for all: level l keeps at most the l-th, or the last (not in mode "sample"; in mode
          "stochastic" they must not rise).
        - ``prefixes``: codes decided already, one sequence per slot, or a matrix and ``prefix_lengths``. A prefix that
          no SID has leaves no live beam.
        - ``inverse_temperature``, ``soft_cap``: for the slot's steps (see :meth:`step`), one number or one per slot;
          None or 0: an inverse temperature of 1, and no soft-cap.
        - ``seeds``, ``requests``: integers, one number or one per slot, needed in the modes that sample: equal pairs
          draw alike, in any slot, batch and session, on any device.
        - ``draws``: of mode "sample", integers ``[n, w]``, the draw that each row of a slot makes; None: 0 .. M-1.
          ``widths`` is w then, unless given.
        - ``top_k`` (0: none), ``top_p`` (above 0; 1: none): of mode "sample", one number or one per slot: what of the
          model's row is left, before anything is masked.
        - ``noise_scale``: of mode "stochastic", one number or one per slot; 0 is the search.
        - ``filter``, ``exclude``, ``allow``: the rules of :class:`Constraint`, one for all slots or a list of one per
          slot (None: none): ``exclude=seen``, or ``exclude=[seen_of_slot_0, None]``. They come to the slot's index; a
          constraint that has rules of its own takes ``exclude`` alone.

        Raises :class:`InvalidArgument` and others; then no slot has changed.
        """
        chosen, count = self._chosen(slots)
        if not (filter is exclude is allow is None):
            constraints = under_rules(constraints, self._under.usual, count, filter, exclude, allow)
        held = self._constraints(constraints, count)
        numbers = None if held is None else np.array([0 if c is None else c._number for c in held], np.int64)
        codes, sizes, stride = None, None, 0
        if prefixes is not None:
            codes, sizes = catalogue.sids_of(prefixes, prefix_lengths, name="prefixes")
            stride = codes.shape[1]
            if len(codes) != count:
                raise InvalidArgument(
                    f"prefixes has {len(codes)} sequences, expected {count}, one per slot that starts"
                )
            sizes = np.full(count, stride, np.int32) if sizes is None else sizes
            expect_shape(sizes.shape, (count,), "prefix_lengths")
        several, width_levels = self._widths(widths, count)
        drawn = None
        if draws is not None:
            drawn, several = self._draws(draws, several, count)
        _native.flat_session_start(
            self._handle,
            chosen,
            count,
            numbers,
            several,
            width_levels,
            codes,
            sizes,
            stride,
            self._each(inverse_temperature, np.float32, count, "inverse_temperature"),
            self._each(soft_cap, np.float32, count, "soft_cap"),
            stream_number(stream),
            self._each(seeds, np.int64, count, "seeds"),
            self._each(requests, np.int64, count, "requests"),
            drawn,
            0,
            self._each(top_k, np.int32, count, "top_k"),
            self._each(top_p, np.float32, count, "top_p"),
            self._each(noise_scale, np.float32, count, "noise_scale"),
        )
        self._under.note(constraints, chosen)
        del held  # keeps the constraints alive until here
        return self.beams()

    def step(
        self,
        logits: Any,
        slots: Any = None,
        *,
        row_map: Any = None,
        lse: Any = None,
        inverse_temperature: Any = 0.0,
        soft_cap: Any = 0.0,
        dtype: Union[None, DType, str] = None,
        stream: Any = None,
    ) -> Beams:
        """Advances slots by one level; returns :meth:`beams`.

        - ``logits`` ``[n, rows, columns]`` for n slots, row m for beam m, ``[rows, columns]`` for one slot, or, with
          ``row_map``, ``[rows, columns]``: float32, float16 or bfloat16; NumPy, the buffer protocol or DLPack, read in
          place. Logits rows may be strided, or one for all (broadcast); columns lie side by side. uint16 arrays need
          ``dtype="bf16"``.
        - ``slots``: int32 ``[n]``; None: slot i of the logits is slot i, and slots that are idle or done are passed
          over.
        - ``row_map``: int32 ``[n, M]`` logits row of each beam, -1 where it is not fed; n is S without ``slots``.
        - ``lse``: float32, log-sum-exp of every logits row; None: computed.
        - ``inverse_temperature``, ``soft_cap``: an element e counts as
          ``inverse_temperature * soft_cap * tanh(e / soft_cap)``. Each is one number, or float32 ``[n]``, one per slot.
          0: the setting of :meth:`start`. An infinite ``soft_cap``: none.

        Raises :class:`InvalidArgument`, :class:`BadState` (a slot that is idle or done, or none that goes on); then no
        slot has changed. A bad row is no exception: see ``Beams.errors``.
        """
        chosen, count = (None, self.slots) if slots is None else counted(slots, np.int32, "slots", self._device)
        scale, scales, cap, caps = inverse_temperature, None, soft_cap, None
        if type(scale) is not float:  # it nearly always is, and a call would be felt by small steps
            scale, scales = self._setting(scale, count, "inverse_temperature")
        if type(cap) is not float:
            cap, caps = self._setting(cap, count, "soft_cap")
        _step(
            self._handle,
            chosen,
            logits,
            -1 if dtype is None else dtype_code(dtype),
            None if row_map is None else argument(row_map, np.int32, "row_map", self._device, (count, self.width)),
            None if lse is None else argument(lse, np.float32, "lse", self._device),
            scale,
            cap,
            scales,
            caps,
            0 if stream is None else stream_number(stream),
        )
        return self._beams or self.beams()

    def children(
        self, slots: Union[None, int, Sequence[int]] = None, *, lse_given: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which columns of its logits row the next step reads of each beam, for models that compute no others: int64
        ``offsets`` ``[n * M + 1]`` and int32 ``columns``, where beam m of the i-th slot has
        ``columns[offsets[i * M + m]:offsets[i * M + m + 1]]``, in the order of codes, the end last.

        ``lse_given``: whether that step will bring ``lse``. Raises :class:`Unsupported` where a step reads more:
        normalization "full" or "level" without ``lse``, other strategies than "trie", modes that sample, CUDA.
        """
        chosen, count = self._chosen(slots)
        offsets = np.zeros(max(count, 0) * self.width + 1, np.int64)
        _native.flat_session_children(self._handle, chosen, count, flag(lse_given, "lse_given"), offsets, None)
        columns = np.empty(int(offsets[-1]), np.int32)
        _native.flat_session_children(self._handle, chosen, count, flag(lse_given, "lse_given"), offsets, columns)
        return offsets, columns

    def sample(self, logits: Logits, *, seed: Any, requests: Any = None, **start: Any) -> Samples:
        """Draws for all slots from their beginning to their end, in a mode that samples, on the CPU: M each.

        - ``logits``: called with the codes so far, int32 ``[S, M, level]`` (-1: dead, or ended), for what
          :meth:`step` takes: ``[S, M, columns]``. At the beginning all draws of a slot share the row of beam 0; then
          row m is draw m's to the end ("sample"). Or a sequence, of the logits of one step after another.
        - ``seed``, ``requests``: one number or one per slot; None: requests 0 .. S-1.
        - ``start``: the other arguments of :meth:`start`: ``top_p``, ``inverse_temperature``, ``prefixes``, ...

        Draws prefer prefixes that lead to few items, by P / x (see :class:`Samples`); :func:`disc` corrects that.
        """
        self.start(seeds=seed, requests=np.arange(self.slots) if requests is None else requests, **start)
        self._finish(logits)
        beams = self.beams()
        extra = (beams.perturbed, beams.log_inclusions, beams.thresholds)
        copies = (None if array is None else array.copy() for array in extra)
        return Samples(self.items(), beams.scores.copy(), beams.log_masses.copy(), *copies)

    def _finish(self, logits: Logits) -> None:
        """Steps the slots that are started to their end."""
        if self._device[0] != _native.SIDBEAM_DEVICE_CPU:
            raise InvalidArgument(f"the session is on {device_name(self._device)}, expected one on cpu")
        if not callable(logits):
            logits = entries(logits, "logits", "logits, one per step, or a function of the codes so far")
        beams, count = self.beams(), 0
        while beams.active.any():
            if callable(logits):
                rows = logits(self._codes())
            elif count < len(logits):
                rows = logits[count]
            else:
                raise InvalidArgument(f"logits has {count} steps, expected another: SIDs are not complete")
            self.step(rows)
            count += 1

    def _codes(self) -> np.ndarray:
        """int32 [S, M, level] codes so far of all beams; level is that of the slot that has most."""
        sids = np.empty((self.slots, self.width, self._levels), np.int32)
        self.items(out=Items(sids=sids))
        return sids[:, :, : max(int(self.beams().level.max()), 0)]

    def beams(self) -> Beams:
        """Views of the session's arrays: NumPy, or on CUDA tensors of the device. Always the same object."""
        if self._beams is None:
            on_host = self._device[0] == _native.SIDBEAM_DEVICE_CPU
            numbers, keep = self._addresses()
            self._beams = beams_from(numbers, keep, None if on_host else self._device)
        return self._beams

    def tensors(self) -> Beams:
        """The same as :class:`DeviceArray` on any device, for ``torch.from_dlpack`` and others."""
        return beams_from(*self._addresses(), self._device)

    def _addresses(self) -> tuple[np.ndarray, object]:
        keep = _native.view(self._handle)
        numbers = np.zeros(_native.FLAT_BEAMS_COUNT, np.int64)
        _native.flat_session_get_beams(self._handle, numbers)
        return numbers, keep

    def fetch(self, stream: Any = None) -> Beams:
        """On CUDA enqueues copies to pinned memory and gives NumPy views of it, to be read once the stream has reached
        that point; on the CPU the same as :meth:`beams`."""
        keep = _native.view(self._handle)
        numbers = np.zeros(_native.FLAT_BEAMS_COUNT, np.int64)
        _native.flat_session_fetch(self._handle, numbers, stream_number(stream))
        return beams_from(numbers, keep, None)

    def items(
        self,
        slots: Union[None, int, Sequence[int]] = None,
        *,
        limit_per_sid: int = 0,
        limit: int = 0,
        distinct: bool = False,
        cap: int = 0,
        cap_by: Optional[str] = None,
        out: Optional[Items] = None,
        stream: Any = None,
    ) -> Items:
        """What the beams of slots (None: all) stand for, at any level.

        ``limit_per_sid``: most item rows of one SID. ``limit``: most item rows of a slot. 0: as many as there are.
        ``distinct``: an item that several SIDs have is listed once, with the best of them; limits cut what is left.
        ``cap=2, cap_by="brand"``: at most 2 of a brand, best first, by an attribute of the slot's index that holds no
        floats; null is no value, and of a list each string counts. Rules are inside the search; this is after it, and
        makes room for what comes later, so that a list may come short, which ``came_short`` says. On the CPU.
        ``out``: arrays to write instead of new ones, where not None. On CUDA ``out`` is required, its arrays are in the
        device's memory, and a ``limit`` of 0 means the room of ``out.item_rows``.
        """
        chosen, count = self._chosen(slots)
        number = stream_number(stream)
        if out is not None or self._device[0] != _native.SIDBEAM_DEVICE_CPU:
            if out is None:
                raise InvalidArgument("out is None, expected Items with arrays on the device")
            return self._items_into(chosen, count, Limits(limit_per_sid, limit, distinct, cap, cap_by), out, number)
        width, levels = self.width, self._levels
        items = Items(
            np.empty((count, width), np.int64),
            np.empty((count, width, levels), np.int32),
            np.empty((count, width), np.int32),
            None,
            np.empty((count, width + 1), np.int64),
            np.empty(count, np.int32),
            np.empty(count, np.int32),
        )
        limits = Limits(limit_per_sid, integer(limit, "limit"), distinct, cap, cap_by)
        flags = items.came_short
        if not 0 < limits.limit < _ROOM:  # one call to know how many item rows there are
            self._get_items(chosen, count, limits, items, number)
            limits = limits._replace(limit=int(items.offsets[:, -1].max(initial=0)))
            items.came_short = None  # of a limit that is the longest list, it would say something else
        items.item_rows = np.empty((count, limits.limit), np.int64)
        if limits.limit != 0:
            self._get_items(chosen, count, limits, items, number)
        items.came_short = flags
        return items

    def recommendations(
        self,
        slots: Union[None, int, Sequence[int]] = None,
        *,
        limit_per_sid: int = 0,
        limit: int = 0,
        distinct: bool = False,
        cap: int = 0,
        cap_by: Optional[str] = None,
    ) -> list[list[Recommendation]]:
        """The items of slots (None: all) with their scores, best beam first: a list of :class:`Recommendation` for each
        slot; limits, distinct items and caps as in :meth:`items`. On the CPU, of slots under an :class:`Index`."""
        if self._device[0] != _native.SIDBEAM_DEVICE_CPU:
            raise InvalidArgument(f"the session is on {device_name(self._device)}, expected one on cpu")
        limits: dict[str, Any] = {"limit_per_sid": limit_per_sid, "limit": limit, "distinct": distinct}
        items = self.items(slots, **limits, cap=cap, cap_by=cap_by)
        return self._under.recommendations(items, self.beams().scores, self._chosen(slots)[0])

    def _items_into(self, chosen: Any, count: int, limits: Limits, out: Items, stream: int) -> Items:
        given = vars(instance(out, Items, "out"))
        arrays = Items(**{name: self._output(array, name) for name, array in given.items()})
        if limits.limit == 0 and out.item_rows is not None:
            limits = limits._replace(limit=int(out.item_rows.shape[-1]) if out.item_rows.shape else 1)
        self._get_items(chosen, count, limits, arrays, stream)
        return out

    def _output(self, array: Any, name: str) -> Any:
        dtype = np.int64 if name in ("ordinals", "item_rows", "offsets") else np.int32
        return None if array is None else written(array, dtype, name, self._device)[0]

    def _get_items(self, chosen: Any, count: int, limits: Limits, out: Items, stream: int) -> None:
        _native.flat_session_get_items(
            self._handle,
            chosen,
            count,
            limits.per_sid,
            limits.limit,
            flag(limits.distinct, "distinct"),
            limits.cap_by,
            limits.cap,
            out.ordinals,
            out.sids,
            out.lengths,
            out.item_rows,
            out.offsets,
            out.truncated,
            out.came_short,
            stream,
        )

    def stop(self, slots: Union[None, int, Sequence[int]] = None, *, stream: Any = None) -> None:
        """Makes slots (None: all) idle and releases their constraints."""
        chosen, count = self._chosen(slots)
        _native.flat_session_stop(self._handle, chosen, count, stream_number(stream))
        self._under.note(None, chosen)

    def stats(self) -> Stats:
        """What hosts act on, counted since creation. On CUDA it waits for the session's work."""
        numbers = np.zeros(_native.FLAT_STATS_COUNT, np.int64)
        _native.flat_session_get_stats(self._handle, numbers)
        return stats_from(numbers)

    def counters(self) -> dict[str, int]:
        """Internal counters by name, for tuning; they come and go with versions."""
        values = np.zeros(_native.FLAT_COUNTERS, np.int64)
        names = bytearray(_native.FLAT_COUNTER_NAME_BYTES)
        return counters_from(values, names, _native.flat_session_get_counters(self._handle, values, names))

    def close(self) -> None:
        self._beams = None
        super().close()

    def _chosen(self, slots: Union[None, int, Sequence[int]]) -> tuple[Optional[np.ndarray], int]:
        if slots is None:
            return None, self.slots
        chosen = vector(slots, np.int32, "slots")
        return chosen, len(chosen)

    @staticmethod
    def _each(value: Any, dtype: Any, count: int, name: str) -> Optional[np.ndarray]:
        """[count] from one number for all slots or one per slot; None: none."""
        return None if value is None else each(value, count, dtype, name)

    @staticmethod
    def _widths(widths: Any, count: int) -> tuple[Optional[np.ndarray], int]:
        """[count], and 0; or [count, W], and W."""
        given = None if widths is None or is_one(widths) else host(widths, np.int32, "widths")
        if given is None or given.ndim != 2:
            return Session._each(widths, np.int32, count, "widths"), 0
        if given.shape[0] == 1:
            given = np.repeat(given, count, axis=0)
        expect_shape(given.shape, (count, given.shape[1]), "widths")
        return np.ascontiguousarray(given), given.shape[1]

    def _draws(self, draws: Any, widths: Optional[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
        """int64 [count, M], where rows of a slot that draw nothing have a number too; and the widths."""
        given = host(draws, np.int64, "draws")
        if given.ndim != 2 or given.shape[0] != count or not 1 <= given.shape[1] <= self.width:
            raise InvalidArgument(f"draws has shape {given.shape}, expected ({count}, 1 .. {self.width})")
        most = given.shape[1]
        if widths is None:
            widths = np.full(count, most, np.int32)
        elif most < self.width and ((widths == 0) | (widths > most)).any():
            raise InvalidArgument(f"widths is {widths.tolist()}, expected 1 .. {most}, as draws has columns")
        return np.ascontiguousarray(np.pad(given, ((0, 0), (0, self.width - most)))), widths

    def _setting(self, value: Any, count: int, name: str) -> tuple[Any, Any]:
        """A step's number for all slots, and its array of one per slot; one of the two is 0 or None."""
        if value is None or is_one(value):
            return value or 0.0, None
        return 0.0, argument(value, np.float32, name, self._device, (count,))

    @staticmethod
    def _constraints(constraints: Any, count: int) -> Optional[list[Optional[Constraint]]]:
        if constraints is None:
            return None
        if is_constraint(constraints):
            constraints = [constraints] * count
        several = entries(constraints, "constraints", "indexes")
        expect_shape((len(several),), (count,), "constraints")
        return [None if c is None else constraint_of(c) for c in several]

    def _describe(self) -> str:
        return f"slots={self.slots} beams={self.width} levels={self._levels} on {device_name(self._device)}"
