"""A cost model of a request: what its passes and rows take, fitted to measured times, and what follows from it.

    time = start + call * more + row * max(0, rows of the target - free * more)        more: calls of the target - 1
           [+ draft_start + draft_call * (calls of the draft - 1) + draft_row * rows of the draft]

`start` is the pass that reads the prompt. A call costs what does not depend on its rows: reading weights, selection,
the runner's own work; a row its products, attention and part of a step, except for the first `free` rows of a call,
which are computed while the weights are read. (Without `free` a target whose weights are beyond the second-level cache
was up to 17 % off: a call of one row took what one of five does.)
SPDX-License-Identifier: Apache-2.0
"""
import itertools
from dataclasses import dataclass

import numpy as np

NAMES = ("start", "call", "row", "draft_start", "draft_call", "draft_row")
MOST_FREE = 8  # rows of a call


@dataclass(frozen=True)
class Work:
    """Means over the requests of a case; 0 draft calls: none."""

    target_calls: float
    target_rows: float
    draft_calls: float = 0.0
    draft_rows: float = 0.0

    def features(self, free: float) -> list[float]:
        more = self.target_calls - 1
        draft = [1.0, self.draft_calls - 1, self.draft_rows] if self.draft_calls else [0.0] * 3
        return [1.0, more, max(0.0, self.target_rows - free * more), *draft]


def least_squares(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Of rows @ x = values with x >= 0: of all sets of columns the best whose own solution is not below 0 anywhere."""
    n, best = rows.shape[1], (float(values @ values), np.zeros(rows.shape[1]))
    for size in range(1, n + 1):
        for columns in itertools.combinations(range(n), size):
            found = np.linalg.lstsq(rows[:, columns], values, rcond=None)[0]
            left = values - rows[:, columns] @ found
            if found.min() >= 0 and left @ left < best[0]:
                x = np.zeros(n)
                x[list(columns)] = found
                best = float(left @ left), x
    return best[1]


def fit(works: list[Work], times: list[float]) -> dict[str, float]:
    """Coefficients, in the unit of the times, and `free`, with the least sum of squared relative errors."""
    values, best = np.array(times), (np.inf, {})
    for free in range(1, MOST_FREE + 1):  # no call is without a row, so that 0 and 1 are the same
        rows = np.array([work.features(free) for work in works])
        scale = np.maximum(rows.max(0), 1e-300)
        found = least_squares(rows / scale / values[:, None], np.ones(len(values))) / scale
        error = float((((rows @ found) / values - 1) ** 2).sum())
        if error < best[0]:
            best = error, {**dict(zip(NAMES, found.tolist())), "free": float(free)}
    return best[1]


def predicted(cost: dict[str, float], work: Work) -> float:
    return float(np.dot([cost[name] for name in NAMES], work.features(cost["free"])))


def worst_error(cost: dict[str, float], works: list[Work], times: list[float]) -> float:
    """The largest share by which a prediction is off."""
    return max(abs(predicted(cost, work) / time - 1) for work, time in zip(works, times))


def needed(cost: dict[str, float], ratio: float, beams: int, draft_beams: int, levels: int) -> float:
    """Accepted levels from which a round trip through a draft is no slower than plain search, where the draft takes
    `ratio` of what the target would take for the same passes and rows. One round's rows are counted: a second one is
    what a rejection costs, and has its own call."""
    drafted, rows = levels - 1, 1 + beams * (levels - 1)
    draft = ratio * (cost["start"] + cost["call"] * (drafted - 1) + cost["row"] * draft_beams * (drafted - 1))
    plain = predicted(cost, Work(levels, rows))
    rejected = predicted(cost, Work(levels, rows + (draft_beams - beams) * drafted)) + draft
    saved = cost["call"] - cost["row"] * cost["free"]  # of an accepted level, whose rows are computed all the same
    return (rejected - plain) / saved if saved > 0 else float("inf")
