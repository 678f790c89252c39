"""The runner: history tokens in, items out. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from concurrent.futures import Future
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _native
from .arrays import host, is_one, vector
from .checks import flag, function, instance, integer
from .constraint import ConstraintLike, constraint_of, constraint_under
from .draft import DraftHead
from .enums import Mode, Normalization, Speculate, Strategy, member
from .errors import BadState, InvalidArgument, SidbeamError
from .filters import Filter
from .handle import Handle
from .hidden import HiddenPath
from .model import Model
from .runner_events import Adjust, Desk, Request
from .runner_results import Result, RunnerStats, result_from, stats_from
from .runtime import Runtime, runtime_or
from .vocabulary import Vocabulary, native_vocabulary


class _Future(Future):  # type: ignore[type-arg]
    """A request's result. ``cancel()`` ends the request too: a waiting one now, a running one at its next level."""

    request: int = 0  #: its number, for :meth:`Runner.cancel`
    _runner: Optional[weakref.ref[Runner]] = None

    def cancel(self) -> bool:
        done = super().cancel()
        runner = self._runner() if self._runner is not None else None
        if done and runner is not None and not runner.closed:
            try:
                runner.cancel(self.request)
            except BadState:  # closed by another thread, which has cancelled it
                pass
        return done


_open: weakref.WeakSet[Runner] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Before the interpreter goes, which is too late for ``adjust``, and for futures that threads wait for."""
    for runner in list(_open):
        runner.close()


class Runner(Handle):
    """Runs requests of a model under a constraint. Many threads may use it at once.

        with sidbeam.Runner(sidbeam.Model.open("model"), index, beams=50, vocabulary=sidbeam.Vocabulary(offsets)) as r:
            print(r.run(tokens).items)

    - ``constraint``: an :class:`Index` or :class:`Constraint`, for requests that name none.
    - ``beams``: M, the most that a request may ask for.
    - ``vocabulary``: the token of each code, which is its row of the embedding and of the output layer; None: code t of
      every level is token t. Indexes of variable length need its ``end_column``.
    - ``begin_tokens``: put after every prompt; of a T5 the decoder's first, by default that of its config.
    - ``normalization``: as of :class:`Session`: "full" multiplies all of the output layer, "level" and "valid" only the
      rows of the level's codes; with "none" ``adjust`` makes log-probabilities of the logits.
    - ``strategy``, ``inverse_temperature``, ``soft_cap``: as of :class:`Session`.
    - ``max_prompt``: most positions of a prompt; 0: 512. ``max_group``: most tokens per position; 0: 1.
    - ``queue_requests``: requests that may wait; 0: 1024. One more is :class:`QueueFull`.
    - ``lanes``: batches that run at the same time. ``lane_threads``: each has a thread, which :meth:`submit` needs;
      without, :meth:`run` works alone, on the caller's thread.
    - ``batch_requests``, ``batch_rows``, ``wait_us``: a batch leaves when it is that large, or its oldest request has
      waited so many microseconds; 0: one request, no wait, which is best on CPUs.
    - ``adjust``: called with a :class:`Level` per request and level, on a thread of the runner's (one, so calls of
      several lanes follow each other), to change its logits in place: interpolation, bias. On the CPU. An exception
      ends the request, whose caller gets it. It must not call :meth:`run`, :meth:`drain` or :meth:`close`.

    - ``draft``: a smaller model of the same tokens that writes levels ahead, so that ``model`` is run less often; both
      in one place, without ``adjust``. ``draft_beams``: of its search, ``beams`` or more; 0: as many. ``speculate``:
      "strict": the same results to the bit. "relaxed": the beams of a level are draws from the model's distribution
      over all continuations, each exactly and independently, so that a SID may be found repeatedly; with
      ``without_replacement``, which more ``draft_beams`` than ``beams`` need, different ones, approximately. Strategy
      "trie".
    - ``mode``: "stochastic": requests draw SIDs without replacement by the model's own law, with the same bits where
      there is a draft. :class:`Session` says more.
    - ``head``: NEZHA's :class:`DraftHead`, where the model is: the model reads the prompt, ``begin_tokens`` and
      ``placeholders``, a token per level, in one pass, and the head writes the SIDs from its hidden states, as
      :class:`DraftDecoder` does. ``strategy``: "trie", or "hash_final" for verification at the last level. The
      vocabulary is not used; there is no ``draft``, and ``adjust`` sees the level's codes alone.
    - ``top_k``: of the strategies "hash_final" and "sorted_topk"; 0: M.
    - ``output_path``: with normalization "valid" a level's logits are those of the beams' children alone, or a product
      of all of the level's: "fastest", "children", "product". It changes no result.
    - ``max_listed``: on CUDA the most item rows that a request's rules may list, excluded or allowed; 0: 4096.

    All memory of the lanes is taken here. At the end of the interpreter runners are closed. After a fork the child
    needs a runner of its own. Raises :class:`InvalidArgument`, :class:`MissingSection`, :class:`Unsupported`,
    :class:`NoDevice`, :class:`OutOfMemory`.
    """

    __slots__ = ("_constraint", "_desk", "_runtime", "_tags", "beams", "model")

    def __init__(
        self,
        model: Model,
        constraint: ConstraintLike,
        *,
        beams: int = 1,
        vocabulary: Optional[Vocabulary] = None,
        begin_tokens: Any = None,
        normalization: Union[Normalization, str] = Normalization.FULL,
        strategy: Union[Strategy, str] = Strategy.TRIE,
        inverse_temperature: float = 0.0,
        soft_cap: float = 0.0,
        max_prompt: int = 0,
        max_group: int = 0,
        queue_requests: int = 0,
        lanes: int = 1,
        lane_threads: bool = True,
        batch_requests: int = 0,
        batch_rows: int = 0,
        wait_us: int = 0,
        adjust: Optional[Adjust] = None,
        draft: Optional[Model] = None,
        draft_beams: int = 0,
        speculate: Union[Speculate, str] = Speculate.STRICT,
        without_replacement: bool = False,
        mode: Union[Mode, str] = Mode.SEARCH,
        head: Optional[DraftHead] = None,
        placeholders: Any = None,
        top_k: int = 0,
        output_path: Union[HiddenPath, str] = HiddenPath.FASTEST,
        max_listed: int = 0,
        runtime: Optional[Runtime] = None,
    ) -> None:
        instance(model, Model, "model")
        if adjust is not None:
            function(adjust, "adjust", "a Level")
        if draft is not None:
            instance(draft, Model, "draft")
        if head is not None:
            instance(head, DraftHead, "head")
        held = constraint_of(constraint)
        codes = held.info.codes
        self.model, self.beams = model, beams
        self._constraint, self._runtime = constraint, runtime_or(runtime, held._runtime)
        self._tags = itertools.count(1)
        numbers = np.zeros(_native.FLAT_RUNNER_COUNT, np.int64)
        for name, value in (
            ("BEAMS", beams),
            ("NORMALIZATION", member(Normalization, normalization)),
            ("STRATEGY", member(Strategy, strategy)),
            ("MAX_PROMPT", max_prompt),
            ("MAX_GROUP", max_group),
            ("QUEUE_REQUESTS", queue_requests),
            ("LANES", lanes),
            ("LANE_THREADS", flag(lane_threads, "lane_threads")),
            ("BATCH_REQUESTS", batch_requests),
            ("BATCH_ROWS", batch_rows),
            ("WAIT_US", wait_us),
            ("ADJUST", adjust is not None),
            ("SPECULATE", member(Speculate, speculate)),
            ("DRAFT_BEAMS", draft_beams),
            ("WITHOUT_REPLACEMENT", flag(without_replacement, "without_replacement")),
            ("MODE", member(Mode, mode)),
            ("TOP_K", top_k),
            ("OUTPUT_PATH", member(HiddenPath, output_path)),
            ("MAX_LISTED", max_listed),
        ):
            numbers[getattr(_native, f"FLAT_RUNNER_{name}")] = integer(value, name.lower())
        self._handle = _native.flat_runner_create(
            self._runtime._handle,
            model._handle,
            None if draft is None else draft._handle,
            None if head is None else head._handle,
            held._handle,
            numbers,
            inverse_temperature,
            soft_cap,
            *native_vocabulary(vocabulary, len(codes)),
            None if begin_tokens is None else vector(begin_tokens, np.int32, "begin_tokens"),
            None if placeholders is None else vector(placeholders, np.int32, "placeholders"),
        )
        self._desk = Desk(_native.flat_runner_events(self._handle), codes, adjust)
        _open.add(self)

    def run(
        self,
        tokens: Any,
        *,
        beams: Union[int, Sequence[int]] = 0,
        priority: int = 0,
        deadline_us: int = 0,
        constraint: Optional[ConstraintLike] = None,
        context: Any = None,
        seed: int = 0,
        sampling_request: int = 0,
        filter: Optional[Filter] = None,
        exclude: Any = None,
        allow: Any = None,
    ) -> Result:
        """Runs one request on this thread, as soon as it is its turn and a lane is free.

        - ``tokens``: ids, int32 ``[positions]``, or ``[positions, group]``, whose embeddings are summed, -1 for none;
          empty, of a new user, with ``begin_tokens`` and a decoder alone.
        - ``beams``: 1 .. M; 0: M. Or a list of up to L numbers: level l keeps at most the l-th, or the last (not with
          "relaxed"; with "stochastic" they must not rise). ``priority``: higher starts earlier.
        - ``deadline_us``: microseconds from now on within which it must start; 0: none.
        - ``constraint``: None: the runner's; another must have the same codes per level and, where both name
          one, codebook.
        - ``context``: anything, for ``adjust``.
        - ``seed``, ``sampling_request``: keys of the random numbers of a runner that draws ("relaxed", "stochastic"):
          requests with equal pairs draw alike. Otherwise 0.
        - ``filter``, ``exclude``, ``allow``: the rules of :class:`Constraint`, over the request's constraint; one that
          has rules of its own takes ``exclude`` alone. The result's items are those that they allow.

        Raises :class:`InvalidArgument` (a token out of the vocabulary, a prompt too long, or empty where it may not be;
        a constraint of another codebook; NaN or +inf in logits), :class:`QueueFull`, :class:`DeadlineExceeded`,
        :class:`Cancelled`, :class:`BadState` (closed).
        """
        self._refuse_within("run")
        constraint = self._under(constraint, filter, exclude, allow)
        tag, request = next(self._tags), Request(context, self._constraint if constraint is None else constraint)
        numbers = np.zeros(_native.FLAT_RESULT_COUNT, np.int64)
        self._desk.requests[tag] = request
        try:
            arguments = self._arguments(tokens, beams, priority, constraint, deadline_us, seed, sampling_request)
            _native.flat_runner_run(self._handle, tag, *arguments, numbers)
            return result_from(numbers, request.constraint)
        except SidbeamError as error:
            raise request.failure(error)
        finally:
            del self._desk.requests[tag]

    def submit(
        self,
        tokens: Any,
        *,
        beams: Union[int, Sequence[int]] = 0,
        priority: int = 0,
        deadline_us: int = 0,
        constraint: Optional[ConstraintLike] = None,
        context: Any = None,
        seed: int = 0,
        sampling_request: int = 0,
        filter: Optional[Filter] = None,
        exclude: Any = None,
        allow: Any = None,
    ) -> Future[Result]:
        """Takes a request, with the arguments of :meth:`run`, and returns a future of its :class:`Result`.

        ``future.cancel()`` ends the request; ``future.request`` is its number. Callbacks of the future run on a thread
        of the runner's, which they should not hold up. In asyncio: ``await asyncio.wrap_future(runner.submit(...))``.

        Raises :class:`InvalidArgument`, :class:`QueueFull`, :class:`DeadlineExceeded` (a negative deadline),
        :class:`BadState` (closed, or without ``lane_threads``).
        """
        constraint = self._under(constraint, filter, exclude, allow)
        future = _Future()
        future._runner = weakref.ref(self)
        held = self._constraint if constraint is None else constraint
        tag = next(self._tags)
        self._desk.requests[tag] = Request(context, held, future, self)
        try:
            arguments = self._arguments(tokens, beams, priority, constraint, deadline_us, seed, sampling_request)
            future.request = _native.flat_runner_submit(self._handle, tag, *arguments)
        except BaseException:
            del self._desk.requests[tag]
            raise
        return future

    def _under(
        self, constraint: Optional[ConstraintLike], filter: Optional[Filter], exclude: Any, allow: Any
    ) -> Optional[ConstraintLike]:
        """The request's constraint, with its rules; None: the runner's own."""
        if filter is exclude is allow is None:
            return constraint
        return constraint_under(self._constraint if constraint is None else constraint, filter, exclude, allow)

    def _arguments(
        self,
        tokens: Any,
        beams: Union[int, Sequence[int]],
        priority: int,
        constraint: Optional[ConstraintLike],
        deadline_us: int,
        seed: int,
        sampling_request: int,
    ) -> tuple[Any, ...]:
        ids = host(tokens, np.int32, "tokens")
        if ids.size == 0:
            ids = np.empty(0, np.int32)
        if ids.ndim not in (1, 2):
            raise InvalidArgument(f"tokens has shape {ids.shape}, expected (positions,) or (positions, group)")
        group = ids.shape[1] if ids.ndim == 2 else 1
        held = None if constraint is None else constraint_of(constraint)._handle
        widths = None if is_one(beams) else vector(beams, np.int32, "beams")
        if widths is not None:
            beams = 0
        return ids, group, beams, widths, priority, held, deadline_us, seed, sampling_request

    def cancel(self, request: Union[int, Future[Result]]) -> None:
        """Ends a request, given its future or its number, as :class:`Cancelled`: a waiting one now, a running one at
        its next level. One that is done stays so."""
        number = integer(getattr(request, "request", request), "request")
        _native.flat_runner_cancel(self._handle, number)

    def drain(self, timeout_us: int = 0) -> bool:
        """Waits until no request waits or runs, at most so many microseconds (0: no limit); whether that is so."""
        self._refuse_within("drain")
        return bool(_native.flat_runner_drain(self._handle, timeout_us))

    def stats(self) -> RunnerStats:
        numbers = np.zeros(_native.FLAT_RUNNER_STATS_COUNT, np.int64)
        _native.flat_runner_get_stats(self._handle, numbers)
        return stats_from(numbers)

    def close(self) -> None:
        """Takes no more requests, ends the waiting ones as :class:`Cancelled` and waits for the running ones.

        Afterwards all futures are done and nothing is called. Within ``adjust`` or a future's callback it raises
        :class:`BadState`.
        """
        self._refuse_within("close")
        _native.flat_runner_close(self._handle)
        self._desk.thread.join()

    def _refuse_within(self, what: str) -> None:
        if threading.current_thread() is self._desk.thread:
            raise BadState(f"{what} is called within a callback of the runner, whose end it would wait for")

    def _describe(self) -> str:
        return f"{self.beams} beams, {self.model.info.family}"
