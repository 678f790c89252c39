"""The table of vllm.json as README.md quotes it, between its two marks.

    python3 vllm_table.py RESULTS.json README.md

SPDX-License-Identifier: Apache-2.0
"""
import sys

import measurements
import quotes

BEGIN = "<!-- of vllm.json, by vllm_table.py -->"


def text_of(machine, found):
    of = {(m["case"]["beams"], m["case"]["block"], m["name"]): m["median"] for m in found}
    columns = list(dict.fromkeys((block, name) for _, block, name in of))
    heads = [f"{name}, blocks of {block}" if block else name for block, name in columns]
    rows = [[str(beams), *(f"{of[beams, *column]:.0f}" for column in columns)] for beams in sorted({k[0] for k in of})]
    where = (f"{machine['cpu']}, {machine['cpu_target']}, {machine['cores']} cores, load {machine['load_before']} "
             f"before and {machine['load_after']} after, {machine['date']}:")
    lines = ["| " + " | ".join(row) + " |" for row in (["beams, ms", *heads], ["---"] * (len(heads) + 1), *rows)]
    return "\n".join([where, "", *lines])


def main():
    results, readme = sys.argv[1:]
    quotes.put(readme, BEGIN, text_of(*measurements.read_document(results)))


if __name__ == "__main__":
    main()
