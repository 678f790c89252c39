"""sidbeam.vllm in vLLM's own machinery; see vllm_cases.py. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest
from serving_cases import BEGIN, CATALOGUES, COLUMNS, END, SID_END, allowed_after, assert_row, token_sids
from vllm_cases import (
    CHOICES,
    CONFIG,
    LENGTH,
    SLOTS,
    V1,
    V2,
    Request,
    logits_of,
    one_step,
    params,
    runners,
    states,
    torch,
    validators,
)
from vllm_cases import environment as environment

from sidbeam import serving
from vllm.v1.sample.logits_processor import build_logitsprocs
from vllm.v1.worker.gpu.sample.logits_processor import build_custom_logits_processors

import sidbeam


def prompt_of(rng):
    """Text, and SIDs of the past, tagged and not."""
    prompt = rng.integers(0, COLUMNS, rng.integers(1, 4)).tolist()
    for name in rng.choice(["bigrams", "duplicates", "deep", "variable"], rng.integers(0, 3)):
        sid = sorted(token_sids(name))[0]
        prompt += [BEGIN, *sid] if rng.random() < 0.5 else sid[: rng.integers(1, len(sid) + 1)]
    return prompt + ([BEGIN] if rng.random() < 0.3 else [])


@runners
@pytest.mark.parametrize("seed", range(8))
def test_requests_come_and_go(Runner, seed):
    """Others reuse slots and rows, rows move and swap; every row of every step is as brute force says."""
    rng = np.random.default_rng(seed)
    runner, made = Runner(), 0
    for _ in range(40):
        for request in list(runner.requests.values()):
            if rng.random() < 0.15:
                runner.remove(request)
        while len(runner.requests) < SLOTS and rng.random() < 0.6:
            runner.add(Request(made, CHOICES[rng.integers(len(CHOICES))], prompt_of(rng)))
            made += 1
        if not runner.requests:
            continue
        before = logits_of(rng, len(runner.requests))
        before[rng.random(before.shape) < 0.3] = -torch.inf
        rows, after = runner.step(before.clone(), rng)
        for request, old, new in zip(rows, before, after):
            request.check(old, new)
        for request, row in zip(rows, after):
            wish = (
                BEGIN
                if request.choice is not None and rng.random() < 0.3 and torch.isfinite(row[BEGIN])
                else row.argmax()
            )
            runner.told(request, int(wish))
    assert made > SLOTS


@runners
@pytest.mark.parametrize("name", CATALOGUES)
@pytest.mark.parametrize("tag", ["", "-tagged"])
def test_whole_catalogue_is_said_and_nothing_else(Runner, name, tag):
    """Every way through the masks is a SID, once, and every SID is a way: duplicates too, and no bigrams."""
    said, stack = set(), [()]
    prompt = [7, BEGIN] if tag else [7]
    while stack:
        codes = stack.pop()
        request = Request(0, name + tag, prompt)
        request.output += codes
        allowed = torch.isfinite(one_step(Runner, request, torch.zeros(1, COLUMNS))[0]).nonzero()[:, 0].tolist()
        if codes in token_sids(name):
            assert allowed == ([END] if not tag else list(range(COLUMNS)))
            assert codes not in said
            said.add(codes)
        else:
            stack += [(*codes, token) for token in allowed]
    assert said == token_sids(name)


@runners
@pytest.mark.parametrize("worst", [-torch.inf, torch.nan])
def test_all_allowed_logits_impossible(Runner, worst):
    """Then the request ends; no token that was not allowed has any chance."""
    before = torch.ones(1, COLUMNS)
    before[0, [10, 13]] = worst
    after = one_step(Runner, Request(0, "bigrams", [1]), before)
    assert torch.isfinite(after[0]).nonzero()[:, 0].tolist() == [END]


@runners
@pytest.mark.parametrize("prompt, output", [([BEGIN, 14], []), ([BEGIN], [10, 63]), ([5], [14, 21])])
def test_empty_allowed_set(Runner, prompt, output):
    """A beginning that no SID has: END and nothing else, not an unconstrained row."""
    request = Request(0, "bigrams-tagged" if BEGIN in prompt else "bigrams", prompt)
    request.output += output
    after = one_step(Runner, request, torch.ones(1, COLUMNS))
    assert torch.isfinite(after[0]).nonzero()[:, 0].tolist() == [END]


@runners
def test_prompt_holds_sids(Runner):
    """Without begin, the SIDs of a prompt are none of ours; with it, the last one that began counts."""
    past = [10, 21, 32]
    for choice, prompt, allowed in [
        ("bigrams", past, [10, 13]),
        ("bigrams", [BEGIN, *past, BEGIN, 10], [10, 13]),
        ("bigrams-tagged", [BEGIN, *past], list(range(COLUMNS))),
        ("bigrams-tagged", [BEGIN, *past, BEGIN], [10, 13]),
        ("bigrams-tagged", [BEGIN, *past, BEGIN, 13, 21], [34]),
        ("bigrams-tagged", past, list(range(COLUMNS))),
    ]:
        after = one_step(Runner, Request(0, choice, prompt), torch.zeros(1, COLUMNS))
        assert torch.isfinite(after[0]).nonzero()[:, 0].tolist() == allowed, (choice, prompt)


@runners
def test_declined_rows_untouched(Runner):
    """Bits, NaN and all, beside rows that are masked."""
    rng = np.random.default_rng(3)
    runner = Runner()
    for number, choice in enumerate(["bigrams", None, "single", None]):
        runner.add(Request(number, choice, [1, 2]))
        if Runner is V2:
            assert any(runner.modified) == (choice is not None)
    before = logits_of(rng, 4)
    before[:, 5], before[:, 6] = torch.nan, torch.inf
    rows, after = runner.step(before.clone(), rng)
    for request, old, new in zip(rows, before, after):
        assert torch.equal(old.view(torch.int32), new.view(torch.int32)) == (request.choice is None)


def expected_token(request, row):
    """What the library draws for a request whose SID begins with its output: the token, or END where none is left."""
    catalogue, level = serving.find(request.choice), len(request.output)
    if level == catalogue.levels or {END, SID_END} & set(request.output):
        return END
    constraints, said = catalogue.newest.constraints("cpu"), request.params
    codes = [int(catalogue.codes[l, token]) for l, token in enumerate(request.output)]
    drawn = constraints.sample(
        row[None].numpy(),
        constraints.prefixes([codes]),
        seeds=said.seed,
        requests=said.extra_args["sidbeam_request"],
        draws=said.extra_args.get("sidbeam_draw", 0),
        top_k=max(said.top_k, 0),
        top_p=said.top_p,
        inverse_temperature=np.float32(1 / said.temperature),
    )
    return END if drawn.codes[0] < 0 else int(catalogue.padded_tokens[level, drawn.codes[0]])


@runners
@pytest.mark.parametrize("seed", range(3))
def test_requests_that_draw(Runner, seed):
    """Only the drawn token is left of their rows, wherever they are; the others' are masked as ever."""
    rng, runner = np.random.default_rng(seed), Runner()
    settings = [{"temperature": 0.7}, {"top_k": 20}, {"top_p": 0.8, "top_k": -1}, {"extra": {"sidbeam_draw": 9}}]
    for number in range(SLOTS):
        more = dict(settings[number % 4], seed=int(rng.integers(1000)))
        more["extra"] = {"sidbeam_request": number - 2, **more.get("extra", {})}
        name = ["deep", "variable", "duplicates"][number % 3]
        runner.add(Request(number, name, prompt_of(rng), **(more if number != 3 else {})))
    ended = 0
    for _ in range(5):
        before = logits_of(rng, SLOTS)
        rows, after = runner.step(before.clone(), rng)
        for request, old, new in zip(rows, before, after):
            if request.name == "r3":
                request.check(old, new)
                continue
            token = expected_token(request, old)
            assert torch.isfinite(new).nonzero()[:, 0].tolist() == [token], request.name
            ended += token == END
        for request, new in zip(rows, after):
            runner.told(request, int(new.argmax()))
    assert 0 < ended < 5 * SLOTS


