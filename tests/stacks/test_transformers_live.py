"""Live catalogues in sidbeam.transformers: a call of generate() gives, bit for bit, what an index of the items of the
version alone gives that was the newest when it began, whatever becomes of the catalogue between its levels.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import contextlib
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

import sidbeam
from live_cases import HISTORY, OFFSETS, WHERE, check_in_use, living
from models import batch, model_of, prompt_length
from sidbeam._transformers import SessionKey, Sessions
from sidbeam.transformers import SidBeamSearch, SidLogitsProcessor, SidSampler, SidTokens
from transformers_cases import KINDS, VOCAB, generate

WORDS = sidbeam.Vocabulary(OFFSETS)
INPUTS = batch([[5, 6, 7], [8, 9], [5, 5, 5, 5]])


@pytest.fixture(params=KINDS)
def model(request):
    return model_of(request.param, VOCAB)


@pytest.fixture(params=WHERE)
def live(request, tmp_path):
    with living(request.param, tmp_path) as made:
        made.tokens = SidTokens(made.given, WORDS)
        made.refresh = made.tokens.refresh
        yield made


@contextlib.contextmanager
def between_levels(model, live, history):
    """The catalogue changes after each run of the model, as long as there is history."""

    def change(*_):
        if history:
            live.change(history.pop(0))

    hook = model.register_forward_hook(change)
    try:
        yield
    finally:
        hook.remove()


def alone(live, version):
    return SidTokens(live.index(version), WORDS)


def same(found, expected):
    return all(torch.equal(one, other) for one, other in zip(found, expected))


def test_a_search_keeps_the_version_that_it_began_with(model, live) -> None:
    search, history = SidBeamSearch(live.tokens), list(HISTORY)
    while history:
        began, now = live.version, history[:3]
        del history[:3]
        with between_levels(model, live, now):
            found = generate(model, INPUTS, 6, custom_generate=search)
        assert not now and live.version >= began + 1
        expected = generate(model, INPUTS, 6, custom_generate=SidBeamSearch(alone(live, began)))
        assert same(found, expected)
        after = generate(model, INPUTS, 6, custom_generate=search)
        assert same(after, generate(model, INPUTS, 6, custom_generate=SidBeamSearch(alone(live, live.version))))
        assert not same(after, found)


def test_so_does_the_processor_that_masks_the_scores_of_generate(model, live) -> None:
    prompt = prompt_length(model, INPUTS)
    for history in (["publish", "compact"], ["publish", "back"]):
        began = live.version
        processor = SidLogitsProcessor(live.tokens, prompt, exclude=[[100], None, [101, 102]])
        with between_levels(model, live, history):
            found = generate(model, INPUTS, 4, logits_processor=[processor])
        given = SidLogitsProcessor(alone(live, began), prompt, exclude=[[100], None, [101, 102]])
        assert same(found, generate(model, INPUTS, 4, logits_processor=[given])) and live.version == began + 2


@pytest.mark.parametrize("rounds", [None, 2])
def test_so_do_draws(model, live, rounds) -> None:
    """Those of DISC in all their passes."""
    options = {"do_sample": True, "max_new_tokens": 3, "top_k": 0, "num_return_sequences": 5, "seed": 7}
    sampler = SidSampler(live.tokens, rounds=rounds)
    for history in (["publish", "compact", "publish", "back"], ["compact", "publish", "publish"]):
        began = live.version
        with between_levels(model, live, history):
            found = model.generate(**INPUTS, **options, custom_generate=sampler)
        expected = SidSampler(alone(live, began), rounds=rounds)
        assert torch.equal(found, model.generate(**INPUTS, **options, custom_generate=expected))
        assert live.version > began


def test_rules_are_asked_of_the_version(model, live) -> None:
    """A filter that was made of the first one is moved along; ids that are gone, or not yet there, are no item's."""
    search, rng = SidBeamSearch(live.tokens), np.random.default_rng(3)
    cheap = live.tokens.now()[0].index.filter("price<5")
    for what in HISTORY:
        ids = sorted({item for items in live.items.values() for item in items})
        lists = [[item for item in ids if rng.random() < 0.5] for _ in range(3)]
        began, index = live.version, live.index(live.version)
        for filter, moved in ((cheap, index.filter("price<5")), ([None, cheap, None],) * 2):
            given = filter if filter is cheap else [None, cheap, None]
            own = moved if filter is cheap else [None, index.filter("price<5"), None]
            with between_levels(model, live, [what] if filter is cheap else []):
                found = generate(model, INPUTS, 5, custom_generate=search, filter=given, exclude=lists)
            expected = SidBeamSearch(SidTokens(index, WORDS))
            assert same(found, generate(model, INPUTS, 5, custom_generate=expected, filter=own, exclude=lists))
            index = live.index(live.version)
        assert live.version == began + 1


