"""The transition model of samples/recommend/model.cc, and random walks drawn from it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

from data import Dataset

RECENT = 5  # items of a history that count
DECAY = 0.7  # weight of an item against the one after it
BACKWARDS = 0.5  # weight of a transition in the other direction
NEIGHBOURS = 0.3  # items that share all codes but the last
POPULARITY = 0.5  # any item, by how often it is taken
UNSEEN = 0.1  # an item that nobody took counts as taken this often


class Transitions:
    """What is taken after what, from the histories of dataset.train; targets stay unseen."""

    def __init__(self, dataset: Dataset):
        size = len(dataset.sids)
        taken, near = np.full(size, UNSEEN), np.zeros((size, size))
        seen = set()  # a user's pair counts once: his histories overlap from query to query
        for query in dataset.train:
            for i, item in enumerate(query.history):
                if (query.user, item) not in seen:
                    seen.add((query.user, item))
                    taken[item] += 1
                for distance, later in enumerate(query.history[i + 1 :], 1):
                    if (query.user, item, later) in seen or (item == later and distance > 1):
                        continue
                    seen.add((query.user, item, later))
                    near[item, later] += 1 / distance
                    if item != later:
                        near[later, item] += BACKWARDS / distance
        self.popularity = taken / taken.sum()
        self.after = near / (1 + near.sum(axis=1, keepdims=True))  # an item that was seen once is not certain
        group = np.unique(dataset.sids[:, :-1], axis=0, return_inverse=True)[1].reshape(-1)
        self.after += NEIGHBOURS * np.where(
            group[:, None] == group, self.popularity / np.bincount(group, self.popularity)[group][:, None], 0)

    def weigh(self, history: list[int]) -> np.ndarray:
        """Probability of every SID after a history."""
        weights = POPULARITY * self.popularity
        for back, item in enumerate(history[: -RECENT - 1 : -1]):
            weights = weights + DECAY**back * self.after[item]
        return weights / weights.sum()

    def walks(self, count: int, length: int, random: np.random.Generator) -> np.ndarray:
        """[count, length]: the first item is any, each next one drawn by the last alone."""
        if not hasattr(self, "_cumulative"):
            self._cumulative = np.cumsum(self.after + POPULARITY * self.popularity, axis=1)
        walks = np.empty((count, length), np.int64)
        walks[:, 0] = random.integers(len(self.popularity), size=count)
        for step in range(1, length):
            rows = self._cumulative[walks[:, step - 1]]
            drawn = random.random(count)[:, None] * rows[:, -1:]
            walks[:, step] = np.minimum((rows <= drawn).sum(axis=1), rows.shape[1] - 1)
        return walks
