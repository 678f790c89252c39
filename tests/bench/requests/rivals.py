"""CTranslate2, ONNX Runtime and transformers on the same checkpoints: CPU time per request, one thread, in a process of
their own.

    python rivals.py ctranslate2|onnxruntime|transformers MODEL NAME POSITIONS BEAMS REQUESTS [--int8] [--repeats N]

Four tokens by beam search, no constraint. Prints measurements, one JSON object per line.
SPDX-License-Identifier: Apache-2.0"""
import argparse
import json
import os
import pathlib
import random
import resource
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import measurements  # noqa: E402

LEVELS, TOKENS = 4, 1100


def prompts(positions, count):
    generator = random.Random(11)
    return [[generator.randrange(3, TOKENS) for _ in range(positions)] for _ in range(count)]


def architecture(model):
    return json.loads((pathlib.Path(model) / "config.json").read_text())["architectures"][0]


def ctranslate2_search(model, beams, kind):
    """From prompts of one length to results, each with `beams` hypotheses."""
    import ctranslate2

    folder = pathlib.Path(model) / f"ctranslate2-{kind}"
    if not folder.exists():
        ctranslate2.converters.TransformersConverter(model).convert(str(folder), quantization=kind)
    settings = {"beam_size": beams, "num_hypotheses": beams, "length_penalty": 0, "max_batch_size": 0}
    threads = {"device": "cpu", "inter_threads": 1, "intra_threads": 1, "compute_type": kind}
    if architecture(model).startswith("T5"):
        search = ctranslate2.Translator(str(folder), **threads).translate_batch
        settings |= {"max_decoding_length": LEVELS, "min_decoding_length": LEVELS}
    else:
        search = ctranslate2.Generator(str(folder), **threads).generate_batch
        settings |= {"max_length": LEVELS, "min_length": LEVELS, "include_prompt_in_result": False}
    return lambda batch: search([[f"t{token}" for token in prompt] for prompt in batch], **settings)


def onnxruntime_search(model, beams, _):
    """Of the T5 that export_onnx.py wrote; at most 128 beams."""
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(pathlib.Path(model) / "beam_search.onnx"), options,
                                           providers=["CPUExecutionProvider"])
    whole = {"max_length": LEVELS + 1, "min_length": LEVELS + 1, "num_beams": beams, "num_return_sequences": beams}
    real = {"length_penalty": 0, "repetition_penalty": 1}
    settings = {name: numpy.array([value], numpy.int32) for name, value in whole.items()}
    settings |= {name: numpy.array([value], numpy.float32) for name, value in real.items()}
    return lambda batch: session.run(None, {"input_ids": numpy.array(batch, numpy.int32), **settings})


TRANSFORMERS = {"max_new_tokens": LEVELS, "min_new_tokens": LEVELS, "length_penalty": 0.0, "do_sample": False}


def transformers_search(model, beams, _):
    import torch
    import transformers

    torch.set_num_threads(1)
    loaded = getattr(transformers, architecture(model)).from_pretrained(model).eval()

    def search(batch):
        inputs = torch.tensor(batch)
        return loaded.generate(inputs, attention_mask=torch.ones_like(inputs), num_beams=beams,
                               num_return_sequences=beams, **TRANSFORMERS)
    return search


RIVALS = {"ctranslate2": ("CTranslate2", ctranslate2_search), "onnxruntime": ("ONNX Runtime", onnxruntime_search),
          "transformers": ("transformers", transformers_search)}


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rival", choices=list(RIVALS))
    parser.add_argument("model")
    parser.add_argument("name")
    parser.add_argument("positions", type=int)
    parser.add_argument("beams", type=int)
    parser.add_argument("requests", type=int)
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    batch = prompts(arguments.positions, arguments.requests)
    name, of_rival = RIVALS[arguments.rival]
    search = of_rival(arguments.model, arguments.beams, "int8" if arguments.int8 else "float32")
    search(batch)
    times = []
    for _ in range(arguments.repeats):
        begin = cpu_seconds()
        search(batch)
        times.append(1e3 * (cpu_seconds() - begin) / arguments.requests)
    if arguments.rival == "ctranslate2":
        name += (" int8" if arguments.int8 else "") + (", heap kept" if "GLIBC_TUNABLES" in os.environ else "")
    case = {"model": arguments.name, "batch": arguments.requests, "beams": arguments.beams}
    line = measurements.summary("runner", case, name, "ms of CPU", times)
    print(json.dumps({**line, "least": min(times)}))


if __name__ == "__main__":
    main()
