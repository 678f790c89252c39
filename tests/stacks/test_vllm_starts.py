"""That the package, where it is installed, neither changes nor breaks a vLLM that did not ask for it, and that one with
wrong settings does not start; see engine_cases.py. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import abc
import importlib
import json
import logging
import re
import sys
import types
from types import SimpleNamespace

import numpy as np
import pytest
from engine_cases import Asked, clean_up, generate, prompt_of, start, started, worker_of
from serving_cases import END, install_entry_points

import vllm
from sidbeam import serving
from vllm.sampling_params import SamplingParams

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


V1, V2 = "vllm.v1.sample.logits_processor.interface", "vllm.v1.worker.gpu.sample.logits_processor.interface"
CONFIG = SimpleNamespace(
    parallel_config=SimpleNamespace(tensor_parallel_size=1), model_config=SimpleNamespace(get_vocab_size=lambda: 64)
)
RENAMED = SimpleNamespace(parallel_config=CONFIG.parallel_config, model_config=object())


def with_reset(interface):
    class LogitsProcessor(importlib.import_module(interface).LogitsProcessor):
        @abc.abstractmethod
        def reset(self):
            pass

    return module_of(interface, LogitsProcessor)


def with_rows(interface):
    class LogitsProcessor(importlib.import_module(interface).LogitsProcessor):
        def apply(self, logits, rows):
            return logits

    return module_of(interface, LogitsProcessor)


def module_of(name, processor):
    made = types.ModuleType(name)
    made.LogitsProcessor, made.MoveDirectionality = processor, None
    processor.__module__ = name
    return made


def plugin_beside(patch, interfaces):
    """What a vLLM loads that has these modules, of its own or None, instead."""
    for name in [name for name in sys.modules if name.startswith("sidbeam.vllm") or name.startswith("sidbeam._vllm")]:
        patch.delitem(sys.modules, name)
    patch.setattr(sidbeam, "vllm", None, raising=False)
    for name, module in interfaces.items():
        patch.setitem(sys.modules, name, module)
    return importlib.import_module("sidbeam.vllm").LogitsProcessor


@pytest.mark.parametrize(
    "interfaces, arguments, why",
    [
        (lambda: {V1: None, V2: None}, (CONFIG, "cpu", False), "has neither V1's LogitsProcessor nor the newer"),
        (lambda: {V1: with_reset(V1)}, (CONFIG, "cpu", False), "asks its logits processors for reset"),
        (lambda: {V2: with_reset(V2)}, (CONFIG, object()), "asks its logits processors for reset"),
        (lambda: {V1: with_rows(V1)}, (CONFIG, "cpu", False), "LogitsProcessor.apply of it takes (self, logits, rows)"),
        (dict, (CONFIG, "cpu", False, 0), "makes its logits processors with 4 arguments"),
        (dict, (RENAMED, "cpu", False), "'object' object has no attribute 'get_vocab_size'"),
        (dict, (CONFIG, object()), "'object' object has no attribute 'max_num_reqs'"),
    ],
    ids=[
        "neither", "a method of V1", "a method of the newer", "an argument of a method", "an argument",
        "a renamed method",
        "a renamed field",
    ],
)
def test_a_vllm_that_does_not_fit(alone, tmp_path, caplog, interfaces, arguments, why):
    """It loads the plugin, gets something that does nothing, and starts; unless catalogues were named."""
    plugin = plugin_beside(alone, interfaces())
    made, logits = plugin(*arguments), object()
    assert made.is_argmax_invariant() and made.apply(logits) is made.apply(logits, None) is logits
    assert not made.add_request(0, None)
    made.reset(), made.update_state(None), made.apply_staged_writes()
    (said,) = caplog.messages
    assert said.startswith(f"vLLM is {vllm.__version__}, expected one that fits sidbeam") and why in said
    sidbeam.Index.build([(0, 1)], codes=4, path=tmp_path / "shop.sidx").close()
    alone.setenv(serving.ENVIRONMENT, json.dumps({"shop": {"path": str(tmp_path / "shop.sidx"), "end": END}}))
    serving._read_environment.cache_clear()
    asked = SamplingParams(extra_args={"sidbeam": "shop"})
    for call in (lambda: plugin.validate_params(asked), lambda: plugin(*arguments)):
        with pytest.raises(sidbeam.Unsupported, match=re.escape(vllm.__version__)) as error:
            call()
        assert why in error.value.message
    plugin.validate_params(SamplingParams())
