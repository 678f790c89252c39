"""Writes a decoder as transformers does, and reads it again: config.json and model.safetensors (f16).

What the runner's caller needs beyond a Llama's config is its member "sidbeam": levels, codes per level (token
l * codes + t is code t of level l), the token that begins a prompt, and the tokens per position of a prompt. Form n
has the placeholders' tokens behind the begin, and its head in head.safetensors, of which this command makes a file
that the library opens, head.sdraft (it needs sidbeam's Python package):

  python export.py build/nezha [--dtype f16] [--codebook NAME]

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import pathlib

from safetensors.torch import load_file, save as serialize

from data import Dataset
from model import Decoder, Shape
from nezha import decoder_of, write


def config(shape: Shape) -> dict:
    head = {"input": shape.input, "transition": shape.transition} if shape.form == "n" else {}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "float16",
        "vocab_size": shape.vocabulary,
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
                    "items": shape.max_items, **head},
    }


def save(decoder: Decoder, folder: str | pathlib.Path) -> None:
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config(decoder.shape), indent=2) + "\n")
    weights = {name: weight.detach().half().contiguous() for name, weight in decoder.state_dict().items()}
    for part in ("model", "head"):
        if own := {name: weight for name, weight in weights.items() if name.startswith(part + ".")}:
            (folder / f"{part}.safetensors").write_bytes(serialize(own, metadata={"format": "pt"}))


def load(folder: str | pathlib.Path, dataset: Dataset) -> Decoder:
    """The weights as they were rounded, in f32."""
    known = json.loads((pathlib.Path(folder) / "config.json").read_text())["sidbeam"]
    if known["codes"] != dataset.codes:
        raise ValueError(f"{folder} has {known['codes']} codes per level, but --codes says {dataset.codes}")
    return load_without(folder).with_sids(dataset.sids)


def load_without(folder: str | pathlib.Path) -> Decoder:
    """The same without the catalogue's SIDs."""
    folder = pathlib.Path(folder)
    read = json.loads((folder / "config.json").read_text())
    codes = read["sidbeam"]
    form = "n" if "transition" in codes else "b" if codes["group"] > 1 else "a"
    shape = Shape(
        codes["levels"], codes["codes"], form, read["hidden_size"],
        read["num_hidden_layers"], read["num_attention_heads"], read["intermediate_size"], read["rms_norm_eps"],
        read["rope_theta"], input=codes.get("input", Shape.input), transition=codes.get("transition", Shape.transition))
    decoder = decoder_of(shape)
    weights = load_file(folder / "model.safetensors")
    if form == "n":
        weights |= load_file(folder / "head.safetensors")
    decoder.load_state_dict({name: weight.float() for name, weight in weights.items()})
    return decoder.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes head.sdraft beside what train.py --form n wrote.")
    parser.add_argument("model", help="its folder")
    parser.add_argument("--dtype", choices=["f32", "f16", "bf16"], default="f16")
    parser.add_argument("--codebook", default="", help="that of the indexes which the head is for; any by default")
    args = parser.parse_args()
    decoder = load_without(args.model)
    if decoder.shape.form != "n":
        raise SystemExit(f"{args.model} holds a decoder of form {decoder.shape.form}, expected n: it has no head")
    write(decoder, pathlib.Path(args.model) / "head.sdraft", args.dtype, args.codebook)


if __name__ == "__main__":
    main()
