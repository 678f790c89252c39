"""NEZHA's table 1: what of a request's time is prefill, decoding and the system around it, for a search code by code
and for a model with NEZHA's head on the same backbone; both through the runner, processor time of one thread.

- prefill: a request for the first code alone (a catalogue of one level); NEZHA's with its placeholders.
- decode: the same request for all codes, less that; NEZHA's by the runner's head.
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
from model import Decoder
from models import Trained
from table_nezha import STRATEGIES
from world import World, head_of, runner_of, tokens_of

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


def request_times(world: World, method: str, queries: list[list[int]], of: Trained, decoder: Decoder, beams: int,
                  strategy: str = "trie", head: sidbeam.DraftHead | None = None) -> None:
    shape, sids = decoder.shape, world.dataset.sids

    def served_by(**options: Any) -> sidbeam.Runner:
        return runner_of(world, of, decoder, beams, strategy, head=head, **options)

    first_prompts = [tokens_of(shape, sids, history, placeholders=head is not None) for history in queries]
    prompts = [tokens_of(shape, sids, history) for history in queries]
    with runner_of(world, of, decoder, 1, levels=1) as first, served_by() as whole:
        prefill = medians(thread_us, [lambda p=p: first.run(p) for p in first_prompts])
        both = medians(thread_us, [lambda p=p: whole.run(p) for p in prompts])
    with served_by(lane_threads=True) as served:
        def request(history: list[int]) -> np.ndarray:
            return served.submit(tokens_of(shape, sids, history)).result().items

        all_of_it = medians(process_us, [lambda h=h: request(h) for h in queries])
    say(world, method, beams, prefill, both - prefill, all_of_it - both)


def times(world: World) -> None:
    histories = [query.history for query in world.dataset.test]
    chosen = np.linspace(0, len(histories) - 1, min(world.timed, len(histories))).astype(int)
    queries, of, other = [histories[i] for i in chosen], world.first("nezha"), world.first("code_by_code")
    if of is None:
        return
    decoder = load(of.folder, world.dataset)
    head = head_of(decoder)
    for beams in BEAMS:
        if other is not None:
            request_times(world, "code by code", queries, other, load(other.folder, world.dataset), beams)
        for verification in ("trie", "hash"):
            request_times(world, f"NEZHA, {verification}", queries, of, decoder, beams, STRATEGIES[verification], head)
