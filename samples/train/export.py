"""Writes a decoder as transformers does, and reads it again: config.json and model.safetensors (f16).

What the runner's caller needs beyond a Llama's config is its member "sidbeam": levels, codes per level (token
l * codes + t is code t of level l), the token that begins a prompt, and the tokens per position of a prompt.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import pathlib

import torch
from safetensors.torch import load_file, save as serialize

from data import Dataset
from model import Decoder, Shape


def config(shape: Shape) -> dict:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "float16",
        "vocab_size": shape.begin + 1,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.ffn,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": shape.hidden // shape.heads,
        "hidden_act": "silu",
        "rms_norm_eps": shape.epsilon,
        "rope_theta": shape.theta,
        "max_position_embeddings": shape.max_positions,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "bos_token_id": shape.begin,
        "eos_token_id": None,
        "pad_token_id": None,
        "sidbeam": {"levels": shape.levels, "codes": shape.codes, "begin": shape.begin, "group": shape.group,
                    "items": shape.max_items},
    }


def save(decoder: Decoder, folder: str | pathlib.Path) -> None:
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config(decoder.shape), indent=2) + "\n")
    weights = {name: weight.detach().half().contiguous() for name, weight in decoder.state_dict().items()}
    (folder / "model.safetensors").write_bytes(serialize(weights, metadata={"format": "pt"}))


def load(folder: str | pathlib.Path, dataset: Dataset) -> Decoder:
    """The weights as they were rounded, in f32."""
    folder = pathlib.Path(folder)
    read = json.loads((folder / "config.json").read_text())
    codes = read["sidbeam"]
    if codes["codes"] != dataset.codes:
        raise ValueError(f"{folder} has {codes['codes']} codes per level, but --codes says {dataset.codes}")
    shape = Shape(
        codes["levels"], codes["codes"], "b" if codes["group"] > 1 else "a", read["hidden_size"],
        read["num_hidden_layers"], read["num_attention_heads"], read["intermediate_size"], read["rms_norm_eps"],
        read["rope_theta"])
    decoder = Decoder(shape).with_sids(dataset.sids)
    weights = load_file(folder / "model.safetensors")
    decoder.load_state_dict({name: weight.float() for name, weight in weights.items()})
    return decoder.eval()
