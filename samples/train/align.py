"""Aligns a smaller draft with its target (AtSpeed), by the losses of sidbeam.align; it needs sidbeam's Python package.

The draft, which train.py made (form a or b), learns on: alpha * alignment + (1 - alpha) * recommendation, where
recommendation is the next item of a user's history, and alignment is along the target's K best SIDs after that history
(losses s, r and seq) or along the next item (word, tvd). --loss sft is recommendation alone.

  python align.py X.index.json --target build/target --draft build/sft --out build/draft --loss s

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

import data
from accepted import follow
from evaluate import Trie, search
from export import load, save
from model import Decoder
from sidbeam import align as losses
from train import Average, Recipe, optimizer_of
from walks import Transitions

LOSSES = ["sft", "word", "tvd", "seq", "s", "r"]


@dataclass(frozen=True)
class How:
    loss: str = "s"
    sids: int = 20  # K: of the target after a history
    columns: int = 20  # of a row that s and r look at
    density: bool = True  # AtSpeed-S's regularization
    constrained: bool = True  # over the catalogue's valid tokens alone
    top_k: bool = True  # along all K SIDs, not the target's best alone
    alpha: float = 0.5
    epochs: int = 6
    batch: int = 64
    rate: float = 1e-3
    walks: int = 1  # random walks for each real sequence, whose prefixes are histories too


def prefixes(dataset: data.Dataset, how: How, longest: int, random: np.random.Generator) -> list[data.Query]:
    """Every prefix of the users' sequences and of the walks, with the item that follows."""
    sequences = data.sequences(dataset.train)
    if how.walks:
        sequences = sequences + Transitions(dataset).walks(how.walks * len(sequences), 5, random).tolist()
    return [data.Query("", items[max(0, end - longest) : end], items[end])
            for items in sequences for end in range(1, len(items))]


def best_of(target: Decoder, trie: Trie, queries: list[data.Query], count: int) -> Tensor:
    """[queries, count] numbers of the target's best SIDs; -1 where there are no more."""
    found = torch.full((len(queries), count), -1)
    for members in data.by_length([query.history for query in queries], 64):
        histories = torch.tensor([queries[i].history for i in members])
        some = search(trie, count, target, histories, None, 1.0)
        found[torch.from_numpy(members), : some.shape[1]] = some
    return found


def valid_columns(trie: Trie, numbers: Tensor) -> Tensor:
    """bool [..., levels, columns]: what may follow the prefixes of SIDs; nothing where the number is -1."""
    rows = [children[torch.from_numpy(nodes)[numbers.clamp(min=0)]] >= 0
            for children, nodes in zip(trie.children, trie.nodes)]
    return torch.stack(rows, -2) & (numbers >= 0)[..., None, None]


def along(decoder: Decoder, histories: Tensor, codes: Tensor) -> Tensor:
    """Logits [B, SIDs, levels, columns] along SIDs, codes [B, SIDs, levels]."""
    return torch.stack([logits for logits, _ in follow(decoder, histories, codes[..., :-1])], 2)


def loss_of(how: How, draft: Tensor, target: Tensor, tokens: Tensor, valid: Tensor) -> Tensor:
    """Of rows [B, SIDs, levels]: the target's SIDs, best first, then the item that was taken."""
    taken = losses.seq_kd(draft[:, -1:], tokens[:, -1:])
    if how.loss == "sft":
        return taken
    if how.loss in ("word", "tvd"):
        loss = {"word": losses.word_kd, "tvd": losses.tvd_kd}[how.loss](draft[:, -1:], target[:, -1:])
        return how.alpha * loss + (1 - how.alpha) * taken
    among = slice(0, -1 if how.top_k else 1)
    options = {"top_k": how.columns, "valid": valid[:, among] if how.constrained else None}
    exist = (tokens[:, among] >= 0).float()
    if how.loss == "seq":
        loss = losses.seq_kd(draft[:, among], tokens[:, among])
    elif how.loss == "r":
        loss = losses.atspeed_r(draft[:, among], target[:, among], weights=exist, **options)
    else:
        kth = losses.kth_log_probs(target[:, :-1], tokens[:, :-1], valid[:, :-1] if how.constrained else None)
        loss = losses.atspeed_s(
            draft[:, among], target[:, among], kth, density=how.density, weights=exist, **options)
    return how.alpha * loss + (1 - how.alpha) * taken


