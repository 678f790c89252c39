"""STATIC's table 3: items that no training sequence holds, found by decoding over an index of the newest items alone.

The data have no times. An item's age is where it appears first: in a training history, as a validation target, in a
test history, as a test target; within one of these by the place of its first row, which is arbitrary. Items that appear
nowhere have no age and are left out. The newest 2 % and 5 % are all unseen in training, so the models need not be
trained anew without them. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

import sidbeam
from data import Dataset
from world import World, draft, drafter_of, hits, ranks


def by_age(dataset: Dataset) -> tuple[np.ndarray, int]:
    """Numbers of SIDs, newest first, of those that appear; and how many of them no training history holds."""
    first: dict[int, tuple[int, int]] = {}
    for place, queries in ((0, dataset.train), (2, dataset.test)):
        rows = [(place, row, item) for row, query in enumerate(queries) for item in query.history]
        rows += [(place + 1, row, query.target) for row, query in enumerate(queries)]
        for place_of_it, row, item in rows:
            first.setdefault(item, (place_of_it, row))
    order = sorted(first, key=lambda item: first[item], reverse=True)
    return np.array(order), sum(place > 0 for place, _ in first.values())


def newest(dataset: Dataset, percent: int) -> np.ndarray:
    """Numbers of the newest SIDs, rising; none where training has seen some of them."""
    order, unseen = by_age(dataset)
    count = max(1, round(len(dataset.sids) * percent / 100))
    return np.sort(order[: count if count <= unseen else 0])


def cold(world: World) -> None:
    models = [model for model in world.models if model.name == "nezha"]
    for percent in (2, 5):
        members = newest(world.dataset, percent)
        queries = np.flatnonzero(np.isin(world.targets, members))
        if len(queries) == 0:
            print(f"{world.dataset.name}: no query for the newest {percent} %, or training has seen some: left out")
            continue
        targets, case = world.targets[queries], {"newest %": percent}
        world.say("cold_start", case, "cold SIDs", "SIDs", len(members))
        world.say("cold_start", case, "cold queries", "queries", len(queries))
        world.say("cold_start", case, "random of the newest", "share R@1", 1 / len(members))
        index = sidbeam.Index.build(world.dataset.sids[members], codes=world.dataset.codes)
        for model in models:
            drafter = drafter_of(world, model)
            alone = draft(world, drafter, min(world.beams, len(members)), "trie", queries, index)
            lists = {
                "unconstrained": draft(world, drafter, world.beams, "none", queries),
                "whole catalogue": draft(world, drafter, world.beams, "trie", queries),
                "newest alone": np.where(alone < 0, alone, members[alone]),
            }
            for name, found in lists.items():
                rank, of = ranks(found, targets), {**case, "seed": model.seed}
                for at in (1, 10):
                    world.say("cold_start", of, name, f"share R@{at}", hits(rank, at))