def test_a_request_may_name_its_version(live) -> None:
    """As whoever wants ordinals and item rows must; beside one that follows the newest."""
    model, search = model_of("decoder", VOCAB), SidBeamSearch(live.tokens)
    version = live.tokens.now()[0].index
    live.change("publish")
    live.change("compact")
    found, _ = generate(model, INPUTS, 4, custom_generate=search, which=[version.constraint, 0, version.constraint])
    old, _ = generate(model, INPUTS, 4, custom_generate=SidBeamSearch(alone(live, 1)))
    new, _ = generate(model, INPUTS, 4, custom_generate=SidBeamSearch(alone(live, 3)))
    assert torch.equal(found[::2], old[::2]) and torch.equal(found[1], new[1])
    assert (version.find_many(*live.tokens.codes(found[0])) >= 0).all()
    other = sidbeam.Index.build([(0, 1)], codes=[4, 4])
    with pytest.raises(sidbeam.InvalidArgument, match="which has a Constraint of another index"):
        generate(model, INPUTS, 4, custom_generate=search, which=[other.constraint] * 3)


def test_versions_go_with_their_calls(live) -> None:
    """Sessions wait for the next call without any; states are of the newest."""
    model, search = model_of("decoder", VOCAB), SidBeamSearch(live.tokens)
    catalog = live.tokens._followed[0].catalog()
    with between_levels(model, live, ["publish", "compact", "publish"]):
        generate(model, INPUTS, 4, custom_generate=search, exclude=[100])
    check_in_use(catalog, [4])
    live.change("publish")
    check_in_use(catalog, [5])
    sid = next(iter(live.sids(live.version)))
    assert live.tokens.states(torch.tensor([sid, (12, 12, 12)])).ge(0)[0]
    live.change("compact")
    check_in_use(catalog, [6])
    assert len(search._sessions._idle) == 1


def test_several_catalogues_of_which_some_are_live(live) -> None:
    model, fixed = model_of("decoder", VOCAB), sidbeam.Index.build([(4, 4, 4), (4, 0, 4)], codes=[5, 5, 5])
    tokens = SidTokens([fixed, live.given], WORDS)
    live.refresh = tokens.refresh
    search, which = SidBeamSearch(tokens), [1, 0, 1]
    for what in ("publish", "compact"):
        both = SidTokens([fixed, live.index(live.version)], WORDS)
        with between_levels(model, live, [what]):
            found = generate(model, INPUTS, 4, custom_generate=search, which=which)
        assert same(found, generate(model, INPUTS, 4, custom_generate=SidBeamSearch(both), which=which))


def test_threads_search_while_it_changes(live) -> None:
    """Each finds what some version has, and all of it."""
    model, search = model_of("decoder", VOCAB), SidBeamSearch(live.tokens)
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(generate, model, INPUTS, 3, custom_generate=search) for _ in range(12)]
        for what in HISTORY:
            live.change(what)
        found = [call.result() for call in calls]
    possible = [generate(model, INPUTS, 3, custom_generate=SidBeamSearch(alone(live, v))) for v in live.items]
    assert all(any(same(one, other) for other in possible) for one in found)


def test_what_is_refused(tmp_path) -> None:
    for wrong, kind in ((5, "5"), (str(tmp_path / "none"), "none"), (None, "None")):
        with pytest.raises(sidbeam.InvalidArgument, match=rf"constraints has .*{kind}.*, expected an Index, a Constr"):
            SidTokens([wrong], WORDS)
    with pytest.raises(sidbeam.IOFailure, match="it holds no catalogue"):
        SidTokens(tmp_path, WORDS)


def test_the_thread_goes_with_the_tokens(tmp_path) -> None:
    """At once, not with the next search of the collector for cycles."""
    with living("folder", tmp_path) as live:
        before = set(threading.enumerate())
        tokens = SidTokens(tmp_path / "live", WORDS)
        (thread,) = set(threading.enumerate()) - before
        gc.disable()
        try:
            del tokens
            thread.join(timeout=60)
        finally:
            gc.enable()
        assert not thread.is_alive()


def test_a_session_that_cannot_be_stopped_is_not_lost(live, monkeypatch) -> None:
    sessions, key = Sessions(live.tokens), SessionKey(1, 2, "full", sidbeam.Mode.SEARCH, None)
    session = sessions.take(key)

    def fails(self, slots=None, *, stream=None):
        raise sidbeam.DeviceError("out of order")

    monkeypatch.setattr(sidbeam.Session, "stop", fails)
    with pytest.raises(sidbeam.DeviceError, match="out of order"):
        sessions.give_back(key, session)
    assert sessions.take(key) is session
