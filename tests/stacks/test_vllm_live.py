"""Live catalogues in sidbeam.vllm, in vLLM's own machinery; see vllm_cases.py and live_cases.py.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from live_cases import HISTORY, OFFSETS, WHERE, check_in_use, living
from serving_cases import BEGIN, COLUMNS, END, assert_row
from vllm_cases import (
    CONFIG,
    LENGTH,
    SLOTS,
    Request,
    logits_of,
    params,
    runners,
    states,
    torch,
    validators,
)
from vllm_cases import environment as environment

from sidbeam import serving
from sidbeam import vllm as ours
from vllm.v1.sample.logits_processor import build_logitsprocs
from vllm.v1.worker.gpu.sample.logits_processor import build_custom_logits_processors

import sidbeam


@pytest.fixture(params=WHERE)
def live(request, tmp_path, monkeypatch):
    others = {"bigrams": serving.find("bigrams")}  # which some requests of a batch follow
    monkeypatch.setattr(serving, "_registered", others)
    with living(request.param, tmp_path) as made:
        settings = {"vocabulary": sidbeam.Vocabulary(OFFSETS), "end": END, "filters": {"cheap": "price<5"}}
        made.named = serving.register("live", made.given, begin=BEGIN, **settings)
        made.refresh = made.named.refresh
        yield made


class LiveRequest(Request):
    """Says SIDs of one version, one after another."""

    def __init__(self, number, live, rng=None, **more):
        rules, kept = ({}, None) if rng is None else live.draw_rules(rng)
        super().__init__(number, "live", [7, BEGIN], extra={**rules, **more.pop("extra", {})}, **more)
        self.sids = live.sids(live.version, kept)

    def allowed(self):
        history = self.prompt + self.output
        said = tuple(history[len(history) - list(reversed(history)).index(BEGIN) :])
        if len(said) >= 3:
            return None
        return {sid[len(said)] for sid in self.sids if sid[: len(said)] == said} or {END}

    def check(self, before, after):
        assert_row(before.numpy(), after.numpy(), self.allowed())


@runners
@pytest.mark.parametrize("seed", range(3))
def test_requests_keep_the_version_that_they_began_with(Runner, live, seed):
    """In one batch with those of other versions, under rules or not, of another catalogue, and free ones; rows move,
    and slots are used again."""
    rng, runner, made = np.random.default_rng(seed), Runner(), 0
    for what in [step for one in HISTORY for step in (None, one, None)]:
        for request in list(runner.requests.values()):
            if rng.random() < 0.15:
                runner.remove(request)
        while len(runner.requests) < SLOTS:
            made += 1
            kind = rng.integers(5)
            if kind < 4:
                runner.add(LiveRequest(made, live, rng if kind < 2 else None))
            else:
                runner.add(Request(made, [None, "bigrams"][rng.integers(2)], [7]))
        before = logits_of(rng, SLOTS)
        rows, after = runner.step(before.clone(), rng)
        for request, old, new in zip(rows, before, after):
            request.check(old, new)
        for request, row in zip(rows, after):
            free = isinstance(request, LiveRequest) and request.allowed() is None
            runner.told(request, BEGIN if free else int(row.argmax()))
        if what is not None:
            live.change(what)
    assert made > 2 * SLOTS


@runners
def test_a_draw_is_of_its_version(Runner, live):
    rng, runner = np.random.default_rng(3), Runner()
    request = LiveRequest(0, live, seed=5, extra={"sidbeam_request": 1})
    index = live.index(1)
    runner.add(request)
    for level, what in enumerate(["publish", "compact", "publish"]):
        before = logits_of(rng, 1)
        _, after = runner.step(before.clone(), rng)
        alone = sidbeam.ConstraintSet(index, vocabulary=sidbeam.Vocabulary(OFFSETS))
        codes = [token - OFFSETS[l] for l, token in enumerate(request.output)]
        drawn = alone.sample(before.numpy(), alone.prefixes([codes]), seeds=5, requests=1).codes[0]
        token = int(OFFSETS[level] + drawn)
        assert drawn >= 0 and torch.isfinite(after[0]).nonzero()[:, 0].tolist() == [token]
        runner.told(request, token)
        live.change(what)


@runners
def test_versions_go_with_their_requests(Runner, live, monkeypatch):
    """V1's when a request is removed; the newer runner's, which does not tell, when a batch has not had it for long."""
    monkeypatch.setattr(ours, "_LONG", 4)
    runner, rng, catalog = Runner(), np.random.default_rng(0), live.named.followed.catalog()
    first, second = (LiveRequest(number, live, extra={"sidbeam_exclude": [100]}) for number in range(2))

    def steps():
        for _ in range(9):
            runner.step(logits_of(rng, len(runner.requests)), rng)

    runner.add(first)
    runner.add(second)
    steps()
    live.change("publish")
    live.change("compact")
    live.change("publish")
    steps()
    check_in_use(catalog, [1, 4])
    third = LiveRequest(2, live)
    runner.add(third)
    runner.remove(first)
    steps()
    check_in_use(catalog, [1, 4])
    runner.remove(second)
    steps()
    check_in_use(catalog, [4])
    live.change("publish")
    steps()
    check_in_use(catalog, [4, 5])  # the third goes on


@runners
def test_a_catalogue_that_was_replaced_goes_with_its_requests(Runner, live):
    runner, rng = Runner(), np.random.default_rng(0)
    old = weakref.ref(live.named)
    runner.add(LiveRequest(0, live))
    runner.step(torch.zeros(1, COLUMNS), rng)
    serving.register("live", live.index(1), vocabulary=sidbeam.Vocabulary(OFFSETS), end=END)
    live.named, live.refresh = None, lambda: None
    runner.add(Request(1, "live", [7]))
    rows, after = runner.step(torch.zeros(2, COLUMNS), rng)
    gc.collect()
    assert old() is not None
    for request in list(runner.requests.values()):
        runner.remove(request)
    for number in range(2, 2 + SLOTS):
        runner.add(Request(number, None, [7]))
    runner.step(torch.zeros(SLOTS, COLUMNS), rng)
    del request, rows
    serving.register("live", live.index(1), vocabulary=sidbeam.Vocabulary(OFFSETS), end=END)
    runner.remove(runner.requests["r2"])
    runner.add(Request(99, "live", [7]))
    runner.step(torch.zeros(SLOTS, COLUMNS), rng)
    gc.collect()
    assert old() is None


def test_ranks_that_might_differ_are_refused(live):
    config = SimpleNamespace(**{**vars(CONFIG), "parallel_config": SimpleNamespace(tensor_parallel_size=2)})
    request_states = states.RequestState(SLOTS, LENGTH, 64, 2, COLUMNS, torch.device("cpu"))
    for load in (
        lambda: build_custom_logits_processors(config, request_states, False, ()),
        lambda: build_logitsprocs(config, torch.device("cpu"), False, False, ()),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match="'live' is live, expected an index under tensor parallelism"):
            load()


def test_what_is_wrong_with_a_request_is_told_by_the_newest_version(live):
    for validate in validators():
        validate(params("live", {"sidbeam_exclude": [100, 10**6], "sidbeam_where": "price<3"}))
        live.change("publish")
        with pytest.raises(Exception, match="sidbeam_filter is 'dear', expected one of"):
            validate(params("live", {"sidbeam_filter": "dear"}))
