"""The catalogues of cases.txt as stacked CSR on the device, and the rows of one case.
SPDX-License-Identifier: Apache-2.0"""
import dataclasses

import torch


@dataclasses.dataclass
class Spec:
    table: str
    sids: int
    levels: int
    codes: int
    slots: int
    beams: int
    columns: int
    offset: int
    dtype: str
    norm: str
    chain: int
    at: tuple

    def catalogue(self):
        return self.sids, self.levels, self.codes

    def case(self, level):
        """As bench.cc writes it."""
        return {"B": self.slots, "M": self.beams, "V": self.codes, "columns": self.columns, "dtype": self.dtype,
                "norm": self.norm, "N": self.sids, "L": self.levels, "level": level}


def read_specs(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            numbers = [int(word) for word in words[1:8]]
            yield Spec(words[0], *numbers, words[8], words[9], int(words[10]), tuple(map(int, words[11].split(","))))


def quick(spec):
    """As bench.cc's, but with enough SIDs that beams are full."""
    offset, codes = min(spec.offset, 17), min(spec.codes, 48)
    return dataclasses.replace(spec, sids=min(spec.sids, 4000), codes=codes, slots=min(spec.slots, 2),
                               beams=min(spec.beams, 9), offset=offset, columns=offset + codes + (30 if offset else 0),
                               chain=2)


def mix(x):
    """SplitMix64's output function on int64, whose products wrap."""
    def shifted(x, n):
        return (x >> n) & ((1 << (64 - n)) - 1)
    x = x + -7046029254386353131
    x = (x ^ shifted(x, 30)) * -4658895280553007687
    x = (x ^ shifted(x, 27)) * -7723592293110705685
    return x ^ shifted(x, 31)


def random_sids(sids, levels, codes, device):
    """[N, L], sorted and distinct: the draws of bench.cc."""
    rows = torch.arange(sids * levels, device=device, dtype=torch.int64)
    rows = (((mix(rows) >> 33) & 0x7fffffff) % codes).view(sids, levels)
    half = levels // 2
    low, high = (pack(rows[:, part], codes) for part in (slice(half, levels), slice(0, half)))
    order = torch.argsort(low, stable=True)
    order = order[torch.argsort(high[order], stable=True)]
    rows = rows[order]
    keep = torch.ones(sids, dtype=torch.bool, device=device)
    keep[1:] = (rows[1:] != rows[:-1]).any(1)
    return rows[keep]


def pack(rows, codes):
    key = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
    for level in range(rows.shape[1]):
        key = key * codes + rows[:, level]
    return key


class Trie:
    """Edges of node n at level l: tokens[l][rows[l][n] : rows[l][n + 1]]; edge i of a level is node i of the next."""

    def __init__(self, sids, codes):
        self.codes, self.rows, self.tokens, self.most = codes, [], [], []
        new = torch.zeros(len(sids), dtype=torch.bool, device=sids.device)
        parents, nodes = torch.zeros(len(sids), dtype=torch.int64, device=sids.device), 1
        for level in range(sids.shape[1]):
            new[0] = True
            new[1:] |= sids[1:, level] != sids[:-1, level]
            first = new.nonzero().squeeze(1)
            counts = torch.bincount(parents[first], minlength=nodes)
            self.rows.append(torch.cat([counts.new_zeros(1), counts.cumsum(0)]).to(torch.int32))
            self.most.append(int(counts.max()))
            # A slice of that many tokens may pass the end of the last rows.
            self.tokens.append(torch.cat([sids[first, level], counts.new_zeros(self.most[-1])]).to(torch.int32))
            parents, nodes = new.cumsum(0) - 1, len(first)

    def keys(self, level):
        """node * codes + token of every edge, rising."""
        counts = (self.rows[level][1:] - self.rows[level][:-1]).long()
        nodes = torch.arange(len(counts), device=counts.device).repeat_interleave(counts)
        return nodes * self.codes + self.tokens[level][:len(nodes)]


@dataclasses.dataclass
class Beams:
    """Before a step: [B, M] scores and nodes."""
    scores: torch.Tensor
    nodes: torch.Tensor


def make_logits(spec, device, l2_bytes):
    """As many steps' rows as bench.cc takes in turns."""
    dtype = torch.bfloat16 if spec.dtype == "bf16" else torch.float32
    shape = (spec.slots, spec.beams, spec.columns)
    one = shape[0] * shape[1] * shape[2] * (2 if spec.dtype == "bf16" else 4)
    buffers = 1 if one * 16 <= l2_bytes else max(1, -(-4 * l2_bytes // one))
    generator = torch.Generator(device).manual_seed(1)
    return [torch.empty(shape, device=device, dtype=dtype).normal_(0, 3, generator=generator) for _ in range(buffers)]
