"""Small models with random weights, and requests, for tests of transformers. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import functools
import json
import pathlib
from typing import Any, Iterable, Sequence

import torch
import transformers

from oracle import Catalogue, real_catalogue

_SIZES = {"small": (64, 2, 4), "larger": (256, 4, 8)}  # hidden, layers, heads


@functools.lru_cache(maxsize=None)
def model_of(kind: str, vocab: int, size: str = "small") -> Any:
    """ "decoder" (Llama) or "encoder-decoder" (T5). Weights large enough that beams are seldom close."""
    hidden, layers, heads = _SIZES[size]
    torch.manual_seed(3)
    if kind == "decoder":
        config = transformers.LlamaConfig(
            vocab_size=vocab,
            hidden_size=hidden,
            intermediate_size=4 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            initializer_range=0.2,
            bos_token_id=None,
            eos_token_id=None,
            pad_token_id=0,
        )
        return transformers.LlamaForCausalLM(config).eval()
    config = transformers.T5Config(
        vocab_size=vocab,
        d_model=hidden,
        d_ff=4 * hidden,
        num_layers=layers,
        num_heads=heads,
        d_kv=hidden // heads,
        initializer_factor=2.0,
        decoder_start_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config).eval()


def prompt_length(model: Any, inputs: dict[str, Any]) -> int:
    """Tokens before the SID in what generate() returns."""
    return 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]


def batch(prompts: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
    """Padded on the left with 0."""
    longest = max(map(len, prompts))
    ids = [[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


def histories(catalogue: Catalogue, count: int) -> list[list[int]]:
    """Prompts that are themselves SIDs: earlier purchases. Real if ../shared/data is there."""
    folder = next(
        (
            f / "shared/data/minionerec"
            for f in pathlib.Path(__file__).resolve().parents
            if (f / "shared/data/minionerec").is_dir()
        ),
        None,
    )
    if folder is None:
        sids = catalogue.distinct
        bought: Iterable[Any] = ([sids[(7 * i + j) % len(sids)] for j in range(2 + i % 5)] for i in range(count))
    else:
        lines = (folder / "Office_Products.test.jsonl").read_text().splitlines()
        bought = (json.loads(line)["history"] for line in lines[:: max(1, len(lines) // count)][:count])
    return [[catalogue.column(level, code) for sid in sids for level, code in enumerate(sid)] for sids in bought]


def real() -> tuple[Catalogue, str]:
    """A real catalogue with its codes behind 100 other tokens."""
    sids, name = real_catalogue()
    return Catalogue(sids, [256] * 3, offsets=[100, 356, 612]), name


def allowed_tokens_fn(catalogue: Catalogue, prompt: int, end: int | None = None):
    """prefix_allowed_tokens_fn as its users write it: a dict from prefixes to lists of tokens."""
    children = {
        prefix: [catalogue.column(len(prefix), t) for t in catalogue.children(prefix)] for prefix in catalogue.prefixes
    }
    tokens = {tuple(catalogue.column(l, c) for l, c in enumerate(prefix)): found for prefix, found in children.items()}
    after = [] if end is None else [end]
    return lambda request, ids: tokens.get(tuple(ids[prompt:].tolist())) or after
