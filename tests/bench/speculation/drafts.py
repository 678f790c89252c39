"""The drafts that are compared, and making those that are not there yet. They learn from one target, from the same
lessons, and begin with the same weights.

SPDX-License-Identifier: Apache-2.0
"""
import dataclasses
import pathlib

import torch

import align
import data
import export
import model
import train

KINDS = {  # AtSpeed's table 1
    "SFT": {"loss": "sft"},
    "WordKD": {"loss": "word"},
    "TVDKD": {"loss": "tvd"},
    "SeqKD": {"loss": "seq"},
    "AtSpeed-S": {"loss": "s"},
    "AtSpeed-R": {"loss": "r"},
}
ABLATIONS = {  # its figure 3, and S as the paper's equation has it
    "S, equation 4": {"loss": "s", "form": "equation"},
    "S, equation 4 without density": {"loss": "s", "form": "equation", "density": False},
    "S without density": {"loss": "s", "density": False},
    "S, unconstrained": {"loss": "s", "constrained": False},
    "S, best SID alone": {"loss": "s", "top_k": False},
    "R, unconstrained": {"loss": "r", "constrained": False},
    "R, best SID alone": {"loss": "r", "top_k": False},
}
ALPHAS = (0.1, 0.3, 0.7, 0.9)  # besides How's own: its figure 4 (c)
STRENGTHS = {f"{name[-1]}, alpha {alpha}": {"loss": name[-1].lower(), "alpha": alpha}
             for name in ("AtSpeed-S", "AtSpeed-R") for alpha in ALPHAS}
ALL = KINDS | ABLATIONS | STRENGTHS
SMALL = {"hidden": 32, "layers": 1, "heads": 2, "ffn": 88}  # a draft, of 37,248 weights with 3 x 256 codes


def folder_of(work: pathlib.Path, name: str) -> pathlib.Path:
    return work / "".join(c if c.isalnum() else "-" for c in name.lower())


def trained(dataset: data.Dataset, folder: pathlib.Path, shape: model.Shape, epochs: int, seed: int):
    """What train.py makes, unless it is there."""
    if not (folder / "model.safetensors").exists():
        say(f"training {folder.name}")
        export.save(train.train(dataset, shape, train.Recipe(epochs=epochs), seed), folder)
    return export.load(folder, dataset)


def say(line: str) -> None:
    print(line, flush=True)


class Lessons:
    """Those of align.py, made when the first draft asks for them, and kept in a file."""

    def __init__(self, dataset: data.Dataset, target, path: pathlib.Path, how: align.How, seed: int):
        self.arguments, self.path, self.made = (dataset, target, how, seed), path, None

    def get(self) -> align.Lessons:
        if self.made is None and self.path.exists():
            self.made = align.Lessons(**torch.load(self.path, weights_only=False))
        if self.made is None:
            say("the target's lessons")
            self.made = align.lessons_of(*self.arguments)
            torch.save({f.name: getattr(self.made, f.name) for f in dataclasses.fields(self.made)}, self.path)
        return self.made


def make(dataset: data.Dataset, work: pathlib.Path, names: list[str], begin: pathlib.Path, lessons: Lessons,
         how: align.How, seed: int) -> None:
    """Aligns the drafts of these names that are not there."""
    for name in names:
        folder = folder_of(work, name)
        if (folder / "model.safetensors").exists():
            continue
        say(f"aligning {name}")
        draft, settings = export.load(begin, dataset), dataclasses.replace(how, **ALL[name])
        export.save(align.align(dataset, lessons.get(), draft, settings, seed, say), folder)
