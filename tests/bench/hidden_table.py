"""Prints README.md's tables of the step from hidden states from a results file.

    python3 tests/bench/hidden_table.py tests/bench/results/hidden.json

SPDX-License-Identifier: Apache-2.0
"""
import sys

sys.dont_write_bytecode = True
import measurements

# Of random rows that are added up and lie in the second-level cache, as README.md says.
SECOND_LEVEL = 120e9


def cells(found, name):
    """Medians of one table: {case: {name or (name, unit): median}}, in the order of the file."""
    out = {}
    for m in found:
        if m["table"] == name:
            out.setdefault(tuple(m["case"].items()), {})[m["name"]] = m["median"]
    return [(dict(case), values) for case, values in out.items()]


def markdown(head, rows):
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)] if rows else []


def steps(found):
    """The step beside its floors."""
    rows = []
    for case, at in cells(found, "hidden"):
        second_level = 1e6 * at["products"] * 4 * case["D"] / SECOND_LEVEL
        times = [at[name] for name in ("rows", "beams", "flops", "states")] + [second_level]
        rows.append([str(case["V"]), str(case["D"]), f"{at['hidden']:.0f}", f"{at['product+step / hidden']:.0f}",
                     *(f"{time:.0f}" for time in times), f"{at['hidden / floor']:.2f}"])
    return markdown(["V", "D", "hidden", "gain on product + step", "rows", "beams", "flops", "states", "L2",
                     "hidden / larger floor"], rows)


def paths(found):
    """Each path by the children of a beam."""
    rows = [[str(case["D"]), str(case["children"]), *(f"{at[name]:.0f}" for name in ("children", "product", "fastest")),
             f"{at['fastest / better']:.2f}", f"{at['break-even']:.1f}"] for case, at in cells(found, "paths")]
    return markdown(["D", "children of a beam", "children", "product", "fastest", "fastest / better one", "break-even"],
                 rows)


def tables(found):
    return [lines for lines in (steps(found), paths(found)) if lines]


def main():
    found = measurements.read_document(sys.argv[1])[1]
    print("\n\n".join("\n".join(lines) for lines in tables(found)))


if __name__ == "__main__":
    main()
