"""What the services serve: models of random weights, and indexes that the sidbeam command builds.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/bindings"))
import tiny_model  # noqa: E402

CODES = 16  # of each of three levels, as the tiny model has them
OFFSETS = "0,16,32"


def sidbeam(*arguments):
    return subprocess.run([os.environ["SIDBEAM_COMMAND"], *map(str, arguments)], check=True, capture_output=True,
                          text=True).stdout


def model(folder):
    """A model whose answers take no time."""
    tiny_model.write(folder)
    return folder


def slow_model(folder):
    """A model to which a long history is some hundredths of a second of work."""
    sizes = {"HIDDEN": 128, "LAYERS": 6, "HEADS": 4, "KV_HEADS": 2, "HEAD_DIM": 32, "FFN": 256}
    before = {name: getattr(tiny_model, name) for name in sizes}
    config = dict(tiny_model.CONFIG)
    vars(tiny_model).update(sizes)
    tiny_model.CONFIG |= {"hidden_size": 128, "num_hidden_layers": 6, "num_attention_heads": 4,
                          "num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 256}
    tiny_model.write(folder)
    vars(tiny_model).update(before)
    tiny_model.CONFIG.update(config)
    return folder


def items(first=1000, count=500, named=False, codes=CODES):
    """Items with a price each, some of which share a SID."""
    draws = random.Random(first)
    for number in range(first, first + count):
        sid = [draws.randrange(codes) for _ in range(3)]
        yield {"item": f"item/{number}" if named else number, "sid": sid, "price": number % 100}


def index(path, pairs, codes=CODES):
    """Writes an index, by rename, and gives its version."""
    source = path.with_suffix(".jsonl")
    source.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    built = sidbeam("build", "--input", source, "--codes", f"{codes},{codes},{codes}", "--attributes", "price",
                    "--output", path, "--json")
    return json.loads(built)["fingerprint"]


def live(folder, base):
    """Makes a live catalogue of an index."""
    sidbeam("catalog", "create", folder, "--base", base)
    return folder
