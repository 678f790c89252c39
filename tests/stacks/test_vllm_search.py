"""sidbeam.vllm.BeamSearch over the model of a started vLLM; see engine_cases.py. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from engine_cases import LENGTH, Asked, generate, logits_after, model_folder, prompt_of, worker_of
from engine_cases import catalogues as catalogues
from engine_cases import llm as llm
from oracle import Catalogue, beam_search
from serving_cases import BEGIN, CATALOGUES, COLUMNS, END, OFFSETS, SID_END, draw_rules, id_of

import sidbeam
from sidbeam import _vllm_check as check_of_engine
from sidbeam import serving
from sidbeam._vllm_http import _answering as answering
from sidbeam.vllm import BeamSearch

APART, SCORE = 2e-4, 1e-4  # scores that are nearer may change places; and how near a score must be


def catalogue_of(name, kept=None):
    """Of the items that rules leave."""
    name = name.removesuffix("-tagged")
    sids = [sid for item, sid in enumerate(CATALOGUES[name]) if kept is None or item in kept]
    varies = name == "variable"
    end = SID_END if varies else None
    return Catalogue(sids, [5] * len(OFFSETS[name]), offsets=OFFSETS[name], variable=varies, end_column=end)


def by_brute_force(name, prompt, width, normalization="full", kept=None):
    """(item ids, scores), best SID first, and by item within one."""
    catalogue = catalogue_of(name, kept)
    if not catalogue.sids:
        return [], []
    whole = prompt + [BEGIN] if name.endswith("-tagged") and prompt[-1] != BEGIN else prompt
    ends = catalogue.end_column

    def rows_of(prefixes):
        tokens = [[catalogue.column(l, code) for l, code in enumerate(prefix)] for prefix in prefixes]
        return np.stack([logits_after(tuple(whole + one)) for one in tokens])

    items, scores = [], []
    for beam in beam_search(catalogue, rows_of, width, normalization):
        sid = tuple(code for code in beam.prefix if ends is None or code < 5)
        every = CATALOGUES[name.removesuffix("-tagged")]
        of_it = [id_of(i) for i, one in enumerate(every) if one == sid and (kept is None or i in kept)]
        items += of_it
        scores += [beam.score] * len(of_it)
    return items, scores


def check_found(found, expected):
    items, scores = expected
    assert sorted(found.items) == sorted(items)
    np.testing.assert_allclose(found.scores, scores, atol=SCORE)
    for place, score in enumerate(scores):
        if all(abs(score - other) > APART or items[place] == item for item, other in zip(items, scores)):
            assert found.items[place] == items[place]


@pytest.mark.parametrize("normalization", ["full", "level", "valid"])
@pytest.mark.parametrize("name", [name + tag for name in CATALOGUES for tag in ("", "-tagged")])
def test_as_brute_force(llm, name, normalization):
    """Of prompts of all lengths in one call, which blocks and passes cut anywhere."""
    rng, beams = np.random.default_rng(7), 3
    search = BeamSearch(llm, name, beams=beams, normalization=normalization)
    prompts = [prompt_of(rng) for _ in range(8)] + [rng.integers(0, COLUMNS, n).tolist() for n in (31, 32, 33, 64)]
    for prompt, found in zip(prompts, search.search(prompts)):
        check_found(found, by_brute_force(name, prompt, beams, normalization))


def test_rules_of_each_prompt(llm):
    rng = np.random.default_rng(8)
    for name in CATALOGUES:
        search, prompts = BeamSearch(llm, name, beams=6), [prompt_of(rng) for _ in range(6)]
        drawn = [draw_rules(name, rng) for _ in prompts]
        keys = ("filter", "where", "exclude", "allow")
        rules = {key: [asked.get(f"sidbeam_{key}") for asked, _ in drawn] for key in keys}
        for prompt, (_, kept), found in zip(prompts, drawn, search.search(prompts, **rules)):
            check_found(found, by_brute_force(name, prompt, 6, kept=kept))
    found = search.search(prompts, allow=[[], None, [], [id_of(1)], None, None])
    assert [len(one) == 0 for one in found] == [True, False, True, False, False, False]
    assert [len(one) for one in search.search(prompts, allow=[])] == [0] * 6
    found = search.search(prompts, exclude=[id_of(0)], filter="cheap")  # one for all
    for prompt, one in zip(prompts, found):
        check_found(one, by_brute_force(name, prompt, 6, kept={1, 2}))


@pytest.fixture(scope="module")
def wide(catalogues):
    """A catalogue of many SIDs, under the name "wide"."""
    rng = np.random.default_rng(3)
    sids = np.unique(rng.integers(0, 16, (3000, 3)), axis=0)
    index = sidbeam.Index.build(sids, codes=16, attributes={"brand": (np.arange(len(sids)) % 7).tolist()})
    vocabulary = sidbeam.Vocabulary([0, 16, 32])
    serving.register("wide", index, vocabulary=vocabulary, end=END)
    return index, vocabulary


def test_as_the_runner_of_the_same_model(llm, wide):
    index, vocabulary = wide
    rng, beams = np.random.default_rng(9), 50
    prompts = [prompt_of(rng) for _ in range(9)]
    with sidbeam.Runner(sidbeam.Model.open(model_folder()), index, beams=beams, vocabulary=vocabulary) as runner:
        for prompt, found in zip(prompts, BeamSearch(llm, "wide", beams=beams).search(prompts)):
            theirs = runner.run(prompt)
            np.testing.assert_allclose(found.scores, theirs.scores, atol=SCORE)
            assert len(set(found.items) & set(theirs.items.tolist())) >= beams - 1
            gaps = np.abs(np.diff(theirs.scores)) > APART
            alone = np.concatenate([[True], gaps]) & np.concatenate([gaps, [False]])
            assert np.array(found.items)[alone].tolist() == theirs.items[alone].tolist() and alone.sum() > 30


def test_groups_and_limits(llm, wide):
    """More prompts than one batch takes; what a list holds, as a session's."""
    rng = np.random.default_rng(10)
    prompts = [prompt_of(rng) for _ in range(5)]
    search = BeamSearch(llm, "wide", beams=40)  # of at most 8 rows, as max_num_seqs has it: one prompt each
    together, alone = search.search(prompts), [search.search([prompt])[0] for prompt in prompts]
    for one, other in zip(together, alone):
        np.testing.assert_allclose(one.scores, other.scores, atol=SCORE)
    (capped,) = search.search(prompts[:1], limit=5, cap=1, cap_by="brand")
    brands = [item % 7 for item in together[0].items]
    assert len(capped) == 5 and capped.items == [together[0].items[brands.index(b)] for b in dict.fromkeys(brands)][:5]
    items, scores = capped
    assert items == capped.items and scores is capped.scores
    assert search.search([]) == []


