"""What somebody who knows Triton writes in two hundred lines: log-sum-exp and CSR gather per row, the best M of a row,
and
the best M of all by merging chunks, with 64-bit keys so that ties have an order. No host synchronisation; captured in a
graph.
SPDX-License-Identifier: Apache-2.0"""
import torch
import triton
import triton.language as tl

DEAD = tl.constexpr(-(1 << 63))
CHUNK = 4096


@triton.jit
def key_of(score, index):
    """Score falling, then index rising, as one signed number."""
    bits = score.to(tl.int32, bitcast=True)
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    return (ordered.to(tl.int64) << 32) | (0xFFFFFFFF - index.to(tl.int64))


@triton.jit
def score_of(key):
    ordered = (key >> 32).to(tl.int32)
    return tl.where(ordered < 0, ordered ^ 0x7FFFFFFF, ordered).to(tl.float32, bitcast=True)


@triton.jit
def row_kernel(logits, row_stride, first, count, offset, scores, nodes, rows, tokens, keys, BEAMS: tl.constexpr,
               MOST: tl.constexpr, KEEP: tl.constexpr, BLOCK: tl.constexpr):
    """One row: reads columns [first, first + count), then its children at `offset`; the best KEEP of them."""
    row = tl.program_id(0).to(tl.int64)
    data = logits + row * row_stride
    column = tl.arange(0, BLOCK)
    top = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, count, BLOCK):
        x = tl.load(data + first + at + column, mask=at + column < count, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(tl.maximum(top, x), -1e30)  # a lane that has met nothing yet
        total = total * tl.exp(top - higher) + tl.exp(x - higher)
        top = higher
    peak = tl.max(top, 0)
    lse = peak + tl.log(tl.sum(total * tl.exp(top - peak), 0))
    slot = tl.arange(0, MOST)
    node = tl.load(nodes + row)
    begin = tl.load(rows + node)
    valid = slot < tl.load(rows + node + 1) - begin
    token = tl.load(tokens + begin + slot, mask=valid, other=0)
    x = tl.load(data + offset + token, mask=valid, other=float("-inf")).to(tl.float32)
    score = tl.load(scores + row) + (x - lse)
    key = tl.where(valid, key_of(score, (row % BEAMS) * MOST + slot), DEAD)
    if KEEP < MOST:
        key = tl.topk(key, KEEP)
    tl.store(keys + row * KEEP + tl.arange(0, KEEP), key)


@triton.jit
def merge_kernel(keys, count, out, chunks, KEEP: tl.constexpr, SIZE: tl.constexpr):
    """The best KEEP of a chunk of a request's keys."""
    request, chunk = tl.program_id(1).to(tl.int64), tl.program_id(0)
    at = chunk * SIZE + tl.arange(0, SIZE)
    best = tl.topk(tl.load(keys + request * count + at, mask=at < count, other=DEAD), KEEP)
    tl.store(out + (request * chunks + chunk) * KEEP + tl.arange(0, KEEP), best)


@triton.jit
def finish_kernel(keys, count, nodes, rows, tokens, out_scores, out_parents, out_tokens, out_nodes, BEAMS: tl.constexpr,
                  MOST: tl.constexpr, KEEP: tl.constexpr, SIZE: tl.constexpr):
    """The best M of a request, in order, and where they lead."""
    request = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, SIZE)
    key = tl.load(keys + request * count + at, mask=at < count, other=DEAD)
    if KEEP < SIZE:
        key = tl.topk(key, KEEP)
    else:
        key = tl.sort(key, descending=True)
    beam = tl.arange(0, KEEP)
    live = key != DEAD
    index = (0xFFFFFFFF - (key & 0xFFFFFFFF)).to(tl.int32)
    parent = tl.where(live, index // MOST, 0)
    begin = tl.load(rows + tl.load(nodes + request * BEAMS + parent))
    edge = begin + index % MOST
    token = tl.load(tokens + edge, mask=live, other=-1)
    mask = beam < BEAMS
    place = request * BEAMS + beam
    tl.store(out_scores + place, tl.where(live, score_of(key), float("-inf")), mask=mask)
    tl.store(out_parents + place, tl.where(live, parent, -1), mask=mask)
    tl.store(out_tokens + place, token, mask=mask)
    tl.store(out_nodes + place, tl.where(live, edge, -1), mask=mask)


def power_of_two(n):
    return max(2, 1 << (n - 1).bit_length())


def warps_for(elements):
    return 4 if elements <= 1024 else 8 if elements <= 2048 else 16


class TritonStep:
    """All buffers are made once, so that the step may be captured."""

    def __init__(self, spec, trie, level):
        self.spec, self.rows, self.tokens = spec, trie.rows[level], trie.tokens[level]
        device = self.rows.device
        self.most, self.width = power_of_two(trie.most[level]), power_of_two(spec.beams)
        self.keep = min(self.most, self.width)
        self.stages = [torch.empty((spec.slots, spec.beams * self.keep), dtype=torch.int64, device=device)]
        self.chunk = max(CHUNK, 2 * self.width)
        while self.stages[-1].shape[1] > self.chunk:
            chunks = -(-self.stages[-1].shape[1] // self.chunk)
            self.stages.append(torch.empty((spec.slots, chunks * self.width), dtype=torch.int64, device=device))
        shape = (spec.slots, spec.beams)
        self.scores = torch.empty(shape, device=device)
        self.parents, self.chosen, self.nodes = (torch.empty(shape, dtype=torch.int32, device=device) for _ in range(3))

    def __call__(self, logits, beams):
        spec = self.spec
        first, count = (spec.offset, spec.codes) if spec.norm == "level" else (0, spec.columns)
        block = min(8192, power_of_two(count))
        row_kernel[(spec.slots * spec.beams,)](
            logits, spec.columns, first, count, spec.offset, beams.scores, beams.nodes, self.rows, self.tokens,
            self.stages[0], BEAMS=spec.beams, MOST=self.most, KEEP=self.keep, BLOCK=block,
            num_warps=warps_for(max(block // 4, self.most)))
        for before, after in zip(self.stages, self.stages[1:]):
            chunks = after.shape[1] // self.width
            merge_kernel[(chunks, spec.slots)](before, before.shape[1], after, chunks, KEEP=self.width, SIZE=self.chunk,
                                               num_warps=warps_for(self.chunk))
        last = self.stages[-1]
        size = max(power_of_two(last.shape[1]), self.width)
        finish_kernel[(spec.slots,)](last, last.shape[1], beams.nodes, self.rows, self.tokens, self.scores,
                                     self.parents, self.chosen, self.nodes, BEAMS=spec.beams, MOST=self.most,
                                     KEEP=self.width, SIZE=size, num_warps=warps_for(size))
        return self.scores, self.parents, self.chosen, self.nodes
