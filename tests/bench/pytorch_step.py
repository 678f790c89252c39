"""The constrained beam step in PyTorch, on the CPU: STATIC as its paper gives it (arXiv 2602.22647, Algorithms 1 and
2), and mask-then-top-k as engines write it. Needs torch and numpy.

    python3 tests/bench/pytorch_step.py [--sids 1000000] [--threads 1,2] [--json FILE] [--quick]

SIDs are random from a seed (uniform, as STATIC's benchmark draws them). Logits are N(0,3), one row per beam, the same
at
every level, as bench_step's "rows=hot"; every method follows its own beams. Methods are timed in turns. Before that,
all
exact ones must give the same scores, and SIDs that exist.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import sys
import time

import numpy as np
import torch

import measurements

INF = float("inf")


class Trie:
    """Stacked CSR of the sorted SIDs: state 0 is the sink, then the prefixes of one code, of two ... The row of state s
    is columns[rows[s]:rows[s + 1]] with the next states in values. start and dense: the first two levels as masks."""

    def __init__(self, sids, codes):
        levels = sids.shape[1]
        base = 1  # state of the first prefix of level + 1 codes
        parents = np.zeros(len(sids), np.int64)
        sources, columns, values, self.branches = [], [], [], []
        new = np.zeros(len(sids), bool)
        for level in range(levels):
            new[0] = True
            new[1:] |= sids[1:, level] != sids[:-1, level]
            first = np.flatnonzero(new)
            targets = np.arange(base, base + len(first))
            if level > 0:
                sources.append(parents[first])
                columns.append(sids[first, level])
                values.append(targets if level + 1 < levels else np.zeros_like(targets))
            self.branches.append(int(np.bincount(parents[first]).max()))
            parents = base + np.cumsum(new) - 1
            base += len(first)
        states = base - len(first)
        counts = np.bincount(np.concatenate(sources), minlength=states)
        padding = np.zeros(max(self.branches), np.int64)  # the slice of the last rows may pass the end
        self.rows = torch.from_numpy(np.concatenate([[0], np.cumsum(counts)]))
        self.columns = torch.from_numpy(np.concatenate([*columns, padding]).astype(np.int64))
        self.values = torch.from_numpy(np.concatenate([*values, padding]).astype(np.int64))
        self.start = torch.zeros(codes, dtype=torch.bool)
        self.start[torch.from_numpy(np.unique(sids[:, 0]).astype(np.int64))] = True
        self.root_states = torch.cumsum(self.start, 0)  # of prefix (t)
        self.dense_mask = torch.zeros(codes, codes, dtype=torch.bool)
        self.dense_states = torch.zeros(codes, codes, dtype=torch.int64)
        at = tuple(torch.from_numpy(distinct(sids[:, :2]).T.astype(np.int64)))
        self.dense_mask[at] = True
        self.dense_states[at] = self.root_states.max() + 1 + torch.arange(len(at[0]))


class Beams:
    """A step's input for the next: scores, tokens and states [B, M]; history: the codes so far [B, M, level]."""

    def __init__(self, scores, tokens, states, history):
        self.scores, self.tokens, self.states, self.history = scores, tokens, states, history


def follow(beams, scores, parents, tokens, states):
    """The chosen candidates as beams; STATIC's phase 4, without the rebuilt token buffer, for which no method is
    timed."""
    return Beams(scores, tokens, states, (beams, parents))


def first_step(trie, logits, width, mask):
    log_probs = torch.log_softmax(logits[:, 0], -1)
    if mask:
        log_probs = torch.where(trie.start, log_probs, -INF)
    scores, tokens = torch.topk(log_probs, width)
    return Beams(scores, tokens, trie.root_states[tokens], None)


def add_scores(beams, log_probs, invalid):
    """Cumulative scores, -inf where invalid. In place: `torch.where` of a sum takes twice as long."""
    return log_probs.add_(beams.scores.unsqueeze(-1)).masked_fill_(invalid, -INF)


def select(candidates):
    """The best M of [B, M, C] cumulative scores: scores, parents, and places within a beam. Taking the best M of each
    row first, then of all, takes three times as long."""
    batch, width, count = candidates.shape
    scores, flat = torch.topk(candidates.view(batch, -1), width)
    return scores, torch.div(flat, count, rounding_mode="floor"), flat % count


