"""sidbeam.vllm in a started vLLM, with its scheduler, its model and its KV cache; see engine_cases.py.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import NEWER, Asked, generate, logits_after, prompt_of, scheduler_of, worker_of
from engine_cases import catalogues as catalogues
from engine_cases import llm as llm
from oracle import Catalogue, beam_search
from serving_cases import BEGIN, CATALOGUES, END, OFFSETS, draw_rules, token_sids

import sidbeam
from sidbeam import serving

NAMES = [name + tag for name in CATALOGUES for tag in ("", "-tagged")]


def asked_of(rng, name, **more):
    rules, kept = draw_rules(name, rng)
    return Asked(name, prompt_of(rng), kept, extra={**rules, **more.pop("extra", {})}, **more)


def takes_seeds(llm):
    """V1 on the CPU fails on a seed where it reads a prompt in chunks ("CPU Generator does not use offset")."""
    return NEWER or not llm.llm_engine.vllm_config.scheduler_config.enable_chunked_prefill


def test_the_engine_is_what_it_should_be(llm):
    engine = llm.llm_engine
    runner, scheduler = type(worker_of(llm).model_runner).__module__, type(scheduler_of(llm)).__name__
    assert runner == ("vllm.v1.worker.cpu.model_runner" if NEWER else "vllm.v1.worker.cpu_model_runner")
    small = engine.vllm_config.scheduler_config.enable_chunked_prefill
    assert scheduler == ("Scheduler" if small else "AsyncScheduler")
    assert engine.vllm_config.cache_config.enable_prefix_caching == small


def check(llm, asked):
    for one, (said,) in zip(asked, generate(llm, asked)):
        assert said == one.expected(), (one.choice, one.prompt)


def test_greedy_drawn_and_free_requests_in_one_batch(llm):
    """Of all catalogues, under rules or not."""
    rng, asked = np.random.default_rng(0), []
    for number in range(60):
        name = NAMES[number % len(NAMES)]
        draw = {"seed": number, "temperature": 0.9, "extra": {"sidbeam_request": number}}
        kinds = [
            lambda: Asked(None, prompt_of(rng)),
            lambda: Asked(name, prompt_of(rng)),
            lambda: asked_of(rng, name),
            lambda: asked_of(rng, name.removesuffix("-tagged"), **(draw if takes_seeds(llm) else {})),
        ]
        asked.append(kinds[number // len(NAMES) % 4]())
    check(llm, asked)


def test_requests_that_are_preempted_begin_again(llm, monkeypatch):
    """In the small engine, whose blocks are not enough for all of them once they go beyond their first."""
    preempted, scheduler = [], scheduler_of(llm)
    preempt = scheduler._preempt_request
    monkeypatch.setattr(scheduler, "_preempt_request", lambda *a, **k: (preempted.append(1), preempt(*a, **k)))
    rng, short_of_a_block = np.random.default_rng(4), 28
    prompts = [rng.integers(0, 50, short_of_a_block).tolist() for _ in range(16)]
    check(llm, [Asked(["deep", None][i % 2], prompt, max_tokens=10) for i, prompt in enumerate(prompts)])
    assert bool(preempted) == (scheduler.kv_cache_manager.block_pool.num_gpu_blocks < 8)


def test_sampled_requests_say_items(llm):
    rng = np.random.default_rng(1)
    seeds = range(len(NAMES)) if takes_seeds(llm) else [None] * len(NAMES)
    asked = [asked_of(rng, name, temperature=1.5, n=3, seed=seed) for seed, name in zip(seeds, NAMES)]
    several = 0
    for one, said in zip(asked, generate(llm, asked)):
        assert len(said) == 3
        several += len(set(map(tuple, said))) > 1
        for tokens in said:
            one.check_valid(tokens)
    assert several > 2


def test_prefixes_that_are_cached(llm):
    """The same prompt twice, by requests of other catalogues: what is kept of it does not depend on them."""
    prompt = np.random.default_rng(2).integers(0, 50, 66).tolist()
    for name in [*CATALOGUES, *reversed(CATALOGUES)]:
        check(llm, [Asked(name, prompt)])


@pytest.fixture
def default():
    """For vLLM's own beam search, which forwards no arguments."""
    entry = serving.find("bigrams-tagged")
    serving.register("bigrams-tagged", entry.index, vocabulary=entry.vocabulary, begin=BEGIN, end=END, default=True)
    yield
    serving._default.clear()


def test_beam_search_of_vllm(llm, default):
    from vllm.sampling_params import BeamSearchParams

    if llm.llm_engine.model_config.logprobs_mode != "processed_logprobs":
        pytest.skip("raw log-probabilities know nothing of the mask")
    catalogue = Catalogue(CATALOGUES["bigrams"], [5, 5, 5], offsets=OFFSETS["bigrams"])
    prompt = [4, 9, BEGIN]

    def rows_of(prefixes):
        columns = [[o + code for o, code in zip(OFFSETS["bigrams"], prefix)] for prefix in prefixes]
        return np.stack([logits_after(tuple(prompt + tokens)) for tokens in columns])

    params = BeamSearchParams(beam_width=4, max_tokens=3, ignore_eos=True)
    (found,) = llm.beam_search([{"prompt_token_ids": prompt}], params)
    said = [tuple(sequence.tokens[len(prompt) :]) for sequence in found.sequences]
    assert set(said) == token_sids("bigrams")
    beams = beam_search(catalogue, rows_of, 4, "valid")
    assert said == [tuple(o + c for o, c in zip(OFFSETS["bigrams"], beam.prefix)) for beam in beams]


def test_another_file_while_requests_run(llm, tmp_path, monkeypatch):
    """Those that run keep theirs, a damaged file leaves the last one."""
    engine, path = llm.llm_engine, tmp_path / "shop.sidx"
    monkeypatch.setattr(serving, "_registered", dict(serving._registered))

    def put(sid):
        made = path.with_suffix(".new")
        sidbeam.Index.build([sid], codes=[5] * 5, path=made).close()
        made.rename(path)

    def ask(name):
        one = Asked("shop", [1, 2, 3])
        engine.add_request(name, one.tokens, one.params())

    put((0, 1, 0, 1, 0))
    vocabulary = sidbeam.Vocabulary(OFFSETS["deep"])
    shop = serving.register("shop", path, vocabulary=vocabulary, end=END, follow=True)
    ask("first")
    said = {}
    for later, sid in (("second", (4, 4, 4, 4, 4)), ("third", (2, 2, 2, 2, 2))):
        engine.step()
        put(sid)
        shop.refresh()
        ask(later)
    while engine.has_unfinished_requests():
        said |= {done.request_id: done.outputs[0].token_ids for done in engine.step() if done.finished}
    expected = {"first": [0, 1, 0, 1, 0], "second": [4] * 5, "third": [2] * 5}
    assert {name.split("-")[0]: tokens for name, tokens in said.items()} == {
        name: [*(40 + code for code in sid), END] for name, sid in expected.items()
    }
    damaged = path.with_suffix(".new")
    damaged.write_bytes(path.read_bytes()[:-100])
    damaged.rename(path)
    with pytest.raises(sidbeam.SidbeamError):
        shop.refresh()
    assert generate(llm, [Asked("shop", [1, 2, 3])]) == [[[42] * 5 + [END]]]
