"""Relaxed speculation in small, as a host with models of its own runs it: by sidbeam.relaxed_draw and relaxed_verify.

In the form of AtSpeed's released code: N different drafts, of which K are kept (include/sidbeam/speculate.h). A round
drafts at most --levels levels from the beams there are, never the last; the target is asked once for all of them; where
all beams that it keeps or draws again are drafts, the next level is verified, else the round ends. Without a draft the
target draws alone, level by level. sidbeam.Runner does the same by itself.

  python relaxed.py X.index.json --target build/target --draft build/draft --beams 1,3,5,10,20 --draft-beams 40

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass

import numpy as np
import torch

import sidbeam
from accepted import follow
from data import Dataset, Query, by_length, read
from evaluate import Trie
from export import load
from model import Decoder


@dataclass(frozen=True)
class Setting:
    beams: int = 10  # K
    draft_beams: int = 40  # N
    levels: int = 2  # most that are drafted in a round
    temperature: float = 1.0
    seed: int = 1


@dataclass
class Paths:
    """Beams of several queries, each [queries, beams, ...]; a node of -1 is no beam."""

    codes: np.ndarray  # [queries, beams, levels]
    nodes: np.ndarray  # of the trie
    target: np.ndarray  # log-probability of the whole path by the target
    draft: np.ndarray  # by the draft, counted on from the target's where the round began

    def of(self, queries: np.ndarray) -> Paths:
        return Paths(*(part[queries] for part in (self.codes, self.nodes, self.target, self.draft)))


@dataclass
class Counts:
    """[queries] each."""

    calls: np.ndarray  # of the target
    accepted: np.ndarray  # levels
    nodes: np.ndarray  # rows of logits that rounds ask of the target


def root(queries: int) -> Paths:
    zeros = np.zeros((queries, 1))
    return Paths(np.zeros((queries, 1, 0), np.int64), np.zeros((queries, 1), np.int64), zeros, zeros)


def extensions(trie: Trie, decoder: Decoder, histories: torch.Tensor, paths: Paths, scores: np.ndarray) -> np.ndarray:
    """[queries, beams, codes] f32: log-probability of each path by one code more; -inf where there is no such SID."""
    *_, (logits, _) = follow(decoder, histories, torch.from_numpy(paths.codes))
    children = trie.children[paths.codes.shape[2]].numpy()[paths.nodes]
    found = scores[..., None] + torch.log_softmax(logits, -1).numpy()
    return np.where((paths.nodes >= 0)[..., None] & (children >= 0), found, -np.inf).astype(np.float32)


def extended(trie: Trie, paths: Paths, chosen: np.ndarray, target: np.ndarray, draft: np.ndarray) -> Paths:
    """The paths of extensions `chosen` [queries, n], m * codes + code; -1: none. Log-probabilities are `target` and
    `draft` [queries, beams, codes]."""
    level, columns = paths.codes.shape[2], target.shape[2]
    there, parents, codes = chosen >= 0, np.maximum(chosen, 0) // columns, np.maximum(chosen, 0) % columns
    row = np.arange(len(chosen))[:, None]
    nodes = trie.children[level].numpy()[paths.nodes[row, parents], codes]
    path = np.concatenate([paths.codes[row, parents], codes[..., None]], -1)
    return Paths(path, np.where(there, nodes, -1), target[row, parents, codes], draft[row, parents, codes])


class Round:
    """Of queries at one level: what the draft wrote, and what both models say of it."""

    def __init__(self, trie: Trie, target: Decoder, draft: Decoder | None, histories: torch.Tensor, begin: Paths,
                 depth: int, setting: Setting, numbers: np.ndarray):
        self.trie, self.setting, self.numbers = trie, setting, numbers
        self.written, self.theirs, self.ours = [begin], [], []
        for step in range(depth + 1):
            paths = self.written[-1]
            self.theirs.append(extensions(trie, target, histories, paths, paths.target))
            if step == depth:
                break
            self.ours.append(extensions(trie, draft, histories, paths, paths.draft))
            level = begin.codes.shape[2] + step
            drawn = np.stack([self.draw(rows, setting.draft_beams, number, level)
                              for rows, number in zip(self.ours[-1], numbers)])
            self.written.append(extended(trie, paths, drawn, self.theirs[-1], self.ours[-1]))

    def draw(self, rows: np.ndarray, count: int, number: int, level: int) -> np.ndarray:
        return sidbeam.relaxed_draw(
            rows.ravel(), count, seed=self.setting.seed, request=int(number), level=level,
            inverse_temperature=1 / self.setting.temperature, without_replacement=True)

    def verify(self, query: int, step: int, kept: np.ndarray) -> sidbeam.RelaxedBeams:
        """Of the drafts whose parents are `kept`, numbers of the step's beams; extensions are of the kept ones."""
        theirs, ours = self.theirs[step][query, kept], self.ours[step][query, kept]
        codes, columns = self.written[step + 1].codes[query], theirs.shape[1]
        before = self.written[step]
        place = {tuple(path): m for m, (path, node)
                 in enumerate(zip(before.codes[query, kept].tolist(), before.nodes[query, kept])) if node >= 0}
        drafts = [place[tuple(path[:-1])] * columns + path[-1]
                  for path, node in zip(codes.tolist(), self.written[step + 1].nodes[query])
                  if node >= 0 and tuple(path[:-1]) in place]
        return sidbeam.relaxed_verify(
            theirs.ravel(), ours.ravel(), np.array(drafts, np.int64), self.setting.beams, seed=self.setting.seed,
            request=int(self.numbers[query]), level=codes.shape[1] - 1,
            inverse_temperature=1 / self.setting.temperature, without_replacement=True)

    def result(self, query: int) -> tuple[int, Paths]:
        """Accepted levels, and the query's beams after them and one level more."""
        kept, accepted = np.arange(self.written[0].nodes.shape[1]), 0
        for step, paths in enumerate(self.written):
            theirs = self.theirs[step][query][kept]
            last = step + 1 == len(self.written)
            chosen = (self.draw(theirs, self.setting.beams, self.numbers[query], paths.codes.shape[2]) if last
                      else self.verify(query, step, kept).extensions)
            one = Paths(paths.codes[query][None, kept], paths.nodes[query][None, kept], theirs[None], theirs[None])
            beams = extended(self.trie, one, chosen[None], theirs[None], theirs[None])
            live = [node for node in beams.nodes[0].tolist() if node >= 0]
            drafted = {} if last else {node: i for i, node in enumerate(self.written[step + 1].nodes[query].tolist())}
            if not live or not all(node in drafted for node in live):
                return accepted, beams
            accepted += 1
            kept = np.array([drafted[node] for node in live])
        raise AssertionError("the last step of a round never goes on")