@pytest.mark.parametrize(
    "more, message",
    [
        ({"extra": {"sidbeam_request": 1}}, "seed is None, expected an integer"),
        ({"extra": {"sidbeam_request": "1"}, "seed": 1}, "sidbeam_request is '1', expected an integer"),
        ({"extra": {"sidbeam_request": 1, "sidbeam_draw": -1}, "seed": 1}, "sidbeam_draw is -1, expected an integer"),
        ({"extra": {"sidbeam_request": 1}, "seed": 1, "temperature": 0}, "temperature is 0"),
    ],
)
def test_draws_that_are_refused(more, message):
    from vllm.exceptions import VLLMValidationError

    unconstrained = {"extra": {"sidbeam": False, "sidbeam_request": 1}, "seed": 1}
    for asked, expected in (
        (params("bigrams", **more), message),
        (params(**unconstrained), "sidbeam_request is given, expected a catalogue"),
    ):
        for validate in validators():
            with pytest.raises(VLLMValidationError, match=expected):
                validate(asked)


@pytest.mark.parametrize("seed", range(4))
def test_drafts(seed):
    """Under speculation a request has one row per draft, whose tokens are only in the rows before it."""
    rng = np.random.default_rng(seed)
    runner, drafts = V2(), {}
    for number in range(SLOTS):
        request = Request(number, CHOICES[rng.integers(len(CHOICES))], prompt_of(rng))
        runner.add(request)
        followers = allowed_after(request.choice, request.prompt, len(request.prompt)) or {BEGIN}
        drafts[request] = [[], [max(followers)], [min(followers), int(rng.integers(COLUMNS))]][rng.integers(3)]
    before = logits_of(rng, SLOTS + sum(map(len, drafts.values())))
    rows, after = runner.step(before.clone(), rng, drafts)
    seen = dict.fromkeys(drafts, 0)
    for request, old, new in zip(rows, before, after):
        history = request.prompt + drafts[request][: seen[request]]
        assert_row(old.numpy(), new.numpy(), allowed_after(request.choice, history, len(request.prompt)))
        seen[request] += 1


