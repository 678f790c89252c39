"""Rules of requests in sidbeam.vllm, in vLLM's own machinery; see vllm_cases.py. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from serving_cases import BEGIN, CATALOGUES, COLUMNS, END, SID_END, draw_rules, id_of, token_sids
from vllm_cases import SLOTS, V1, V2, Request, logits_of, one_step, params, runners, torch, validators
from vllm_cases import environment as environment

from sidbeam import serving

import sidbeam

NAMES = [name + tag for name in CATALOGUES for tag in ("", "-tagged")]


def request_of(number, name, prompt, rng, **more):
    asked, kept = draw_rules(name, rng)
    return Request(number, name, prompt, kept, extra={**asked, **more.pop("extra", {})}, **more)


@runners
@pytest.mark.parametrize("seed", range(6))
def test_requests_come_and_go(Runner, seed):
    """Of several catalogues, under rules or not; others reuse slots and rows, rows move and swap."""
    rng = np.random.default_rng(seed)
    runner, made, ruled = Runner(), 0, 0
    for _ in range(40):
        for request in list(runner.requests.values()):
            if rng.random() < 0.15:
                runner.remove(request)
        while len(runner.requests) < SLOTS and rng.random() < 0.6:
            name = NAMES[rng.integers(len(NAMES))]
            prompt = [int(rng.integers(COLUMNS)), BEGIN] if rng.random() < 0.6 else [7]
            made += 1
            if rng.random() < 0.3:
                runner.add(Request(made, [None, name][rng.integers(2)], prompt))
            else:
                runner.add(request_of(made, name, prompt, rng))
        if not runner.requests:
            continue
        before = logits_of(rng, len(runner.requests))
        before[rng.random(before.shape) < 0.2] = -torch.inf
        rows, after = runner.step(before.clone(), rng)
        for request, old, new in zip(rows, before, after):
            request.check(old, new)
            ruled += request.kept is not None
        for request, row in zip(rows, after):
            runner.told(request, int(row.argmax()))
    assert made > SLOTS and ruled > 40


@runners
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_all_that_rules_leave_is_said_and_nothing_else(Runner, name, seed):
    said, stack = set(), [()]
    while stack:
        codes = stack.pop()
        request = request_of(0, name, [7, BEGIN] if name.endswith("-tagged") else [7], np.random.default_rng(seed))
        request.output += codes
        allowed = torch.isfinite(one_step(Runner, request, torch.zeros(1, COLUMNS))[0]).nonzero()[:, 0].tolist()
        if codes in token_sids(name):
            said.add(codes)
        elif allowed != [END]:
            stack += [(*codes, token) for token in allowed]
    assert said == token_sids(name, request.kept)


@runners
def test_nothing_is_allowed(Runner):
    """END and nothing else, not an unconstrained row, also where the catalogue has one way alone."""
    for name in ("bigrams", "single"):
        request = Request(0, name, [1], extra={"sidbeam_allow": []})
        after = one_step(Runner, request, torch.ones(1, COLUMNS))
        assert torch.isfinite(after[0]).nonzero()[:, 0].tolist() == [END]


def expected_token(request, row):
    """What the library draws of the items that are left; END where none is, or after a SID."""
    choice, level = serving.choice_of(request.params.extra_args), len(request.output)
    catalogue, said = choice.catalogue, request.params
    if level == catalogue.levels or {END, SID_END} & set(request.output):
        return END
    ruled = choice.constraint() or catalogue.index
    constraints = sidbeam.ConstraintSet(ruled, vocabulary=catalogue.vocabulary)
    codes = [int(catalogue.codes[l, token]) for l, token in enumerate(request.output)]
    keys = {"seeds": said.seed, "requests": said.extra_args["sidbeam_request"]}
    drawn = constraints.sample(row[None].numpy(), constraints.prefixes([codes]), **keys).codes[0]
    return END if drawn < 0 else int(catalogue.padded_tokens[level, drawn])


@runners
@pytest.mark.parametrize("seed", range(2))
def test_draws(Runner, seed):
    rng, runner = np.random.default_rng(seed), Runner()
    for number in range(SLOTS):
        name, own = ["deep", "variable", "duplicates"][number % 3], int(rng.integers(1000))
        runner.add(request_of(number, name, [7], rng, seed=own, extra={"sidbeam_request": number}))
    ended = 0
    for _ in range(4):
        before = logits_of(rng, SLOTS)
        rows, after = runner.step(before.clone(), rng)
        for request, old, new in zip(rows, before, after):
            token = expected_token(request, old)
            assert torch.isfinite(new).nonzero()[:, 0].tolist() == [token], request.name
            ended += token == END
        for request, new in zip(rows, after):
            runner.told(request, int(new.argmax()))
    assert 0 < ended < 4 * SLOTS


def test_drafts():
    """Each row of a request, one per draft, is under its rules."""
    rng, runner, drafts = np.random.default_rng(2), V2(), {}
    for number in range(SLOTS):
        request = request_of(number, ["bigrams", "duplicates", "deep"][number % 3], [7], rng)
        runner.add(request)
        drafts[request] = list(min(token_sids(request.choice)))[:2]
    before = logits_of(rng, SLOTS + sum(map(len, drafts.values())))
    rows, after = runner.step(before.clone(), rng, drafts)
    seen = dict.fromkeys(drafts, 0)
    for request, old, new in zip(rows, before, after):
        request.output = drafts[request][: seen[request]]
        request.check(old, new)
        seen[request] += 1
        request.output = []


@runners
def test_constraints_go_with_their_requests(Runner):
    """V1's when a request is removed, the newer runner's, which does not tell, when another one has its slot."""
    runner, rng = Runner(), np.random.default_rng(0)
    request = Request(0, "bigrams", [1], extra={"sidbeam_exclude": [id_of(0)]})
    runner.add(request)
    runner.step(torch.zeros(1, COLUMNS), rng)
    held = weakref.ref(serving.choice_of(request.params.extra_args).constraint())
    same = Request(1, "bigrams", [1], extra={"sidbeam_exclude": [id_of(0)]})
    runner.add(same)
    assert serving.choice_of(same.params.extra_args).constraint() is held()
    gc.collect()
    assert held() is not None
    runner.remove(request)
    runner.remove(same)
    for number in range(2, 2 + SLOTS):
        runner.add(Request(number, "bigrams", [1]))
    runner.step(torch.zeros(SLOTS, COLUMNS), rng)
    gc.collect()
    assert held() is None


def test_named_filters_are_prepared_when_the_engine_starts():
    entry = serving.find("bigrams")
    kept = entry.index.filter("price<2")
    settings = {"vocabulary": entry.vocabulary, "end": END}
    serving.register("bigrams", entry.index, filters={"cheap": kept}, **settings)
    try:
        assert not kept.info.prepared
        V1()
        assert kept.info.prepared
    finally:
        serving._registered["bigrams"] = entry


@pytest.mark.parametrize(
    "extra, message",
    [
        ({"sidbeam_filter": "dear"}, "catalogue 'bigrams': sidbeam_filter is 'dear', expected one of ['cheap']"),
        ({"sidbeam_where": "price<"}, "catalogue 'bigrams': sidbeam_where: at byte 6 (after `price<`): expected a"),
        ({"sidbeam_where": "x" * 5000}, "sidbeam_where has 5000 bytes, expected at most 4096 (max_where)"),
        ({"sidbeam_exclude": list(range(9))}, "sidbeam_exclude has 9 ids, expected at most 8 (max_listed)"),
        ({"sidbeam_allow": ["a"]}, "sidbeam_allow[0] is 'a', expected an integer, as the ids of its items are"),
        ({"sidbeam_exclude": "100"}, "sidbeam_exclude is str, expected a list of ids"),
        ({"sidbeam": False, "sidbeam_exclude": [1]}, "sidbeam_exclude is given, expected a catalogue for it under"),
    ],
)
def test_bad_rules_fail_the_request(extra, message):
    """When it comes, and not in the engine."""
    from vllm.exceptions import VLLMValidationError

    for validate in validators():
        with pytest.raises(VLLMValidationError) as error:
            validate(params("bigrams", extra))
        assert message in str(error.value)
        validate(params("bigrams", {"sidbeam_where": "price<2", "sidbeam_filter": "cheap", "sidbeam_allow": [100]}))


def test_rules_over_http():
    """As vLLM's protocol hands "vllm_xargs" on."""
    from vllm.entrypoints.openai.completion.protocol import CompletionRequest

    asked = {"sidbeam": "bigrams", "sidbeam_exclude": [100, 2**40], "sidbeam_where": "price<3"}
    request = CompletionRequest(model="m", prompt="p", max_tokens=3, vllm_xargs=asked)
    passed = request.to_sampling_params(3, {})
    for validate in validators():
        validate(passed)
    assert serving.choice_of(passed.extra_args).rules == (None, "price<3", (100, 2**40), None)
