"""Trains a decoder on the histories of X.valid.jsonl and writes it for the runner and for transformers.

  python train.py ../../../shared/data/minionerec/Office_Products.index.json --out build/office [--form b|n] [--seed 1]
  python train.py ... --form n --on build/office --out build/nezha     NEZHA's head alone, on a decoder of form b

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import pathlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import data
from evaluate import evaluate, report
from export import load, save
from model import Decoder, Shape
from nezha import decoder_of, take_over
from walks import Transitions


@dataclass(frozen=True)
class Recipe:
    """The settings of the figures in README.md."""

    epochs: int = 18
    batch: int = 128
    window: int = 11  # items of a sequence that one pass sees
    walks: int = 3  # for each real sequence, new in every epoch
    walk_items: int = 5
    thinned: float = 0.5  # real sequences that lose items,
    thin: float = 0.2  # each with this probability
    reversed: float = 0.2
    lost: float = 0.1  # context items that are not seen
    dropout: float = 0.2
    smoothing: float = 0.1
    rate: float = 2.5e-3
    warmup: int = 100  # steps
    floor: float = 0.02  # of the rate, at the end
    betas: tuple[float, float] = (0.9, 0.98)
    decay: float = 0.05  # of matrices
    clip: float = 1.0
    average: float = 0.998  # of the weights


def vary(sequence: list[int], recipe: Recipe, random: np.random.Generator) -> list[int]:
    """A real sequence as an epoch sees it: a window of it, perhaps without some items, perhaps reversed."""
    first = random.integers(max(1, len(sequence) - recipe.window + 1))
    items = sequence[first : first + recipe.window]
    if random.random() < recipe.thinned:
        items = [item for item in items if random.random() >= recipe.thin] or items
    return items[::-1] if random.random() < recipe.reversed else items


def epoch(sequences: list[list[int]], transitions: Transitions, recipe: Recipe,
          random: np.random.Generator) -> Iterator[list[list[int]]]:
    """Batches of real sequences and walks."""
    walks = transitions.walks(recipe.walks * len(sequences), recipe.walk_items, random).tolist()
    mixed = [vary(sequence, recipe, random) for sequence in sequences] + walks
    order = random.permutation(len(mixed))
    for first in range(0, len(mixed), recipe.batch):
        yield [mixed[i] for i in order[first : first + recipe.batch]]


def padded(sequences: list[list[int]]) -> Tensor:
    longest = max(map(len, sequences))
    return torch.tensor([items + [-1] * (longest - len(items)) for items in sequences])


def loss_of(decoder: Decoder, items: Tensor, recipe: Recipe) -> Tensor:
    """Sum over items and levels of the cross-entropies within the level's codes."""
    lost = torch.rand(items.shape) < recipe.lost
    targets = decoder.sids[items.clamp(min=0)].masked_fill(items[..., None] < 0, -100)
    return sum(
        F.cross_entropy(logits.flatten(0, 1), targets[..., level].flatten(), label_smoothing=recipe.smoothing,
                        reduction="sum")
        for level, logits in enumerate(decoder(items, lost)))


class Average:
    """Of the weights over the steps, faster at first."""

    def __init__(self, decoder: Decoder, decay: float):
        self.decoder, self.decay, self.steps = copy.deepcopy(decoder).eval(), decay, 0

    @torch.no_grad()
    def add(self, decoder: Decoder) -> None:
        self.steps += 1
        keep = min(self.decay, self.steps / (self.steps + 9))
        for mean, weight in zip(self.decoder.parameters(), decoder.parameters()):
            mean.lerp_(weight, 1 - keep)


def optimizer_of(decoder: Decoder, recipe: Recipe, steps: int):
    matrices = [weight for weight in decoder.parameters() if weight.dim() > 1]
    vectors = [weight for weight in decoder.parameters() if weight.dim() == 1]
    groups = [{"params": matrices, "weight_decay": recipe.decay}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, recipe.rate, recipe.betas, foreach=True)

    def rate(step: int) -> float:
        if step < recipe.warmup:
            return (step + 1) / recipe.warmup
        done = (step - recipe.warmup) / max(1, steps - recipe.warmup)
        return recipe.floor + (1 - recipe.floor) * (1 + math.cos(math.pi * done)) / 2

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


