"""Joins the rounds of a measurement, prints the table of README.md, and writes the joined lines.

    python table.py ALL JOINED
SPDX-License-Identifier: Apache-2.0"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import measurements  # noqa: E402

COLUMNS = ["sidbeam", "sidbeam, valid items", "CTranslate2, heap kept", "CTranslate2", "CTranslate2 int8, heap kept",
           "ONNX Runtime", "transformers"]


def joined(path):
    """One measurement per key: the least of all rounds, the median of their medians, the widest spread."""
    rounds = {}
    for line in pathlib.Path(path).read_text().splitlines():
        one = measurements.check(json.loads(line), path)
        rounds.setdefault(measurements.key(one), []).append(one)
    for same in rounds.values():
        medians = sorted(m["median"] for m in same)
        yield {**same[0], "median": measurements.percentile(medians, 0.5), "least": min(m["least"] for m in same),
               "p10": min(m["p10"] for m in same), "p90": max(m["p90"] for m in same),
               "p99": max(m["p99"] for m in same), "runs": sum(m["runs"] for m in same)}


def main():
    lines = list(joined(sys.argv[1]))
    pathlib.Path(sys.argv[2]).write_text("".join(json.dumps(m) + "\n" for m in lines))
    cases = {}
    for m in lines:
        cases.setdefault(tuple(m["case"].values()), {})[m["name"]] = m["least"]
    print("| model, batch x beams | " + " | ".join(COLUMNS) +
          " | sidbeam / CTranslate2, heap kept | request / its products |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for (model, batch, beams), row in cases.items():
        cells = [f"{row[name]:.1f}" if name in row else "–" for name in COLUMNS]
        print(f"| {model} {batch} x {beams} | " + " | ".join(cells) +
              f" | {row['sidbeam'] / row['CTranslate2, heap kept']:.2f}"
              f" | {row['sidbeam: request over products']:.2f} |")


if __name__ == "__main__":
    main()
