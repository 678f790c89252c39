"""Live catalogues in SGLang's own beam search; see sglang_cases.py and live_cases.py.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest
from live_cases import HISTORY, OFFSETS, WHERE, check_in_use, living
from serving_cases import COLUMNS
from sglang_cases import Engine, assert_same, model_of, search
from sglang_cases import environment as environment

from sidbeam import serving

import sidbeam


@pytest.fixture(params=WHERE)
def live(request, tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "_registered", {})
    with living(request.param, tmp_path) as made:
        vocabulary = sidbeam.Vocabulary(OFFSETS)
        made.named = serving.register("live", made.given, vocabulary=vocabulary, filters={"cheap": "price<5"})
        made.refresh = made.named.refresh
        yield made


@pytest.mark.parametrize("seed", range(3))
def test_requests_keep_the_version_that_they_began_with(live, seed):
    """In one batch with those of others, whatever becomes of the catalogue between any two of their steps."""
    model, rng = model_of(20 + seed), np.random.default_rng(seed)
    engine, running, wanted, refused = Engine(model), [], {}, 0
    for number, what in enumerate(HISTORY):
        for ruled in (False, True):
            rules, kept = live.draw_rules(rng) if ruled else ({}, None)
            width, prompt = int(rng.integers(2, 6)), rng.integers(0, COLUMNS, 3).tolist()
            req = engine.admit((number, ruled), prompt, width, {"sidbeam": "live", **rules})
            sids = live.sids(live.version, kept)
            if not sids:
                assert req == "The rules of the request leave no item of catalogue 'live'."
                refused += 1
                continue
            wanted[number, ruled] = search(model, sids, prompt, width, 3)
            engine.prefill([req])
            running.append(req)
        live.change(what)
        running = [req for req in running if not req.finished()]
        engine.decode(running)
    while running := [req for req in running if not req.finished()]:
        engine.decode(running)
    assert len(wanted) + refused == 2 * len(HISTORY) and engine.coordinator._num_live_groups == 0
    for name, expected in wanted.items():
        assert_same(engine.done[name], expected)


def test_ranks_that_might_differ_are_refused(live, monkeypatch):
    from sglang.srt import runtime_context

    context = runtime_context.get_parallel()
    context.tp_size = 2
    monkeypatch.setattr(runtime_context, "get_parallel", lambda: context)
    engine = Engine(model_of(1))
    error = engine.admit("r", [1], 3, {"sidbeam": "live"})
    assert error == (
        "catalogue 'live' is live, expected an index under tensor parallelism (of 2 ranks) (invalid argument)"
    )
    assert engine.coordinator._num_live_groups == 0


def test_versions_go_with_their_requests(live):
    engine, catalog = Engine(model_of(1)), live.named.followed.catalog()
    req = engine.admit("r", [1], 3, {"sidbeam": "live", "sidbeam_exclude": [100]})
    engine.prefill([req])
    live.change("publish")
    live.change("compact")
    live.change("publish")
    check_in_use(catalog, [1, 4])
    other = engine.admit("s", [1], 3, {"sidbeam": "live"})
    engine.run([other])
    while not req.finished():
        engine.decode([req])
    del req, other
    check_in_use(catalog, [4])
    assert live.change("back") == 5
    check_in_use(catalog, [5])
