"""Writes the figures of results/sampling.json into README.md, each block between a mark with its name and the end mark.

    python3 tests/bench/sampling_tables.py [RESULTS.json README.md]

test_results.py checks that README.md has what this would write. SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
import measurements

MARK, END = "<!-- sampling.json: {} -->", "<!-- end of sampling.json -->"
MOST = 1.15  # of a draw's step over a beam's


class Results:
    def __init__(self, machine, found):
        self.machine, self.found = machine, found

    def all(self, table, name, unit, **case):
        """Medians by case; a key that is None must be missing."""
        return [m["median"] for m in self.found if (m["table"], m["name"], m["unit"]) == (table, name, unit)
                and all(m["case"].get(key) == value for key, value in case.items())]

    def one(self, table, name, unit, **case):
        values = self.all(table, name, unit, **case)
        if len(values) != 1:
            raise ValueError(f"{len(values)} measurements of {table}: {name} in {unit} for {case}, expected 1")
        return values[0]


def figure(value):
    """Three significant digits, or a whole number."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2 if abs(value) >= 1 else 3
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.{digits}f}"


def listed(values, between=" / ", show=None):
    return between.join(map(show or figure, values))


def target(value):
    return figure(value) if round(value, 2) <= MOST else f"*{figure(value)}*"


def percent(value):
    return f"{100 * value:.1f} %"


def table(head, rows):
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]


def machine(results):
    """On what it ran."""
    of = results.machine
    return [f"[results/sampling.json](results/sampling.json) is of {of['date']}, commit {of['commit'][:7]}:",
            f"{of['cpu']}, {of['cores']} cores, instruction set `{of['cpu_target']}`; load averages "
            f"{of['load_before']} before and {of['load_after']} after."]


def figure_one(results):
    titles = ("soccer gloves", "used soccer shoes", "used shirts")
    rows = []
    for name, rounds in (("exact", 0), ("plain", 0), *((f"DISC, K={k}", k) for k in (1, 2, 4, 8))):
        cells = [f"{results.one('bias', name, 'probability', title=title):.3f}" for title in titles]
        of = {"example": "figure 1", "K": rounds or 1}
        kl = 0 if name == "exact" else results.one("bias", "DISC" if rounds else "plain", "nats", **of)
        bound = figure(results.one("bias", "its bound", "nats", **of)) if rounds else ""
        draws = figure(results.one("bias", "DISC", "draws per result", **of)) if rounds else ""
        rows.append([name, *cells, f"{kl:.3f}", bound, "1" if name == "plain" else draws])
    return table(["figure 1 of DISC-PPV", *titles, "KL, nats", "bound", "mean draws"], rows)


def theorem(results):
    bad = ("0.1", "0.5", "0.9", "0.99")

    def cells(name):
        return [f"{results.one('bias', name, 'nats', example='theorem 2.1', p_b=b):.3f}" for b in bad]

    disc = zip(*(cells(f"DISC, K={k}") for k in (1, 4, 16, 64)))
    return table(["theorem 2.1, p_b =", *bad],
                 [["ln 1/(1 - p_b)", *cells("ln 1/(1-p_b)")], ["KL of plain sampling", *cells("plain")],
                  ["DISC, K=1 / 4 / 16 / 64", *(" / ".join(each) for each in disc)]])


BROAD = {"model": "none", "dtype": None, "time": None}
CUT = {"model": "none", "dtype": None, "time": "processor"}
LEARNED = {"model": "learned"}
FLOATS, HALVES = ({"model": "none", "dtype": dtype} for dtype in ("f32", "bf16"))


class Steps:
    """Of the table `draws`, in catalogues of so many levels."""

    def __init__(self, results, levels):
        self.results, self.levels = results, levels

    def level(self, name, at, **case):
        return self.results.one("draws", name, "us", L=self.levels, level=str(at), **case)

    def mean(self, name, first=0, **case):
        """Of the levels from `first` on."""
        return sum(self.level(name, at, **case) for at in range(first, self.levels)) / (self.levels - first)

    def ratio(self, name, of, first=0, **case):
        return self.mean(name, first, **case) / self.mean(of, first, **case)

    def at_level(self, at):
        us = [self.level(name, at, **BROAD) for name in ("draws", "trie")]
        return f"{figure(us[0] / us[1])} ({figure(us[0])} / {figure(us[1])} us)"

    def sorted_columns(self):
        dense = self.level("draws_sorted", 1, **BROAD) / self.level("sorted", 1, **BROAD)
        return listed((self.ratio("draws_sorted", "sorted", **BROAD), dense,
                       self.ratio("draws_sorted", "sorted", 2, **BROAD)), "; ")

    def truncation_per_row(self, cut):
        """Microseconds that it adds, of the rows of 2 x 70 draws."""
        return (self.mean(f"draws_none_{cut}", 1, **CUT) - self.mean("draws_none", 1, **CUT)) / 140


