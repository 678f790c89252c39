"""NEZHA's form of the decoder (model.py, form n): one pass over a prompt and a placeholder per level, then a head.

  s_1 = h_0,  logits_l = W_l [h_l ; s_l] + b_l,  s_(l+1) = transition_l(s_l, embedding of code l)

The embeddings are the decoder's own.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import pathlib
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from model import Decoder, Shape


class Head(nn.Module):
    """Its lists, and the embeddings that it is given, are what sidbeam.draft.write() takes."""

    def __init__(self, shape: Shape):
        super().__init__()
        if shape.input == "hidden" and shape.transition != "none":
            raise ValueError(f"input 'hidden' has no state: transition is {shape.transition!r}, expected 'none'")
        width = shape.hidden * (2 if shape.input == "both" else 1)
        self.input, self.transition = shape.input, shape.transition
        self.heads = nn.ModuleList(nn.Linear(width, shape.codes) for _ in range(shape.levels))
        for head in self.heads:
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)
        cell = {"rnn": nn.RNNCell, "gru": nn.GRUCell}.get(shape.transition)
        cells = shape.levels - 1 if cell else 0
        self.transitions = nn.ModuleList(cell(shape.hidden, shape.hidden) for _ in range(cells))

    def logits(self, level: int, hidden: Tensor, state: Tensor) -> Tensor:
        """[..., codes] of the states of a placeholder and of a beam [..., hidden]."""
        parts = {"both": [hidden.expand_as(state), state], "hidden": [hidden], "state": [state]}[self.input]
        return self.heads[level](torch.cat(parts, -1))

    def advance(self, level: int, state: Tensor, embedded: Tensor) -> Tensor:
        """The states [..., hidden] after codes of the level, given by their embeddings."""
        if self.transition == "none":
            return state
        if self.transition == "add":
            return state + embedded
        return self.transitions[level](embedded.flatten(0, -2), state.flatten(0, -2)).view(state.shape)


class HeadState(NamedTuple):
    hidden: Tensor  # [B, 1 + levels, hidden]: h_0 .. h_L
    beams: Tensor  # [B, beams, hidden]: s of the level before
    level: int  # that comes next


class Nezha(Decoder):
    def __init__(self, shape: Shape, dropout: float = 0.2):
        super().__init__(shape, dropout)
        self.head = Head(shape)

    def placeholders(self) -> Tensor:
        return self.shape.begin + 1 + torch.arange(self.shape.levels)

    def behind(self, items: Tensor) -> Tensor:
        return self.placeholders().repeat(items.shape[1]).expand(len(items), -1)

    def embeddings(self) -> list[Tensor]:
        """Of the codes of each level but the last, [codes, hidden]."""
        return list(self.model.embed_tokens.weight.split(self.shape.codes)[: self.shape.levels - 1])

    def forward(self, items: Tensor, lost: Tensor | None = None) -> list[Tensor]:
        hidden = self.states(items, lost)
        state, logits = hidden[:, :, 0], []
        codes = self.sids[items.clamp(min=0)]
        for level in range(self.shape.levels):
            if level > 0:
                state = self.head.advance(level - 1, state, self.embeddings()[level - 1][codes[..., level - 1]])
            logits.append(self.head.logits(level, hidden[:, :, level + 1], state))
        return logits

    def read(self, items: Tensor) -> Tensor:
        """h_0 .. h_L [B, 1 + levels, hidden] after histories [B, n], from one pass."""
        prompt = self.prompt(items[:, -self.shape.max_items :])
        tokens = torch.cat([prompt, self.alone(self.placeholders().expand(len(items), -1))], 1)
        rows = torch.arange(tokens.shape[1])
        hidden, _ = self.hidden(self.embed(tokens), rows, rows[:, None] >= rows)
        return hidden[:, -1 - self.shape.levels :]

    def write_first(self, hidden: Tensor) -> tuple[Tensor, HeadState]:
        """Logits [B, 1, codes] of the first code, from h_0 .. h_L."""
        state = HeadState(hidden, hidden[:, :1], 1)
        return self.head.logits(0, hidden[:, 1:2], state.beams), state

    def prefill(self, items: Tensor) -> tuple[Tensor, HeadState]:
        return self.write_first(self.read(items))

    def decode(self, codes: Tensor, parents: Tensor, state: HeadState) -> tuple[Tensor, HeadState]:
        level = state.level
        before = state.beams.gather(1, parents[..., None].expand(-1, -1, state.beams.shape[2]))
        beams = self.head.advance(level - 1, before, F.embedding(codes, self.embeddings()[level - 1]))
        logits = self.head.logits(level, state.hidden[:, level + 1 : level + 2], beams)
        return logits.expand(*beams.shape[:2], -1), HeadState(state.hidden, beams, level + 1)


def decoder_of(shape: Shape, dropout: float = 0.2) -> Decoder:
    return (Nezha if shape.form == "n" else Decoder)(shape, dropout)


@torch.no_grad()
def take_over(decoder: Nezha, backbone: Decoder) -> None:
    """The weights of a decoder of form b or n, which stay as they are: the head and the placeholders alone learn."""
    if backbone.shape.form == "a":
        raise ValueError("the backbone is of form a, expected b or n: a prompt with a position per item")
    known, table = decoder.shape.begin + 1, decoder.model.embed_tokens.weight
    theirs = dict(backbone.model.named_parameters())
    for name, weight in decoder.model.named_parameters():
        rows = known if weight is table else len(weight)
        weight[:rows] = theirs[name][:rows]
        weight.requires_grad_(weight is table)
    table.register_hook(lambda gradient: gradient.index_fill(0, torch.arange(known), 0.0))


def write(decoder: Nezha, path: str | pathlib.Path, dtype: str = "f32", codebook: str = "") -> None:
    """The head as a file of the library's (include/sidbeam/draft.h), by sidbeam's Python package."""
    from sidbeam import draft

    shape = decoder.shape
    draft.write(
        path, heads=decoder.head.heads, embeddings=decoder.embeddings() if shape.transition != "none" else (),
        transitions=decoder.head.transitions, input=shape.input, transition=shape.transition, dtype=dtype,
        codebook=codebook)