def test_the_engine_goes_on_as_before(llm, wide, monkeypatch):
    """Between two searches, while requests run, and after a search that failed in its middle."""
    worker, search = worker_of(llm), BeamSearch(llm, "wide", beams=20)
    layers = worker.vllm_config.compilation_config.static_forward_context
    caches = {name: layer.kv_cache for name, layer in layers.items() if hasattr(layer, "kv_cache")}
    contents = {name: cache.clone() for name, cache in caches.items()}
    rng = np.random.default_rng(11)
    prompt = rng.integers(0, 50, 66).tolist()
    found = search.search([prompt])[0]
    assert all((layers[name].kv_cache is cache) for name, cache in caches.items())
    assert all(bool((caches[name] == kept).all()) for name, kept in contents.items())
    running = Asked("deep", prompt)
    llm.llm_engine.add_request("running", running.tokens, running.params())
    said = []
    while llm.llm_engine.has_unfinished_requests():
        said = [out.outputs[0].token_ids for out in llm.llm_engine.step() if out.finished]
        assert search.search([prompt])[0].items == found.items
    assert said == [running.expected()]
    model, calls = worker.model_runner.get_model(), []
    compute = type(model).compute_logits

    def fails(self, hidden):
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("in its middle")
        return compute(self, hidden)

    monkeypatch.setattr(type(model), "compute_logits", fails)
    with pytest.raises(Exception, match="in its middle"):
        search.search([prompt])
    assert len(calls) == 2 and all((layers[name].kv_cache is cache) for name, cache in caches.items())
    assert generate(llm, [running]) == [[running.expected()]]
    assert search.search([prompt])[0].items == found.items


