"""The tables of papers.json as tests/bench/README.md quotes them, between its two marks.

    python3 readme.py RESULTS.json README.md        puts them there; test_results.py checks that they agree

Means over seeds, where there are several. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Any, Iterable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import measurements  # noqa: E402
import quotes  # noqa: E402

BEGIN = "<!-- of papers.json, by papers/readme.py -->"
NONE = "–"
NOTHING = "`results/papers.json` is not there yet: nobody has let `run.sh` come to its end."


class Results:
    def __init__(self, found: list[dict]):
        self.found = found

    def all(self, table: str, name: str, unit: str, **case: Any) -> list[float]:
        return [m["median"] for m in self.found if (m["table"], m["name"], m["unit"]) == (table, name, unit)
                and all(m["case"].get(key) == value for key, value in case.items())]

    def cell(self, table: str, name: str, unit: str, form: str = "{:.4f}", **case: Any) -> str:
        """The mean of those that fit; a dash for none."""
        values = self.all(table, name, unit, **case)
        return form.format(sum(values) / len(values)) if values else NONE

    def data(self, table: str) -> list[str]:
        return self.cases(table, "data")

    def cases(self, table: str, key: str) -> list[Any]:
        """The values of a key of the case, in the order of the measurements."""
        return list(dict.fromkeys(m["case"][key] for m in self.found if m["table"] == table and key in m["case"]))

    def names(self, table: str) -> list[str]:
        return list(dict.fromkeys(m["name"] for m in self.found if m["table"] == table))


def short(data: str) -> str:
    return data.split("_")[0]


def rows_of(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    """A table, without rows that have nothing but dashes after the first cell."""
    kept = [row for row in rows if set(row[1:]) != {NONE}]
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in kept)]


def pair(results: Results, table: str, name: str, units: tuple[str, str], **case: Any) -> str:
    return " / ".join(results.cell(table, name, unit, **case) for unit in units)


def recall(results: Results) -> list[str]:
    head = ["Recall@10 / NDCG@10", "transitions", "decoder", "wins, losses", "interpolated", "wins, losses"]
    units, rows = ("share R@10", "share N@10"), []
    for data in results.data("recall"):
        seeds = results.cases("recall", "seed")
        for number, seed in enumerate([*seeds, "mean"]):
            case = {"data": data} if seed == "mean" else {"data": data, "seed": seed}
            row = [f"{short(data)}, {'mean' if seed == 'mean' else f'seed {seed}'}"]
            row.append(pair(results, "recall", "transitions", units, data=data) if number == 0 else "")
            for name in ("decoder", "interpolated"):
                row.append(pair(results, "recall", name, units, **case))
                counts = [results.cell("recall", name, unit, "{:.0f}", **case) for unit in ("wins", "losses")]
                row.append(", ".join(counts) if seed != "mean" else "")
            rows.append(row)
    return rows_of(head, rows)


def same_sids(results: Results) -> list[str]:
    head = ["same SIDs, queries", "compared", "of other SIDs", "in another order"]
    rows = []
    for data in results.data("same_sids"):
        for name in results.names("same_sids"):
            sums = [sum(results.all("same_sids", name, unit, data=data))
                    for unit in ("queries", "queries of other SIDs", "queries in another order")]
            rows.append([f"{short(data)}, {name}", *(f"{total:.0f}" for total in sums)])
    return rows_of(head, rows)


def nezha(results: Results) -> list[str]:
    units = [f"share {kind}@{at}" for at in (5, 10) for kind in "HN"]
    head = ["by the trie, except:", *(unit.removeprefix("share ") for unit in units), "H@10 unverified", "H@10 by hash",
            "valid unverified", "valid by hash"]
    rows = []
    for data in results.data("nezha"):
        for name in results.names("nezha"):
            row = [f"{short(data)}, {name}"]
            row += [results.cell("nezha", name, unit, data=data, verification="trie") for unit in units]
            for unit, form in (("share H@10", "{:.4f}"), ("share valid", "{:.3f}")):
                row += [results.cell("nezha", name, unit, form, data=data, verification=how)
                        for how in ("none", "hash")]
            rows.append(row)
    return rows_of(head, rows)


def times(results: Results) -> list[str]:
    parts = ("prefill", "decode", "system", "total")
    rows = [[f"{short(data)}, M={beams}, {name}",
             *(results.cell("nezha_time", name, "us", "{:.0f}", data=data, M=beams, part=part) for part in parts)]
            for data in results.data("nezha_time") for beams in results.cases("nezha_time", "M")
            for name in results.names("nezha_time")]
    return rows_of(["µs", *parts], rows)


def cold(results: Results) -> list[str]:
    names = ("random of the newest", "unconstrained", "whole catalogue", "newest alone")
    rows = []
    for data in results.data("cold_start"):
        for percent in results.cases("cold_start", "newest %"):
            case = {"data": data, "newest %": percent}
            counts = [results.cell("cold_start", *what, "{:.0f}", **case)
                      for what in (("cold SIDs", "SIDs"), ("cold queries", "queries"))]
            cells = [results.cell("cold_start", name, "share R@1", **case) for name in names]
            rows.append([f"{short(data)}, newest {percent} %", *counts, *cells])
    return rows_of(["Recall@1", "SIDs", "queries", *names], rows)


def draws(results: Results) -> list[str]:
    rows = []
    for data in results.data("disc_recall"):
        once, each = ("beam search", "plain constrained draws"), results.cases("disc_recall", "K")
        for name, case in [*((name, {}) for name in once), *(("DISC", {"K": rounds}) for rounds in each)]:
            of = {"data": data, **case}
            cells = [results.cell("disc_recall", name, unit, **of) for unit in ("share R@10", "share N@10")]
            cells += [results.cell("disc_recall", name, unit, "{:.1f}", **of)
                      for unit in ("draws per query", "draws run per query")]
            rows.append([f"{short(data)}, {name}" + "".join(f", K={rounds}" for rounds in case.values()), *cells])
    return rows_of(["ten SIDs", "Recall@10", "NDCG@10", "draws", "draws run"], rows)


def lost(results: Results) -> list[str]:
    head, rows = ["M", "exact: Recall@10"], []
    ways = [name for name in results.names("lost_items") if name != "exact"]
    head += [f"{way}: {what}" for way in ways for what in ("lost", "short queries", "Recall@10")]
    units = (("share lost", "{:.1%}"), ("share of queries with fewer results", "{:.1%}"), ("share R@10", "{:.4f}"))
    for data in results.data("lost_items"):
        for beams in results.cases("lost_items", "M"):
            case = {"data": data, "M": beams}
            cells = [results.cell("lost_items", way, unit, form, **case) for way in ways for unit, form in units]
            rows.append([f"{short(data)}, {beams}", results.cell("lost_items", "exact", "share R@10", **case), *cells])
    return rows_of(head, rows)


def equal(results: Results) -> list[str]:
    sizes = results.cases("recall_time", "M")
    rows = []
    for data in results.data("recall_time"):
        for name in results.names("recall_time"):
            cells = [f"{results.cell('recall_time', name, 'share R@10', data=data, M=beams)}, "
                     f"{results.cell('recall_time', name, 'us', '{:.0f}', data=data, M=beams)}" for beams in sizes]
            rows.append([f"{short(data)}, {name}", *cells])
    return rows_of(["Recall@10, µs", *(f"M={beams}" for beams in sizes)], rows)


TABLES = {"recall": recall, "same_sids": same_sids, "nezha": nezha, "nezha_time": times, "cold_start": cold,
          "disc_recall": draws, "lost_items": lost, "recall_time": equal}


def text_of(found: list[dict]) -> str:
    """What stands between the marks; the name of a table before each that there is anything of."""
    results = Results(found)
    parts = [(name, table(results)) for name, table in TABLES.items()]
    return "\n\n".join(f"`{name}`\n\n" + "\n".join(lines) for name, lines in parts if len(lines) > 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("readme")
    args = parser.parse_args()
    _, found = measurements.read_document(args.results)
    quotes.put(args.readme, BEGIN, text_of(found))


if __name__ == "__main__":
    main()
