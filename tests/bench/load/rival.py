"""CTranslate2 as a lane of the runner: a batch per line, [[5, 9, ..], ..], and a line back when its beams are found.

    python rival.py MODEL BEAMS
SPDX-License-Identifier: Apache-2.0"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "requests"))
import rivals  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("beams", type=int)
    arguments = parser.parse_args()
    search = rivals.ctranslate2_search(arguments.model, arguments.beams, "float32")
    for line in sys.stdin:
        found = search(json.loads(line))
        if any(len(result.hypotheses) != arguments.beams for result in found):
            sys.exit("beams are missing")
        print(len(found), flush=True)


if __name__ == "__main__":
    main()
