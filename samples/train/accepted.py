"""Strict speculation in small: how many levels of a draft's beams a target accepts, and how often it is called.

As in include/sidbeam/speculate.h: the draft goes on from the target's beams by at most --levels levels, never to the
last one; a level is accepted if the draft's N beams hold all of the target's K; the target's own beams after the
accepted levels end the round. Its calls are one per round, against one per level in plain search. Both searches are
PyTorch's.

  python accepted.py X.index.json --target build/target --draft build/draft --beams 1,3,5,10,20 --draft-beams 40

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from data import Dataset, Query, by_length, read
from evaluate import Trie, select
from export import load
from model import Decoder


class Beams(NamedTuple):
    codes: Tensor  # [queries, beams, levels so far]
    nodes: Tensor  # [queries, beams] of the trie; -1: no beam
    scores: Tensor  # [queries, beams] log-probability

    @property
    def level(self) -> int:
        return self.codes.shape[2]


def root(queries: int) -> Beams:
    zeros = torch.zeros(queries, 1, dtype=torch.int64)
    return Beams(zeros[..., None][..., :0], zeros, zeros.double())


def follow(decoder: Decoder, histories: Tensor, codes: Tensor):
    """Yields logits [queries, beams, columns] and the state after 0, 1, ... of the codes [queries, beams, levels]."""
    logits, state = decoder.prefill(histories)
    beams = torch.arange(codes.shape[1]).expand(codes.shape[:2])
    yield logits.expand(*codes.shape[:2], -1), state
    for level in range(codes.shape[2]):
        parents = beams if level > 0 else torch.zeros_like(beams)  # the prompt is one row
        logits, state = decoder.decode(codes[..., level], parents, state)
        yield logits, state


@torch.no_grad()
def grow(trie: Trie, decoder: Decoder, histories: Tensor, width: int, begin: Beams, levels: int) -> list[Beams]:
    """The best beams after each of so many levels more; scores go on from those of `begin`."""
    *_, (logits, state) = follow(decoder, histories, begin.codes)
    grown = [begin]
    for level in range(begin.level, begin.level + levels):
        before = grown[-1]
        if len(grown) > 1:
            logits, state = decoder.decode(before.codes[..., -1], parents, state)
        children = torch.where(before.nodes[..., None] >= 0, trie.children[level][before.nodes], -1)
        score = before.scores[..., None] + torch.log_softmax(logits, -1)
        parents, codes, nodes, best = select(children, score, width)
        path = before.codes.gather(1, parents[..., None].expand(-1, -1, level))
        grown.append(Beams(torch.cat([path, codes[..., None]], -1), nodes, score.flatten(1).gather(1, best)))
    return grown[1:]


def held(target: Beams, draft: Beams) -> Tensor:
    """[queries] whether all beams of the target are among the draft's. Where the target has fewer than K, every prefix
    is a beam, and so the draft has fewer than N: -1 then matches -1."""
    return (target.nodes[:, :, None] == draft.nodes[:, None, :]).any(-1).all(-1)


@dataclass
class Counts:
    """[queries] each."""

    calls: Tensor  # of the target
    accepted: Tensor  # levels
    drafted: Tensor  # levels
    nodes: Tensor  # rows of logits that rounds ask of the target


def speculate(trie: Trie, target: Decoder, draft: Decoder, histories: Tensor, beams: int, draft_beams: int,
              draft_levels: int) -> Counts:
    queries, levels = len(histories), len(trie.children)
    begins = [root(queries)]
    begins += grow(trie, target, histories, beams, begins[0], levels)
    at = torch.zeros(queries, dtype=torch.int64)
    counts = Counts(*(torch.zeros_like(at) for _ in range(4)))
    for level in range(levels):
        there = at == level
        if not there.any():
            continue
        depth = min(draft_levels, levels - 1 - level)
        drafted = grow(trie, draft, histories, draft_beams, begins[level], depth)
        accepted, going = torch.zeros_like(at), torch.ones_like(there)
        for i, beams_of_draft in enumerate(drafted):
            going = going & held(begins[level + 1 + i], beams_of_draft)
            accepted += going
        counts.calls += there
        counts.accepted += accepted * there
        counts.drafted += depth * there
        counts.nodes += sum((of.nodes >= 0).sum(1) for of in (begins[level], *drafted)) * there
        at = torch.where(there, level + accepted + 1, at)
    return counts


def unseen(dataset: Dataset) -> list[Query]:
    """Prompts to choose settings by, which no training has seen: a user's last history in X.valid.jsonl and what he
    took then. There is nothing to be found after them."""
    last = {query.user: query for query in dataset.train}
    return [Query(user, query.history + [query.target], -1) for user, query in last.items()]


def measure(dataset: Dataset, target: Decoder, draft: Decoder, beams: int, draft_beams: int, draft_levels: int,
            queries: list[Query]) -> dict:
    """Means over the queries."""
    trie, parts = Trie(dataset.sids, dataset.codes), []
    for members in by_length([query.history for query in queries], 64):
        histories = torch.tensor([queries[i].history for i in members])
        counts = speculate(trie, target.eval(), draft.eval(), histories, beams, draft_beams, draft_levels)
        parts.append(torch.stack([counts.accepted, counts.drafted, counts.calls, counts.nodes]))
    accepted, drafted, calls, nodes = torch.cat(parts, 1).double().mean(1).tolist()
    return {"beams": beams, "draft_beams": draft_beams, "accepted_levels": round(accepted, 4),
            "drafted_levels": round(drafted, 4), "target_calls": round(calls, 4), "target_rows": round(nodes, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", help="X.index.json, beside X.valid.jsonl and X.test.jsonl")
    parser.add_argument("--target", required=True, help="folder that train.py wrote")
    parser.add_argument("--draft", required=True, help="folder that train.py or align.py wrote")
    parser.add_argument("--codes", type=int, default=256, help="codes per level")
    parser.add_argument("--beams", default="1,3,5,10,20", help="K, several with commas")
    parser.add_argument("--draft-beams", type=int, default=40, help="N; K where that is more")
    parser.add_argument("--levels", type=int, default=2, help="most levels that are drafted in a round")
    parser.add_argument("--queries", type=int, help="the first so many; all by default")
    parser.add_argument("--unseen", action="store_true", help="prompts to choose settings by, not those of the test")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    dataset = read(args.index, args.codes)
    target, draft = load(args.target, dataset), load(args.draft, dataset)
    queries = (unseen(dataset) if args.unseen else dataset.test)[: args.queries]
    for beams in map(int, args.beams.split(",")):
        wide = max(beams, args.draft_beams)
        print(json.dumps(measure(dataset, target, draft, beams, wide, args.levels, queries)), flush=True)


if __name__ == "__main__":
    main()
