"""The tables of speculation.json as tests/bench/README.md has them: prints them, or puts them into its section, each in
the place of the one with the same first cell, and a new one after the one before it.

    python3 tests/bench/speculation/table.py tests/bench/results/speculation.json [tests/bench/README.md]

SPDX-License-Identifier: Apache-2.0
"""
import itertools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import measurements

MISSING = "–"


class Found:
    """Measurements of one table by name, unit and what their case holds."""

    def __init__(self, all_of_them, table):
        self.all = [m for m in all_of_them if m["table"] == table]

    def cell(self, name, unit, digits, **case):
        """The one median of this name and unit whose case has these values; as text."""
        picked = [m["median"] for m in self.all if (m["name"], m["unit"]) == (name, unit)
                  and all(m["case"].get(key) == value for key, value in case.items())]
        if len(picked) > 1:
            raise ValueError(f"{len(picked)} measurements of {name} in {unit} for {case}")
        return f"{picked[0]:.{digits}f}" if picked else MISSING

    def values(self, key, **case):
        """Those of a key ("name" too), in the order of the file."""
        kept = [m for m in self.all if all(m["case"].get(k) == v for k, v in case.items())]
        return list(dict.fromkeys(m["name"] if key == "name" else m["case"][key] for m in kept
                                  if key == "name" or key in m["case"]))


STRICT = {"verify": "strict", "drafted": 2}
RELAXED = {"verify": "relaxed", "temperature": 1.0}
ACCEPTED = "accepted levels"


def table(head, rows):
    """Lines of Markdown; rows without any figure are left out."""
    rows = [row for row in rows if any(not str(cell).startswith(MISSING) for cell in row[1:])]
    if not rows:
        return []
    return ["| " + " | ".join(map(str, row)) + " |" for row in (head, ["---"] * len(head), *rows)]


def kinds(found, case):
    """Accepted levels of each draft by K."""
    beams = sorted(found.values("K", **case))
    names = [name for name in found.values("name", K=1, **case)]
    return table([case["verify"], *(f"K={k}" for k in beams)],
                 [[name, *(found.cell(name, ACCEPTED, 2, K=k, N=max(k, 40), **case) for k in beams)]
                  for name in names])


COUNTS = ((ACCEPTED, 2), ("target calls", 2), ("target rows", 0))


def work(found, title, name, two, one):
    """Calls and rows of the target by K, for two drafted levels and for one, each a case."""
    rows = [[k, *(found.cell(name, unit, digits, K=k, N=max(k, 40), **case)
                  for case in (two, one) for unit, digits in COUNTS)] for k in sorted(found.values("K", **one))]
    return table([title, "accepted, γ=2", "calls", "rows", "accepted, γ=1", "calls", "rows"], rows)


def varied(found):
    """Accepted levels at K=10 by N."""
    rows = []
    for n in sorted(set(found.values("N", K=10, **STRICT)) & set(found.values("N", K=10, **RELAXED))):
        strict, relaxed = {"K": 10, "N": n, **STRICT}, {"K": 10, "N": n, **RELAXED}
        rows.append([n, *(found.cell("AtSpeed-S", unit, digits, **strict)
                          for unit, digits in ((ACCEPTED, 2), ("target rows", 0))),
                     *(found.cell("AtSpeed-R", unit, digits, **relaxed)
                       for unit, digits in ((ACCEPTED, 2), ("target rows", 0)))])
    return table(["N", "S, strict", "rows", "R, relaxed", "rows"], [row for row in rows if row[1] != MISSING])


def parts(found):
    """Ablations and strengths, K=10, N=40."""
    case = {"K": 10, "N": 40}
    names = [name for name in found.values("name", **case, **STRICT)]
    return table(["K=10, N=40", "strict", "relaxed"],
                 [[name, found.cell(name, ACCEPTED, 2, **case, **STRICT),
                   found.cell(name, ACCEPTED, 2, **case, **RELAXED)] for name in names])


def tempered(found):
    """Recall@K against temperature."""
    rows = []
    for k in (5, 10):
        cells = [found.cell("target alone", "recall", 4, verify="strict", K=k, temperature=0.0)]
        for t in (0.5, 1.0):
            cells += [found.cell(name, "recall", 4, verify="relaxed", K=k, N=n, temperature=t)
                      for name, n in (("target alone", k), ("AtSpeed-R", 40))]
        rows.append([f"Recall@{k}", *cells])
    return table(["", "T=0", "T=0.5, target", "T=0.5, AtSpeed-R", "T=1, target", "T=1, AtSpeed-R"], rows)


def widths(k, name):
    """Names of rounds with so many beams of the draft."""
    return [f"{name}, N={n}" for n in ("K" if k < 20 else k, 20, 40, 60)]


