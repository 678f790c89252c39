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
import math
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
    form: str = "released"  # of AtSpeed-S, as sidbeam.align has them
    density: bool = True  # AtSpeed-S's regularization
    constrained: bool = True  # over the catalogue's valid tokens alone
    top_k: bool = True  # along all K SIDs, not the target's best alone
    mixed: float = 1.0  # lambda: share of the target in the distribution whose K best SIDs are learnt along
    alpha: float = 0.5
    epochs: int = 6
    batch: int = 64
    rate: float = 1e-3
    dropout: float = 0.0  # a draft is too small to learn by heart
    walks: int = 1  # random walks for each real sequence, whose prefixes are histories too
    histories: int | None = None  # so many of them, drawn at random; None: all


def prefixes(dataset: data.Dataset, how: How, longest: int, random: np.random.Generator) -> list[data.Query]:
    """Every prefix of the users' sequences and of the walks, with the item that follows."""
    sequences = data.sequences(dataset.train)
    if how.walks:
        sequences = sequences + Transitions(dataset).walks(how.walks * len(sequences), 5, random).tolist()
    found = [data.Query("", items[max(0, end - longest) : end], items[end])
             for items in sequences for end in range(1, len(items))]
    if how.histories is None or how.histories >= len(found):
        return found
    return [found[i] for i in np.sort(random.choice(len(found), how.histories, replace=False))]


class Mixture:
    """What beam search asks of a decoder, of the codes' probabilities by two of them, mixed."""

    def __init__(self, first: Decoder, second: Decoder, share: float):
        self.decoders, self.shares = (first, second), (share, 1 - share)

    def mix(self, found: list[tuple[Tensor, object]]) -> tuple[Tensor, list[object]]:
        logs = [torch.log_softmax(logits, -1) + math.log(share) for (logits, _), share in zip(found, self.shares)]
        return torch.logaddexp(*logs), [state for _, state in found]

    def prefill(self, items: Tensor):
        return self.mix([decoder.prefill(items) for decoder in self.decoders])

    def decode(self, codes: Tensor, parents: Tensor, states):
        return self.mix([decoder.decode(codes, parents, state) for decoder, state in zip(self.decoders, states)])


def best_of(target: Decoder | Mixture, trie: Trie, queries: list[data.Query], count: int) -> Tensor:
    """[queries, count] numbers of the target's best SIDs; -1 where there are no more."""
    found = torch.full((len(queries), count), -1)
    for members in data.by_length([query.history for query in queries], 64):
        histories = torch.tensor([queries[i].history for i in members])
        some = search(trie, count, target, histories, None, 1.0)
        found[torch.from_numpy(members), : some.shape[1]] = some
    return found


@dataclass
class Lessons:
    """What every loss needs of the target, which is run once however many drafts learn from it."""

    queries: list[data.Query]
    numbers: Tensor  # [queries, K + 1] SIDs: the target's K best, -1 where there are fewer, then the one that was taken
    logits: Tensor  # [queries, K + 1, levels, codes] f16, of the target along them

    def codes(self, sids: Tensor, members: np.ndarray, rows: slice) -> tuple[Tensor, Tensor]:
        """The numbers and codes [B, rows, levels] of some queries' SIDs."""
        some = self.numbers[torch.from_numpy(members)][:, rows]
        return some, sids[some.clamp(min=0)]


@torch.no_grad()
def lessons_of(dataset: data.Dataset, target: Decoder, how: How, seed: int, draft: Decoder | None = None) -> Lessons:
    """`draft` writes SIDs too where how.mixed is below 1."""
    queries = prefixes(dataset, how, target.shape.max_items, np.random.default_rng(seed))
    writer = target.eval() if how.mixed >= 1 or draft is None else Mixture(target.eval(), draft.eval(), how.mixed)
    numbers = torch.cat([best_of(writer, Trie(dataset.sids, dataset.codes), queries, how.sids),
                         torch.tensor([[query.target] for query in queries])], 1)
    sids = torch.from_numpy(dataset.sids)
    lessons = Lessons(queries, numbers, torch.empty(*numbers.shape, dataset.levels, dataset.codes, dtype=torch.half))
    for members in data.by_length([query.history for query in queries], 64):
        histories = torch.tensor([queries[i].history for i in members])
        _, codes = lessons.codes(sids, members, slice(None))
        lessons.logits[torch.from_numpy(members)] = along(target, histories, codes).half()
    return lessons


def valid_columns(trie: Trie, numbers: Tensor) -> Tensor:
    """bool [..., levels, columns]: what may follow the prefixes of SIDs; nothing where the number is -1."""
    rows = [children[torch.from_numpy(nodes)[numbers.clamp(min=0)]] >= 0
            for children, nodes in zip(trie.children, trie.nodes)]
    return torch.stack(rows, -2) & (numbers >= 0)[..., None, None]


def along(decoder: Decoder, histories: Tensor, codes: Tensor) -> Tensor:
    """Logits [B, SIDs, levels, columns] along SIDs, codes [B, SIDs, levels]."""
    return torch.stack([logits for logits, _ in follow(decoder, histories, codes[..., :-1])], 2)


def rows_of(how: How) -> slice | list[int]:
    """Of a lesson's K + 1 SIDs, those that a loss looks at."""
    if how.loss in ("sft", "word", "tvd"):
        return [-1]
    return slice(None) if how.top_k else [0, -1]


