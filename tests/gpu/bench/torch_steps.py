"""Rivals in PyTorch: a step is a function (logits [B, M, columns], beams) -> (scores, parents, tokens, nodes), [B, M].
SPDX-License-Identifier: Apache-2.0"""
import torch

INF = float("inf")


def log_probs_of(spec, logits):
    """[B, M, V] of the level's codes."""
    level = slice(spec.offset, spec.offset + spec.codes)
    if spec.norm == "level":
        return torch.log_softmax(logits[..., level], -1, dtype=torch.float32)
    return torch.log_softmax(logits, -1, dtype=torch.float32)[..., level]


def select(candidates, width):
    """The best of [B, M, C] scores: scores, parents, places within a beam."""
    count = candidates.shape[-1]
    scores, flat = torch.topk(candidates.flatten(1), width)
    return scores, torch.div(flat, count, rounding_mode="floor"), flat % count


class Static:
    """STATIC as its paper gives it (Algorithm 2): a fixed number of edges per node is read, projected to a mask of V
    columns and applied to the log-probabilities."""

    def __init__(self, spec, trie, level):
        self.spec, self.rows, self.tokens = spec, trie.rows[level], trie.tokens[level]
        self.slot = torch.arange(trie.most[level], device=self.rows.device, dtype=torch.int32)

    def edges(self, nodes):
        begin = self.rows[nodes]
        at = begin.unsqueeze(-1) + self.slot
        return at, self.tokens[at], self.slot < (self.rows[nodes + 1] - begin).unsqueeze(-1)

    def __call__(self, logits, beams):
        spec = self.spec
        log_probs = log_probs_of(spec, logits)
        at, tokens, valid = self.edges(beams.nodes)
        # Column V takes the slots that are not valid.
        invalid = torch.ones((*log_probs.shape[:2], spec.codes + 1), dtype=torch.bool, device=logits.device)
        invalid.scatter_(2, torch.where(valid, tokens, spec.codes).long(), False)
        candidates = (log_probs + beams.scores.unsqueeze(-1)).masked_fill_(invalid[..., :spec.codes], -INF)
        scores, parents, chosen = select(candidates, spec.beams)
        index = parents.unsqueeze(-1).expand(-1, -1, tokens.shape[-1])
        hit = (tokens.gather(1, index) == chosen.unsqueeze(-1)) & valid.gather(1, index)
        slot = hit.to(torch.int8).argmax(-1, keepdim=True)
        return scores, parents, chosen, at.gather(1, index).gather(2, slot).squeeze(-1)


def compiled(static):
    """STATIC's step by torch.compile: as a whole, or an error that says why not, since what is cut up and falls back to
    eager steps would be neither."""
    return torch.compile(static.__call__, dynamic=False, fullgraph=True)


class MaskedTopK:
    """torch.topk over masked log-probabilities, with a mask that was made before and costs nothing: a lower bound for
    methods that have to make it."""

    def __init__(self, spec, trie, level, beams):
        self.spec = spec
        _, tokens, valid = Static(spec, trie, level).edges(beams.nodes)
        self.invalid = torch.ones((spec.slots, spec.beams, spec.codes + 1), dtype=torch.bool, device=tokens.device)
        self.invalid.scatter_(2, torch.where(valid, tokens, spec.codes).long(), False)
        self.invalid = self.invalid[..., :spec.codes].contiguous()

    def __call__(self, logits, beams):
        candidates = (log_probs_of(self.spec, logits) + beams.scores.unsqueeze(-1)).masked_fill_(self.invalid, -INF)
        scores, parents, tokens = select(candidates, self.spec.beams)
        return scores, parents, tokens, tokens


class FlashRec:
    """FlashRec's way: the best 2 M codes of each beam first, then those of them that are valid, found in sorted keys.
    Valid codes that are not among a beam's best are lost."""

    def __init__(self, spec, trie, level):
        self.spec, self.keys = spec, trie.keys(level)
        self.count = min(2 * spec.beams, spec.codes)

    def __call__(self, logits, beams):
        spec = self.spec
        log_probs, tokens = torch.topk(log_probs_of(spec, logits), self.count)
        wanted = beams.nodes.unsqueeze(-1).long() * spec.codes + tokens
        at = torch.searchsorted(self.keys, wanted).clamp_(max=len(self.keys) - 1)
        candidates = torch.where(self.keys[at] == wanted, log_probs + beams.scores.unsqueeze(-1), -INF)
        scores, parents, chosen = select(candidates, min(spec.beams, candidates[0].numel()))
        index = parents * self.count + chosen
        return scores, parents, tokens.flatten(1).gather(1, index), at.flatten(1).gather(1, index)


class Unconstrained:
    def __init__(self, spec):
        self.spec = spec

    def __call__(self, logits, beams):
        scores, parents, tokens = select(log_probs_of(self.spec, logits) + beams.scores.unsqueeze(-1), self.spec.beams)
        return scores, parents, tokens, tokens