def test_each_runner_gets_its_own():
    """One entry point: the newer runner's loader would refuse V1's class, V1's would fail to make the other."""
    one, other = V1().processors[-1], V2().processors[-1]
    assert hasattr(one, "update_state") and not one.is_argmax_invariant()
    assert hasattr(other, "apply_staged_writes") and not hasattr(other, "update_state")
    named = ["sidbeam.vllm:LogitsProcessor"]
    assert len(build_custom_logits_processors(CONFIG, V2().states, False, named)) == 2
    assert len(list(build_logitsprocs(CONFIG, torch.device("cpu"), False, False, named).all)) == 5


@pytest.mark.parametrize(
    "wanted, message",
    [
        ("nowhere", "catalogue 'nowhere' is not known, expected one of ["),
        ({"index": "bigrams", "ends": 3}, "sidbeam has ['ends'], expected index, begin and end"),
        ({"index": "bigrams", "begin": -1}, "sidbeam: begin is -1, expected a token or null"),
        ({"index": "bigrams", "begin": 10}, "catalogue 'bigrams': begin 10 is the token of a code of level 0"),
        (
            {"index": "bigrams", "end": None},
            "catalogue 'bigrams' has no end token, expected one there or in the request",
        ),
        (3, 'sidbeam is 3, expected a name, {"index": name, "begin": token, "end": token} or false'),
    ],
)
def test_bad_arguments_fail_the_request(wanted, message):
    """At admission, in both runners' ways, and not in the engine."""
    from vllm.exceptions import VLLMValidationError

    for validate in validators():
        with pytest.raises(VLLMValidationError) as error:
            validate(params(wanted))
        assert message in str(error.value)
        validate(params("bigrams"))
        validate(params({"index": "bigrams", "begin": BEGIN, "end": 60}))
        validate(params())


def test_catalogue_beyond_the_model():
    """Refused when the engine starts, and not when a request comes."""
    small = states.RequestState(SLOTS, LENGTH, 64, 2, COLUMNS - 8, torch.device("cpu"))
    with pytest.raises(
        sidbeam.InvalidArgument, match="catalogue 'variable' has tokens below 58, the model's vocabulary has 56"
    ):
        build_custom_logits_processors(CONFIG, small, False, ())


@runners
def test_end_beyond_the_model(Runner):
    """A request may name any number; the engine lives."""
    request = Request(0, {"index": "bigrams", "end": 2**31 - 1}, [1])
    request.output += [10, 21, 32]
    assert torch.isfinite(one_step(Runner, request, torch.zeros(1, COLUMNS))[0]).nonzero()[:, 0].tolist() == [
        COLUMNS - 1
    ]


def test_unfinished_history_is_an_error():
    """V1's asynchronous scheduling, where vLLM does not know that a plugin reads histories."""
    runner, request = V1(), Request(0, "bigrams", [1])
    runner.add(request)
    request.output.append(-1)
    with pytest.raises(sidbeam.BadState, match="--logits-processors sidbeam.vllm:LogitsProcessor"):
        runner.step(torch.zeros(1, COLUMNS), np.random.default_rng(0))


def test_default_catalogue():
    """For vLLM's beam search, which forwards no arguments: a request's prompt holds the codes so far."""
    entry = serving.find("bigrams-tagged")
    serving.register("bigrams-tagged", entry.index, vocabulary=entry.vocabulary, begin=BEGIN, end=END, default=True)
    try:
        for codes, allowed in [([], [10, 13]), ([13], [21, 22]), ([13, 21], [34])]:
            for Runner in (V1, V2):
                after = one_step(Runner, Request(0, None, [4, BEGIN, *codes]), torch.zeros(1, COLUMNS))
                assert torch.isfinite(after[0]).nonzero()[:, 0].tolist() == allowed
        assert serving.choice_of({"sidbeam": False}) is None
    finally:
        serving._default.clear()
