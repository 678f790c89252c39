"""The table of vllm.json as README.md quotes it, between its two marks, and the sentence that the top level's has.

    python3 vllm_table.py RESULTS.json README.md

SPDX-License-Identifier: Apache-2.0
"""
import sys

import measurements
import quotes

BEGIN = "<!-- of vllm.json, by vllm_table.py -->"
RUNNER, THEIRS, OURS = "the runner", "vLLM's own, with the plugin", "BeamSearch"


def medians(found):
    return {(m["case"]["beams"], m["case"]["block"], m["name"]): m["median"] for m in found}


def sentence_of(found, beams=50):
    of = medians(found)
    ours, smaller, runner = of[beams, 128, OURS], of[beams, 32, OURS], of[beams, 0, RUNNER]
    of_theirs = [ours / of[beams, 128, THEIRS], smaller / of[beams, 32, THEIRS]]
    shares = [f"{100 * share:.0f} %" for share in (*of_theirs, runner / ours, runner / smaller)]
    return (f"{beams} beams through ours take {shares[0]} of its time as it comes on the CPU, {shares[1]} with "
            f"`--block-size 32`, and the runner {shares[2]} and {shares[3]} of ours")


def text_of(machine, found):
    of = medians(found)
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
