"""That the package, where it is installed, neither changes nor breaks a vLLM that did not ask for it, and that one with
wrong settings does not start; see engine_cases.py. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import importlib
import json
import logging
import re
import sys

import numpy as np
import pytest
from engine_cases import Asked, clean_up, generate, prompt_of, start, started, worker_of
from serving_cases import install_entry_points

from sidbeam import serving

import sidbeam


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """The package is found by its entry points, and nothing has been named."""
    started.stop()
    install_entry_points(tmp_path)
    monkeypatch.setattr(serving, "_registered", {})
    monkeypatch.delenv(serving.ENVIRONMENT, raising=False)
    serving._read_environment.cache_clear()
    yield monkeypatch
    serving._read_environment.cache_clear()
    started.stop()


def test_nothing_was_asked_for(alone):
    """Requests say what the model says, logits and all; those that ask are refused when they come."""
    from vllm.sampling_params import SamplingParams

    heard = list(logging.getLogger("sidbeam").handlers)
    started.llm = llm = start()
    rng = np.random.default_rng(0)
    asked = [Asked(None, prompt_of(rng)) for _ in range(6)]
    for one, (said,) in zip(asked, generate(llm, asked)):
        assert said == one.expected()
    (processor,) = [p for p in worker_of(llm).model_runner.input_batch.logitsprocs.all if "sidbeam" in str(type(p))]
    assert processor._rows == {} and processor._masks._masks == {}
    assert logging.getLogger("sidbeam").handlers == heard
    with pytest.raises(Exception, match="catalogue 'shop' is not known, expected one of \\[\\]"):
        llm.generate([{"prompt_token_ids": [1]}], SamplingParams(extra_args={"sidbeam": "shop"}), use_tqdm=False)
    assert generate(llm, asked[:1]) == [[asked[0].expected()]]


@pytest.mark.parametrize(
    "setting, message",
    [
        ("{", "SIDBEAM_CATALOGUES is no JSON"),
        (json.dumps({"shop": {"path": "/nowhere.sidx"}}), "SIDBEAM_CATALOGUES: catalogue 'shop': cannot open"),
    ],
)
def test_wrong_settings_fail_the_start(alone, setting, message):
    """More of them in bindings/python/tests/test_serving.py."""
    alone.setenv(serving.ENVIRONMENT, setting)
    try:
        with pytest.raises(Exception, match=message):
            start()
    finally:
        clean_up()


@pytest.mark.parametrize("more", [False, True])
def test_a_vllm_of_other_interfaces(alone, tmp_path, more):
    """It starts as without the plugin; where catalogues were named, it does not, and says what differs."""
    from vllm import __version__
    from vllm.v1.sample.logits_processor.interface import LogitsProcessor

    from sidbeam import vllm as plugin

    if more:
        said = f"LogitsProcessor of vLLM {__version__} has finish, which sidbeam.vllm lacks"
        alone.setattr(plugin._Batch, "__abstractmethods__", frozenset({"finish"}))
    else:
        said = f"LogitsProcessor.apply of vLLM {__version__} takes (self, logits, rows), expected (self, logits)"
        alone.setattr(LogitsProcessor, "apply", lambda self, logits, rows: logits)
    logits = object()
    assert plugin.LogitsProcessor(object(), "cpu", False).apply(logits) is logits
    sidbeam.Index.build([(0, 1)], codes=4, path=tmp_path / "shop.sidx").close()
    alone.setenv(serving.ENVIRONMENT, json.dumps({"shop": {"path": str(tmp_path / "shop.sidx")}}))
    serving._read_environment.cache_clear()
    with pytest.raises(sidbeam.Unsupported, match="SIDBEAM_CATALOGUES names catalogues, .*; " + re.escape(said)):
        plugin.LogitsProcessor(object(), "cpu", False)


def test_a_vllm_without_the_interfaces(alone, tmp_path):
    """It loads the plugin, gets something that does nothing, and starts; unless catalogues were named."""
    for name in [name for name in sys.modules if name.startswith("sidbeam.vllm") or name.startswith("sidbeam._vllm")]:
        alone.delitem(sys.modules, name)
    alone.setattr(sidbeam, "vllm", None, raising=False)
    for name in ("vllm.v1.sample.logits_processor.interface", "vllm.v1.worker.gpu.sample.logits_processor.interface"):
        alone.setitem(sys.modules, name, None)
    plugin = importlib.import_module("sidbeam.vllm").LogitsProcessor
    made, logits = plugin(object(), "cpu", False), object()
    assert made.is_argmax_invariant() and made.apply(logits) is logits and not made.add_request(0, None)
    sidbeam.Index.build([(0, 1)], codes=4, path=tmp_path / "shop.sidx").close()
    alone.setenv(serving.ENVIRONMENT, json.dumps({"shop": {"path": str(tmp_path / "shop.sidx")}}))
    serving._read_environment.cache_clear()
    with pytest.raises(sidbeam.Unsupported, match="SIDBEAM_CATALOGUES names catalogues, expected a vLLM with"):
        plugin(object(), "cpu", False)