def draft_of(found, form="", **of):
    """The draft whose rounds of a form were timed."""
    end = f"{form}, N=20"
    return next((name.removesuffix(end) for name in found.values("name", **of) if name.endswith(end)), None)


def times(found, target, wide):
    """Microseconds of processor time by K: plain search, and strict rounds by N; the share of decoding."""
    of = {"target": target, "wide": wide, "verify": None}
    prompt, draft, rows = found.cell("prompt alone", "us", 0, **of), draft_of(found, **of), []
    for k in sorted(found.values("K", **of)):
        plain = found.cell("plain search", "us", 0, K=k, **of)
        cells = [found.cell(name, unit, digits, K=k, **of)
                 for name in widths(k, draft) for unit, digits in (("us", 0), (ACCEPTED, 2))]
        share = MISSING if MISSING in (prompt, plain) else f"{100 * (1 - float(prompt) / float(plain)):.0f} %"
        rows.append([k, plain, share, *(f"{us} ({accepted})" for us, accepted in zip(cells[::2], cells[1::2]))])
    head = [f"{target} x {wide}: K (prompt alone {prompt} us)", "plain", "of it decoding", "N=K", "N=20", "N=40"]
    return table([*head, "N=60"], rows)


def relaxed_times(found, target, wide):
    """The same of relaxed rounds, with what they count: exact ones, and those of the released code's form."""
    of, rows = {"target": target, "wide": wide, "verify": "relaxed"}, []
    draft = draft_of(found, ", relaxed", **of)
    for k in sorted(found.values("K", **of)):
        names = [f"{draft}, exact", *widths(k, f"{draft}, relaxed")]
        rows.append([k, *(f"{found.cell(name, 'us', 0, K=k, **of)} "
                          f"({', '.join(found.cell(name, unit, digits, K=k, **of) for unit, digits in COUNTS)})"
                          for name in names)])
    return table([f"{target} x {wide}, relaxed: K", "exact, N=K", "N=K", "N=20", "N=40", "N=60"], rows)


def costs(found):
    """The cost models' coefficients and errors."""
    names = ("start", "call", "row", "draft_start", "draft_call", "draft_row")
    errors = [name for name in found.values("name") if name == "worst error" or name.endswith(" left out")]
    cases = [{"target": target, "wide": wide, "verify": verify} for target in found.values("target")
             for wide in found.values("wide", target=target) for verify in (None, "relaxed")]
    rows = [[f"{case['target']} x {case['wide']}{', relaxed' if case['verify'] else ''}",
             *(found.cell(name, "us", 1, **case) for name in names), found.cell("free", "rows", 0, **case),
             *(found.cell(name, "share", 3, **case) for name in errors)] for case in cases]
    return table(["us", *(name.replace("_", " ") for name in names), "free rows", *errors], rows)


def tables(all_of_them):
    """Every table, as lines; in the order of README.md."""
    found, cost = Found(all_of_them, "speculation"), Found(all_of_them, "cost")
    made = [kinds(found, STRICT), kinds(found, RELAXED), parts(found),
            work(found, "K", "AtSpeed-S", STRICT, {**STRICT, "drafted": 1}),
            work(found, "K, relaxed", "AtSpeed-R", RELAXED, {"verify": "relaxed", "drafted": 1}),
            varied(found), tempered(found)]
    made += [of(found, target, wide) for of in (times, relaxed_times) for target in found.values("target")
             for wide in found.values("wide", target=target)]
    return [lines for lines in (*made, costs(cost)) if lines]


def first_cell(head):
    """What a table is known by: the times' heads hold a time."""
    return head.split("|")[1].split("(")[0].strip()


def updated(readme, made):
    """README.md's text with these tables in its section."""
    before, section, after = re.split("(^## Speculation\n.*?)(?=^## |\\Z)", readme, maxsplit=1, flags=re.M | re.S)
    parts = [(is_table, list(lines)) for is_table, lines
             in itertools.groupby(section.splitlines(), lambda line: line.startswith("|"))]
    last = 0
    for lines in made:
        own = [i for i, (is_table, old) in enumerate(parts) if is_table and first_cell(old[0]) == first_cell(lines[0])]
        if own:
            last = own[0]
            parts[last] = (True, lines)
        else:
            parts[last + 1:last + 1] = [(False, [""]), (True, lines)]
            last += 2
    return before + "\n".join(line for _, lines in parts for line in lines) + "\n" + after


def main():
    _, found = measurements.read_document(sys.argv[1])
    if len(sys.argv) == 2:
        print("\n\n".join("\n".join(lines) for lines in tables(found)))
        return
    path = pathlib.Path(sys.argv[2])
    path.write_text(updated(path.read_text(encoding="utf-8"), tables(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
