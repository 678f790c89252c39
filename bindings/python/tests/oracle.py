"""Beam search over the list of SIDs in float64, written from session.h alone: slow, and right. It shares nothing with
the runtime. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Optional

import numpy as np


@dataclass
class Catalogue:
    """SIDs, codes of each level, and which column of a logits row a code has."""

    sids: list[tuple[int, ...]]
    codes: list[int]
    variable: bool = False
    offsets: Optional[list[int]] = None
    maps: Optional[list[Optional[list[int]]]] = None
    end_column: int = -1

    def __post_init__(self) -> None:
        # In order with the end as the code after all others.
        self.distinct = sorted(set(self.sids), key=lambda sid: (*sid, *self.codes[len(sid) : len(sid) + 1]))
        self.prefixes = {sid[:n] for sid in self.distinct for n in range(len(sid) + 1)}

    def column(self, level: int, code: int) -> int:
        if self.variable and code == self.codes[level]:
            return self.end_column
        if self.maps is not None and self.maps[level] is not None:
            return self.maps[level][code]
        return (self.offsets[level] if self.offsets else 0) + code

    def children(self, prefix: tuple[int, ...]) -> list[int]:
        """Codes that may follow, rising; the end is codes[level]."""
        if prefix not in self.prefixes or len(prefix) == len(self.codes):
            return []
        level = len(prefix)
        found = [code for code in range(self.codes[level]) if (*prefix, code) in self.prefixes]
        return found + ([self.codes[level]] if prefix in self.distinct and self.variable else [])

    def width(self) -> int:
        columns = [self.column(l, c) for l, count in enumerate(self.codes) for c in range(count)]
        return max([*columns, self.end_column]) + 1

    def log_probs(self, row: np.ndarray, prefix: tuple[int, ...], normalization: str) -> dict[int, float]:
        level = len(prefix)
        x = np.asarray(row, np.float64)
        valid = self.children(prefix)
        if not valid:
            return {}
        if normalization == "none":
            total = 0.0
        elif normalization == "full":
            total = log_sum_exp(x)
        elif normalization == "level":
            of_level = [self.column(level, c) for c in range(self.codes[level] + self.variable)]
            total = log_sum_exp(x[of_level])
        else:
            total = log_sum_exp(x[[self.column(level, t) for t in valid]])
        return {t: x[self.column(level, t)] - total for t in valid if x[self.column(level, t)] != -math.inf}


def log_sum_exp(x: np.ndarray) -> float:
    top = x.max(initial=-math.inf)
    return top if top == -math.inf else top + math.log(np.exp(x - top).sum())


@dataclass
class Beam:
    prefix: tuple[int, ...]
    score: float = 0.0
    ended: bool = False


@dataclass
class Search:
    """One slot. `candidates` gives those of a step, best first; the caller then says which beams to continue with."""

    catalogue: Catalogue
    width: int
    normalization: str
    beams: list[Beam] = field(default_factory=lambda: [Beam(())])

    def candidates(self, rows: np.ndarray) -> list[tuple[float, int, int]]:
        found = []
        for m, beam in enumerate(self.beams):
            if beam.ended:
                found.append((beam.score, m, -1))
                continue
            for token, log_prob in self.catalogue.log_probs(rows[m], beam.prefix, self.normalization).items():
                found.append((beam.score + log_prob, m, token))
        return sorted(found, key=lambda c: (-c[0], c[1], c[2]))

    def take(self, kept: list[tuple[float, int, int]]) -> None:
        after = []
        for score, parent, token in kept:
            old = self.beams[parent]
            if token < 0:
                after.append(Beam(old.prefix, score, True))
            elif (
                self.catalogue.variable
                and len(old.prefix) < len(self.catalogue.codes)
                and token == self.catalogue.codes[len(old.prefix)]
            ):
                after.append(Beam(old.prefix, score, True))
            else:
                after.append(Beam((*old.prefix, token), score))
        self.beams = after
