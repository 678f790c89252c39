"""sidbeam.sglang in SGLang's own beam search; see sglang_cases.py. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from serving_cases import BEGIN, COLUMNS, OFFSETS, draw_rules, token_sids
from sglang_cases import FIXED, SLOTS, Engine, Scheduler, assert_same, model_of, search, torch
from sglang_cases import environment as environment


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("width", [2, 3, 7])
@pytest.mark.parametrize("prompt", [[5], [BEGIN, 10, 21, 32, 13, 21]])
def test_beams_are_the_best_sids(name, width, prompt):
    """The bigram trap, duplicates, prompts that hold SIDs; widths below and above what there is, at every level."""
    sids = token_sids(name)
    for seed in range(4):
        engine = Engine(model_of(seed))
        req = engine.admit("r", prompt, width, {"sidbeam": name}, max_new_tokens=9)
        assert_same(engine.run([req])[0], search(model_of(seed), sids, prompt, width, len(OFFSETS[name])))


def test_catalogues_and_free_requests_in_one_batch():
    """They join at different times; others reuse their pool rows and group positions."""
    model, rng = model_of(11), np.random.default_rng(11)
    engine, wanted, live = Engine(model), {}, []
    for number in range(30):
        name = [None, *FIXED][rng.integers(1 + len(FIXED))]
        width, prompt = int(rng.integers(2, 5)), rng.integers(0, COLUMNS, rng.integers(1, 5)).tolist()
        levels = 3 if name is None else len(OFFSETS[name])
        req = engine.admit(number, prompt, width, name and {"sidbeam": {"index": name}}, levels)
        wanted[number] = search(model, name and token_sids(name), prompt, width, levels)
        engine.prefill([req])
        live = [r for r in rng.permutation(np.array([*live, req], object)) if not r.finished()]
        if live and rng.random() < 0.8:
            engine.decode(live)
    while live := [req for req in live if not req.finished()]:
        engine.decode(live)
    assert engine.coordinator._num_live_groups == 0 and len(engine.free) == SLOTS
    for number, expected in wanted.items():
        assert_same(engine.done[number], expected)


def test_requests_under_rules_in_one_batch():
    """As if the items that their rules leave were all there are; beside requests without rules or a catalogue."""
    model, rng = model_of(12), np.random.default_rng(12)
    engine, wanted, reqs, refused = Engine(model), [], [], 0
    for number in range(40):
        name = FIXED[rng.integers(len(FIXED))]
        rules, kept = draw_rules(name, rng) if rng.random() < 0.8 else ({}, None)
        width, prompt = int(rng.integers(2, 5)), rng.integers(0, COLUMNS, rng.integers(1, 5)).tolist()
        req = engine.admit(number, prompt, width, {"sidbeam": name, **rules}, max_new_tokens=9)
        if kept == set():
            assert req == f"The rules of the request leave no item of catalogue {name!r}."
            refused += 1
            continue
        wanted.append(search(model, token_sids(name, kept), prompt, width, len(OFFSETS[name])))
        reqs.append(req)
    for first in range(0, len(reqs), 8):
        for found, expected in zip(engine.run(reqs[first : first + 8]), wanted[first:]):
            assert_same(found, expected)
    assert refused and len(reqs) > 20 and engine.coordinator._num_live_groups == 0 and len(engine.free) == SLOTS


def test_variable_length_under_rules():
    for seed in range(6):
        rules, kept = draw_rules("variable", np.random.default_rng(seed))
        if kept:
            engine = Engine(model_of(seed))
            results = engine.run([engine.admit("r", [4], 8, {"sidbeam": "variable", **rules}, max_new_tokens=20)])[0]
            assert {tokens for tokens, _ in results} == token_sids("variable", kept)


def test_what_the_library_refuses(monkeypatch):
    """Is the request's error."""
    import sidbeam
    import sidbeam.sglang

    def refuse(*arguments):
        raise sidbeam.OutOfMemory("no memory for the lists of config.constraints[0]")

    monkeypatch.setattr(sidbeam.sglang, "Search", refuse)
    engine = Engine(model_of(0))
    error = engine.admit("r", [1], 2, {"sidbeam": "bigrams", "sidbeam_filter": "cheap"})
    assert error.startswith("no memory for the lists of config.constraints[0]")
    assert engine.coordinator._num_live_groups == 0


def test_catalogues_are_read_when_the_scheduler_starts(monkeypatch):
    """So that what is wrong with a named filter is an error then, and not of a request."""
    import sidbeam
    from sidbeam import serving

    entry = serving.find("bigrams")
    kept = entry.index.filter("price<2")
    monkeypatch.setattr(serving, "_registered", dict(serving._registered))
    serving.register("bigrams", entry.index, vocabulary=entry.vocabulary, filters={"few": kept})
    Scheduler().init_beam_coordinator()
    assert kept.info.prepared
    monkeypatch.setenv(serving.ENVIRONMENT, '{"shop": {"path": "no such file"}}')
    serving._read_environment.cache_clear()
    try:
        with pytest.raises(sidbeam.IOFailure, match="SIDBEAM_CATALOGUES: catalogue 'shop': .*no such file"):
            Scheduler().init_beam_coordinator()
    finally:
        monkeypatch.delenv(serving.ENVIRONMENT)
        serving._read_environment.cache_clear()


def test_half_precision_rows():
    """Rows are read in their own type, scores are of float32."""
    rounded = lambda history: torch.from_numpy(model_of(3)(history)).bfloat16().float().numpy()  # noqa: E731
    engine = Engine(model_of(3), torch.bfloat16)
    results = engine.run([engine.admit("r", [4], 4, {"sidbeam": "bigrams"})])[0]
    assert_same(results, search(rounded, token_sids("bigrams"), [4], 4, 3))