CUTS = ("top50", "p95")
STEPS = (
    ("a draw's step over a beam's, mean of the levels (1.15)", lambda s: target(s.ratio("draws", "trie", **BROAD))),
    ("its level 0", lambda s: s.at_level(0)),
    ("its level 1 (dense)", lambda s: s.at_level(1)),
    ("its deep levels", lambda s: figure(s.ratio("draws", "trie", 2, **BROAD))),
    ("rows of a model that knows the catalogue (1.15)", lambda s: target(s.ratio("draws", "trie", **LEARNED))),
    ("bf16 rows (1.15)", lambda s: target(s.ratio("draws", "trie", **HALVES))),
    ("inverse temperature 0.8: f32 / bf16 rows (1.15)",
     lambda s: listed((s.ratio("draws_warm", "trie_warm", **of) for of in (FLOATS, HALVES)), show=target)),
    ("inverse temperature 0.8 over none, f32: a beam's step / a draw's",
     lambda s: listed(s.ratio(f"{name}_warm", name, **FLOATS) for name in ("trie", "draws"))),
    ("by sorted columns, a draw's step over a beam's: mean; level 1; deep levels", Steps.sorted_columns),
    ("the same mean, rows of a model that knows the catalogue",
     lambda s: figure(s.ratio("draws_sorted", "sorted", **LEARNED))),
    ("by sorted columns over by trie: a draw's step / a beam's",
     lambda s: listed((s.ratio("draws_sorted", "draws", **BROAD), s.ratio("sorted", "trie", **BROAD)))),
    ("without a mask, a draw's step over a beam's", lambda s: figure(s.ratio("draws_none", "none", **BROAD))),
    ("top-k 50 / top-p 0.95 over a beam's step, rows of a model that knows the catalogue",
     lambda s: listed(s.ratio(f"draws_{cut}", "trie", **LEARNED) for cut in CUTS)),
    ("the same over an untruncated draw, without a mask, broad rows",
     lambda s: listed(s.ratio(f"draws_none_{cut}", "draws_none", **CUT) for cut in CUTS)),
    ("the same, us per row beyond it", lambda s: listed(map(s.truncation_per_row, CUTS))),
    ("`sorted_topk` drawing with its own top-k of 50, over the trie's beam step",
     lambda s: figure(s.ratio("draws_sorted_top50", "trie", **LEARNED))),
    ("stochastic beams over the search under `valid`", lambda s: figure(s.ratio("stochastic", "valid", **BROAD))),
    ("Philox, share of a draw's step (2 %)", lambda s: percent(s.ratio("philox", "draws", **BROAD))))


def steps(results):
    both = [Steps(results, levels) for levels in (4, 8)]
    return table(["ratio", "L=4", "L=8"], [[text, *map(of, both)] for text, of in STEPS])


def rates(results):
    def rate(name):
        return results.one("disc", name, "draws/s")

    names = (("trie", "draws"), ("sorted", "draws_sorted"), ("DFA mask", "draws_dfa"),
             ("the paper's CPU trie", "draws_pointer_trie"), ("exact PPV", "draws_ppv"))
    plain = table(["draws per second", *(text for text, _ in names)], [["plain", *(figure(rate(n)) for _, n in names)]])
    rounds = (1, 2, 4)

    def disc(unit):
        return [results.one("disc", "DISC", unit, K=k) for k in rounds]

    rows, found = disc("rows per result"), disc("results/s")
    over = [rate("draws") / each / run for each, run in zip(found, rows)]
    return [*plain, "", *table(["DISC by the trie", *(f"K={k}" for k in rounds)], [
        ["results per second", *map(figure, found)],
        ["draws run per result; time over that of as many plain draws",
         *(f"{figure(run)}; {figure(more)}" for run, more in zip(rows, over))],
        ["accepted", *map(percent, disc("share accepted"))]])]


def quality(results):
    def cells(unit, show):
        def one(name, **case):
            return show(results.one("quality", name, unit, **case))

        plain = [one(name) for name in ("plain", "plain, the paper's CPU trie", "plain, DFA mask", "plain, exact PPV")]
        return [", ".join(dict.fromkeys(plain)), *(one("DISC", K=k) for k in (1, 2, 4)),
                one("vanilla, rejected until valid")]

    mass = results.one("quality", "catalogue", "probability")
    return [f"P of the catalogue is {figure(mass)}, so that DISC resamples most results:", "",
            *table(["", "plain: trie, CPU trie, DFA mask, exact PPV", "DISC K=1", "K=2", "K=4",
                    "vanilla, drawn until valid"],
                   [["us per result", *cells("us per result", figure)],
                    ["KL, nats", *cells("nats", lambda value: f"{value:.3f}")]])]


