"""NEZHA's tables 3 and 4: hits and NDCG of its form, its ablations, multi-token prediction, and the model that writes
code by code, under each verification; and the share of results that exist.

Beams that do not exist keep their places in a list: a caller who does not verify shows them.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

from export import load
from models import Trained
from world import World, draft, drafter_of, hits, ndcg, ranks, runner_of, tokens_of

VERIFICATIONS = ("none", "hash", "trie")
STRATEGIES = {"none": "none", "hash": "hash_final", "trie": "trie"}  # the same of a search by the runner


def count(world: World, of: Trained, verification: str, found: np.ndarray) -> None:
    """found [queries, M]: -1 invalid, -2 none."""
    case, rank = {"seed": of.seed, "verification": verification, "M": found.shape[1]}, ranks(found, world.targets)
    for at in (5, 10):
        world.say("nezha", case, of.name, f"share H@{at}", hits(rank, at))
        world.say("nezha", case, of.name, f"share N@{at}", ndcg(rank, at))
    given = found >= -1
    world.say("nezha", case, of.name, "share valid", (found >= 0).sum() / found.size, "of the M asked for")
    world.say("nezha", case, of.name, "share valid of those given", (found >= 0).sum() / max(1, given.sum()))


def code_by_code(world: World, of: Trained, verification: str, beams: int) -> np.ndarray:
    decoder = load(of.folder, world.dataset)
    found = np.full((len(world.dataset.test), beams), -2, np.int64)
    with runner_of(world, of, decoder, beams, STRATEGIES[verification]) as runner:
        for row, query in zip(found, world.dataset.test):
            ordinals = runner.run(tokens_of(decoder.shape, world.dataset.sids, query.history)).ordinals
            row[: len(ordinals)] = ordinals
    return found


def nezha(world: World) -> None:
    for model in world.models:
        if model.name == "code_by_code":
            for verification in VERIFICATIONS:
                count(world, model, verification, code_by_code(world, model, verification, world.beams))
            continue
        drafter = drafter_of(world, model)
        for verification in VERIFICATIONS:
            count(world, model, verification, draft(world, drafter, world.beams, verification))
