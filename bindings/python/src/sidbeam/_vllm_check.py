"""On which engines :mod:`sidbeam.vllm` searches by itself: it calls what vLLM does not promise to keep, so that others
are refused by name. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Any, Mapping

import vllm

from .errors import make

TESTED_VERSIONS = ("0.32.0",)
TESTED_BACKENDS = ("CPU_ATTN",)


def untested_version() -> list[str]:
    """A version whose interfaces nobody has tried; builds of one have a suffix ("0.32.0+cpu")."""
    if vllm.__version__.split("+")[0] in TESTED_VERSIONS:
        return []
    return [f"vLLM is {vllm.__version__}, expected {' or '.join(TESTED_VERSIONS)}"]


def impossible_settings(config: Any) -> list[str]:
    """What of a ``VllmConfig`` rules the search out, in the words of vLLM's options."""
    parallel, model, cache = config.parallel_config, config.model_config, config.cache_config
    found = [
        f"{name} is {getattr(parallel, name)}, expected 1"
        for name in (
            "pipeline_parallel_size",
            "data_parallel_size",
            "prefill_context_parallel_size",
            "decode_context_parallel_size",
        )
        if getattr(parallel, name, 1) > 1
    ]
    for name in ("lora_config", "speculative_config", "kv_transfer_config"):
        if getattr(config, name) is not None:
            found.append(f"{name} is given, expected an engine without")
    if cache.cache_dtype not in ("auto", "float32", "float16", "bfloat16"):
        found.append(f"kv_cache_dtype is {cache.cache_dtype!r}, expected 'auto'")
    if model.runner_type != "generate":
        found.append(f"runner is {model.runner_type!r}, expected 'generate'")
    if model.is_encoder_decoder or getattr(model, "uses_mrope", False):
        found.append("the model has an encoder, or positions of several dimensions, expected a decoder of text")
    return found


def impossible_layers(layers: dict[str, Any], groups: list[list[Any]]) -> list[str]:
    """What rules the search out among the layers that keep a state, and how vLLM groups them."""
    from vllm.model_executor.layers.attention import Attention
    from vllm.v1.kv_cache_interface import FullAttentionSpec, SlidingWindowSpec

    kinds = sorted({type(layer).__name__ for layer in layers.values() if type(layer) is not Attention})
    if kinds:
        return [f"the model has layers of {', '.join(kinds)}, expected plain attention"]
    if len(groups) != 1 or len(groups[0]) != 1:
        return ["the model's attention layers are of several kinds, expected one"]
    if type(groups[0][0].kv_cache_spec) not in (FullAttentionSpec, SlidingWindowSpec):
        return [f"the KV cache is a {type(groups[0][0].kv_cache_spec).__name__}, expected full attention"]
    if any(layer.kv_sharing_target_layer_name is not None for layer in layers.values()):
        return ["the model has layers that share a KV cache, expected one of each layer"]
    return []


def untested_backend(groups: list[list[Any]]) -> list[str]:
    names = sorted({group.backend.get_name() for several in groups for group in several})
    return [f"the attention backend is {name}, expected CPU_ATTN" for name in names if name not in TESTED_BACKENDS]


def answered(answer: Mapping[str, Any]) -> dict[str, Any]:
    """A worker's answer, or the error that it is; all ranks give the same."""
    failed = answer.get("error")
    if failed is not None:
        code: int = failed["code"]
        raise type(make(code, ""))(failed["message"], code)  # the message is in Python's words already
    return dict(answer)