def train(dataset: data.Dataset, shape: Shape, recipe: Recipe, seed: int,
          say: Callable[[str], None] = lambda line: None, backbone: Decoder | None = None) -> Decoder:
    """The averaged weights. The same seed gives the same, on one machine with one number of threads. With a backbone
    NEZHA's head alone is trained on it (form n)."""
    random = np.random.default_rng(seed)
    torch.manual_seed(seed)
    sequences, transitions = data.sequences(dataset.train), Transitions(dataset)
    decoder = decoder_of(shape, recipe.dropout).with_sids(dataset.sids).train()
    if backbone is not None:
        take_over(decoder, backbone)
        recipe = replace(recipe, decay=0.0)  # which would move what has no gradient
    average = Average(decoder, recipe.average)
    steps = recipe.epochs * math.ceil((1 + recipe.walks) * len(sequences) / recipe.batch)
    optimizer, schedule = optimizer_of(decoder, recipe, steps)
    for number in range(recipe.epochs):
        total = count = 0
        for batch in epoch(sequences, transitions, recipe, random):
            # Walks and long sequences apart, so that little is padded.
            parts = [[items for items in batch if (len(items) > recipe.walk_items) == long] for long in (False, True)]
            codes = shape.levels * sum(map(len, batch))
            optimizer.zero_grad(set_to_none=True)
            for part in filter(None, parts):
                loss = loss_of(decoder, padded(part), recipe) / codes
                loss.backward()
                total += loss.item() * codes
            count += codes
            torch.nn.utils.clip_grad_norm_(decoder.parameters(), recipe.clip)
            optimizer.step()
            schedule.step()
            average.add(decoder)
        say(f"epoch {number + 1}/{recipe.epochs}: loss {total / count:.4f}")
    return average.decoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", help="X.index.json, beside X.valid.jsonl and X.test.jsonl")
    parser.add_argument("--out", required=True, help="folder for config.json and model.safetensors")
    parser.add_argument("--form", choices=["a", "b", "n"], default="a",
                        help="a position per code, or per item, or NEZHA's (model.py)")
    parser.add_argument("--on", help="form n: folder of a decoder of form b, whose weights stay; its shape is taken")
    parser.add_argument("--input", choices=["both", "hidden", "state"], default=Shape.input, help="of NEZHA's head")
    parser.add_argument("--transition", choices=["rnn", "gru", "add", "none"], default=Shape.transition)
    parser.add_argument("--codes", type=int, default=256, help="codes per level")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--ffn", type=int, default=352)
    parser.add_argument("--epochs", type=int, default=Recipe.epochs)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-test", action="store_true", help="leave out the evaluation on the test queries")
    args = parser.parse_args()
    if args.on and args.form != "n":
        parser.error(f"--on: expected form n, whose head is trained on a decoder, got {args.form}")

    torch.set_num_threads(args.threads)
    dataset = data.read(args.index, args.codes)
    shape = Shape(dataset.levels, args.codes, args.form, args.hidden, args.layers, args.heads, args.ffn,
                  input=args.input, transition=args.transition)
    backbone = load(args.on, dataset) if args.on else None
    if backbone is not None:
        shape = replace(backbone.shape, form="n", input=args.input, transition=args.transition)
    cpu, wall = time.process_time(), time.monotonic()
    decoder = train(dataset, shape, Recipe(epochs=args.epochs), args.seed, lambda line: print(line, flush=True),
                    backbone)
    save(decoder, args.out)
    result = {
        "data": dataset.name, "form": args.form, "seed": args.seed,
        "parameters": sum(weight.numel() for weight in decoder.parameters()),
        "bytes": (pathlib.Path(args.out) / "model.safetensors").stat().st_size,
        "train_cpu_s": round(time.process_time() - cpu), "train_wall_s": round(time.monotonic() - wall),
    }
    if not args.no_test:  # the weights as they were written
        result |= report(evaluate(dataset, Transitions(dataset), load(args.out, dataset)))
        result["cpu_s"] = round(time.process_time() - cpu)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
