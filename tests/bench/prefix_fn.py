"""A search under rules as one writes it today: a Python trie of the allowed items behind transformers'
PrefixConstrainedLogitsProcessor, beside bench_step's table `after`. Needs torch, transformers and numpy.

    python3 tests/bench/prefix_fn.py [--sids 1000000] [--json FILE] [--quick]

SIDs are random from a seed, logits N(0, 3). What is timed is what constrains and selects (log-softmax, the processor,
top-k), on one thread and by its processor time; every result must be an allowed item. The trie is made anew for every
user's list and every filter, which is timed by itself.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import sys
import time

import numpy as np
import torch
import transformers

import measurements

RULES = (("half of the best 2000 seen", 0), ("filter 10 %", 10), ("filter 1 %", 1))


def trie_of(sids):
    """{code: {code: ...}}, to the last code."""
    root = {}
    for sid in sids:
        node = root
        for code in sid:
            node = node.setdefault(code, {})
    return root


def children(trie, prefix):
    for code in prefix:
        trie = trie[code]
    return list(trie)


def search(trie, logits, beams):
    """The best SIDs of one request; rows of logits are by level and beam."""
    processor = transformers.PrefixConstrainedLogitsProcessor(
        lambda batch, sent: children(trie, sent.tolist()), beams)
    prefixes, scores = torch.zeros((beams, 0), dtype=torch.int64), torch.full((beams, 1), -1e9)
    scores[0] = 0
    for rows in logits:
        step = processor(prefixes, torch.log_softmax(rows, -1)) + scores
        best, at = torch.topk(step.view(-1), beams)
        prefixes = torch.cat([prefixes[at // rows.shape[1]], at[:, None] % rows.shape[1]], 1)
        scores = best[:, None]
    return prefixes


def allowed_rows(sids, percent, generator):
    if percent:
        return generator.random(len(sids)) < percent / 100
    rows = np.ones(len(sids), bool)
    rows[generator.choice(len(sids), min(1000, len(sids) // 4), replace=False)] = False
    return rows


def measure(options):
    generator = np.random.default_rng(options.seed)
    sids = np.unique(generator.integers(0, options.codes, (options.sids, options.levels), np.int32), axis=0)
    logits = torch.randn(options.levels, options.beams, options.codes) * 3
    case = {"N": len(sids), "V": options.codes, "L": options.levels, "catalogue": "uniform"}
    note = f"transformers {transformers.__version__}, torch {torch.__version__}"
    for rules, percent in RULES:
        allowed = [tuple(sid) for sid in sids[allowed_rows(sids, percent, generator)].tolist()]
        begin = time.thread_time()
        trie = trie_of(allowed)
        making = time.thread_time() - begin
        known, times = set(allowed), []
        for _ in range(options.rounds + 1):
            begin = time.thread_time()
            found = search(trie, logits, options.beams)
            times.append((time.thread_time() - begin) * 1e6)
            if not all(tuple(sid) in known for sid in found.tolist()):
                raise RuntimeError(f"{rules}: a result is no allowed item")
        yield measurements.summary("after", {**case, "rules": rules}, f"{rules}, making a Python trie", "us",
                                   [making * 1e6], note)
        yield measurements.summary("after", {**case, "rules": rules, "M": options.beams},
                                   f"{rules}, prefix_allowed_tokens_fn", "us", times[1:], note)


def parse():
    parser = argparse.ArgumentParser(description="A search under rules by transformers' prefix_allowed_tokens_fn.")
    parser.add_argument("--sids", type=int, default=1000000)
    parser.add_argument("--levels", type=int, default=8)
    parser.add_argument("--codes", type=int, default=2048)
    parser.add_argument("--beams", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="file to append measurements to, one a line")
    parser.add_argument("--quick", action="store_true", help="small sizes: is it right, not how fast")
    options = parser.parse_args()
    if options.quick:
        options.sids, options.levels, options.codes, options.beams, options.rounds = 20000, 4, 128, 20, 2
    return options


def main():
    options = parse()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    with torch.inference_mode():
        found = list(measure(options))
    for m in found:
        print(f"{m['name']:<60}{m['median']:>12.0f} us")
    if options.json:
        measurements.append_lines(options.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
