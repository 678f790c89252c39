#!/usr/bin/env python3
"""Makes runtime/runner/cuda/attention_plan_table.inc: how attention is spread over a device, by the lengths of the
prompt and of the unshared KV (xGR, section 5.2).

    fit_attention.py MEASURED.jsonl > attention_plan_table.inc   of measurements
    fit_attention.py --model > attention_plan_table.inc          without a GPU: the model below

Each line of MEASURED.jsonl is one plan at one place: {"device", "prompt", "unshared", "items", "shared",
"unshared_blocks", "merge", "us"}. Each place gets the plan that was fastest there, or the one of the place before where
that is as fast to 1 %: a table of few plans is easier to judge. (The paper predicts by a regression over trees; a grid
that is measured whole has nothing to predict.)

The model is of four requests with Qwen3-1.7B's heads and 256 beams on an H100. Its constants are NVIDIA's peak figures
times a guess at what is reached of them; NOBODY HAS MEASURED ANY. A block does its items one after the other. An item
takes the longer of its products and its reads from L2, both shared with the other blocks of the multiprocessor, and a
start; the unshared stage and merging are reads, by warps that wait for each. Launches are the same for all plans.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import itertools
import json
import math
import sys

PROMPTS = (0, 128, 256, 512, 1024, 2048, 4096)
UNSHARED = (0, 1, 2, 3, 4, 8, 32)
ITEMS = (1, 2, 3, 4, 6, 8, 12)  # all in quarters of the multiprocessors
SHARED = (2, 4, 6, 7, 8)
UNSHARED_BLOCKS = (0, 1, 2, 4)
MERGE = (4, 8, 16, 32)

# The requests.
REQUESTS, HEADS, KV_HEADS, DIM, BEAMS, BYTES = 4, 16, 8, 128, 256, 2
# The device.
PROCESSORS = 132
RESIDENT = 2  # blocks of the shared stage on a multiprocessor
FLOPS = 0.5 * 989e12 / PROCESSORS  # mma.sync reaches some half of what wgmma does
L2 = 0.7 * 5.5e12 / PROCESSORS  # bytes a second
START = 1.5e-6  # of an item: its first loads
WAIT = 0.8e-6  # of a warp for a round of loads
WARPS, RESIDENT_ROW_WARPS = 4, 32  # of a block; of the merging kernel on a multiprocessor
TILE, LEAST_SPLIT, KEYS = 64, 128, 64


def blocks(quarters):
    return max(1, quarters * PROCESSORS // 4)


def cut(prompt, items):
    """As cut() in attention_plan.cc: tiles, splits, keys of a split."""
    tiles = math.ceil(BEAMS * (HEADS // KV_HEADS) / TILE)
    if prompt == 0:
        return tiles, 1, 0
    wanted = math.ceil(blocks(items) / (tiles * KV_HEADS))
    splits = max(1, min(wanted, math.ceil(prompt / LEAST_SPLIT)))
    keys = math.ceil(math.ceil(prompt / splits) / KEYS) * KEYS
    return tiles, math.ceil(prompt / keys), keys


def rows_time(reads_of_row, rounds_of_row, warps, resident):
    """Rows by warps: bound by bytes, or by warps that wait."""
    rows = REQUESTS * BEAMS * HEADS
    at_once = min(warps, resident * PROCESSORS, rows)
    return max(rows * reads_of_row / (L2 * PROCESSORS), math.ceil(rows / at_once) * rounds_of_row * WAIT)


def modelled(prompt, unshared, items, shared, unshared_blocks, merge):
    """Seconds of a plan; None where it is none."""
    if unshared_blocks and not unshared or shared + unshared_blocks > 4 * RESIDENT:
        return None
    tiles, splits, keys = cut(prompt, items)
    count = REQUESTS * tiles * splits * KV_HEADS
    running = min(blocks(shared), count)
    beside = math.ceil(running / PROCESSORS)
    partial = 4 * (DIM + 2)
    products = 4 * TILE * keys * DIM / FLOPS
    reads = (2 * keys * DIM * BYTES + TILE * (DIM * BYTES + partial)) / L2
    shared_time = math.ceil(count / running) * (START + beside * max(products, reads))
    ancestors = unshared * 2 * DIM * BYTES
    rounds = math.ceil(unshared / 4) * 2
    first = shared_time
    if unshared_blocks:
        own = rows_time(ancestors + partial, rounds + 1, blocks(unshared_blocks) * WARPS, WARPS * RESIDENT)
        first = max(shared_time, own)
    if unshared == 0 and splits == 1:
        return first
    fused = 0 if unshared_blocks else 1
    merging = rows_time((splits + 1 - fused) * partial + fused * ancestors, splits + 1 - fused + fused * rounds,
                        blocks(merge) * WARPS, RESIDENT_ROW_WARPS)
    return first + merging


def model():
    for prompt, unshared, *plan in itertools.product(PROMPTS, UNSHARED, ITEMS, SHARED, UNSHARED_BLOCKS, MERGE):
        seconds = modelled(max(prompt, 64), unshared, *plan)
        if seconds is not None:
            yield prompt, unshared, tuple(plan), seconds


def measured(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            one = json.loads(line)
            plan = one["items"], one["shared"], one["unshared_blocks"], one["merge"]
            yield one["prompt"], one["unshared"], plan, one["us"]


def fit(lines):
    """[(prompt, unshared, plan)], in order."""
    places = {}
    for prompt, unshared, plan, time in lines:
        places.setdefault((prompt, unshared), {})[plan] = time
    table, before = [], None
    for place in sorted(places):
        times = places[place]
        best = min(times, key=lambda plan: (times[plan], plan[0], [-blocks for blocks in plan[1:]]))
        if before in times and times[before] <= 1.01 * times[best]:
            best = before
        table.append((*place, best))
        before = best
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("measured", nargs="?")
    parser.add_argument("--model", action="store_true")
    arguments = parser.parse_args()
    if arguments.model == bool(arguments.measured):
        parser.error("expected either a file of measurements or --model")
    if arguments.model:
        origin, table = "a model of an H100, not measured", fit(model())
    else:
        with open(arguments.measured, encoding="utf-8") as file:
            origin = "measured on " + json.loads(file.readline())["device"]
        table = fit(measured(arguments.measured))
    out = ["// Made by tests/gpu/bench/fit_attention.py. Columns: StagePlan in attention_plan.h.",
           f"constexpr char kOrigin[] = \"{origin}\";", "constexpr StagePlan kTable[] = {"]
    out += ["    {%d, %d, %d, %d, %d, %d}," % (prompt, unshared, *plan) for prompt, unshared, plan in table]
    print("\n".join([*out, "};"]))


if __name__ == "__main__":
    sys.exit(main())
