"""What the tables share: the catalogue and its test queries, decoders that were trained on it, searches by the library,
and what is counted of their results.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import pathlib
import tempfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

import measurements
import nezha
import sidbeam
from data import Dataset, by_length, read
from export import load
from model import Shape
from models import Trained, name_of, trained
from nezha import Nezha

BATCH = 64  # queries that are decoded together
NOWHERE = 1 << 30  # a rank


@dataclass
class World:
    dataset: Dataset
    index: sidbeam.Index  # ordinals are the data set's numbers of SIDs
    targets: np.ndarray  # [queries]
    models: list[Trained]
    lines: pathlib.Path  # where measurements go, one a line
    beams: int  # of the tables that have one number of them
    timed: int  # requests whose time is taken

    def say(self, table: str, case: dict[str, Any], name: str, unit: str, values: Any, note: str = "") -> None:
        """Adds a measurement of several values, or of one number."""
        values = [float(value) for value in np.atleast_1d(values)]
        case = {"data": self.dataset.name, **case}
        with open(self.lines, "a", encoding="utf-8") as file:
            print(json.dumps(measurements.summary(table, case, name, unit, values, note)), file=file)

    def first(self, name: str) -> Trained | None:
        """The model of that name with the lowest seed."""
        return next((model for model in self.models if model.name == name), None)


def open_world(index: str, models: str, lines: str, codes: int, queries: int | None, beams: int, timed: int) -> World:
    dataset = read(index, codes)
    kept = Dataset(dataset.name, dataset.sids, codes, dataset.train, dataset.test[:queries])
    library = sidbeam.Index.build(dataset.sids, codes=codes, kinds="trie|sorted|hash")
    targets = np.array([query.target for query in kept.test])
    return World(kept, library, targets, trained(models, name_of(index)), pathlib.Path(lines), beams, timed)


@dataclass
class Drafter:
    """A decoder of form n: PyTorch's, the same head as the library opens it, and the states that PyTorch reads."""

    decoder: Nezha
    head: sidbeam.DraftHead
    hidden: Tensor  # [queries, 1 + L, D] h_0 .. h_L of the test queries
    of: Trained = field(repr=False)


def head_of(decoder: Nezha) -> sidbeam.DraftHead:
    """In f16, as the weights were rounded already."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "head.sdraft"
        nezha.write(decoder, path, "f16")
        return sidbeam.DraftHead.open(path)


@torch.no_grad()
def drafter_of(world: World, of: Trained) -> Drafter:
    decoder = load(of.folder, world.dataset)
    histories = [query.history for query in world.dataset.test]
    hidden = torch.empty(len(histories), 1 + decoder.shape.levels, decoder.shape.hidden)
    for members in by_length(histories, BATCH):
        hidden[members] = decoder.read(torch.tensor([histories[i] for i in members]))
    return Drafter(decoder, head_of(decoder), hidden, of)


def draft(world: World, drafter: Drafter, beams: int, verification: str, queries: Any = slice(None),
          index: sidbeam.Index | None = None) -> np.ndarray:
    """[queries, beams] SIDs by NEZHA's decode in the library, best first: -1 invalid, -2 none."""
    decode = sidbeam.DraftDecoder(drafter.head, index or world.index, beams=beams, requests=BATCH,
                                  verification=verification)
    hidden, parts = drafter.hidden[queries].numpy(), []
    for first in range(0, len(hidden), BATCH):
        drafts = decode.run(hidden[first : first + BATCH])
        none = np.arange(beams) >= drafts.live[:, None]
        parts.append(np.where(none, -2, drafts.ordinals))
    return np.concatenate(parts)


@torch.no_grad()
def search(world: World, drafter: Drafter, beams: int, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """[queries, beams] ordinals (-1: invalid, or none) and scores by a session, level by level, given PyTorch's f32
    logits of the beams that it chose."""
    ordinals, scores = [], []
    for first in range(0, len(drafter.hidden), BATCH):
        hidden = drafter.hidden[first : first + BATCH]
        with sidbeam.Session(world.index, slots=len(hidden), beams=beams, normalization="level", **options) as session:
            found = session.start()
            logits, state = drafter.decoder.write_first(hidden)
            logits = logits.expand(-1, beams, -1)
            while session.step(logits.contiguous().numpy()).active.any():
                codes, parents = (torch.from_numpy(a.copy()).long().clamp(min=0) for a in (found.codes, found.parents))
                logits, state = drafter.decoder.decode(codes, parents, state)
            ordinals.append(session.items().ordinals)
            scores.append(found.scores.copy())
    return np.concatenate(ordinals), np.concatenate(scores)


def valid_first(found: np.ndarray) -> np.ndarray:
    """Lists [queries, n] as they are without their invalid results."""
    return np.take_along_axis(found, np.argsort(found < 0, axis=1, kind="stable"), 1)


def tokens_of(shape: Shape, sids: np.ndarray, history: list[int], placeholders: bool = False) -> np.ndarray:
    """int32 [positions, group]: a prompt of form b or n as the runner takes it (Decoder.prompt, without PyTorch)."""
    items = history[-shape.max_items :]
    after = shape.levels if placeholders else 0
    tokens = np.full((1 + len(items) + after, shape.group), -1, np.int32)
    tokens[0, 0] = shape.begin
    tokens[1 : 1 + len(items)] = sids[items] + np.arange(shape.levels) * shape.codes
    tokens[1 + len(items) :, 0] = shape.begin + 1 + np.arange(after)
    return tokens


def runner_of(world: World, of: Trained, decoder: Any, beams: int, strategy: str = "trie", levels: int | None = None,
              head: sidbeam.DraftHead | None = None, lane_threads: bool = False) -> sidbeam.Runner:
    """Beam search of a model code by code, or by NEZHA's head. With `levels`, over the SIDs' prefixes of so many
    codes."""
    shape, index = decoder.shape, world.index
    if levels is not None:
        index = sidbeam.Index.build(np.unique(world.dataset.sids[:, :levels], axis=0), codes=shape.codes)
    offsets = [level * shape.codes for level in range(shape.levels if levels is None else levels)]
    # What is written follows the prompt, the last code excepted; or a placeholder for each.
    most = shape.max_positions - len(offsets) + (head is None)
    placeholders = None if head is None else decoder.placeholders().tolist()
    return sidbeam.Runner(
        sidbeam.Model.open(of.folder), index, beams=beams, vocabulary=sidbeam.Vocabulary(offsets), strategy=strategy,
        normalization="level", max_prompt=most, max_group=shape.group, lane_threads=lane_threads, head=head,
        placeholders=placeholders)


def ranks(found: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """[queries] place of the target in `found` [queries, n], from 0; NOWHERE where it is not there."""
    same = found == targets[:, None]
    return np.where(same.any(1), same.argmax(1), NOWHERE)


def hits(rank: np.ndarray, at: int) -> float:
    return float((rank < at).mean())


def ndcg(rank: np.ndarray, at: int) -> float:
    return float(np.where(rank < at, 1 / np.log2(rank + 2), 0).mean())
