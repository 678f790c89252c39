"""The small models that the papers' tables are of, trained by samples/train where a folder does not hold them yet.

    python models.py DATA/X.index.json ... --models FOLDER [--names NAME,NAME] [--seeds N]

A model lies in FOLDER/X/NAME-SEED as samples/train/train.py writes it, with trained.json beside it: what the training
took. Training depends on its seed alone (on one machine and PyTorch), so that FOLDER can be made again.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from typing import Any, NamedTuple

import torch

import paths  # before those that it finds
from data import Dataset, read
from export import save
from model import Shape
from train import Recipe, train

# What NEZHA's paper compares: its form with a GRU, its ablations, multi-token prediction (a linear head per level over
# the last state of the prompt alone), and the model that is searched code by code, with the same backbone.
SETTINGS: dict[str, dict[str, Any]] = {
    "nezha": {"form": "n"},
    "code_by_code": {"form": "b"},
    "nezha_1": {"form": "n", "input": "hidden", "transition": "none"},
    "nezha_2": {"form": "n", "input": "state"},
    "nezha_3": {"form": "n", "transition": "add"},
    "mtp": {"form": "n", "input": "state", "transition": "none"},
}
SEVERAL_SEEDS = ("nezha",)


class Trained(NamedTuple):
    name: str  # of SETTINGS
    seed: int
    folder: pathlib.Path


def name_of(index: str | pathlib.Path) -> str:
    """X of .../X.index.json."""
    return pathlib.Path(index).name.removesuffix(".index.json")


def trained(models: str | pathlib.Path, data: str) -> list[Trained]:
    """Those that are there, in the order of SETTINGS, then by seed."""
    found = []
    for name in SETTINGS:
        for folder in sorted((pathlib.Path(models) / data).glob(f"{name}-*")):
            if (folder / "trained.json").exists():
                found.append(Trained(name, int(folder.name.rsplit("-", 1)[1]), folder))
    return found


def make(dataset: Dataset, models: str | pathlib.Path, name: str, seed: int, recipe: Recipe = Recipe(),
         **shape: Any) -> None:
    """Trains a model, unless it is there. `shape`: what of model.Shape is not the recipe's."""
    folder = pathlib.Path(models) / dataset.name / f"{name}-{seed}"
    if (folder / "trained.json").exists():
        return
    begin = time.process_time()
    decoder = train(dataset, Shape(dataset.levels, dataset.codes, **{**SETTINGS[name], **shape}), recipe, seed)
    save(decoder, folder)
    weights = sum(weight.numel() for weight in decoder.parameters())
    took = {"train_cpu_s": round(time.process_time() - begin), "parameters": weights}
    (folder / "trained.json").write_text(json.dumps(took) + "\n")  # last: the model is whole
    print(f"{folder}: {took['train_cpu_s']} s of processor time", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", nargs="+", help="X.index.json, beside X.valid.jsonl and X.test.jsonl")
    parser.add_argument("--models", required=True, help="folder of all models")
    parser.add_argument("--names", default=",".join(SETTINGS), help="which settings; all by default")
    parser.add_argument("--seeds", type=int, default=3, help=f"of {', '.join(SEVERAL_SEEDS)}; others have one")
    parser.add_argument("--codes", type=int, default=256, help="codes per level")
    args = parser.parse_args()
    if unknown := set(args.names.split(",")) - set(SETTINGS):
        parser.error(f"--names: expected some of {', '.join(SETTINGS)}, got {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    for index in args.index:
        dataset = read(index, args.codes)
        for name in args.names.split(","):
            for seed in range(1, 1 + (args.seeds if name in SEVERAL_SEEDS else 1)):
                make(dataset, args.models, name, seed)


if __name__ == "__main__":
    main()
