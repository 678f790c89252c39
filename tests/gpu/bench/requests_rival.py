"""The models of tests/bench/requests on this GPU: writes them, and times transformers' beam search with them, without
a constraint, beside requests.cc.

    python3 requests_rival.py models FOLDER
    python3 requests_rival.py time FOLDER [--json FILE] [--repeats N]     wall time of a batch of prompts
SPDX-License-Identifier: Apache-2.0"""
import argparse
import pathlib
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "requests")]
import measurements  # noqa: E402
import models  # noqa: E402
import rivals  # noqa: E402


def searches(folder, name, positions):
    import torch
    import transformers

    path = pathlib.Path(folder) / name
    for dtype in (torch.float32, torch.bfloat16):
        model = getattr(transformers, rivals.architecture(path)).from_pretrained(path, dtype=dtype).eval().cuda()
        for beams in (50, 200):
            for batch in (1, 8):
                inputs = torch.tensor(rivals.prompts(positions, batch), device="cuda")
                settings = {**rivals.TRANSFORMERS, "num_beams": beams, "num_return_sequences": beams,
                            "attention_mask": torch.ones_like(inputs)}
                case = {"model": name, "batch": batch, "beams": beams,
                        "dtype": "f32" if dtype == torch.float32 else "bf16"}
                yield case, lambda: (model.generate(inputs, **settings), torch.cuda.synchronize())


def time_all(options):
    for name, (_, positions) in models.MODELS.items():
        for case, search in searches(options.folder, name, positions):
            times = []
            for _ in range(options.repeats + 2):
                begin = time.perf_counter()
                search()
                times.append((time.perf_counter() - begin) * 1e6)
            found = measurements.summary("requests", case, "transformers", "us", times[2:])
            print(f"{measurements.text_of_case(case)}: transformers {found['median']:.0f} us", flush=True)
            if options.json:
                measurements.append_lines(options.json, [found])


def main():
    parser = argparse.ArgumentParser(description="The request benchmark's models on a GPU.")
    parser.add_argument("what", choices=["models", "time"])
    parser.add_argument("folder")
    parser.add_argument("--json", help="file to append measurements to, one a line")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.what == "time":
        return time_all(options)
    for name in models.MODELS:
        print(models.write(options.folder, name))


if __name__ == "__main__":
    main()
