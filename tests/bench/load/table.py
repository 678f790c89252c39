"""Prints the table of README.md: P50 / P99 in ms by series and load.

    python table.py LOAD.json
SPDX-License-Identifier: Apache-2.0"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import measurements  # noqa: E402


def main():
    _, found = measurements.read_document(sys.argv[1])
    loads, rows, refused = [], {}, {}
    for m in found:
        load, name = m["case"]["load_percent"], m["name"]
        if name == "offered":
            loads.append((load, m["median"]))
        elif m["unit"] == "ms":
            rows.setdefault(name, {})[load] = f"{m['median']:.1f} / {m['p99']:.1f}"
        elif m["unit"] == "% refused":
            refused[name, load] = f", {m['median']:.0f} % refused"
    print("| | " + " | ".join(f"{load} %, {rate:.0f} a second" for load, rate in loads) + " |")
    print("|---" * (len(loads) + 1) + "|")
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(row[load] + refused.get((name, load), "") for load, _ in loads) + " |")


if __name__ == "__main__":
    main()
