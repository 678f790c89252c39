"""A small Llama-shaped decoder over the codes of items. Its modules bear the names of transformers' LlamaForCausalLM.

Token l * codes + t is code t of level l; the last token begins every sequence. Two forms of input:
  a  a position per code: BOS a0 b0 c0 a1 b1 c1 ...
  b  a position per item, the sum of its codes' embeddings, and behind any prefix of them the codes of the next item,
     one per position: BOS (a0+b0+c0) (a1+b1+c1) ... a b
  n  the same with a placeholder per level behind the prefix, for NEZHA's head (nezha.py): BOS (a0+b0+c0) ... P0 P1 P2
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Shape:
    levels: int = 3
    codes: int = 256  # of each level
    form: str = "a"
    hidden: int = 128
    layers: int = 2
    heads: int = 4
    ffn: int = 352
    epsilon: float = 1e-6
    theta: float = 10000.0
    max_items: int = 10  # of a prompt
    input: str = "both"  # of NEZHA's head (form n): "both", "hidden" or "state",
    transition: str = "gru"  # and "rnn", "gru", "add" or "none", as sidbeam.draft has them

    @property
    def begin(self) -> int:
        return self.levels * self.codes

    @property
    def vocabulary(self) -> int:
        """Tokens: the codes, the begin, and, of form n, the placeholders."""
        return self.begin + 1 + (self.levels if self.form == "n" else 0)

    @property
    def group(self) -> int:
        """Tokens per position of a prompt."""
        return 1 if self.form == "a" else self.levels

    @property
    def max_positions(self) -> int:
        return 1 + self.max_items * self.levels // self.group + self.levels


class Layout(NamedTuple):
    """How sequences of n items lie in the input when the decoder learns all their prefixes in one pass."""

    positions: Tensor  # [T] place in the sequence, which RoPE counts
    mask: Tensor  # [T, T] whether a row sees a column
    outputs: Tensor  # [n, levels] the row that writes each code; of form n [n, 1 + levels], the rows of h_0 .. h_L


def layout(shape: Shape, items: int) -> Layout:
    levels = shape.levels
    if shape.form == "a":
        rows = torch.arange(items * levels)
        return Layout(rows, rows[:, None] >= rows, rows.view(items, levels))
    # The begin and all items but the last, causal; then per item its codes but the last (or the placeholders), which
    # see what precedes the item and each other.
    behind = levels - 1 if shape.form == "b" else levels
    after = torch.arange(items).repeat_interleave(behind)  # prefix that each code's row continues
    depth = torch.arange(1, behind + 1).repeat(items)
    context = torch.arange(items)
    positions = torch.cat([context, after + depth])
    prefix = torch.cat([context, after])
    own = (after[:, None] == after) & (depth[:, None] >= depth)
    mask = torch.zeros(len(positions), len(positions), dtype=torch.bool)
    mask[:, :items] = prefix[:, None] >= context
    mask[items:, items:] = own
    rows = items + torch.arange(items * behind).view(items, behind)
    return Layout(positions, mask, torch.cat([context[:, None], rows], 1))


class Norm(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(shape.hidden)), shape.epsilon

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """RoPE: x [..., T, head], angles [T, head / 2]; the halves of a head form pairs, as in transformers."""
    cos, sin = angles.cos(), angles.sin()
    low, high = x.chunk(2, -1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)


class Attention(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.heads = shape.heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            self.add_module(name, nn.Linear(shape.hidden, shape.hidden, bias=False))

    def project(self, x: Tensor, angles: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [B, heads, T, head], the first two turned."""
        projections = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (project(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for project in projections)
        return rotate(q, angles), rotate(k, angles), v

    def join(self, y: Tensor) -> Tensor:
        return self.o_proj(y.transpose(1, 2).flatten(2))

    def forward(self, x: Tensor, angles: Tensor, mask: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        q, k, v = self.project(x, angles)
        return self.join(F.scaled_dot_product_attention(q, k, v, mask)), (k, v)

    def decode(self, x: Tensor, angles: Tensor, shared: tuple[Tensor, Tensor],
               own: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Beams as rows, x [B, beams, hidden]: each sees the prompt, which is stored once, and what it wrote itself
        (`own`, a pair [B, heads, beams, head] per earlier code, to which its own is added)."""
        q, k, v = self.project(x, angles)
        own.append((k, v))
        scale = q.shape[-1] ** -0.5
        scores = [q @ shared[0].transpose(-1, -2)] + [(q * key).sum(-1, keepdim=True) for key, _ in own]
        weights = torch.cat(scores, -1).mul(scale).softmax(-1)
        prompt = shared[0].shape[2]
        y = weights[..., :prompt] @ shared[1]
        for i, (_, value) in enumerate(own):
            y = y + weights[..., prompt + i, None] * value
        return self.join(y)


class Gated(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.down_proj = nn.Linear(shape.ffn, shape.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.self_attn, self.mlp = Attention(shape), Gated(shape)
        self.input_layernorm, self.post_attention_layernorm = Norm(shape), Norm(shape)


class Backbone(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape)


class State(NamedTuple):
    """What decode() needs of the passes before: keys and values per layer."""

    shared: list[tuple[Tensor, Tensor]]
    own: list[list[tuple[Tensor, Tensor]]]
    prompt: int  # positions


class Decoder(nn.Module):
    def __init__(self, shape: Shape, dropout: float = 0.2):
        super().__init__()
        self.shape, self.dropout = shape, dropout
        self.model = Backbone(shape)
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, std=0.02)
        head = shape.hidden // shape.heads
        self.register_buffer(
            "frequencies", shape.theta ** -(torch.arange(0, head, 2, dtype=torch.float32) / head), persistent=False)
        self.register_buffer("sids", torch.zeros(0, shape.levels, dtype=torch.int64), persistent=False)

    def with_sids(self, sids: np.ndarray) -> Decoder:
        """Names the catalogue whose items the decoder is given by number."""
        self.sids = torch.from_numpy(np.ascontiguousarray(sids))
        return self

    def tokens(self, items: Tensor) -> Tensor:
        """[..., levels]: the tokens of items; -1 is no item."""
        tokens = self.sids[items.clamp(min=0)] + torch.arange(self.shape.levels) * self.shape.codes
        return tokens.masked_fill(items[..., None] < 0, -1)

    def prompt(self, items: Tensor) -> Tensor:
        """[B, positions, group]: the begin, and items [B, n]."""
        begin = self.alone(torch.full((len(items), 1), self.shape.begin))
        return torch.cat([begin, self.tokens(items).view(len(items), -1, self.shape.group)], 1)

    def alone(self, tokens: Tensor) -> Tensor:
        """[B, T, group]: positions of one token each, tokens [B, T]."""
        return F.pad(tokens[..., None], (0, self.shape.group - 1), value=-1)

    def embed(self, tokens: Tensor) -> Tensor:
        """Sums the embeddings of a position's tokens; -1 is none."""
        embedded = F.embedding(tokens.clamp(min=0), self.model.embed_tokens.weight)
        return (embedded * (tokens >= 0)[..., None]).sum(-2)

    def angles(self, positions: Tensor) -> Tensor:
        return positions[:, None].float() * self.frequencies

    def drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training)

    def hidden(self, x: Tensor, positions: Tensor, mask: Tensor) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """x [B, T, hidden] through all layers, with each layer's keys and values."""
        angles, kept = self.angles(positions), []
        for layer in self.model.layers:
            y, kv = layer.self_attn(layer.input_layernorm(x), angles, mask)
            x = x + self.drop(y)
            x = x + self.drop(layer.mlp(layer.post_attention_layernorm(x)))
            kept.append(kv)
        return self.model.norm(x), kept

    def logits(self, hidden: Tensor, level: int) -> Tensor:
        """[..., codes]: of the level's codes alone."""
        first = level * self.shape.codes
        return F.linear(hidden, self.model.embed_tokens.weight[first : first + self.shape.codes])

    def behind(self, items: Tensor) -> Tensor:
        """[B, T] tokens of the rows behind the prefixes of items [B, n] (form b)."""
        return self.tokens(items)[..., :-1].flatten(1)

    def states(self, items: Tensor, lost: Tensor | None = None) -> Tensor:
        """[B, n, rows, hidden]: the states of Layout.outputs."""
        places = layout(self.shape, items.shape[1])
        seen = items if lost is None else items.masked_fill(lost, -1)
        tokens = self.prompt(seen)[:, :-1]
        if self.shape.form != "a":
            tokens = torch.cat([tokens, self.alone(self.behind(items))], 1)
        hidden, _ = self.hidden(self.drop(self.embed(tokens)), places.positions, places.mask)
        return hidden[:, places.outputs]

    def forward(self, items: Tensor, lost: Tensor | None = None) -> list[Tensor]:
        """Per level the logits [B, n, codes] of every item of `items` [B, n] (-1 at the end of a shorter sequence)
        after those before it and its own earlier codes. `lost` [B, n]: items that are not to be seen as context."""
        states = self.states(items, lost)
        return [self.logits(states[:, :, level], level) for level in range(self.shape.levels)]

    def prefill(self, items: Tensor) -> tuple[Tensor, State]:
        """Logits [B, 1, codes] of the first code after histories [B, n]."""
        items = items[:, -self.shape.max_items :]
        tokens = self.prompt(items)
        rows = torch.arange(tokens.shape[1])
        hidden, kept = self.hidden(self.embed(tokens), rows, rows[:, None] >= rows)
        return self.logits(hidden[:, -1:], 0), State(kept, [[] for _ in kept], len(rows))

    def decode(self, codes: Tensor, parents: Tensor, state: State) -> tuple[Tensor, State]:
        """Logits [B, beams, codes] after each beam's new code; beam m continues what was beam parents[m]."""
        depth = len(state.own[0])
        x = self.model.embed_tokens(depth * self.shape.codes + codes)
        angles = self.angles(torch.tensor([state.prompt + depth]))
        for layer, shared, own in zip(self.model.layers, state.shared, state.own):
            for i, pair in enumerate(own):
                pick = parents[:, None, :, None].expand(-1, pair[0].shape[1], -1, pair[0].shape[3])
                own[i] = tuple(part.gather(2, pick) for part in pair)
            x = x + layer.self_attn.decode(layer.input_layernorm(x), angles, shared, own)
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return self.logits(self.model.norm(x), depth + 1), state
