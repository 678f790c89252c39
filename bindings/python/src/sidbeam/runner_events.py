"""The events of a runner. SPDX-License-Identifier: Apache-2.0

The library calls back on threads of its own. It enters Python on none of them: callbacks wait in a queue
(flat/events.h) for one thread of Python's per runner, which completes futures and calls ``adjust``.
"""

from __future__ import annotations

import dataclasses
import threading
from concurrent.futures import Future
from typing import Any, Callable, Optional, Sequence

import numpy as np

from . import _native
from .arrays import host_view, summary
from .errors import SidbeamError
from .index import ConstraintLike
from .runner_results import Result, result_from


@dataclasses.dataclass(frozen=True)
class Level:
    """One request at one level, between the model and the step: what ``adjust`` gets. The arrays are the caller's own,
    and may be kept: what ``logits`` holds when the call returns is copied to the lane."""

    __repr__ = summary

    level: int  #: codes decided so far
    request: int  #: its number
    context: Any  #: that the request was given
    logits: np.ndarray  #: float32 [rows, columns], to be changed in place
    prefixes: np.ndarray  #: int32 [rows, level] codes so far of each row; at level 0 there is one row
    columns: np.ndarray  #: int64 [codes of the level] column of each code; -1: none
    end_column: int  #: -1: none


Adjust = Callable[[Level], object]


@dataclasses.dataclass
class Request:
    """A request under way, by its tag."""

    context: Any
    constraint: ConstraintLike
    future: Optional[Future[Result]] = None
    runner: Optional[object] = None  #: kept by what it still owes
    raised: Optional[BaseException] = None  #: by adjust

    def failure(self, error: SidbeamError) -> BaseException:
        """What the caller gets to see: the exception of his own ``adjust``, if that ended the request."""
        return error if self.raised is None else self.raised


class Desk:
    """What the thread of a runner's events knows: not the runner, so that one that nobody needs can go."""

    def __init__(self, events: Any, codes: Sequence[int], adjust: Optional[Adjust]) -> None:
        self.requests: dict[int, Request] = {}
        self._events, self._codes, self._adjust = events, codes, adjust
        self.thread = threading.Thread(target=self._serve, name="sidbeam-runner", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        numbers = np.zeros(_native.FLAT_EVENT_COUNT, np.int64)
        while kind := _native.flat_events_next(self._events, numbers):
            if kind == _native.FLAT_EVENT_DONE:
                self._finish(numbers)
            else:
                self._ask(numbers)

    def _finish(self, numbers: np.ndarray) -> None:
        request = self.requests.pop(int(numbers[_native.FLAT_RESULT_TAG]))
        future = request.future
        assert future is not None
        wanted = future.set_running_or_notify_cancel()  # not if the caller has cancelled it
        try:
            result = result_from(numbers, request.constraint)
        except SidbeamError as error:
            if wanted:
                future.set_exception(request.failure(error))
        else:
            if wanted:
                future.set_result(result)

    def _ask(self, numbers: np.ndarray) -> None:
        request = self.requests[int(numbers[_native.FLAT_ADJUST_TAG])]
        verdict = 1
        try:
            assert self._adjust is not None
            lane = self._logits(numbers)
            level = self._level(numbers, lane.copy(), request.context)
            self._adjust(level)
            lane[:] = level.logits
            verdict = 0
        except BaseException as error:  # it belongs to the caller of the request, whatever it is
            request.raised = error
        finally:
            _native.flat_adjust_answer(self._events, int(numbers[_native.FLAT_ADJUST_NUMBER]), verdict)

    @staticmethod
    def _logits(numbers: np.ndarray) -> np.ndarray:
        """Those of the lane. Nobody else gets to see them: a view could not be revoked, and the lane goes on."""
        rows, stride = int(numbers[_native.FLAT_ADJUST_ROWS]), int(numbers[_native.FLAT_ADJUST_ROW_STRIDE])
        logits = host_view(int(numbers[_native.FLAT_ADJUST_LOGITS]), (rows, stride), np.float32, None, writable=True)
        return logits[:, : int(numbers[_native.FLAT_ADJUST_COLUMNS])]

    def _level(self, numbers: np.ndarray, logits: np.ndarray, context: Any) -> Level:
        level, rows = int(numbers[_native.FLAT_ADJUST_LEVEL]), len(logits)
        if level > 0:
            prefixes = host_view(int(numbers[_native.FLAT_ADJUST_PREFIXES]), (rows, level), np.int32, None).copy()
        else:
            prefixes = np.empty((rows, 0), np.int32)
        if address := int(numbers[_native.FLAT_ADJUST_MAP]):
            count = int(numbers[_native.FLAT_ADJUST_MAP_CODES])
            codes = host_view(address, (count,), np.int32, None).astype(np.int64)
        else:
            codes = int(numbers[_native.FLAT_ADJUST_OFFSET]) + np.arange(self._codes[level])
        request, end = int(numbers[_native.FLAT_ADJUST_REQUEST]), int(numbers[_native.FLAT_ADJUST_END_COLUMN])
        return Level(level, request, context, logits, prefixes, codes, end)
