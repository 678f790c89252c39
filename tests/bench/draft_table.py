"""The tables of draft.json as README.md quotes them, between its two marks.

    python3 draft_table.py RESULTS.json README.md        puts them there; test_results.py checks that they agree

SPDX-License-Identifier: Apache-2.0
"""
import sys

import measurements
import quotes

BEGIN = "<!-- of draft.json, by draft_table.py -->"


def table(head, rows):
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]


def value(found, where, case, name):
    return next(m["median"] for m in found if (m["table"], m["case"], m["name"]) == (where, case, name))


def cases(found, where):
    """In the order of the measurements."""
    return list({str(m["case"]): m["case"] for m in found if m["table"] == where}.values())


def decode(found):
    names = ("products", "none", "trie", "hash", "none / products", "trie / products", "hash / products")
    rows = []
    for case in cases(found, "decode"):
        values = [value(found, "decode", case, name) for name in names]
        rows.append([f"{measurements.short(case['SIDs'])} SIDs", *(f"{ms:.0f}" for ms in values[:4]),
                     *(f"{ratio:.2f}" for ratio in values[4:])])
    return table(["ms", *(name.replace("none", "unverified") for name in names)], rows)


def verify(found):
    rows = []
    for case in cases(found, "verify"):
        ms = [value(found, "verify", case, name) / 1000 for name in ("none", "trie", "hash")]
        key = value(found, "verify", case, "(hash - none) / key")
        rows.append([f"B={case['B']}, M={case['M']}, {case['K']} codes a beam", *(f"{x:.3g}" for x in [*ms, key])])
    return table(["ms, last level alone", "unverified", "trie", "hash", "ns a key"], rows)


def text_of(machine, found):
    where = (f"{machine['cpu']}, {machine['cpu_target']}, {machine['cores']} cores, load {machine['load_before']} "
             f"before and {machine['load_after']} after, {machine['date']}:")
    return "\n".join([where, "", *decode(found), "", *verify(found)])


def main():
    results, readme = sys.argv[1:]
    quotes.put(readme, BEGIN, text_of(*measurements.read_document(results)))


if __name__ == "__main__":
    main()
