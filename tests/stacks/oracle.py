"""How the tests of all serving stacks judge: brute force over the list of SIDs, on catalogues that have broken other
implementations. It shares nothing with the runtime. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re
import sys
from typing import Callable, Sequence

import numpy as np

_root = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("sidbeam_oracle", _root / "bindings/python/tests/oracle.py")
_module = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _module  # dataclasses look their module up
_spec.loader.exec_module(_module)
Catalogue, Search, Beam, log_sum_exp = _module.Catalogue, _module.Search, _module.Beam, _module.log_sum_exp

Prefix = tuple[int, ...]

# Every pair of neighbours of (0, 1, 4) is somewhere in the catalogue, the SID itself is not: a bigram table admits it.
BIGRAM_TRAP = Catalogue([(0, 1, 2), (3, 1, 4), (0, 2, 4), (3, 2, 2)], [5, 5, 5])
# Several items of one SID.
DUPLICATES = Catalogue([(1, 2, 3), (1, 2, 3), (1, 2, 3), (1, 0, 2), (2, 2, 3), (1, 0, 2)], [4, 4, 4])
# SIDs that are prefixes of others.
VARIABLE = Catalogue([(1,), (1, 2), (1, 2, 0), (0, 3, 1), (2, 0)], [4, 4, 4], variable=True, end_column=15)


def random_catalogue(rng: np.random.Generator, count: int, codes: Sequence[int], offsets: Sequence[int] | None = None):
    sids = np.stack([rng.integers(0, c, count) for c in codes], axis=1)
    return Catalogue(
        [tuple(sid) for sid in sids.tolist()], list(codes), offsets=None if offsets is None else list(offsets)
    )


def real_catalogue(name: str = "Office_Products", limit: int | None = None) -> tuple[list[Prefix], str]:
    """SIDs of a real catalogue, and whether they are real: without ../shared/data they are made up in the same
    shape."""
    path = _root.parent / "shared/data/minionerec" / f"{name}.index.json"
    for folder in (_root, *_root.parents):
        if (folder / "shared/data/minionerec").is_dir():
            path = folder / "shared/data/minionerec" / f"{name}.index.json"
    if path.exists():
        sids = [
            tuple(int(re.search(r"\d+", token)[0]) for token in sid) for sid in json.loads(path.read_text()).values()
        ]
        return sids[:limit], f"{name} of MiniOneRec"
    rng = np.random.default_rng(5)
    return random_catalogue(rng, limit or 3459, (256, 256, 256)).sids, "made up (no ../shared/data)"


def masked(catalogue: Catalogue, row: np.ndarray, prefix: Prefix) -> np.ndarray:
    """The row with -inf wherever no SID goes on from the prefix."""
    out = np.full_like(row, -np.inf)
    columns = [catalogue.column(len(prefix), code) for code in catalogue.children(prefix)]
    out[columns] = row[columns]
    return out


def beam_search(
    catalogue: Catalogue,
    rows_of: Callable[[list[Prefix]], np.ndarray],
    width: int,
    normalization: str = "full",
    steps: int | None = None,
) -> list[Beam]:
    """The best `width` SIDs by exact beam search; rows_of gives the logits [n, V] after prefixes of codes."""
    search = Search(catalogue, width, normalization)
    for _ in range(len(catalogue.codes) if steps is None else steps):
        rows = rows_of([beam.prefix for beam in search.beams])
        search.take(search.candidates(np.asarray(rows, np.float64))[:width])
    return search.beams
