"""Rounds in the runner: what they count, and the processor time that they take.

SPDX-License-Identifier: Apache-2.0
"""
import time
from dataclasses import dataclass

import numpy as np

import measurements
import sidbeam


# How a draft is verified: settings of the runner. Relaxed: in the released code's form, or exact, which needs N = K.
STRICT, RELAXED, EXACT = {}, {"speculate": "relaxed", "without_replacement": True}, {"speculate": "relaxed"}


@dataclass
class Setup:
    """One way to answer requests: plain search by the target, or a draft and a target."""

    name: str
    case: dict  # of its measurements
    beams: int  # K
    draft_beams: int  # N; 0: no draft
    runner: sidbeam.Runner
    draws: bool = False  # relaxed rounds
    target_rows: float = 0.0  # these are means over the requests
    target_calls: float = 0.0
    draft_rows: float = 0.0
    draft_calls: float = 0.0
    accepted: float = 0.0
    prompt: float = 0.0  # positions
    us: float = 0.0  # median of its times

    def run(self, requests: list[np.ndarray]) -> list[sidbeam.Result]:
        """All of them, each with random numbers of its own, which every turn has again."""
        keys = [{"seed": 1, "sampling_request": i} if self.draws else {} for i in range(len(requests))]
        return [self.runner.run(tokens, **key) for tokens, key in zip(requests, keys)]


def open_runner(target: sidbeam.Model, draft: sidbeam.Model | None, index: sidbeam.Index, codes: int, beams: int,
                draft_beams: int, verify: dict) -> sidbeam.Runner:
    """It answers on the caller's thread, whose processor time is measured."""
    ahead = {"draft": draft, "draft_beams": draft_beams, **verify} if draft is not None else {}
    vocabulary = sidbeam.Vocabulary([level * codes for level in range(index.info.levels)])
    return sidbeam.Runner(target, index, beams=beams, vocabulary=vocabulary, normalization="level",
                          lane_threads=False, **ahead)


def prompts(dataset, queries, longest: int) -> list[np.ndarray]:
    """Tokens of the histories, as samples/train writes them (form a)."""
    tokens, begin = dataset.sids + np.arange(dataset.levels) * dataset.codes, [dataset.levels * dataset.codes]
    return [np.concatenate([begin, tokens[query.history[-longest:]].ravel()]).astype(np.int32) for query in queries]


def count(setup: Setup, requests: list[np.ndarray], levels: int) -> None:
    """Runs all requests once and fills in the means. Of three levels the first round drafts two, of 1 and of N rows; a
    second round that begins after the first level drafts one, of K rows; one that begins later drafts none. (Exact
    rounds have some rows less, where the same was drawn twice.)"""
    before = setup.runner.stats()
    results = setup.run(requests)
    after, n = setup.runner.stats(), len(requests)
    beams, draft_beams = setup.beams, setup.draft_beams
    setup.prompt = sum(map(len, requests)) / n
    rounds, drafted = (sum(getattr(result, name) for result in results) / n for name in ("rounds", "drafted_levels"))
    setup.accepted = sum(result.accepted_levels for result in results) / n
    if draft_beams:
        setup.target_calls, setup.target_rows = rounds, (after.nodes - before.nodes) / n
        setup.draft_calls, setup.draft_rows = drafted, 1 + draft_beams + beams * (drafted - 2)
    else:
        setup.target_calls, setup.target_rows = levels, 1 + beams * (levels - 1)


def timed(setups: list[Setup], requests: list[np.ndarray], turns: int) -> list[list[float]]:
    """Microseconds of processor time per request, of each setup in each turn. All setups take their turn before the
    next begins, so that what slows the machine slows all."""
    times: list[list[float]] = [[] for _ in setups]
    for _ in range(turns):
        for setup, own in zip(setups, times):
            begin = time.thread_time_ns()
            setup.run(requests)
            own.append((time.thread_time_ns() - begin) / 1e3 / len(requests))
    return times


def counts(setup: Setup, requests: int) -> list[dict]:
    """Measurements of what a setup counted; their units say what."""
    counted = {"accepted levels": setup.accepted, "target calls": setup.target_calls, "target rows": setup.target_rows}
    if setup.draft_beams:
        counted |= {"draft calls": setup.draft_calls, "draft rows": setup.draft_rows}
    return [once(setup.case, setup.name, unit, value, requests) for unit, value in counted.items()]


def once(case: dict, name: str, unit: str, value: float, runs: int = 1) -> dict:
    """The measurement of a mean over so many requests."""
    return {**measurements.summary("speculation", case, name, unit, [value]), "runs": runs}