def test_a_model_that_says_nan_is_not_the_callers_mistake(llm, monkeypatch):
    model, search = worker_of(llm).model_runner.get_model(), BeamSearch(llm, "bigrams", beams=4)
    compute = type(model).compute_logits
    monkeypatch.setattr(type(model), "compute_logits", lambda self, hidden: compute(self, hidden) * float("nan"))
    with pytest.raises(sidbeam.BadState, match=r"^prompts\[0\]: the model's logits hold NaN or \+inf") as error:
        search.search([[1]])

    async def failing(request):
        raise error.value

    assert asyncio.run(answering(failing)(None)).status_code == 500


def test_memory_is_bounded(llm, wide, monkeypatch):
    from sidbeam._vllm_paged import PagedModel

    taken, zeros = [], PagedModel._zeros

    def count(self, like, blocks):
        made = zeros(self, like, blocks)
        taken.append(made.nbytes)
        return made

    monkeypatch.setattr(PagedModel, "_zeros", count)
    for beams in (1, 7, 50):
        search = BeamSearch(llm, "wide", beams=beams)
        for length in (1, 31, 32, 60, LENGTH - 2):
            taken.clear()
            search.search([[1] * length] * 8)
            calls = -(-8 // max(1, 8 // beams))
            assert sum(taken) / calls <= search.memory_bytes(length) <= 4 * sum(taken) / calls + 1e6
    assert search.memory_bytes() == search.memory_bytes(LENGTH - 2) == search.memory_bytes(10**6)


def test_versions_are_in_the_answer(llm, monkeypatch):
    monkeypatch.setattr(serving, "_registered", dict(serving._registered))
    vocabulary, sid = sidbeam.Vocabulary([0, 16, 32]), [(1, 2, 3)]
    with sidbeam.Catalog.create(sidbeam.Index.build(sid, [7], codes=16)) as catalog:
        serving.register("live", catalog, vocabulary=vocabulary, end=END)
        search = BeamSearch(llm, "live", beams=4)
        assert [(one.items, one.version) for one in search.search([[5]])] == [([7], 1)]
        catalog.add([(3, 2, 1)], [8])
        catalog.publish()
        (found,) = search.search([[5]])
        assert sorted(found.items) == [7, 8] and (found.version, found.fingerprint) == search.refresh()
        assert found.version == 2 and len(found.fingerprint) >= 16


@pytest.mark.parametrize(
    "prompts, more, message",
    [
        ([[1], []], {}, r"prompts\[1\] has shape \(0,\), expected \(tokens,\), one or more"),
        ([[1], "text"], {}, r"prompts\[1\] is str, expected token ids"),
        ([{"prompt": "text"}], {}, r"prompts\[0\] is None, expected token ids"),
        ([[[1]]], {}, r"prompts\[0\] has shape \(1, 1\)"),
        ([[COLUMNS]], {}, rf"prompts\[0\] has tokens {COLUMNS} to {COLUMNS}, expected 0 to {COLUMNS - 1}"),
        ([[-1, 3]], {}, r"prompts\[0\] has tokens -1 to 3"),
        ([[1] * LENGTH], {}, rf"prompts\[0\] has {LENGTH} tokens, expected at most {LENGTH - 2}"),
        ([[1], [2]], {"filter": ["cheap"]}, r"filter has shape \(1,\), expected \(2,\)"),
        ([[1], [2]], {"filter": [None, "dear"]}, r"prompts\[1\]: catalogue 'bigrams': sidbeam_filter is 'dear'"),
        ([[1]] * 20, {"exclude": [None] * 19 + [["x"]]}, r"prompts\[19\]: .*sidbeam_exclude\[0\] is 'x'"),
        ([[1]], {"where": "price<"}, "sidbeam_where: at byte 6"),
        ([[1]], {"limit": "5"}, "limit is str, expected an integer"),
        ([[1]], {"cap": 1, "cap_by": "brand"}, "brand"),
        (5, {}, "prompts is int, expected a list of prompts"),
    ],
)
def test_what_is_wrong_with_a_call(llm, prompts, more, message):
    """Fails it, and not the engine."""
    search = BeamSearch(llm, "bigrams", beams=4)
    with pytest.raises(sidbeam.InvalidArgument, match=message):
        search.search(prompts, **more)
    with pytest.raises(TypeError, match="unexpected keyword argument 'limits'"):
        search.search([[1]], limits=5)
    assert len(search.search([{"prompt_token_ids": np.array([1])}], exclude=[np.int64(999)])[0]) == 4


@pytest.mark.parametrize(
    "catalogue, more, message",
    [
        ("nowhere", {}, "catalogue 'nowhere' is not known, expected one of"),
        (3, {}, "catalogue is int, expected the name of one"),
        ("bigrams", {"beams": 0}, "beams is 0, expected 1 or more"),
        ("bigrams", {"normalization": "some"}, "Normalization is 'some', expected one of"),
        ("beyond", {}, f"catalogue 'beyond' has tokens below 105, the model's vocabulary has {COLUMNS}"),
    ],
)
def test_what_is_wrong_with_a_search(llm, monkeypatch, catalogue, more, message):
    monkeypatch.setattr(serving, "_registered", dict(serving._registered))
    entry = serving.find("bigrams")
    serving.register("beyond", entry.index, vocabulary=sidbeam.Vocabulary([0, 0, 100]), end=END)
    with pytest.raises(sidbeam.InvalidArgument, match=message):
        BeamSearch(llm, catalogue, **more)


SETTINGS = [
    ("parallel_config.pipeline_parallel_size", 2, "pipeline_parallel_size is 2, expected 1"),
    ("parallel_config.data_parallel_size", 2, "data_parallel_size is 2, expected 1"),
    ("parallel_config.decode_context_parallel_size", 2, "decode_context_parallel_size is 2, expected 1"),
    ("lora_config", object(), "lora_config is given, expected an engine without"),
    ("speculative_config", object(), "speculative_config is given, expected an engine without"),
    ("kv_transfer_config", object(), "kv_transfer_config is given, expected an engine without"),
    ("cache_config.cache_dtype", "fp8", "kv_cache_dtype is 'fp8', expected 'auto'"),
    ("model_config.runner_type", "pooling", "runner is 'pooling', expected 'generate'"),
]


@pytest.mark.parametrize("name, value, message", SETTINGS, ids=[name for name, *_ in SETTINGS])
def test_engines_that_are_refused(llm, monkeypatch, name, value, message):
    part, *inner = name.split(".")
    config = llm.llm_engine.vllm_config
    holder = getattr(config, part) if inner else config
    monkeypatch.setattr(holder, inner[0] if inner else part, value)
    with pytest.raises(sidbeam.Unsupported, match=message):
        BeamSearch(llm, "bigrams", untested=True)


def test_other_versions_and_backends(llm, monkeypatch):
    import vllm

    worker = worker_of(llm)
    backend = worker.model_runner.attn_groups[0][0].backend
    with monkeypatch.context() as patch:
        patch.setattr(vllm, "__version__", "0.99.1")
        with pytest.raises(sidbeam.Unsupported, match="vLLM is 0.99.1, expected 0.32.0"):
            BeamSearch(llm, "bigrams")
        assert len(BeamSearch(llm, "bigrams", beams=4, untested=True).search([[1]])[0]) == 4
    with monkeypatch.context() as patch:
        patch.setattr(backend, "get_name", staticmethod(lambda: "FLASH_ATTN"))
        patch.delattr(worker, "_sidbeam_model")
        with pytest.raises(sidbeam.Unsupported, match="the attention backend is FLASH_ATTN, expected CPU_ATTN"):
            BeamSearch(llm, "bigrams")
        check_found(
            BeamSearch(llm, "bigrams", beams=4, untested=True).search([[1] * 40])[0],
            by_brute_force("bigrams", [1] * 40, 4),  # over the engine's own size of block
        )
    with monkeypatch.context() as patch:
        patch.setattr(llm.llm_engine.vllm_config.parallel_config, "worker_extension_cls", "")
        with pytest.raises(sidbeam.InvalidArgument, match="no worker_extension_cls, expected 'sidbeam.vllm.Worker'"):
            BeamSearch(llm, "bigrams")


def test_layers_that_are_refused(llm):
    runner = worker_of(llm).model_runner
    group = runner.attn_groups[0][0]
    context = llm.llm_engine.vllm_config.compilation_config.static_forward_context
    layers = {name: context[name] for name in group.layer_names}

    class MambaMixer2:
        pass

    assert check_of_engine.impossible_layers(layers, [[group]]) == []
    for others, groups, message in [
        ({**layers, "mixer": MambaMixer2()}, [[group]], "layers of MambaMixer2, expected plain attention"),
        (layers, [[group], [group]], "attention layers are of several kinds, expected one"),
        (layers, [[group, group]], "attention layers are of several kinds, expected one"),
    ]:
        (found,) = check_of_engine.impossible_layers(others, groups)
        assert message in found
