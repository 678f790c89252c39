"""Recall against time: every decoder at several numbers of beams, and how long each takes for the same recall.

Times are those of table_time.py without the system around a request: prefill and decoding, processor time.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

import sidbeam
from export import load
from table_nezha import STRATEGIES, code_by_code
from table_time import medians, thread_us
from world import World, draft, drafter_of, hits, ranks, runner_of, tokens_of, valid_first

BEAMS = (10, 20, 50, 100, 200)
AT = 10


def say(world: World, name: str, beams: int, found: np.ndarray, us: np.ndarray) -> None:
    world.say("recall_time", {"M": beams}, name, "us", us)
    world.say("recall_time", {"M": beams}, name, "share R@10", hits(ranks(valid_first(found), world.targets), AT))


def equal(world: World) -> None:
    histories = [query.history for query in world.dataset.test]
    chosen = np.linspace(0, len(histories) - 1, min(world.timed, len(histories))).astype(int)
    of, other = world.first("nezha"), world.first("code_by_code")
    for beams in BEAMS:
        if other is not None:
            decoder = load(other.folder, world.dataset)
            prompts = [tokens_of(decoder.shape, world.dataset.sids, histories[i]) for i in chosen]
            for verification in STRATEGIES:
                with runner_of(world, other, decoder, beams, STRATEGIES[verification]) as runner:
                    us = medians(thread_us, [lambda p=p: runner.run(p) for p in prompts])
                say(world, f"code by code, {verification}", beams, code_by_code(world, other, verification, beams), us)
        if of is None:
            continue
        drafter = drafter_of(world, of)
        shape, sids = drafter.decoder.shape, world.dataset.sids
        prompts = [tokens_of(shape, sids, histories[i], placeholders=True) for i in chosen]
        with runner_of(world, of, drafter.decoder, 1, levels=1) as runner:
            prefill = medians(thread_us, [lambda p=p: runner.run(p) for p in prompts])
        for verification in STRATEGIES:
            decode = sidbeam.DraftDecoder(drafter.head, world.index, beams=beams, verification=verification)
            us = prefill + medians(thread_us, [lambda h=h: decode.run(h) for h in drafter.hidden[chosen].numpy()])
            say(world, f"NEZHA, {verification}", beams, draft(world, drafter, beams, verification), us)