def test_variable_length():
    """The end of a SID is a stop token of the search."""
    model = model_of(6)
    engine = Engine(model)
    results = engine.run([engine.admit("r", [4], 8, {"sidbeam": "variable"}, max_new_tokens=20)])[0]
    assert {tokens for tokens, _ in results} == token_sids("variable") and len(results) == 5
    for tokens, score in results:
        rows = [model((4, *tokens[:i])).astype(np.float64) for i in range(len(tokens))]
        exact = sum(row[token] - np.log(np.exp(row).sum()) for row, token in zip(rows, tokens))
        assert score == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("impossible", [[13], [10, 22], [32]])
def test_some_allowed_logits_impossible(impossible):
    """Beams that no SID continues give no result, and take no place from others."""
    model = model_of(8, impossible)
    engine = Engine(model)
    results = engine.run([engine.admit("r", [4], 6, {"sidbeam": "bigrams"})])[0]
    assert_same(results, search(model, token_sids("bigrams"), [4], 6, 3))
    assert results and not any(token in impossible for tokens, _ in results for token in tokens)


@pytest.mark.parametrize("worst", [-np.inf, np.nan])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_all_allowed_logits_impossible(worst, level):
    """The request is aborted and says why; others of its batch go on."""
    usual = model_of(9)

    def model(history):
        row = usual(history)
        if history[0] == 4 and len(history) == 1 + level:
            row[[10, 13, 21, 22, 32, 34]] = worst
        return row

    engine = Engine(model)
    reqs = [engine.admit(name, [token], 3, {"sidbeam": "bigrams"}) for name, token in (("bad", 4), ("good", 5))]
    bad, good = engine.run(reqs)
    assert bad == [] and reqs[0].finished_reason.kind == "FINISH_ABORT"
    assert reqs[0].finished_reason.given == ("sidbeam: the model gives no SID of the catalogue a probability",)
    assert_same(good, search(usual, token_sids("bigrams"), [5], 3, 3))
    assert engine.coordinator._num_live_groups == 0


def test_bad_rows_spoil_their_own_beams():
    """A row with NaN gives nothing, and takes no place from the beams of others."""
    usual, prompt = model_of(10), [4]
    spoilt = lambda worst: lambda history: (
        np.full(COLUMNS, worst, np.float32) if 13 in history else usual(history)
    )  # noqa: E731
    for width in (2, 3, 6):
        engine = Engine(spoilt(np.nan))
        results = engine.run([engine.admit("r", prompt, width, {"sidbeam": "bigrams"})])[0]
        sids = {sid for sid in token_sids("bigrams") if sid[0] == 10}
        assert results and {tokens for tokens, _ in results} <= sids
        assert_same(results, search(usual, sids, prompt, 2, 3))


@pytest.mark.parametrize(
    "custom, most, message",
    [
        ("nowhere", 3, "catalogue 'nowhere' is not known, expected one of ["),
        ({"index": "bigrams", "end": "x"}, 3, "sidbeam: end is 'x', expected a token or null"),
        ("bigrams", 2, "A SID has 3 tokens; max_new_tokens and the context leave 2."),
    ],
)
def test_bad_requests_are_refused(custom, most, message):
    engine = Engine(model_of(0))
    assert message in engine.admit("r", [1], 2, {"sidbeam": custom}, most)
    for rules, wrong in (
        ({"sidbeam_where": "price<"}, "catalogue 'bigrams': sidbeam_where: at byte 6 (after `price<`): expected a"),
        ({"sidbeam_filter": "dear"}, "catalogue 'bigrams': sidbeam_filter is 'dear', expected one of ['cheap']"),
        ({"sidbeam_exclude": [1.5]}, "catalogue 'bigrams': sidbeam_exclude[0] is 1.5, expected an integer"),
        ({"sidbeam_allow": [7] * 9}, "sidbeam_allow has 9 ids, expected at most 8 (max_listed)"),
    ):
        assert wrong in engine.admit("r", [1], 2, {"sidbeam": "bigrams", **rules})
    assert engine.coordinator._num_live_groups == 0
    assert "too large for the vocabulary" in engine.admit("r", [1], COLUMNS, {"sidbeam": "bigrams"})


def test_single_beams_are_refused():
    """SGLang would sample without a constraint: it is told that these are searches, which then are refused."""
    engine = Engine(model_of(0))
    for width in (None, 1):
        for custom, searches in (({"sidbeam": "bigrams"}, True), ({"sidbeam": False}, False), (None, False)):
            params = SimpleNamespace(beam_width=width, custom_params=custom)
            assert (engine.coordinator.request_beam_width(SimpleNamespace(sampling_params=params)) > 1) == searches
        params = SimpleNamespace(beam_width=width, custom_params={"sidbeam_exclude": [100]})
        assert engine.coordinator.request_beam_width(SimpleNamespace(sampling_params=params)) > 1
        error = engine.admit("r", [1], width, {"sidbeam_exclude": [100]})
        assert "sidbeam_exclude is given, expected a catalogue for it under sidbeam" in error
        error = engine.admit("r", [1], width, {"sidbeam": "bigrams"})
        assert error == "sidbeam constrains beam search: beam_width is 1, expected 2 or more."


def test_catalogue_beyond_the_model():
    engine = Engine(model_of(0))
    engine.coordinator.model_config.vocab_size = 34
    error = engine.admit("r", [1], 2, {"sidbeam": "bigrams"})
    assert error == "Catalogue 'bigrams' has tokens below 35, the model's vocabulary has 34."
    assert engine.coordinator._num_live_groups == 0
