"""What the tests of live catalogues in engines share: one that this process writes, or another, whose items are known
for each of its versions. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import contextlib
import gc
import json
import pathlib
import subprocess
import sys
import threading
from typing import Any, Iterator, Optional, Sequence

import numpy as np
import sidbeam

CODES, OFFSETS = [5, 5, 5], [10, 20, 30]
CHEAP = 5  # the price below which items are, under the name "cheap"
#: who writes: this process, in memory or in a folder, by the object that is followed; or another one
WHERE = ["memory", "folder", "another process"]
#: what becomes of the catalogue, one thing after another
HISTORY = ["publish", "publish", "compact", "publish", "back", "publish", "compact", "compact", "publish", "back"]

Items = dict[int, tuple[int, ...]]  # SIDs by id

_WRITER = """
import json, sys, sidbeam
with sidbeam.Catalog.open(sys.argv[1]) as catalog:
    print(json.dumps(catalog.info.version), flush=True)
    for line in sys.stdin:
        name, arguments, named = json.loads(line)
        print(json.dumps(getattr(catalog, name)(*arguments, **named)), flush=True)
"""


class _Elsewhere:
    """The methods of a Catalog that another process has opened to write."""

    def __init__(self, folder: pathlib.Path) -> None:
        command = [sys.executable, "-c", _WRITER, str(folder)]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._answer() == 1

    def _answer(self) -> Any:
        assert self._child.stdout is not None
        return json.loads(self._child.stdout.readline())

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            print(json.dumps([name, arguments, named]), file=self._child.stdin, flush=True)
            return self._answer()

        return call

    def close(self) -> None:
        self._child.communicate()


def price_of(item: int) -> int:
    return item % 10


class Live:
    """The catalogue ``given``, which whoever is tested follows; ``refresh`` has it look if another process writes."""

    def __init__(self, where: str, folder: pathlib.Path) -> None:
        self._rng = np.random.default_rng(5)
        self.items: dict[int, Items] = {1: self._drawn(range(100, 114))}
        self.version, self._next = 1, 200
        base = self.index(1)
        made = sidbeam.Catalog.create(base, None if where == "memory" else folder, keep_versions=64)
        self.given: Any = made
        self.writer: Any = made
        if where == "another process":
            made.close()
            self.given, self.writer = str(folder), _Elsewhere(folder)
        self.refresh: Any = lambda: None

    def _drawn(self, ids: Sequence[int]) -> Items:
        return {item: tuple(map(int, self._rng.integers(0, CODES))) for item in ids}

    def index(self, version: int) -> sidbeam.Index:
        """Of that version's items alone."""
        ids, sids = list(self.items[version]), list(self.items[version].values())
        return sidbeam.Index.build(sids, ids, codes=CODES, attributes={"price": [price_of(item) for item in ids]})

    def sids(self, version: int, kept: Optional[set[int]] = None) -> set[tuple[int, ...]]:
        """As tokens; those of some of its items."""
        of = self.items[version]
        return {tuple(o + c for o, c in zip(OFFSETS, of[item])) for item in of if kept is None or item in kept}

    def change(self, what: str) -> int:
        """Makes the next version: some items come, go or are another SID's; a new base; the items of long ago."""
        items = dict(self.items[self.version])
        if what == "publish":
            gone = [int(item) for item in self._rng.choice(sorted(items), 5, replace=False)]
            new = self._drawn([*range(self._next, self._next + 4), gone[0]])  # of which one moves
            self._next += 4
            self.writer.remove(gone)
            self.writer.add(list(new.values()), list(new), attributes={"price": [price_of(item) for item in new]})
            items = {item: sid for item, sid in items.items() if item not in gone} | new
            version = self.writer.publish()
        elif what == "compact":
            version = self.writer.compact()
        else:
            long_ago = max(1, self.version - 3)
            items, version = self.items[long_ago], self.writer.rollback(long_ago)
        assert version == self.version + 1
        self.version, self.items[version] = version, items
        self.refresh()
        return version

    def draw_rules(self, rng: np.random.Generator) -> tuple[dict[str, Any], set[int]]:
        """Rules of a request that begins now, which name items that are there, are gone and are not yet there; and the
        items that they leave."""
        kept = set(self.items[self.version])
        every = [*sorted({item for items in self.items.values() for item in items}), self._next, self._next + 1]
        pick = lambda share: [int(item) for item in every if rng.random() < share]  # noqa: E731
        asked: dict[str, Any] = {}
        if rng.random() < 0.5:
            asked["sidbeam_filter"] = "cheap"
            kept = {item for item in kept if price_of(item) < CHEAP}
        if rng.random() < 0.3:
            asked["sidbeam_where"] = "price!=1"
            kept = {item for item in kept if price_of(item) != 1}
        if rng.random() < 0.5:
            asked["sidbeam_exclude"] = pick(0.3)
            kept -= set(asked["sidbeam_exclude"])
        if rng.random() < 0.3:
            asked["sidbeam_allow"] = pick(0.7)
            kept &= set(asked["sidbeam_allow"])
        return asked, kept


@contextlib.contextmanager
def living(where: str, folder: pathlib.Path) -> Iterator[Live]:
    live = Live(where, folder / "live")
    try:
        yield live
    finally:
        live.writer.close()


def check_in_use(catalog: sidbeam.Catalog, expected: list[int]) -> None:
    """Waits until these are the versions that somebody besides the catalogue holds: a thread that follows another
    process may hold one for a moment."""
    pause = threading.Event()
    for _ in range(2400):
        gc.collect()
        held = [version.version for version in catalog.versions() if version.in_use]
        if held == expected:
            return
        pause.wait(0.05)
    raise AssertionError(f"expected versions {expected} in use, got {held}")
