"""Adapters refuse an engine that lacks what they use, by name: stand-ins for engines of other versions.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

import pytest

import sidbeam
from sidbeam._engines import misfits, need


def module(name: str, **members: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__dict__.update(members)
    return made


def older_torch() -> dict[str, types.ModuleType]:
    """Before fake kernels could be registered."""
    library = module("torch.library", define=print, impl=print)
    return {"torch": module("torch", __version__="2.3.1", Tensor=object, library=library), "torch.library": library}


def other_torch() -> dict[str, types.ModuleType]:
    """That registers them in another way."""
    made = older_torch()
    made["torch.library"].__dict__["register_fake"] = lambda name, *, kernel: None
    made["torch"].__dict__["__version__"] = "3.0.0"
    return made


def older_jax() -> dict[str, types.ModuleType]:
    """Before jax.ffi."""
    numpy = module("jax.numpy")
    return {"jax": module("jax", __version__="0.4.30", numpy=numpy), "jax.numpy": numpy}


class Mixin:
    def generate(self) -> None: ...

    def prepare_inputs_for_generation(self, input_ids: Any, past_key_values: Any = None) -> None: ...


def older_transformers() -> dict[str, types.ModuleType]:
    """Before prefilling was a method."""
    return {**older_torch(), "transformers": module("transformers", __version__="4.57.6", GenerationMixin=Mixin)}


@pytest.mark.parametrize(
    "engine, adapter, said",
    [
        (
            older_torch,
            "sidbeam.torch",
            "sidbeam.torch needs PyTorch 2.4 or later, found 2.3.1: PyTorch 2.3.1 has no torch.library.register_fake",
        ),
        (
            other_torch,
            "sidbeam.torch",
            "sidbeam.torch needs PyTorch 2.4 or later, found 3.0.0: register_fake of PyTorch 3.0.0 takes (name, kernel)"
            ", expected (op, func, ..)",
        ),
        (older_jax, "sidbeam.jax", "sidbeam.jax needs JAX 0.5 or later, found 0.4.30: JAX 0.4.30 has no jax.ffi"),
        (
            older_transformers,
            "sidbeam._transformers",
            "sidbeam.transformers needs transformers 5.3 or later, found 4.57.6: transformers 4.57.6 has no "
            "transformers.GenerationMixin._prefill; ",
        ),
        (
            older_transformers,
            "sidbeam._transformers",
            "prepare_inputs_for_generation of transformers 4.57.6 takes (self, input_ids, past_key_values), expected "
            "(self, input_ids, next_sequence_length, ..)",
        ),
    ],
)
def test_another_version_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, engine: Any, adapter: str, said: str
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in ("torch", "jax", "transformers")]:
        monkeypatch.delitem(sys.modules, name)
    for name, made in engine().items():
        monkeypatch.setitem(sys.modules, name, made)
    monkeypatch.delitem(sys.modules, adapter, raising=False)
    attribute = adapter.rpartition(".")[2]
    monkeypatch.setattr(sidbeam, attribute, None, raising=False)
    with pytest.raises(ImportError) as raised:
        importlib.import_module(adapter)
    assert said in str(raised.value)


def test_what_fits() -> None:
    def of(*parameters: str) -> list[str]:
        return misfits("An engine 7", {"sidbeam._engines": {"need": " ".join(parameters), "misfits": None}})

    assert of("adapter", "engine", "version", "supported", "used") == []
    assert of("adapter", "engine", "..") == [] and of("..") == []
    assert of("adapter", "engine") and of("adapter", "version", "..") and of("adapter", "..", "engine")
    need("an adapter", "an engine", "7", "7", {"sidbeam": {"Index.open": None}})
    assert misfits("An engine 7", {"sidbeam": {"Index.shut": None}, "sidbeam.nothing": {}}) == [
        "An engine 7 has no sidbeam.Index.shut",
        "An engine 7 has no sidbeam.nothing (No module named 'sidbeam.nothing')",
    ]
