"""The made-up catalogue of train_cases.py, some of whose items no training history holds.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import pathlib

import train_cases

UNSEEN = 6  # the last items


def write(folder: pathlib.Path, codes: int) -> pathlib.Path:
    """Its files; returns the path of X.index.json."""
    index = train_cases.write(folder, codes)
    catalogue = json.loads(index.read_text())
    unseen = [[int(code[3:-1]) for code in catalogue[str(item)]] for item in range(60 - UNSEEN, 60)]
    valid = folder / "X.valid.jsonl"
    rows = [json.loads(line) for line in valid.read_text().splitlines()]
    kept = [row for row in rows if not any(sid in unseen for sid in [*row["history"], row["target"]])]
    valid.write_text("".join(json.dumps(row) + "\n" for row in kept))
    return index