def loss_of(how: How, draft: Tensor, target: Tensor, tokens: Tensor, valid: Tensor | None,
            kth: Tensor | None) -> Tensor:
    """Of rows [B, SIDs, levels]: the target's SIDs, best first, then the item that was taken. AtSpeed's need `valid`,
    and equation 4 with density `kth`."""
    taken = losses.seq_kd(draft[:, -1:], tokens[:, -1:])
    if how.loss == "sft":
        return taken
    if how.loss in ("word", "tvd"):
        loss = {"word": losses.word_kd, "tvd": losses.tvd_kd}[how.loss](draft[:, -1:], target[:, -1:])
        return how.alpha * loss + (1 - how.alpha) * taken
    if how.loss == "seq":
        return how.alpha * losses.seq_kd(draft[:, :-1], tokens[:, :-1]) + (1 - how.alpha) * taken
    options = {"top_k": how.columns, "valid": valid[:, :-1] if how.constrained else None}
    exist = (tokens[:, :-1] >= 0).float()
    if how.loss == "r":
        loss = losses.atspeed_r(draft[:, :-1], target[:, :-1], weights=exist, **options)
    else:
        loss = losses.atspeed_s(draft[:, :-1], target[:, :-1], kth, density=how.density, form=how.form,
                                weights=exist, **options)
    return how.alpha * loss + (1 - how.alpha) * taken


def kth_of(how: How, lessons: Lessons, trie: Trie, sids: Tensor, members: np.ndarray) -> Tensor | None:
    """log p of the worst of all K SIDs, which equation 4 looks at also where it learns along the best alone."""
    if how.loss != "s" or how.form != "equation" or not how.density:
        return None
    picked = torch.from_numpy(members)
    worst = (lessons.numbers[picked, :-1] >= 0).sum(1).sub(1).clamp(min=0)
    some = lessons.numbers[picked, worst][:, None]
    logits = lessons.logits[picked, worst][:, None].float()
    return losses.kth_log_probs(logits, sids[some], valid_columns(trie, some) if how.constrained else None)


def batches(queries: list[data.Query], size: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Numbers of the queries in a new order, those of one length together."""
    order = random.permutation(len(queries))
    made = [order[members] for members in data.by_length([queries[i].history for i in order], size)]
    for i in random.permutation(len(made)):
        yield made[i]


def align(dataset: data.Dataset, lessons: Lessons, draft: Decoder, how: How, seed: int,
          say: Callable[[str], None] = lambda line: None) -> Decoder:
    """The averaged weights of the draft, which is trained in place."""
    random = np.random.default_rng(seed)
    torch.manual_seed(seed)
    trie, sids, rows = Trie(dataset.sids, dataset.codes), torch.from_numpy(dataset.sids), rows_of(how)
    queries, draft.dropout = lessons.queries, how.dropout
    recipe = Recipe(rate=how.rate, warmup=20, average=0.99)
    steps = how.epochs * sum(1 for _ in batches(queries, how.batch, np.random.default_rng(0)))
    optimizer, schedule = optimizer_of(draft.train(), recipe, steps)
    average = Average(draft, recipe.average)
    for number in range(how.epochs):
        total = 0.0
        for members in batches(queries, how.batch, random):
            histories = torch.tensor([queries[i].history for i in members])
            some, codes = lessons.codes(sids, members, rows)
            theirs = lessons.logits[torch.from_numpy(members)][:, rows].float()
            tokens = codes.masked_fill((some < 0)[..., None], -1)
            valid = valid_columns(trie, some) if how.loss in ("s", "r") else None
            loss = loss_of(how, along(draft, histories, codes), theirs, tokens, valid,
                           kth_of(how, lessons, trie, sids, members))
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
    parser.add_argument("--form", choices=["released", "equation"], default=How.form, help="of s: sidbeam.align")
    parser.add_argument("--no-density", action="store_true", help="s without density regularization")
    parser.add_argument("--no-constrained", action="store_true", help="s and r over all codes of a level")
    parser.add_argument("--no-top-k", action="store_true", help="along the target's best SID alone")
    parser.add_argument("--alpha", type=float, default=How.alpha, help="share of the alignment in the loss")
    parser.add_argument("--epochs", type=int, default=How.epochs)
    parser.add_argument("--rate", type=float, default=How.rate)
    parser.add_argument("--dropout", type=float, default=How.dropout)
    parser.add_argument("--walks", type=int, default=How.walks)
    parser.add_argument("--histories", type=int, help="so many of these; all by default")
    parser.add_argument("--mixed", type=float, default=How.mixed, help="lambda: 1: SIDs of the target alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    dataset = data.read(args.index, args.codes)
    how = How(args.loss, args.sids, args.columns, args.form, not args.no_density, not args.no_constrained,
              not args.no_top_k, args.mixed, args.alpha, args.epochs, rate=args.rate, dropout=args.dropout,
              walks=args.walks, histories=args.histories)
    cpu = time.process_time()
    draft = load(args.draft, dataset)
    lessons = lessons_of(dataset, load(args.target, dataset), how, args.seed, draft)
    draft = align(dataset, lessons, draft, how, args.seed, lambda line: print(line, flush=True))
    save(draft, args.out)
    print(json.dumps({"data": dataset.name, "loss": how.loss, "seed": args.seed,
                      "cpu_s": round(time.process_time() - cpu)}))


if __name__ == "__main__":
    main()