KINDS, PROBED = ("trie", "compact", "sorted"), ("padded rows", "padded pieces", "arrays by length")


def titles(results):
    def one(name, unit="MB"):
        return results.one("titles-index", name, unit)

    def ns(name, what):
        return results.one("titles", f"{name}: {what}", "ns per probe")

    tokens, shared = (one(f"titles: {what}", "tokens per title") for what in ("tokens", "shared"))
    count = next(m["case"]["N"] for m in results.found if m["table"] == "titles-index")
    head = (f"{count:,} titles are different. They have {tokens:.2f} tokens on average, of which {shared:.2f} are "
            "those of the title before.")
    return [head, "", *table(["", *KINDS, *PROBED], [
        ["MB, without item ids", *(figure(one(f"{k}: file") - one(f"{k}: section item_ids")) for k in KINDS),
         *(figure(one(name)) for name in PROBED)],
        ["MB of the mapped file that 700 draws touch", *(figure(one(f"{k}: touched by 700 draws")) for k in KINDS),
         "", "", ""],
        ["build s; peak memory beside the input, GB",
         *(f"{figure(one(f'{k}: build', 's'))}; {one(f'{k}: peak memory') / 1000:.1f}" for k in KINDS), "", "", ""],
        ["open (header), ms", *(figure(one(f"{k}: open, verify=header", "ms")) for k in KINDS), "", "", ""],
        ["ns per probe: found; the code beside it", "", "", "",
         *(f"{figure(ns(name, 'found'))}; {figure(ns(name, 'not found'))}" for name in PROBED)]])]


def titles_draws(results):
    names = (("trie", "draws"), ("sorted", "draws_sorted"), ("trie, top-k 50", "draws_top50"),
             *((f"sorted_topk {k}", f"draws_sorted_top{k}") for k in (50, 100, 500, 1000)),
             ("PPV, top 50: padded rows", "draws_ppv_top50"), ("padded pieces", "draws_pieces_top50"),
             ("by length", "draws_split_top50"))
    us = [results.one("titles", name, "us per draw") for _, name in names]
    paper = results.one("titles", "draws_ppv_top50", "us per draw")
    over = [each / paper for each in us]
    return table(["", *(text for text, _ in names)],
                 [["us per draw", *map(figure, us)], ["over PPV in padded rows", *map(figure, over)]])


def table_five(results):
    rounds, rows = (1, 2, 3, 4), []
    for top_k in (50, 100, 500, 1000):
        def cells(unit, show, top_k=top_k):
            return [show(results.one("titles", "DISC", unit, K=k, **{"top-k": top_k})) for k in rounds]

        each = zip(cells("ms per result", figure), cells("rows per result", figure), cells("share accepted", percent))
        rows.append([f"M={top_k}", *map("; ".join, each), ", ".join(cells("share dead", percent))])
    note = next(m["note"] for m in results.found if m["table"] == "titles" and m["name"] == "DISC")
    head = f"table 5, {note} each: ms per result; rows run; accepted"
    return table([head, *(f"K={k}" for k in rounds), "dead, by K"], rows)


BLOCKS = {"machine": machine, "figure 1": figure_one, "theorem 2.1": theorem, "steps": steps, "rates": rates,
          "quality": quality, "titles": titles, "titles' draws": titles_draws, "table 5": table_five}
BLOCK = re.compile(re.escape(MARK).replace(r"\{\}", "(.*?)") + "\n(.*?)" + re.escape(END), re.DOTALL)


def quoted(text):
    """What README.md has between its marks, by name."""
    return {match[1]: match[2].strip() for match in BLOCK.finditer(text)}


def made(machine_and_found):
    results = Results(*machine_and_found)
    return {name: "\n".join(block(results)) for name, block in BLOCKS.items()}


def main():
    path, readme = sys.argv[1:] or (os.path.join(HERE, "results", "sampling.json"), os.path.join(HERE, "README.md"))
    blocks = made(measurements.read_document(path))
    with open(readme, encoding="utf-8") as file:
        text = file.read()
    if quoted(text).keys() != blocks.keys():
        sys.exit(f"{readme}: its marks are {', '.join(quoted(text))}, expected {', '.join(blocks)}")
    with open(readme, "w", encoding="utf-8") as file:
        file.write(BLOCK.sub(lambda match: f"{MARK.format(match[1])}\n\n{blocks[match[1]]}\n\n{END}", text))


if __name__ == "__main__":
    main()
