"""Writes the folder of a Llama of some 7,000 random weights, for tests of what runs models: the same bytes everywhere.
Tokens are 0 .. 63. Needs the standard library alone.

    python3 tests/bindings/tiny_model.py FOLDER

SPDX-License-Identifier: Apache-2.0
"""

import json
import pathlib
import random
import struct
import sys

VOCABULARY, HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_DIM, FFN = 64, 16, 2, 4, 2, 4, 24

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD_DIM,
    "intermediate_size": FFN,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "max_position_embeddings": 512,
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
}


def shapes():
    yield "model.embed_tokens.weight", (VOCABULARY, HIDDEN)
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        yield name + "input_layernorm.weight", (HIDDEN,)
        yield name + "self_attn.q_proj.weight", (HEADS * HEAD_DIM, HIDDEN)
        yield name + "self_attn.k_proj.weight", (KV_HEADS * HEAD_DIM, HIDDEN)
        yield name + "self_attn.v_proj.weight", (KV_HEADS * HEAD_DIM, HIDDEN)
        yield name + "self_attn.o_proj.weight", (HIDDEN, HEADS * HEAD_DIM)
        yield name + "post_attention_layernorm.weight", (HIDDEN,)
        yield name + "mlp.gate_proj.weight", (FFN, HIDDEN)
        yield name + "mlp.up_proj.weight", (FFN, HIDDEN)
        yield name + "mlp.down_proj.weight", (HIDDEN, FFN)
    yield "model.norm.weight", (HIDDEN,)
    yield "lm_head.weight", (VOCABULARY, HIDDEN)


def write(folder):
    draws = random.Random(1)
    header, data = {}, bytearray()
    for name, shape in shapes():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [1.0] * count if len(shape) == 1 else [draws.uniform(-0.6, 0.6) for _ in range(count)]
        begin = len(data)
        data += struct.pack(f"<{count}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1))
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
