"""What a runner returns: results and statistics. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

import numpy as np

from . import _native, pages
from .errors import BadState
from .constraint import ConstraintLike, index_of
from .lookups import ItemLists, Lookups


@dataclasses.dataclass(frozen=True)
class Result:
    """What a request found: n SIDs, best first, at most its number of beams. Arrays of the caller's own."""

    sids: np.ndarray  #: int32 [n, L] codes; -1 past the end of a shorter SID
    scores: np.ndarray  #: float32 [n] log-probability
    ordinals: np.ndarray  #: int64 [n]; -1 where strategy "none" found no SID
    request: int  #: its number
    queued_us: int  #: microseconds that it waited
    run_us: int  #: and ran
    batch: int  #: requests that ran with it, itself included
    rounds: int  #: passes of the model; this and the rest: 0 without a draft, where it passes L times
    drafted_levels: int  #: that the draft wrote ahead
    accepted_levels: int  #: of these: passes saved
    draft_us: int  #: of ``run_us``, what drafting took: of the whole batch, which each request waits for
    constraint: ConstraintLike = dataclasses.field(repr=False)  #: that it ran under

    @property
    def item_rows(self) -> np.ndarray:
        """int64: the item rows of the SIDs, by SID, then priority, that the request's rules allow."""
        return self.constraint.item_rows_of(self.ordinals).rows

    @property
    def items(self) -> np.ndarray:
        """The ids of :attr:`item_rows`: int64, uint64, or str as objects. The index must be open."""
        return self._index.item_ids(self.item_rows)

    def find_items(
        self,
        *,
        limit_per_sid: int = 0,
        limit: int = 0,
        distinct: bool = False,
        cap: int = 0,
        cap_by: Optional[str] = None,
    ) -> np.ndarray:
        """The ids of items as :attr:`items` has them, at most `limit_per_sid` of one SID and `limit` of all (0: as many
        as there are); with ``distinct`` each item once, with the best SID that has it; with ``cap=2, cap_by="brand"``
        at most 2 of a brand, best first, as :meth:`Session.items` has it. :meth:`find_item_rows` says what was left
        out."""
        limits = {"limit_per_sid": limit_per_sid, "limit": limit, "distinct": distinct}
        return self._index.item_ids(self.find_item_rows(**limits, cap=cap, cap_by=cap_by).rows)

    def find_item_rows(self, **limits: Any) -> ItemLists:
        """The item rows of :meth:`find_items`, by SID, and whether the limits or the cap left any out."""
        return self.constraint.item_rows_of(self.ordinals, **limits)

    @property
    def _index(self) -> Lookups:
        index = index_of(self.constraint)
        if index is None:
            raise BadState("the request ran under a Constraint whose Index is gone, which knew the items")
        return index

    def to_pandas(self, *, distinct: bool = False) -> Any:
        """A ``pandas.DataFrame`` of a row per item, best first: ``item``, ``score``, ``sid``, ``ordinal`` and ``rank``
        of the SID, from 0; ``distinct`` as for :meth:`find_items`. Where the index is gone, a row per SID, without
        ``item``."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("a Result becomes a table by pandas: pip install pandas") from error
        ranks = np.arange(len(self))
        columns: dict[str, Any] = {}
        index = index_of(self.constraint)
        if index is not None:
            rows, offsets, *_ = self.constraint.item_rows_of(self.ordinals, distinct=distinct)
            ranks = np.repeat(ranks, np.diff(offsets))
            columns["item"] = index.item_ids(rows)
        sids = self._sids()
        columns |= {"score": self.scores[ranks], "sid": [sids[rank] for rank in ranks]}
        return pandas.DataFrame(columns | {"ordinal": self.ordinals[ranks], "rank": ranks})

    def _sids(self) -> list[tuple[int, ...]]:
        return [tuple(code for code in sid if code >= 0) for sid in self.sids.tolist()]

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        best = f", best {self._sids()[0]} at {self.scores[0]:.4g}" if len(self) else ""
        return (
            f"Result(request={self.request}, {len(self)} SIDs{best}, waited {self.queued_us} us, ran {self.run_us} us)"
        )

    def _repr_html_(self) -> str:
        best = float(self.scores[0]) if len(self) else 0.0
        shares = np.exp(np.minimum(self.scores - best, 0)).tolist()
        scores = [pages.Bar(score, share, f"{score:.4g}") for score, share in zip(self.scores.tolist(), shares)]
        rows = list(zip(range(len(self)), self._sids(), scores, self.ordinals.tolist(), self._names()))
        return pages.table(repr(self), ("rank", "SID", "score", "ordinal", "items"), rows)

    def _names(self) -> list[str]:
        """The items of each SID, a few, where they are known."""
        index = index_of(self.constraint)
        if index is None or index.closed or self.constraint.closed:
            return [""] * len(self)
        all_rows, offsets, *_ = self.constraint.item_rows_of(self.ordinals)
        rows = np.split(all_rows, offsets[1:-1]) if len(self) else []
        shown = [", ".join(map(str, index.item_ids(r[:3]).tolist())) for r in rows]
        return [f"{text}, .." if len(r) > 3 else text for text, r in zip(shown, rows)]


@dataclasses.dataclass(frozen=True)
class RunnerStats:
    """Counted since the runner's creation. Times are in microseconds; percentiles, of finished requests and to 4 %, are
    P50, P90, P99, P99.9."""

    lanes: int
    queued: int  #: requests that wait now
    running: int  #: and run now
    submitted: int  #: taken: each ends as one of the next four
    finished: int
    failed: int
    cancelled: int
    expired: int  #: their deadline had passed
    refused: int  #: :class:`QueueFull`; not among ``submitted``
    batches: int
    batch_requests: int
    batch_rows: int
    busy_us: int  #: of all lanes together
    up_us: int  #: since creation: lanes are used to ``busy_us / (up_us * lanes)``
    memory_bytes: int  #: that the runner holds, without the models
    rounds: int  #: this and the next five: 0 without a draft; the sums of the results' own
    round_levels: int  #: that rounds gained: ``round_levels - rounds`` passes of the model were saved
    drafted_levels: int
    accepted_levels: int
    nodes: int  #: rows of logits that rounds asked of the model
    draft_us: int  #: a batch's once per request of it, so that it may exceed ``busy_us``
    queued_us: tuple[int, ...]
    run_us: tuple[int, ...]
    total_us: tuple[int, ...]


def stats_from(numbers: np.ndarray) -> RunnerStats:
    values: dict[str, Any] = {}
    for field in dataclasses.fields(RunnerStats):
        place = getattr(_native, f"FLAT_RUNNER_STATS_{field.name.upper()}")
        several = field.name in ("queued_us", "run_us", "total_us")
        values[field.name] = tuple(numbers[place : place + 4].tolist()) if several else int(numbers[place])
    return RunnerStats(**values)


def result_from(numbers: np.ndarray, constraint: ConstraintLike) -> Result:
    live, levels = int(numbers[_native.FLAT_RESULT_LIVE]), int(numbers[_native.FLAT_RESULT_LEVELS])
    sids, scores = np.empty((live, levels), np.int32), np.empty(live, np.float32)
    ordinals = np.empty(live, np.int64)
    _native.flat_result_take(int(numbers[_native.FLAT_RESULT_NUMBER]), sids, scores, ordinals)
    names = [field.name for field in dataclasses.fields(Result)][3:-1]
    rest = {name: int(numbers[getattr(_native, f"FLAT_RESULT_{name.upper()}")]) for name in names}
    return Result(sids, scores, ordinals, **rest, constraint=constraint)
