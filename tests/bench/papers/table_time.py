"""NEZHA's table 1: what of a request's time is prefill, decoding and the system around it, for a search code by code
and for NEZHA's head on the same backbone; through the library, processor time of one thread.

- prefill: the runner's request for the first code alone (a catalogue of one level), NEZHA's with its placeholders.
- decode: the same request for all codes, less that; and NEZHA's head on the hidden states.
- system: all threads' time for the request through the queue and a lane's thread, with tokens from the history and ids
  from the SIDs, less the two.
A request's time is the median of a few in turns. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import time
from typing import Any, Callable

import numpy as np

import sidbeam
from export import load
from world import Drafter, World, drafter_of, runner_of, tokens_of

ROUNDS = 3
BEAMS = (10, 50, 512)


def thread_us(call: Callable[[], Any]) -> float:
    begin = time.thread_time_ns()
    call()
    return (time.thread_time_ns() - begin) / 1000


def process_us(call: Callable[[], Any]) -> float:
    begin = time.process_time_ns()
    call()
    return (time.process_time_ns() - begin) / 1000


def medians(measure: Callable[[Callable[[], Any]], float], calls: list[Callable[[], Any]]) -> np.ndarray:
    """Microseconds of each call, of ROUNDS in turns; one more before them is not counted."""
    calls[0]()
    return np.median([[measure(call) for call in calls] for _ in range(ROUNDS)], axis=0)


def say(world: World, method: str, beams: int, prefill: np.ndarray, decode: np.ndarray, system: np.ndarray) -> None:
    for part, values in (("prefill", prefill), ("decode", decode), ("system", system),
                         ("total", prefill + decode + system)):
        world.say("nezha_time", {"M": beams, "part": part}, method, "us", values)


def code_by_code(world: World, queries: list[list[int]], beams: int) -> None:
    of = world.first("code_by_code")
    if of is None:
        return
    decoder, sids = load(of.folder, world.dataset), world.dataset.sids
    prompts = [tokens_of(decoder.shape, sids, history) for history in queries]
    with runner_of(world, of, decoder, beams) as whole, runner_of(world, of, decoder, 1, levels=1) as first:
        prefill = medians(thread_us, [lambda p=p: first.run(p) for p in prompts])
        both = medians(thread_us, [lambda p=p: whole.run(p) for p in prompts])
    with runner_of(world, of, decoder, beams, lane_threads=True) as served:
        def request(history: list[int]) -> np.ndarray:
            return served.submit(tokens_of(decoder.shape, sids, history)).result().items

        all_of_it = medians(process_us, [lambda h=h: request(h) for h in queries])
    say(world, "code by code", beams, prefill, both - prefill, all_of_it - both)


def nezha(world: World, drafter: Drafter, queries: list[list[int]], hidden: np.ndarray, beams: int,
          verification: str) -> None:
    decoder, index, sids = drafter.decoder, world.index, world.dataset.sids
    prompts = [tokens_of(decoder.shape, sids, history, placeholders=True) for history in queries]
    decode = sidbeam.DraftDecoder(drafter.head, index, beams=beams, verification=verification)

    def items(drafts: sidbeam.Drafts) -> np.ndarray:
        rows = [index.item_rows(int(ordinal)) for ordinal in drafts.ordinals[0, : drafts.live[0]] if ordinal >= 0]
        return index.item_ids(np.array([row for some in rows for row in some], np.int64))

    with runner_of(world, drafter.of, decoder, 1, levels=1) as first:
        prefill = medians(thread_us, [lambda p=p: first.run(p) for p in prompts])
    decoded = medians(thread_us, [lambda h=h: decode.run(h) for h in hidden])
    with runner_of(world, drafter.of, decoder, 1, levels=1, lane_threads=True) as served:
        def request(history: list[int], states: np.ndarray) -> np.ndarray:
            served.submit(tokens_of(decoder.shape, sids, history, placeholders=True)).result()
            return items(decode.run(states))

        all_of_it = medians(process_us, [lambda q=q, h=h: request(q, h) for q, h in zip(queries, hidden)])
    say(world, f"NEZHA, {verification}", beams, prefill, decoded, all_of_it - prefill - decoded)


def times(world: World) -> None:
    histories = [query.history for query in world.dataset.test]
    chosen = np.linspace(0, len(histories) - 1, min(world.timed, len(histories))).astype(int)
    queries, of = [histories[i] for i in chosen], world.first("nezha")
    if of is None:
        return
    drafter = drafter_of(world, of)
    for beams in BEAMS:
        code_by_code(world, queries, beams)
        for verification in ("trie", "hash"):
            nezha(world, drafter, queries, drafter.hidden[chosen].numpy(), beams, verification)
