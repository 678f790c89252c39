"""sidbeam.sglang in a started SGLang: its own scheduler, batches, KV cache and beam search, on the CPU, with its
PyTorch attention; stand_ins/sgl_kernel stands in for the kernels that it imports and never calls. Judged by brute force
over the SIDs, with transformers' logits.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
sglang = pytest.importorskip("sglang")

import sidbeam
from serving_cases import write_entry_points
from sidbeam import serving

VOCABULARY, OFFSETS, CODES, SIDS = 256, [10, 20, 30], 4, 30
SETTINGS = {
    "device": "cpu", "dtype": "float32", "attention_backend": "torch_native", "sampling_backend": "pytorch",
    "disable_cuda_graph": True, "disable_overlap_schedule": True, "skip_tokenizer_init": True,
    "grammar_backend": "none",
    "max_total_tokens": 8192, "max_running_requests": 256, "context_length": 128, "skip_server_warmup": True,
    "log_level": "error",
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=32, max_position_embeddings=512, initializer_range=0.3, bos_token_id=0,
        eos_token_id=1,
    )  # fmt: skip
    made = transformers.LlamaForCausalLM(config).float().eval()
    made.folder = tmp_path_factory.mktemp("model")
    made.save_pretrained(made.folder)
    return made


@pytest.fixture(scope="module")
def sids():
    draws = np.random.default_rng(0).integers(0, CODES, (SIDS, 3)).tolist()
    return sorted({tuple(sid) for sid in draws})


@pytest.fixture(scope="module")
def engine(model, sids, tmp_path_factory):
    """With the plugin as it is installed, and a catalogue as an operator names it, in all of its processes."""
    folder = tmp_path_factory.mktemp("site")
    write_entry_points(folder)
    path = folder / "shop.sidx"
    items = range(100, 100 + len(sids))
    sidbeam.Index.build(sids, items, codes=[CODES] * 3, path=path).close()
    patch = pytest.MonkeyPatch()
    patch.setenv(serving.ENVIRONMENT, json.dumps({"shop": {"path": str(path), "offsets": OFFSETS}}))
    patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *sys.path]))
    patch.syspath_prepend(str(folder))
    started = sglang.Engine(model_path=str(model.folder), **SETTINGS)
    yield started
    started.shutdown()
    patch.undo()


def search(engine, prompts, width, custom=None):
    """For each prompt its beams, best first: tokens and log-probability per token."""
    params = {"max_new_tokens": 3, "beam_width": width, "n": width, "ignore_eos": True, "custom_params": custom}
    found = engine.generate(input_ids=prompts, sampling_params=[params] * len(prompts))
    return [
        [(tuple(one["output_ids"]), one["meta_info"]["sequence_score"]) for one in each["meta_info"]["beam_results"]]
        for each in found
    ]


def best(model, prompt, sids, width):
    said = torch.tensor([[o + c for o, c in zip(OFFSETS, sid)] for sid in sids])
    with torch.no_grad():
        rows = model(torch.cat([torch.tensor([prompt]).expand(len(said), -1), said], 1)).logits[:, len(prompt) - 1 : -1]
    scores = rows.double().log_softmax(-1).gather(2, said[:, :, None])[:, :, 0].mean(1)
    order = scores.argsort(descending=True)[:width].tolist()
    return [(tuple(said[i].tolist()), float(scores[i])) for i in order]


def assert_same(found, expected):
    assert [tokens for tokens, _ in found] == [tokens for tokens, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=0, atol=1e-4)


@pytest.fixture(scope="module")
def prompts():
    rng = np.random.default_rng(1)
    return [rng.integers(2, VOCABULARY, rng.integers(1, 30)).tolist() for _ in range(4)]


def test_all_sids_in_their_order(engine, model, sids, prompts):
    """As many beams as there are SIDs: no beam search loses any."""
    for prompt, found in zip(prompts, search(engine, prompts, len(sids), {"sidbeam": "shop"})):
        assert_same(found, best(model, prompt, sids, len(sids)))


def test_rules(engine, model, sids, prompts):
    custom = {"sidbeam": "shop", "sidbeam_exclude": list(range(100, 110))}
    for prompt, found in zip(prompts, search(engine, prompts, len(sids), custom)):
        assert_same(found, best(model, prompt, sids[10:], len(sids)))


def test_a_request_that_asks_for_nothing(engine, model, prompts):
    """Is SGLang's own search, over all tokens."""
    found = search(engine, prompts[:2], 4)
    assert all(len(beams) == 4 for beams in found)
    allowed = set(range(OFFSETS[0], OFFSETS[0] + CODES))
    assert any(tokens[0] not in allowed for beams in found for tokens, _ in beams)


def test_a_catalogue_that_is_not_known_is_the_request_s_error(engine, prompts):
    with pytest.raises(ValueError, match="catalogue 'nope' is not known, expected one of \\['shop'\\]"):
        search(engine, prompts[:1], 4, {"sidbeam": "nope"})
    assert search(engine, prompts[:1], 4, {"sidbeam": "shop"})