def slices(trie, states, branches):
    """Phases 1 to 3 of Algorithm 2: a fixed number of edges per state, and which of them are its own."""
    begin = trie.rows[states]
    count = trie.rows[states + 1] - begin
    slot = torch.arange(branches)
    at = begin.unsqueeze(-1) + slot
    return trie.columns[at], trie.values[at], slot < count.unsqueeze(-1)


def dense_step(trie, beams, logits):
    log_probs = torch.log_softmax(logits, -1)
    candidates = add_scores(beams, log_probs, ~trie.dense_mask[beams.tokens])
    scores, parents, tokens = select(candidates)
    states = trie.dense_states[beams.tokens.gather(1, parents), tokens]
    return follow(beams, scores, parents, tokens, states)


class Static:
    """The paper's Algorithm 2: edges are projected to a mask of V columns, applied to the log-probabilities."""

    name, masked = "pytorch static", True

    def step(self, trie, beams, logits, level):
        if level == 1:
            return dense_step(trie, beams, logits)
        log_probs = torch.log_softmax(logits, -1)
        tokens, next_states, valid = slices(trie, beams.states, trie.branches[level])
        batch, width, codes = log_probs.shape
        # Column V takes the slots that are not valid.
        invalid = torch.ones(batch, width, codes + 1, dtype=torch.bool)
        invalid.scatter_(2, torch.where(valid, tokens, codes), False)
        scores, parents, chosen = select(add_scores(beams, log_probs, invalid[..., :codes]))
        index = parents.unsqueeze(-1).expand(-1, -1, tokens.shape[2])
        hit = (tokens.gather(1, index) == chosen.unsqueeze(-1)) & valid.gather(1, index)
        slot = hit.to(torch.int8).argmax(-1, keepdim=True)
        states = next_states.gather(1, index).gather(2, slot).squeeze(-1)
        return follow(beams, scores, parents, chosen, states)


class StaticGathered:
    """As the authors' published code does it: log-probabilities are gathered at the edges; no mask of V columns."""

    name, masked = "pytorch static, gathered", True

    def step(self, trie, beams, logits, level):
        if level == 1:
            return dense_step(trie, beams, logits)
        log_probs = torch.log_softmax(logits, -1)
        tokens, next_states, valid = slices(trie, beams.states, trie.branches[level])
        scores, parents, slot = select(add_scores(beams, log_probs.gather(2, tokens), ~valid))
        index = parents * tokens.shape[2] + slot
        flat = tokens.flatten(1)
        return follow(beams, scores, parents, flat.gather(1, index), next_states.flatten(1).gather(1, index))


class MaskThenTopK:
    """As engines do: the allowed codes of each sequence come from a trie on the host and fill a mask row by row (a
    logits processor); then log-softmax, mask, top-k over M x V."""

    name, masked = "pytorch mask-then-top-k", True

    def step(self, trie, beams, logits, level):
        log_probs = torch.log_softmax(logits, -1)
        mask = torch.full_like(log_probs, -INF)
        rows, columns = trie.rows, trie.columns
        flat = mask.view(-1, mask.shape[-1])
        for row, state in enumerate(beams.states.flatten().tolist()):
            flat[row, columns[rows[state]:rows[state + 1]]] = 0
        scores, parents, tokens = select(log_probs.add_(mask).add_(beams.scores.unsqueeze(-1)))
        before = beams.states.gather(1, parents).flatten().tolist()
        states = []
        for state, token in zip(before, tokens.flatten().tolist()):
            row = columns[rows[state]:rows[state + 1]]
            states.append(trie.values[rows[state] + torch.searchsorted(row, token)])
        return follow(beams, scores, parents, tokens, torch.stack(states).view_as(tokens))


class Unconstrained:
    name, masked = "pytorch unconstrained", False

    def step(self, trie, beams, logits, level):
        log_probs = torch.log_softmax(logits, -1)
        scores, parents, tokens = select(log_probs.add_(beams.scores.unsqueeze(-1)))
        return follow(beams, scores, parents, tokens, beams.states)


METHODS = (Static(), StaticGathered(), MaskThenTopK(), Unconstrained())


def decode(method, trie, logits, levels):
    """The last beams, and the microseconds of each step."""
    times, beams = [], None
    for level in range(levels):
        begin = time.perf_counter_ns()
        if level == 0:
            beams = first_step(trie, logits, logits.shape[1], method.masked)
        else:
            beams = method.step(trie, beams, logits, level)
        times.append((time.perf_counter_ns() - begin) / 1000)
    return beams, times


