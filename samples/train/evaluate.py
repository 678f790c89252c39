"""Recall and NDCG of a decoder, of the transition model and of both interpolated, by beam search over the catalogue.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass

import numpy as np
import torch

from data import Dataset, by_length, read
from export import load
from model import Decoder
from walks import Transitions

AT = 10  # recommendations that count
SHARE = 0.7  # of the decoder in the interpolation


class Trie:
    """SIDs by prefix. Nodes of a level are numbered in rising order; the last level's are the SIDs."""

    def __init__(self, sids: np.ndarray, codes: int):
        levels = sids.shape[1]
        self.nodes = [np.zeros(len(sids), np.int64)]  # [level][SID] the node that it lies below
        self.children = []  # [level][nodes, codes] the next level's node, or -1
        for level in range(levels):
            starts = np.ones(len(sids), bool)
            starts[1:] = (sids[1:, : level + 1] != sids[:-1, : level + 1]).any(axis=1)
            node = np.cumsum(starts) - 1
            table = np.full((self.nodes[-1][-1] + 1, codes), -1)
            table[self.nodes[-1], sids[:, level]] = node
            self.children.append(torch.from_numpy(table))
            self.nodes.append(node)

    def masses(self, weights: np.ndarray) -> list[torch.Tensor]:
        """[level][queries, nodes]: the weights [queries, SIDs] summed below each node."""
        starts = [np.flatnonzero(np.diff(node, prepend=-1)) for node in self.nodes]
        return [torch.from_numpy(np.add.reduceat(weights, start, axis=1)) for start in starts]


def select(children: torch.Tensor, score: torch.Tensor, beams: int) -> tuple[torch.Tensor, ...]:
    """The best of `score` [queries, beams, codes] where `children` (of the same shape) has a node: parents, codes and
    nodes [queries, beams], -1 where there are no more, and their places in a query's scores."""
    order = score.masked_fill(children < 0, -torch.inf).flatten(1).sort(dim=1, descending=True, stable=True)
    best = order.indices[:, :beams]  # ties: parent, then code, rising
    nodes = children.flatten(1).gather(1, best).masked_fill(order.values[:, :beams] == -torch.inf, -1)
    return best // score.shape[2], best % score.shape[2], nodes, best


@torch.no_grad()
def search(trie: Trie, beams: int, decoder: Decoder | None, histories: torch.Tensor,
           masses: list[torch.Tensor] | None, share: float) -> torch.Tensor:
    """[queries, beams] numbers of SIDs, best first; -1 where there are no more.

    score(prefix) = log(share * P_decoder(prefix) + (1 - share) * P_transitions(prefix)), both joint over the codes.
    """
    queries = len(histories)
    node = torch.zeros(queries, 1, dtype=torch.int64)
    score, joint = torch.zeros(queries, 1, dtype=torch.float64), torch.zeros(queries, 1, dtype=torch.float64)
    codes = parents = None
    state = None
    for level, children in enumerate(trie.children):
        child = torch.where(node[..., None] >= 0, children[node], -1)  # [queries, beams, codes]
        score = joint[..., None].expand(child.shape)
        if decoder is not None:
            logits, state = decoder.prefill(histories) if level == 0 else decoder.decode(codes, parents, state)
            score = score + torch.log_softmax(logits, -1)
        following = score
        if share < 1:
            mass = masses[level + 1].gather(1, child.clamp(min=0).flatten(1)).view(child.shape)
            model = share * score.exp() if share > 0 else 0
            score = torch.log(model + (1 - share) * mass)
        parents, codes, node, best = select(child, score, beams)
        joint = following.flatten(1).gather(1, best)
    return node


@dataclass
class Figures:
    ranks: np.ndarray  # [queries] place of the target, from 0; AT where it is not among the first

    @property
    def hits(self) -> np.ndarray:
        return self.ranks < AT

    @property
    def recall(self) -> float:
        return float(self.hits.mean())

    @property
    def ndcg(self) -> float:
        return float(np.where(self.hits, 1 / np.log2(self.ranks + 2), 0).mean())


def evaluate(dataset: Dataset, transitions: Transitions, decoder: Decoder | None, beams: int = 50,
             limit: int | None = None) -> dict[str, Figures]:
    """Figures of "decoder", "transitions" and "interpolated" on the test queries (or the first `limit`)."""
    trie = Trie(dataset.sids, dataset.codes)
    queries = dataset.test[:limit]
    runs = {"transitions": (None, 0.0)}
    if decoder is not None:
        decoder.eval()
        runs = {"decoder": (decoder, 1.0), **runs, "interpolated": (decoder, SHARE)}
    ranks = {name: np.full(len(queries), AT) for name in runs}
    for members in by_length([query.history for query in queries], 64):
        histories = torch.tensor([queries[i].history for i in members])
        masses = trie.masses(np.stack([transitions.weigh(queries[i].history) for i in members]))
        targets = torch.tensor([queries[i].target for i in members])
        for name, (model, share) in runs.items():
            found = search(trie, beams, model, histories, masses, share)[:, :AT] == targets[:, None]
            ranks[name][members] = torch.where(found.any(1), found.int().argmax(1), AT).numpy()
    return {name: Figures(rank) for name, rank in ranks.items()}


def report(figures: dict[str, Figures]) -> dict:
    """What main() prints: figures to four places, wins and losses against the transitions, and their z."""
    base, table = figures["transitions"], {}
    for name, figure in figures.items():
        wins, losses = int((figure.hits & ~base.hits).sum()), int((base.hits & ~figure.hits).sum())
        table[name] = {"recall": round(figure.recall, 4), "ndcg": round(figure.ndcg, 4)}
        if figure is not base:
            table[name] |= {"wins": wins, "losses": losses,
                            "z": round((wins - losses) / math.sqrt(max(1, wins + losses)), 1)}
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", help="X.index.json, beside X.valid.jsonl and X.test.jsonl")
    parser.add_argument("--model", help="folder that train.py wrote; without it the transition model alone")
    parser.add_argument("--codes", type=int, default=256, help="codes per level")
    parser.add_argument("--beams", type=int, default=50)
    parser.add_argument("--queries", type=int, help="the first so many; all by default")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    dataset = read(args.index, args.codes)
    decoder = load(args.model, dataset) if args.model else None
    figures = evaluate(dataset, Transitions(dataset), decoder, args.beams, args.queries)
    for name, row in report(figures).items():
        print(json.dumps({"model": name, **row}))


if __name__ == "__main__":
    main()
