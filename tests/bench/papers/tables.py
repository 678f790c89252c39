"""The papers' tables in small: measures those asked for, of the models that models.py trained, and appends the
measurements to a file of lines (measurements.py). A table without its model is left out, which is said.

    python tables.py DATA/X.index.json ... --models FOLDER --json LINES [--tables recall,cold_start]

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import time

import torch

import paths  # before those that it finds
import models
from table_cold import cold
from table_draws import draws
from table_equal import equal
from table_lost import lost
from table_nezha import nezha
from table_recall import recall
from table_time import times
from world import open_world

TABLES = {"recall": recall, "nezha": nezha, "nezha_time": times, "cold_start": cold, "disc_recall": draws,
          "lost_items": lost, "recall_time": equal}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", nargs="+", help="X.index.json, beside X.valid.jsonl and X.test.jsonl")
    parser.add_argument("--models", required=True, help="folder that models.py filled")
    parser.add_argument("--json", required=True, help="file of lines to append to")
    parser.add_argument("--tables", default=",".join(TABLES), help="all by default")
    parser.add_argument("--codes", type=int, default=256, help="codes per level")
    parser.add_argument("--beams", type=int, default=50)
    parser.add_argument("--queries", type=int, help="the first so many; all by default")
    parser.add_argument("--timed", type=int, default=100, help="requests whose time is taken")
    args = parser.parse_args()
    if unknown := set(args.tables.split(",")) - set(TABLES):
        parser.error(f"--tables: expected some of {', '.join(TABLES)}, got {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    for index in args.index:
        world = open_world(index, args.models, args.json, args.codes, args.queries, args.beams, args.timed)
        there = {model.name for model in world.models}
        for name in [name for name in models.SETTINGS if name not in there]:
            print(f"{world.dataset.name}: no model {name}, its rows are left out", flush=True)
        for name in args.tables.split(","):
            begin = time.process_time()
            TABLES[name](world)
            print(f"{world.dataset.name}: {name}, {time.process_time() - begin:.0f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