def codes_of(beams):
    """[B, M, L] codes, by walking back through the parents."""
    columns, at = [], torch.arange(beams.tokens.shape[1]).expand_as(beams.tokens)
    while beams is not None:
        columns.append(beams.tokens.gather(1, at))
        if beams.history is None:
            break
        beams, parents = beams.history
        at = parents.gather(1, at)
    return torch.stack(columns[::-1], -1)


def expect_right(trie, logits, sids):
    """Same scores from every constrained method, and SIDs that are in the catalogue."""
    exists = {tuple(sid) for sid in sids.tolist()}
    wanted = None
    for method in METHODS:
        if not method.masked:
            continue
        beams, _ = decode(method, trie, logits, sids.shape[1])
        wanted = beams.scores if wanted is None else wanted
        if not torch.allclose(beams.scores, wanted, atol=1e-4, rtol=0):
            raise SystemExit(f"pytorch_step: {method.name} gives other scores than {METHODS[0].name}")
        wrong = [sid for sid in codes_of(beams).flatten(0, 1).tolist() if tuple(sid) not in exists]
        if wrong:
            raise SystemExit(f"pytorch_step: {method.name} gives SID {wrong[0]}, which is not in the catalogue")


def random_sids(options):
    """Sorted and distinct."""
    random = np.random.default_rng(options.seed)
    sids = random.integers(0, options.codes, (options.sids, options.levels), np.int32)
    return distinct(sids[np.lexsort(sids.T[::-1])])


def distinct(rows):
    """Of sorted rows, the first of each kind."""
    return rows[np.concatenate([[True], (rows[1:] != rows[:-1]).any(1)])]


def measure(trie, logits, options, threads):
    torch.set_num_threads(threads)
    samples = {method.name: [] for method in METHODS}
    for method in METHODS:
        decode(method, trie, logits, options.levels)  # warm-up
    for _ in range(options.rounds):
        for method in METHODS:
            samples[method.name].append(decode(method, trie, logits, options.levels)[1])
    case = {"B": options.batch, "M": options.beams, "V": options.codes, "L": options.levels, "N": options.sids,
            "catalogue": "uniform", "rows": "hot"}
    suffix = f", {threads} thread" + ("s" if threads > 1 else "")
    for name, rounds in samples.items():
        by_level = [(str(level), [steps[level] for steps in rounds]) for level in range(options.levels)]
        by_level.append(("all", [sum(steps) / options.levels for steps in rounds]))
        for level, times in by_level:
            note = f"torch {torch.__version__}"
            yield measurements.summary("static", {**case, "level": level}, name + suffix, "us", times, note)


def show(found, levels):
    columns = [str(level) for level in range(levels)] + ["all"]
    print(f"{'us per step (median)':<44}" + "".join(f"{'level ' + c if c != 'all' else c:>10}" for c in columns))
    for name in dict.fromkeys(m["name"] for m in found):
        row = {m["case"]["level"]: m["median"] for m in found if m["name"] == name}
        print(f"{name:<44}" + "".join(f"{row[c]:>10.1f}" for c in columns))


def parse():
    parser = argparse.ArgumentParser(description="The beam step in PyTorch on the CPU.")
    parser.add_argument("--sids", type=int, default=1000000)
    parser.add_argument("--levels", type=int, default=8)
    parser.add_argument("--codes", type=int, default=2048)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--beams", type=int, default=70)
    parser.add_argument("--rounds", type=int, default=40, help="decodes of each method")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="file to append measurements to, one a line")
    parser.add_argument("--quick", action="store_true", help="small sizes: is it right, not how fast")
    options = parser.parse_args()
    if options.quick:
        options.sids, options.levels, options.codes, options.beams, options.rounds = 20000, 4, 128, 20, 2
    if options.beams > options.codes:
        parser.error(f"--beams is {options.beams}, expected at most --codes, {options.codes}")
    return options


def main():
    options = parse()
    sids = random_sids(options)
    trie = Trie(sids, options.codes)
    torch.manual_seed(options.seed)
    logits = torch.randn(options.batch, options.beams, options.codes) * 3
    found = []
    with torch.inference_mode():
        expect_right(trie, logits, sids)
        for threads in map(int, options.threads.split(",")):
            found += measure(trie, logits, options, threads)
    show(found, options.levels)
    if options.json:
        measurements.append_lines(options.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
