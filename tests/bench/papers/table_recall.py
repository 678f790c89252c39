"""Recall of NEZHA's form, alone and interpolated with transitions; and whether C++ returns the SIDs of PyTorch.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np
import torch

import evaluate
from walks import Transitions
from world import BATCH, Drafter, World, draft, drafter_of, search


def recall(world: World) -> None:
    """Per seed, as samples/train/evaluate.py counts it: PyTorch's search, 50 beams."""
    transitions = Transitions(world.dataset)
    for model in world.models:
        if model.name != "nezha":
            continue
        drafter = drafter_of(world, model)
        figures = evaluate.evaluate(world.dataset, transitions, drafter.decoder, world.beams)
        base = figures["transitions"]
        for name, figure in figures.items():
            case = {"seed": model.seed} if name != "transitions" else {}
            world.say("recall", case, name, "share R@10", figure.recall)
            world.say("recall", case, name, "share N@10", figure.ndcg)
            if figure is not base:
                world.say("recall", case, name, "wins", (figure.hits & ~base.hits).sum())
                world.say("recall", case, name, "losses", (base.hits & ~figure.hits).sum())
        same_sids(world, drafter)


@torch.no_grad()
def by_pytorch(world: World, drafter: Drafter) -> np.ndarray:
    """Ordinals [queries, beams] by PyTorch's own selection."""

    class FromHidden:  # what evaluate.search asks of a decoder
        decode = staticmethod(drafter.decoder.decode)
        prefill = staticmethod(drafter.decoder.write_first)

    trie = evaluate.Trie(world.dataset.sids, world.dataset.codes)
    parts = drafter.hidden.split(BATCH)
    return torch.cat([evaluate.search(trie, world.beams, FromHidden, part, None, 1.0) for part in parts]).numpy()


def same_sids(world: World, drafter: Drafter) -> None:
    """Over all test queries: whether the library's lists have PyTorch's SIDs, and in the same order; given PyTorch's
    logits (a session; they are equal as long as the beams are), and given its hidden states (the head's file)."""
    reference, case = by_pytorch(world, drafter), {"seed": drafter.of.seed, "M": world.beams}
    by_logits, scores = search(world, drafter, world.beams)
    by_states = draft(world, drafter, world.beams, "trie")
    for name, found in (("same logits", by_logits), ("same hidden states", by_states)):
        found = np.where(found < 0, -1, found)
        ordered = (found == reference).all(1)
        as_sets = (np.sort(found, 1) == np.sort(reference, 1)).all(1)
        world.say("same_sids", case, name, "queries", len(found))
        world.say("same_sids", case, name, "queries of other SIDs", (~as_sets).sum())
        world.say("same_sids", case, name, "queries in another order", (as_sets & ~ordered).sum())
        gap = swapped_gap(found, reference, scores)
        world.say("same_sids", case, name, "nats between SIDs that changed places", gap, "the most")


def swapped_gap(found: np.ndarray, reference: np.ndarray, score: np.ndarray) -> float:
    """The largest difference of scores [queries, beams] between the places that a SID has in the two lists."""
    largest = 0.0
    for query, place in np.argwhere(found != reference):
        other = np.flatnonzero(found[query] == reference[query, place])
        if len(other):
            largest = max(largest, abs(float(score[query, place] - score[query, other[0]])))
    return largest
