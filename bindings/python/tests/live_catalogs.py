"""What the tests of live catalogues share. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator, Optional

import numpy as np
import pytest

import sidbeam
from sidbeam import Catalog

CODES = [6, 5, 4]
Key = tuple[tuple[int, ...], Any]
Pairs = dict[Key, tuple[int, Optional[int]]]  # by SID and id: priority and price


def drawn(count: int, seed: int) -> Pairs:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, CODES, (count, 3)), rng.integers(0, 60, count), rng.integers(0, 9, count)
    rows = zip(*(column.tolist() for column in columns))
    return {(tuple(sid), number): (0, price) for sid, number, price in rows}


def arguments(pairs: Pairs) -> dict[str, Any]:
    return {
        "sids": [sid for sid, _ in pairs],
        "ids": [number for _, number in pairs],
        "attributes": {"price": [price for _, price in pairs.values()]},
    }


def index_of(pairs: Pairs) -> sidbeam.Index:
    return sidbeam.Index.build(**arguments(pairs), priorities=[p for p, _ in pairs.values()], codes=CODES)


def recommended(index: sidbeam.Index, where: str = "") -> list[sidbeam.Recommendation]:
    constraint = sidbeam.Constraint(index, filter=index.filter(where)) if where else index
    vocabulary = sidbeam.Vocabulary([0, 0, 0], end_column=6) if index.info.variable_length else None
    session = sidbeam.Session(constraint, beams=16, vocabulary=vocabulary)
    session.start()
    rng = np.random.default_rng(5)
    for _ in CODES:
        session.step(np.broadcast_to(rng.normal(size=7).astype(np.float32), (16, 7)))
    return session.recommendations()[0]


def found(index: sidbeam.Index, where: str = "") -> list[tuple[float, tuple[int, ...], Any]]:
    """What a search finds, best first. Of a SID the base's items come before those that were added: here by id."""
    return sorted((-r.score, r.sid, r.item) for r in recommended(index, where))


def check(catalog: Catalog, pairs: Pairs) -> sidbeam.Index:
    """The newest version, which finds what an index of these pairs does."""
    index, expected = catalog.snapshot(), index_of(pairs)
    assert index.info.live_items == len(pairs) == catalog.info.items
    for where in ("", "price<5"):
        assert found(index, where) == found(expected, where)
    return index


BASE = drawn(50, 1)


@pytest.fixture(params=["memory", "folder"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    with Catalog.create(index_of(BASE), None if request.param == "memory" else tmp_path / "live") as made:
        yield made


def writes(folder: Path, **options: Any) -> Catalog:
    return Catalog.create(index_of(BASE), folder, **options)


RATE = 4_000_000
SLOW = RATE // 20  # for compactions that are cut short: one that is not ends within a minute or two, and fails its test


def slow(folder: Optional[Path]) -> Catalog:
    """Its compaction takes at least two seconds at 4 MB a second."""
    rng = np.random.default_rng(1)
    base = sidbeam.Index.build(rng.integers(0, 256, (1 << 18, 4), dtype=np.int32), codes=256)
    return Catalog.create(base, folder, sync="host")
