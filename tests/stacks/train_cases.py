"""A catalogue of 60 made-up items for the tests of samples/train, in which item i is followed by i + 1.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import pathlib

import numpy as np


def write(folder: pathlib.Path, codes: int) -> pathlib.Path:
    """Its files, with histories; returns the path of X.index.json. SIDs of three levels."""
    random = np.random.default_rng(7)
    numbers = np.sort(random.choice(codes**3, 60, replace=False))
    sids = [[int(n) // codes**2, int(n) // codes % codes, int(n) % codes] for n in numbers]
    index = folder / "X.index.json"
    index.write_text(
        json.dumps({str(i): [f"<{'abc'[l]}_{code}>" for l, code in enumerate(sid)] for i, sid in enumerate(sids)}))
    for kind, users in (("valid", 40), ("test", 20)):
        with open(folder / f"X.{kind}.jsonl", "w") as file:
            for user in range(users):
                first = random.integers(60)
                taken = [(first + step) % 60 for step in range(random.integers(3, 14))]
                for end in (len(taken) - 1, len(taken)):  # two windows, which overlap
                    row = [sids[i] for i in taken[max(0, end - 11) : end]]
                    print(json.dumps({"user": f"{kind}{user}", "history": row[:-1], "target": row[-1]}), file=file)
    return index
