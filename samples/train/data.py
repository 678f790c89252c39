"""A catalogue of Semantic IDs and the histories of its users, as the samples read them (samples/recommend/dataset.h).

SIDs are given by their number: their place among the catalogue's distinct SIDs in rising order.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Query:
    user: str
    history: list[int]  # oldest first
    target: int  # what the user took next


@dataclass(frozen=True)
class Dataset:
    name: str
    sids: np.ndarray  # [SIDs, levels] int64, distinct, rising
    codes: int  # of each level: a model has columns for all of them, used or not
    train: list[Query]  # of these the histories alone are learnt from
    test: list[Query]

    @property
    def levels(self) -> int:
        return self.sids.shape[1]


def read(index: str | pathlib.Path, codes: int) -> Dataset:
    """Reads X.index.json, X.valid.jsonl (to learn from) and X.test.jsonl."""
    stem = str(index).removesuffix(".index.json")
    catalogue = json.loads(pathlib.Path(index).read_text())
    sids = sorted({tuple(int(re.fullmatch(r"<\w+_(\d+)>", code)[1]) for code in sid) for sid in catalogue.values()})
    numbers = {sid: number for number, sid in enumerate(sids)}
    if (largest := max(map(max, sids))) >= codes:
        raise ValueError(f"{index}: code {largest}, but only {codes} codes per level were asked for")

    def queries(kind: str) -> list[Query]:
        with open(f"{stem}.{kind}.jsonl") as file:
            lines = [json.loads(line) for line in file]
        return [
            Query(line["user"], [numbers[tuple(sid)] for sid in line["history"]], numbers[tuple(line["target"])])
            for line in lines
        ]

    return Dataset(pathlib.Path(stem).name, np.array(sids), codes, queries("valid"), queries("test"))


def sequences(queries: list[Query]) -> list[list[int]]:
    """One sequence per user: his histories, which overlap from query to query, put together. No target is added."""
    merged: dict[str, list[int]] = {}
    for query in queries:
        taken = merged.setdefault(query.user, [])
        overlap = next(k for k in range(min(len(taken), len(query.history)), -1, -1)
                       if taken[len(taken) - k:] == query.history[:k])
        taken += query.history[overlap:]
    return list(merged.values())


def by_length(histories: list[list[int]], batch: int) -> Iterator[np.ndarray]:
    """Numbers of the histories in batches of one length each, so that nothing is padded."""
    lengths = np.array([len(history) for history in histories])
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        for first in range(0, len(members), batch):
            yield members[first : first + batch]