def batches(queries: list[data.Query], size: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Numbers of the queries in a new order, those of one length together."""
    order = random.permutation(len(queries))
    made = [order[members] for members in data.by_length([queries[i].history for i in order], size)]
    for i in random.permutation(len(made)):
        yield made[i]


def align(dataset: data.Dataset, target: Decoder, draft: Decoder, how: How, seed: int,
          say: Callable[[str], None] = lambda line: None) -> Decoder:
    """The averaged weights of the draft, which is trained in place."""
    random = np.random.default_rng(seed)
    torch.manual_seed(seed)
    trie, sids = Trie(dataset.sids, dataset.codes), torch.from_numpy(dataset.sids)
    queries = prefixes(dataset, how, target.shape.max_items, random)
    numbers = torch.cat([best_of(target.eval(), trie, queries, how.sids),
                         torch.tensor([[query.target] for query in queries])], 1)
    recipe = Recipe(rate=how.rate, warmup=20, average=0.99)
    steps = how.epochs * sum(1 for _ in batches(queries, how.batch, np.random.default_rng(0)))
    optimizer, schedule = optimizer_of(draft.train(), recipe, steps)
    average = Average(draft, recipe.average)
    for number in range(how.epochs):
        total = 0.0
        for members in batches(queries, how.batch, random):
            histories = torch.tensor([queries[i].history for i in members])
            some = numbers[torch.from_numpy(members)]
            codes = sids[some.clamp(min=0)]
            with torch.no_grad():
                theirs = along(target, histories, codes)
            tokens = codes.masked_fill((some < 0)[..., None], -1)
            loss = loss_of(how, along(draft, histories, codes), theirs, tokens, valid_columns(trie, some))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(draft.parameters(), recipe.clip)
            optimizer.step()
            schedule.step()
            average.add(draft)
            total += loss.item() * len(members)
        say(f"epoch {number + 1}/{how.epochs}: loss {total / len(queries):.4f}")
    return average.decoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", help="X.index.json, beside X.valid.jsonl and X.test.jsonl")
    parser.add_argument("--target", required=True, help="folder that train.py wrote")
    parser.add_argument("--draft", required=True, help="likewise: what learning begins with")
    parser.add_argument("--out", required=True, help="folder for the aligned draft")
    parser.add_argument("--codes", type=int, default=256, help="codes per level")
    parser.add_argument("--loss", choices=LOSSES, default=How.loss)
    parser.add_argument("--sids", type=int, default=How.sids, help="K")
    parser.add_argument("--columns", type=int, default=How.columns, help="of a row, for s and r")
    parser.add_argument("--no-density", action="store_true", help="s without density regularization")
    parser.add_argument("--no-constrained", action="store_true", help="s and r over all codes of a level")
    parser.add_argument("--no-top-k", action="store_true", help="along the target's best SID alone")
    parser.add_argument("--alpha", type=float, default=How.alpha, help="share of the alignment in the loss")
    parser.add_argument("--epochs", type=int, default=How.epochs)
    parser.add_argument("--rate", type=float, default=How.rate)
    parser.add_argument("--walks", type=int, default=How.walks)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    dataset = data.read(args.index, args.codes)
    how = How(args.loss, args.sids, args.columns, not args.no_density, not args.no_constrained, not args.no_top_k,
              args.alpha, args.epochs, rate=args.rate, walks=args.walks)
    cpu = time.process_time()
    draft = align(dataset, load(args.target, dataset), load(args.draft, dataset), how, args.seed,
                  lambda line: print(line, flush=True))
    save(draft, args.out)
    print(json.dumps({"data": dataset.name, "loss": how.loss, "seed": args.seed,
                      "cpu_s": round(time.process_time() - cpu)}))


if __name__ == "__main__":
    main()
