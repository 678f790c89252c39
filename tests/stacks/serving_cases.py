"""What the tests of engine plugins share: catalogues that have broken other implementations, the brute force that says
what may follow a history, and the package's entry points. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import pathlib
import sys
import tomllib
from importlib import metadata
from typing import Any, Optional, Sequence

import numpy as np
import sidbeam
from sidbeam import serving

COLUMNS = 64
BEGIN, END, SID_END = 50, 51, 52
_root = pathlib.Path(__file__).resolve().parents[2]

Sids = list[tuple[int, ...]]

CATALOGUES: dict[str, Sids] = {
    # Each neighbouring pair of (0, 1, 4) is somewhere; the SID is not. A table of bigrams admits it.
    "bigrams": [(0, 1, 2), (3, 1, 4), (0, 2, 4), (3, 2, 2)],
    # Several items of one SID.
    "duplicates": [(1, 2, 3), (1, 2, 3), (1, 2, 3), (1, 0, 2), (2, 2, 3), (1, 0, 2)],
    # One SID, and so one way at each level.
    "single": [(2, 0, 1)],
    # As many levels as there were tokens in an earlier bug, and more than one catalogue has.
    "deep": [(0, 1, 0, 1, 0), (0, 1, 0, 1, 1), (1, 1, 1, 1, 1), (1, 0, 1, 0, 1)],
    # SIDs that are the beginnings of others; a short one ends with a token of its own.
    "variable": [(1,), (1, 2), (1, 2, 0), (0, 3, 1), (2, 0), (2, 0)],
}
OFFSETS = {
    "bigrams": [10, 20, 30],
    "duplicates": [0, 0, 0],
    "single": [3, 2, 1],
    "deep": [40, 40, 40, 40, 40],
    "variable": [53, 53, 53],
}


CHEAP = 3  # the price below which items are, under the name "cheap"


def id_of(item: int) -> int:
    return 100 + item


def name_catalogues() -> None:
    """Each twice: `NAME` begins with the first generated token, `NAME-tagged` after BEGIN. Item i has price i."""
    for name, sids in CATALOGUES.items():
        varies = name == "variable"
        ids, attributes = [id_of(item) for item in range(len(sids))], {"price": list(range(len(sids)))}
        shape = {"codes": [5] * len(OFFSETS[name]), "variable_length": varies}
        index = sidbeam.Index.build(sids, ids, attributes=attributes, **shape)
        vocabulary = sidbeam.Vocabulary(OFFSETS[name], end_column=SID_END if varies else -1)
        settings = {"vocabulary": vocabulary, "end": END, "filters": {"cheap": f"price<{CHEAP}"}, "max_listed": 8}
        serving.register(name, index, **settings)
        serving.register(f"{name}-tagged", index, begin=BEGIN, **settings)


def draw_rules(name: str, rng: np.random.Generator) -> tuple[dict[str, Any], set[int]]:
    """Rules as a request's arguments, and the items that they leave."""
    kept = set(range(len(CATALOGUES[name.removesuffix("-tagged")])))
    pick = lambda: {item for item in kept if rng.random() < 0.5}  # noqa: E731
    asked: dict[str, Any] = {}
    if rng.random() < 0.4:
        asked["sidbeam_filter"] = "cheap"
        kept &= set(range(CHEAP))
    if rng.random() < 0.4:
        asked["sidbeam_where"] = "price!=1"
        kept -= {1}
    if rng.random() < 0.4:
        asked["sidbeam_exclude"] = [*map(id_of, listed := pick()), 7]
        kept -= listed
    if rng.random() < 0.3:
        asked["sidbeam_allow"] = [*map(id_of, listed := pick())]
        kept &= listed
    return asked, kept


def token_sids(name: str, kept: Optional[set[int]] = None) -> set[tuple[int, ...]]:
    """The SIDs as tokens, the end's too where a SID needs one; those of some items."""
    name = name.removesuffix("-tagged")
    offsets, sids = OFFSETS[name], CATALOGUES[name]
    return {
        tuple(o + c for o, c in zip(offsets, sid)) + (SID_END,) * (len(sid) < len(offsets))
        for item, sid in enumerate(sids)
        if kept is None or item in kept
    }


def allowed_after(
    name: Optional[str], history: Sequence[int], prompt: int, kept: Optional[set[int]] = None
) -> Optional[set[int]]:
    """The tokens that may follow a history whose first `prompt` tokens are the prompt; None: any. `kept`: the items
    that rules leave."""
    if name is None:
        return None
    sids = token_sids(name, kept)
    tagged = name.endswith("-tagged")
    if tagged and BEGIN not in history:
        return None
    said = tuple(history[len(history) - list(reversed(history)).index(BEGIN) if tagged else prompt :])
    whole = SID_END in said if name.startswith("variable") else False
    if whole or len(said) >= len(OFFSETS[name.removesuffix("-tagged")]):
        return None if tagged else {END}
    return _followers(sids, said)


def _followers(sids: set[tuple[int, ...]], said: tuple[int, ...]) -> set[int]:
    return {sid[len(said)] for sid in sids if sid[: len(said)] == said} or {END}


def assert_row(before: np.ndarray, after: np.ndarray, allowed: Optional[set[int]]) -> None:
    """A row of logits is as it was where its tokens are allowed, and -inf elsewhere; END if nothing else is left."""
    expected = before.copy()
    if allowed is not None:
        expected[[c for c in range(len(before)) if c not in allowed]] = -np.inf
        if END in allowed or not np.isfinite(expected).any():
            expected[:] = -np.inf
            expected[END] = 0
    np.testing.assert_array_equal(after, expected)


def install_entry_points(folder: pathlib.Path) -> None:
    """What pip would have written of the package in the build tree, where this process finds it."""
    if not metadata.entry_points(group="vllm.logits_processors", name="sidbeam"):
        write_entry_points(folder)
        sys.path.insert(0, str(folder))


def write_entry_points(folder: pathlib.Path) -> None:
    project = tomllib.loads((_root / "bindings/python/pyproject.toml").read_text())["project"]
    info = folder / f"sidbeam-{sidbeam.__version__}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sidbeam\nVersion: {sidbeam.__version__}\n")
    lines = [
        f"[{group}]\n{name} = {target}\n" for group, e in project["entry-points"].items() for name, target in e.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