@torch.no_grad()
def run(trie: Trie, target: Decoder, draft: Decoder | None, histories: torch.Tensor, numbers: np.ndarray,
        setting: Setting) -> tuple[np.ndarray, Counts]:
    """SIDs [queries, K] that were drawn, those that the target likes best first, -1 where there are no more, and what
    it took. Histories are of one length; `numbers` make the queries' draws different."""
    levels, queries = len(trie.children), len(histories)
    counts = Counts(*(np.zeros(queries, np.int64) for _ in range(3)))
    waiting = {0: (np.arange(queries), root(queries))}
    for level in range(levels):
        if level not in waiting:
            continue
        members, begin = waiting.pop(level)
        depth = min(setting.levels, levels - 1 - level) if draft is not None else 0
        made = Round(trie, target, draft, histories[torch.from_numpy(members)], begin, depth, setting, numbers[members])
        counts.calls[members] += 1
        counts.nodes[members] += sum((paths.nodes >= 0).sum(1) for paths in made.written)
        for i, member in enumerate(members):
            accepted, beams = made.result(i)
            counts.accepted[member] += accepted
            join(waiting, level + accepted + 1, member, beams)
    members, beams = waiting[levels]
    order = np.argsort(-np.where(beams.nodes >= 0, beams.target, -np.inf), axis=1, kind="stable")
    found = np.empty_like(beams.nodes)
    found[members] = np.take_along_axis(beams.nodes, order, 1)
    return found, counts


def join(waiting: dict, level: int, member: int, beams: Paths) -> None:
    """Adds a query's beams to those that wait at a level, where the scores of draft and target are alike again."""
    one = Paths(beams.codes, beams.nodes, beams.target, beams.target)
    if level not in waiting:
        waiting[level] = (np.array([member]), one)
        return
    members, others = waiting[level]
    parts = zip(*((p.codes, p.nodes, p.target, p.draft) for p in (others, one)))
    waiting[level] = (np.append(members, member), Paths(*(np.concatenate(pair) for pair in parts)))


def measure(dataset: Dataset, target: Decoder, draft: Decoder | None, setting: Setting, queries: list[Query]) -> dict:
    """Means over the queries, and the share whose target is among the K."""
    trie, totals, hits = Trie(dataset.sids, dataset.codes), np.zeros(3), 0
    for members in by_length([query.history for query in queries], 64):
        histories = torch.tensor([queries[i].history for i in members])
        found, counts = run(trie, target, draft, histories, members, setting)
        totals += [counts.accepted.sum(), counts.calls.sum(), counts.nodes.sum()]
        hits += int((found == np.array([queries[i].target for i in members])[:, None]).any(1).sum())
    accepted, calls, nodes = (totals / len(queries)).tolist()
    return {"beams": setting.beams, "draft_beams": setting.draft_beams, "temperature": setting.temperature,
            "accepted_levels": round(accepted, 4), "target_calls": round(calls, 4), "target_rows": round(nodes, 2),
            "recall": round(hits / len(queries), 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", help="X.index.json, beside X.valid.jsonl and X.test.jsonl")
    parser.add_argument("--target", required=True, help="folder that train.py wrote")
    parser.add_argument("--draft", help="folder that train.py or align.py wrote; without one the target draws alone")
    parser.add_argument("--codes", type=int, default=256, help="codes per level")
    parser.add_argument("--beams", default="1,3,5,10,20", help="K, several with commas")
    parser.add_argument("--draft-beams", type=int, default=40, help="N; K where that is more")
    parser.add_argument("--levels", type=int, default=2, help="most levels that are drafted in a round")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--queries", type=int, help="the first so many; all by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    dataset = read(args.index, args.codes)
    target, draft = load(args.target, dataset), load(args.draft, dataset) if args.draft else None
    for beams in map(int, args.beams.split(",")):
        setting = Setting(beams, max(beams, args.draft_beams), args.levels, args.temperature, args.seed)
        print(json.dumps(measure(dataset, target, draft, setting, dataset.test[: args.queries])), flush=True)


if __name__ == "__main__":
    main()
