"""The model and its runner: histories in, items out. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any, NamedTuple, Optional, Sequence

from ..constraint import Constraint
from ..errors import InvalidArgument
from ..index import Index
from ..kept_filters import mistake as mistake_of
from ..model import Model
from ..runner import Runner
from ..runner_results import Result
from ..vocabulary import Vocabulary
from .options import Options
from .prompts import Prompts
from .questions import Question, read_question
from .refusals import Refusal, encoded, shown
from .served import Served


class Asked(NamedTuple):
    """A request, ready to run."""

    question: Question
    served: Served
    constraint: Constraint
    prompts: list[Any]  #: of each history; None: it has no items


class Recommender:
    """One runner for all that is served in turn. Any number of threads may use it."""

    def __init__(self, options: Options, served: Served) -> None:
        self._options = options
        vocabulary = Vocabulary(options.offsets, end_column=options.end_column)
        self._prompts = Prompts(options, vocabulary, served.info.codes)
        self.runner = Runner(
            Model.open(options.model),
            _like(served.index),
            draft=None if options.draft is None else Model.open(options.draft),
            beams=options.beams,
            vocabulary=vocabulary,
            begin_tokens=options.begin_tokens,
            normalization=options.normalize,
            max_prompt=self._prompts.most_positions,
            max_group=options.group,
            queue_requests=options.queue,
            lanes=options.lanes,
        )

    def ready(self, value: Any, served: Served) -> Asked:
        """Reads a request's body, which is asked of what is served now, and makes its rules a constraint."""
        question = read_question(value, served.info, self._options)
        prompts = [self._prompts.of(history) for history in _known(question.histories, served)]
        return Asked(question, served, _constraint(question, served), prompts)

    async def results(self, asked: Asked, seconds: float) -> list[Optional[Result]]:
        """Has the histories run side by side, each as a request that begins within so many seconds. If one fails, or
        the task is cancelled, the others are too."""
        futures: list[asyncio.Future[Optional[Result]]] = []
        try:
            for prompt in asked.prompts:
                futures.append(asyncio.wrap_future(self._run(prompt, asked.constraint, seconds)))
            return await asyncio.gather(*futures)
        finally:
            for future in futures:
                future.cancel()

    def _run(self, prompt: Any, constraint: Constraint, seconds: float) -> Future[Any]:
        if prompt is None:
            empty: Future[None] = Future()
            empty.set_result(None)
            return empty
        return self.runner.submit(prompt, constraint=constraint, deadline_us=max(int(seconds * 1e6), 1))

    def close(self) -> None:
        """Ends the histories that wait, and waits for those that run."""
        self.runner.close()


def answer(asked: Asked, results: Sequence[Optional[Result]]) -> bytes:
    """As JSON."""
    said: dict[str, Any] = {
        "version": asked.served.version,
        "results": [[] if result is None else _items(asked, result) for result in results],
    }
    if asked.question.exclude is not None:
        said["unknown_excluded"] = asked.constraint.info.unknown_excluded
    if asked.question.allow is not None:
        said["unknown_allowed"] = asked.constraint.info.unknown_allowed
    return encoded(said)


def _items(asked: Asked, result: Result) -> list[dict[str, Any]]:
    """The k best items, best first."""
    lists = result.find_item_rows(limit=asked.question.k)
    ids = asked.served.index.item_ids(lists.rows).tolist()
    ends = lists.offsets.tolist()
    scored = []
    for first, last, score in zip(ends, ends[1:], result.scores):
        if first < last:
            number = float(str(score))  # of 32 bits, which more digits would not make more exact
            scored += [{"id": id, "score": number} for id in ids[first:last]]
    return scored


def _known(histories: list[list[Any]], served: Served) -> list[list[list[int]]]:
    """The SIDs of histories: those of items that the index lacks are passed over. They may have been in an earlier one,
    or be in a later one."""
    ids = [item for history in histories for item in history if not isinstance(item, list)]
    sids = served.items.sids(ids)
    known, place = [], 0
    for history in histories:
        found: list[list[int]] = []
        for item in history:
            sid = item
            if not isinstance(item, list):
                sid = sids.get(place)
                place += 1
            if sid is not None:
                found.append(sid)
        known.append(found)
    return known


def _constraint(question: Question, served: Served) -> Constraint:
    if not question.rules:
        return served.constraint
    names = served.filters.named
    if question.filter is not None and question.filter not in names:
        expected = f"one of [{', '.join(sorted(names))}]"
        raise Refusal("invalid_argument", f"filter is {shown(question.filter)}, expected {expected}", "filter")
    try:
        filter = served.filters.get(question.filter, question.where)
    except InvalidArgument as error:
        raise Refusal("invalid_argument", f"where: {mistake_of(error)}", "where") from error
    return Constraint(served.index, filter=filter, exclude=question.exclude, allow=question.allow)


def _like(index: Index) -> Index:
    """An index of one SID and of the same shape, for the runner, which holds its own as long as it lives: it shall not
    keep the first one that is served. Each request names the one that it runs under."""
    info = index.info
    return Index.build(
        [[0] * info.levels],
        codes=info.codes,
        variable_length=info.variable_length,
        kinds=info.kinds,
        codebook=index.codebook or None,
    )
