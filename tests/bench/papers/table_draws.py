"""DISC on a trained model: Recall@10 of ten different SIDs drawn for each query, and the draws that they took, by K.

Beside it plain constrained draws (stochastic beam search under the masked, renormalised law: ten without replacement)
and beam search. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Callable

import numpy as np
import torch
from torch import Tensor

import sidbeam
from world import BATCH, Drafter, World, draft, drafter_of, hits, ndcg, ranks

RESULTS = 10
ROUNDS = (1, 2, 3, 4)  # K
SEED = 17


def logits_of(drafter: Drafter, hidden: Tensor) -> Callable[[np.ndarray], np.ndarray]:
    """What sidbeam.disc and Session.sample call: the head's logits [S, M, codes] after codes [S, M, level]."""
    head, tables = drafter.decoder.head, drafter.decoder.embeddings()

    @torch.no_grad()
    def logits(codes: np.ndarray) -> np.ndarray:
        level = codes.shape[2]
        state = hidden[:, :1].expand(-1, codes.shape[1], -1)
        for earlier in range(level):
            chosen = torch.from_numpy(codes[..., earlier].astype(np.int64)).clamp(min=0)
            state = head.advance(earlier, state, tables[earlier][chosen])
        return head.logits(level, hidden[:, level + 1 : level + 2], state).contiguous().numpy()

    return logits


def say(world: World, case: dict, name: str, found: np.ndarray, targets: np.ndarray) -> None:
    rank = ranks(found, targets)
    world.say("disc_recall", case, name, "share R@10", hits(rank, RESULTS))
    world.say("disc_recall", case, name, "share N@10", ndcg(rank, RESULTS))


def draws(world: World) -> None:
    of = world.first("nezha")
    if of is None:
        return
    drafter, targets = drafter_of(world, of), world.targets
    say(world, {}, "beam search", draft(world, drafter, RESULTS, "trie"), targets)
    plain, by_rounds = [], {rounds: [] for rounds in ROUNDS}
    for first in range(0, len(targets), BATCH):
        hidden = drafter.hidden[first : first + BATCH]
        logits, requests = logits_of(drafter, hidden), np.arange(first, first + len(hidden))
        shape = {"slots": len(hidden), "beams": RESULTS}
        with sidbeam.Session(world.index, mode="stochastic", normalization="valid", **shape) as session:
            plain.append(session.sample(logits, seed=SEED, requests=requests).ordinals)
        with sidbeam.Session(world.index, mode="sample", normalization="level", **shape) as session:
            for rounds, parts in by_rounds.items():
                parts.append(sidbeam.disc(session, logits, seed=SEED, requests=requests, results=RESULTS,
                                          rounds=rounds, without_replacement=True))
    say(world, {}, "plain constrained draws", np.concatenate(plain), targets)
    for rounds, parts in by_rounds.items():
        case = {"K": rounds}
        say(world, case, "DISC", np.concatenate([part.ordinals for part in parts]), targets)
        for unit, name in (("draws per query", "draws_used"), ("draws run per query", "rows_run")):
            counts = np.concatenate([getattr(part, name).sum(1) for part in parts])
            world.say("disc_recall", case, "DISC", unit, counts)
