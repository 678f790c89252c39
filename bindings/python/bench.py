"""What a step costs through Python; repeats the setting of tests/bindings/bench_calls.c.

Prints `overhead python CASE MEDIAN_NS P99_NS`. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gc
import time

import numpy as np

import sidbeam

SIDS, LEVELS, CODES, SLOTS, BEAMS, WARM_UP = 100000, 4, 2048, 2, 70, 2000
# name, slots, beams, level that is timed, with log-sum-exp, runs
CASES = (("one", 1, 1, 2, True, 20000), ("list", SLOTS, BEAMS, 2, True, 20000), ("full", SLOTS, BEAMS, 1, False, 5000))


def mix64(x: np.ndarray) -> np.ndarray:
    z = x + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def run(session: sidbeam.Session, logits: np.ndarray, lse: np.ndarray | None, level: int) -> int:
    session.start()
    for _ in range(level):
        session.step(logits, lse=lse)
    begin = time.perf_counter_ns()
    session.step(logits, lse=lse)
    return time.perf_counter_ns() - begin


def main() -> None:
    numbers = np.arange(SIDS * LEVELS, dtype=np.uint64)
    sids = (mix64(numbers) % np.uint64(CODES)).astype(np.int32).reshape(SIDS, LEVELS)
    elements = np.arange(SLOTS * BEAMS * CODES, dtype=np.uint64) + np.uint64(2**32)
    logits = ((mix64(elements) >> np.uint64(40)).astype(np.float32) / np.float32(2**21) - np.float32(4)).reshape(
        SLOTS, BEAMS, CODES
    )
    lse = np.full((SLOTS, BEAMS), 9, np.float32)
    runtime = sidbeam.Runtime(threads=1, step_threads=1)
    index = sidbeam.Index.build(sids, codes=CODES, runtime=runtime)
    gc.disable()
    for name, slots, beams, level, given, runs in CASES:
        session = sidbeam.Session(index, slots=slots, beams=beams, runtime=runtime)
        arguments = (np.ascontiguousarray(logits[:slots, :beams]), lse[:slots, :beams] if given else None, level)
        for _ in range(WARM_UP):
            run(session, *arguments)
        times = sorted(run(session, *arguments) for _ in range(runs))
        print("overhead python", name, times[runs // 2], times[runs - runs // 100], flush=True)


if __name__ == "__main__":
    main()
