"""A cost model of a request: what its passes and rows take, fitted to measured times, and what follows from it.

    time = start + call * (calls of the target - 1) + row * rows of the target
           [+ draft_start + draft_call * (calls of the draft - 1) + draft_row * rows of the draft]

`start` is the pass that reads the prompt. A call costs what does not depend on its rows: reading weights, selection,
the runner's own work; a row its products, attention and part of a step.
SPDX-License-Identifier: Apache-2.0
"""
from dataclasses import dataclass

import numpy as np

NAMES = ("start", "call", "row", "draft_start", "draft_call", "draft_row")


@dataclass(frozen=True)
class Work:
    """Means over the requests of a case; 0 draft calls: none."""

    target_calls: float
    target_rows: float
    draft_calls: float = 0.0
    draft_rows: float = 0.0

    def features(self) -> list[float]:
        draft = [1.0, self.draft_calls - 1, self.draft_rows] if self.draft_calls else [0.0] * 3
        return [1.0, self.target_calls - 1, self.target_rows, *draft]


def least_squares(rows: np.ndarray, values: np.ndarray, rounds: int = 20000) -> np.ndarray:
    """Of rows @ x = values with x >= 0, by coordinates: the problem is convex and has six of them."""
    x, left = np.zeros(rows.shape[1]), values.copy()
    norms = np.maximum((rows**2).sum(0), 1e-300)
    for _ in range(rounds):
        for i in range(len(x)):
            new = max(0.0, x[i] + rows[:, i] @ left / norms[i])
            left -= rows[:, i] * (new - x[i])
            x[i] = new
    return x


def fit(works: list[Work], times: list[float]) -> dict[str, float]:
    """Coefficients, in the unit of the times, with the least sum of squared relative errors."""
    rows, values = np.array([work.features() for work in works]), np.array(times)
    scale = np.maximum(rows.max(0), 1e-300)
    found = least_squares(rows / scale / values[:, None], np.ones(len(values))) / scale
    return dict(zip(NAMES, found.tolist()))


def predicted(cost: dict[str, float], work: Work) -> float:
    return float(np.dot([cost[name] for name in NAMES], work.features()))


def needed(cost: dict[str, float], ratio: float, beams: int, draft_beams: int, levels: int) -> float:
    """Accepted levels from which a round trip through a draft is no slower than plain search, where the draft takes
    `ratio` of what the target would take for the same passes and rows. One round's rows are counted: a second one is
    what a rejection costs, and has its own call."""
    drafted = levels - 1
    draft = ratio * (cost["start"] + cost["call"] * (drafted - 1) + cost["row"] * draft_beams * (drafted - 1))
    more = cost["row"] * (draft_beams - beams) * drafted
    return (draft + more) / cost["call"] if cost["call"] > 0 else float("inf")
