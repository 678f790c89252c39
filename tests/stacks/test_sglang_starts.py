"""Which SGLang the plugin hooks, and what it does with another; see sglang_cases.py.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib.metadata
import logging
import sys
from types import SimpleNamespace

import pytest
from sglang_cases import environment as environment

from sidbeam import serving


@pytest.fixture
def plugin(monkeypatch):
    """The plugin, with a list of what it hooks, where no catalogue is named."""
    from sglang.srt.plugins.hook_registry import HookRegistry

    import sidbeam.sglang

    def register(target, hook, hook_type, *, source=None):
        hooked.append(target)

    hooked = []
    monkeypatch.setattr(HookRegistry, "register", register)
    monkeypatch.setattr(serving, "_registered", {})
    monkeypatch.delenv(serving.ENVIRONMENT, raising=False)
    monkeypatch.delenv(sidbeam.sglang.UNTESTED, raising=False)
    return SimpleNamespace(register=sidbeam.sglang.register, hooked=hooked, patch=monkeypatch,
                           untested=sidbeam.sglang.UNTESTED)  # fmt: skip


def of_another_version(patch):
    version = importlib.metadata.version
    patch.setattr(importlib.metadata, "version", lambda name: "0.6.0" if name == "sglang" else version(name))


def with_another_method(patch):
    from sglang.srt.beam_search.coordinator import BeamCoordinator

    patch.setattr(BeamCoordinator, "_select_group", lambda self, group, scores, tick: None)


def without_a_function(patch):
    from sglang.srt.beam_search import coordinator

    patch.delattr(coordinator, "_rows_topk_logprobs")


def without_beam_search(patch):
    patch.setitem(sys.modules, "sglang.srt.beam_search.coordinator", None)


OTHERS = [
    (of_another_version, "SGLang is 0.6.0, expected 0.5.23, or SIDBEAM_SGLANG_UNTESTED=1"),
    (
        with_another_method,
        "BeamCoordinator._select_group of SGLang 0.5.23 takes (self, group, scores, tick), "
        "expected (self, group, top_logprobs, top_tokens, tick)",
    ),
    (without_a_function, "SGLang 0.5.23 has no sglang.srt.beam_search.coordinator._rows_topk_logprobs"),
    (without_beam_search, "SGLang 0.5.23 has no sglang.srt.beam_search.coordinator"),
]


def test_the_one_that_it_is_for(plugin):
    plugin.register()
    assert len(plugin.hooked) == 7


@pytest.mark.parametrize("change, said", OTHERS)
def test_another_one_is_left_alone(plugin, change, said, caplog):
    """Where nobody asked for a constraint."""
    change(plugin.patch)
    with caplog.at_level(logging.WARNING, "sidbeam"):
        plugin.register()
    (record,) = caplog.records
    assert f"sidbeam.sglang cannot constrain this engine: {said}" in record.getMessage()
    assert plugin.hooked == []


@pytest.mark.parametrize("change, said", OTHERS)
def test_another_one_does_not_start_with_catalogues(plugin, change, said):
    """SGLang logs what a plugin raises and serves on, so that an exception would leave requests unconstrained."""
    change(plugin.patch)
    plugin.patch.setenv(serving.ENVIRONMENT, '{"shop": {"path": "shop.sidx"}}')
    with pytest.raises(SystemExit) as ended:
        plugin.register()
    assert str(ended.value).startswith("SIDBEAM_CATALOGUES names catalogues, but sidbeam.sglang cannot constrain")
    assert said in str(ended.value) and plugin.hooked == []


def test_another_version_of_the_same_functions_is_taken_where_one_says_so(plugin):
    of_another_version(plugin.patch)
    plugin.patch.setenv(plugin.untested, "1")
    plugin.register()
    assert len(plugin.hooked) == 7
    with_another_method(plugin.patch)
    plugin.patch.setenv(serving.ENVIRONMENT, "{")
    with pytest.raises(SystemExit, match="_select_group of SGLang 0.6.0 takes"):
        plugin.register()
