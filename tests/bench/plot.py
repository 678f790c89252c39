"""Draws the figures of a results file.

    python3 tests/bench/plot.py RESULTS.json [--output FOLDER]

A figure is left out where the results have nothing for it. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import sys
from dataclasses import dataclass, field

sys.dont_write_bytecode = True
import measurements
import svg

TAIL = ", p99.9"


@dataclass
class Figure:
    """What is drawn from which measurements of a table. With `x`, lines over that key of the case; without, bars, one
    group
    for each different combination of `groups` (a key of the case, or "name"). With `x_unit`, lines over what the case
    and name has in that unit."""

    file: str
    title: str
    table: str
    x: str = ""
    x_unit: str = ""
    groups: tuple = ()
    x_label: str = ""
    unit: str = "us"
    y_label: str = "µs a step (median, p10 to p90)"
    where: dict = field(default_factory=dict)  # keys of the case that must have these values, where they are there
    names: tuple = ()  # those alone; none: all
    labels: dict = field(default_factory=dict)  # what the legend calls them, where that is not the name
    percentiles: bool = False  # a bar each for median, p99 and p99.9, instead of one for each name
    value: str = "median"  # another one, p99, is drawn without a spread
    log_x: bool = True
    log_y: bool = True


HOT = {"level": "all", "rows": "hot"}
INDUSTRIAL = {"data": "Industrial_and_Scientific"}
# The best of each kind, for charts with little room.
MAIN = ("trie", "trie_compact", "none", "lse_only", "static_slots", "mask_torch", "mask_nth", "mask_scan")
# Ours, and what others have published.
METHODS = ("trie", "trie_compact", "sorted", "none", "static", "static_slots", "mask_torch", "mask_scan",
           "pointer_trie", "hash_bitmap", "hash_set", "ppv_exact", "ppv_top50")
PYTORCH = ("pytorch static, 1 thread", "pytorch static, gathered, 1 thread", "pytorch mask-then-top-k, 1 thread",
           "pytorch unconstrained, 1 thread")

ROUNDS = tuple(f"{draft}, N={n}" for draft in ("AtSpeed-S", "first layer") for n in ("K", 20, 40, 60))
RELAXED_ROUNDS = tuple(f"{draft}, {form}" for draft in ("AtSpeed-R", "first layer")
                       for form in ("exact", *(f"relaxed, N={n}" for n in ("K", 20, 40, 60))))
DRAFTS = ("SFT", "WordKD", "TVDKD", "SeqKD", "AtSpeed-S", "AtSpeed-R")

RULES = tuple(f"{rules}, {how}" for rules in ("half of the best 2000 seen", "filter 10 %", "filter 1 %")
              for how in ("in the search", "afterwards"))

# What a reader who knows none of the names looks for; all of them are C++ in the same program.
LABELS = {"trie": "sidbeam", "none": "sidbeam without a constraint", "static_slots": "STATIC, made kinder",
          "mask_torch": "mask, then top-k, as PyTorch does it", "ppv_exact": "DISC-PPV, exact",
          "hash_set": "a hash set of prefixes"}

FIGURES = (
    Figure("static_by_sids", "A step by size of the catalogue: B=2, M=70, V=2048, L=8, in cache", "static", x="N",
           x_label="SIDs", where=HOT, names=METHODS),
    Figure("overview", "A step by size of the catalogue: 2 requests of 70 beams, SIDs of 8 codes out of 2048", "static",
           x="N", x_label="SIDs", where=HOT, names=tuple(LABELS), labels=LABELS),
    Figure("static_by_level", "A step by level: B=2, M=70, V=2048, L=8, 1e6 SIDs, in cache", "static", x="level",
           x_label="level", where={"rows": "hot", "N": 1000000}, names=MAIN + PYTORCH, log_x=False),
    Figure("static_rows", "Where the logits are: B=2, M=70, V=2048, L=8, 1e6 SIDs", "static", groups=("rows",),
           where={"level": "all", "N": 1000000}, names=MAIN),
    Figure("vocabulary", "A step by number of codes: B=2, M=70, L=8, 1e7 SIDs, in cache", "vocabulary", x="V",
           x_label="codes of a level", where=HOT, names=METHODS),
    Figure("skew", "Clustered and real catalogues: B=2, M=70, in cache", "skew", groups=("catalogue", "N", "V"),
           where=HOT, names=MAIN),
    Figure("wide", "Wide beams: four levels, 1e7 SIDs, logits from memory", "wide", groups=("V", "M", "B"),
           where={"level": "all"}, names=MAIN),
    Figure("text", "A text vocabulary: codes are a slice of 8192 columns of 176,512", "text",
           groups=("M", "normalize"), where={"level": "all"}),
    Figure("nvidia442", "What the constraint costs: 5M SIDs of 3 x 1024, beam 256", "nvidia442", groups=("B",),
           where={"level": "all"}, unit="ms", y_label="ms per step over the unconstrained", log_y=False),
    Figure("branching", "Branching: the first level, where every code is a child; log-sum-exp given", "branching",
           x="V", x_label="children of the node", where={"level": "0"}),
    Figure("floors", "Bandwidth: reading once, copying, log-sum-exp", "floors", groups=("dtype", "rows"), unit="GB/s",
           y_label="GB/s (median, p10 to p90)", log_y=False),
    Figure("threads", "One thread and two: M=70, V=2048, L=8, 1e6 SIDs, in cache", "threads", groups=("B",),
           where=HOT, names=("trie", "trie_threads2", "none", "none_threads2"), log_y=False),
    Figure("draws", "A draw's step and a beam's by level: B=2, M=70, V=2048, L=8, 1e6 SIDs, in cache", "draws",
           x="level",
           x_label="level", where={"L": 8, "N": 1000000, "model": "none", "time": "clock"},
           names=("trie", "draws", "sorted", "draws_sorted", "none", "draws_none", "valid", "stochastic", "philox"),
           log_x=False),
    Figure("bias_figure1", "Figure 1 of DISC-PPV: what each law gives, by enumeration", "bias", groups=("title",),
           unit="probability", y_label="probability", log_y=False),
    Figure("bias_rounds", "Figure 1's divergence from the exact law, by rounds", "bias", x="K", x_label="rounds K",
           unit="nats", where={"example": "figure 1"}, y_label="KL, nats", log_y=False),
    Figure("bias_theorem", "Theorem 2.1's construction: divergence from the exact law", "bias", x="p_b",
           x_label="p_b: the model's mass outside the catalogue", unit="nats", where={"example": "theorem 2.1"},
           y_label="KL, nats", log_x=False, log_y=False),
    Figure("quality", "Divergence against time: a catalogue of 53 SIDs, V=2048, L=4", "quality", x_unit="us per result",
           x_label="µs per result", unit="nats", y_label="KL, nats", log_y=False),
    Figure("titles", "Drawing a title of 128,256 tokens, up to 64 of them", "titles", groups=("N",), unit="us per draw",
           y_label="µs per draw", log_y=False),
    Figure("attention", "Attention of one layer by beams: 4 heads of 64, S=1000, one thread", "attention", x="M",
           x_label="beams", where={"kv_heads": 4, "S": 1000}, y_label="µs per step (median, p10 to p90)"),
    Figure("attention_gqa", "Attention of one layer by beams: 8 heads of 128, 2 KV heads, S=1000, one thread",
           "attention", x="M", x_label="beams", where={"kv_heads": 2, "S": 1000},
           y_label="µs per step (median, p10 to p90)"),
    Figure("speculation_strict", "Strict rounds: accepted levels of two, N=40", "speculation", x="K",
           x_label="beams K", unit="accepted levels", where={"verify": "strict", "drafted": 2, "N": 40},
           names=DRAFTS, y_label="accepted levels of a request", log_y=False),
    Figure("speculation_relaxed", "Relaxed rounds: accepted levels of two, N=40, temperature 1", "speculation", x="K",
           x_label="beams K", unit="accepted levels", names=DRAFTS,
           where={"verify": "relaxed", "temperature": 1.0, "drafted": 2, "N": 40},
           y_label="accepted levels of a request", log_y=False),
    Figure("speculation_times", "A request by beams: plain search and strict rounds, four times as wide", "speculation",
           x="K", x_label="beams K", where={"wide": 4}, y_label="µs of processor time (median, p10 to p90)",
           names=("plain search", *ROUNDS)),
    Figure("speculation_relaxed_times", "A request by beams: plain search and relaxed rounds, four times as wide",
           "speculation", x="K", x_label="beams K", where={"wide": 4},
           y_label="µs of processor time (median, p10 to p90)", names=("plain search", *RELAXED_ROUNDS)),
    Figure("speculation_break_even", "Accepted levels from which rounds are faster, by the cost model: N=20",
           "break_even", x="ratio", x_label="draft's cost over the target's, of the same passes and rows",
           unit="levels", where={"wide": 4}, y_label="accepted levels", log_y=False),
    Figure("load", "Latency as offered load grows: a small T5, 60 tokens, 50 beams; median, p10 to p90", "load_models",
           x="load_percent", x_label="offered load, % of what one lane of the runner can do", unit="ms",
           y_label="ms from the intended arrival (median, p10 to p90)", log_x=False),
    Figure("load_p99", "Latency as offered load grows: a small T5, 60 tokens, 50 beams; P99", "load_models",
           x="load_percent", x_label="offered load, % of what one lane of the runner can do", unit="ms", value="p99",
           y_label="ms from the intended arrival (P99)", log_x=False),
    Figure("papers_nezha", "NEZHA, its ablations, multi-token prediction, code by code: hits at 10, by the trie",
           "nezha", groups=("data",), unit="share H@10", y_label="share of queries hit at 10",
           where={"verification": "trie", "seed": 1}, log_y=False),
    Figure("papers_valid", "Share of 50 results that exist, by verification", "nezha",
           groups=("verification", "data"), unit="share valid", y_label="share valid", where={"seed": 1}, log_y=False),
    Figure("papers_time", "A request on one backbone: prefill, decoding, and the system around them", "nezha_time",
           groups=("part", "M"), where=INDUSTRIAL, y_label="µs (median, p10 to p90)"),
    Figure("papers_cold", "The newest items: Recall@1", "cold_start", groups=("newest %", "data"), unit="share R@1",
           y_label="Recall@1", where={"seed": 1}, log_y=False),
    Figure("papers_draws", "Ten different SIDs by DISC: Recall@10 by rounds", "disc_recall", x="K",
           x_label="rounds K", unit="share R@10", y_label="Recall@10", where=INDUSTRIAL, names=("DISC",), log_x=False,
           log_y=False),
    Figure("papers_lost", "Of the exact search's results lost", "lost_items", groups=("M", "data"), unit="share lost",
           y_label="share lost", log_y=False),
    Figure("papers_equal", "Recall@10 against time, by beams", "recall_time", x_unit="us",
           x_label="µs of processor time", unit="share R@10", y_label="Recall@10", where=INDUSTRIAL, log_y=False),
    Figure("rules_after", "Of the exact 50 results under rules, by time of a request: V=2048, L=8, 1e6 SIDs", "after",
           x_unit="us", x_label="µs of processor time of the steps", unit="share of the exact 50", names=RULES,
           where={"catalogue": "uniform"}, y_label="share of the exact 50", log_y=False),
    Figure("rules_after_real", "Of the exact 50 results under rules, by time of a request: Amazon Arts", "after",
           x_unit="us", x_label="µs of processor time of the steps", unit="share of the exact 50", names=RULES,
           where={"catalogue": "Arts"}, y_label="share of the exact 50", log_y=False),
    Figure("live_fresh", "From an add to the version that has it: 1e7 SIDs, uniform, one core", "live",
           x="adds a second", x_label="items added a second", unit="ms to be visible", where={"SIDs": "uniform"},
           y_label="ms of processor time"),
    Figure("live_cost", "A version a second: 1e7 SIDs, uniform", "live", x="adds a second",
           x_label="items added a second", unit="ms per second", where={"SIDs": "uniform"},
           y_label="ms of a core per second"),
    Figure("size", "Bytes a SID, item ids left out", "size", groups=("catalogue", "N"), unit="bytes a SID",
           y_label="bytes a SID", names=("trie", "compact", "sorted", "hash"), log_y=False),
    Figure("build", "Building in memory, checksums and item ids included", "build", groups=("L", "N", "threads"),
           unit="M SIDs/s", y_label="million SIDs/s", log_y=False),
    Figure("residency", "The first thousand steps after opening", "residency", groups=("name", "file"),
           percentiles=True, y_label="µs a step"),
    Figure("swap", "Steps before, during and after a new index of 1e7 SIDs is brought in", "swap",
           groups=("name", "phase"), percentiles=True, y_label="µs a step"),
)


def chosen(figure, found):
    """The measurements that a figure shows."""
    for m in found:
        case = m["case"]
        needed = {figure.x, *figure.groups} - {"", "name"}
        if m["table"] != figure.table or m["unit"] != figure.unit or not needed <= case.keys():
            continue
        if any(case.get(key, value) != value for key, value in figure.where.items()):
            continue
        if figure.x == "level" and case["level"] == "all":
            continue
        if not figure.names or m["name"] in figure.names:
            yield m


def by_percentile(found):
    """A measurement for each percentile, named after it."""
    for m in found:
        if m["name"].endswith(TAIL):
            yield {**m, "name": "p99.9", "of": m["name"].removesuffix(TAIL)}
            continue
        for name, field_name in (("median", "median"), ("p99", "p99")):
            value = m[field_name]
            yield {**m, "name": name, "of": m["name"], "median": value, "p10": value, "p90": value}


def same_but_unit(m):
    return measurements.key(m)[:3]


def place(figure, m, others):
    if figure.x_unit:
        return others[same_but_unit(m)]
    if figure.x:
        return float(m["case"][figure.x])
    values = [m["of"] if key == "name" else m["case"][key] for key in figure.groups]
    words = [f"{key}={measurements.short(v)}" if isinstance(v, (int, float)) else str(v)
             for key, v in zip(figure.groups, values)]
    return " ".join(words)


def chart_of(figure, found):
    """The chart, without series that the results have nothing for."""
    series = {}
    others = {same_but_unit(m): m["median"] for m in found if m["unit"] == figure.x_unit}
    found = list(chosen(figure, found))
    for m in by_percentile(found) if figure.percentiles else found:
        at = place(figure, m, others)
        points = series.setdefault(m["name"], {})
        if at in points:
            raise ValueError(f"figure {figure.file}: two values of {m['name']} at {at}")
        value, spread = m[figure.value], (m["p10"], m["p90"])
        points[at] = svg.Point(at, value, *(spread if figure.value == "median" else (value, value)))
    return svg.Chart(figure.title, figure.x_label, figure.y_label,
                     [svg.Series(figure.labels.get(name, name), list(points.values()))
                      for name, points in series.items()],
                     bars=bool(figure.groups), free_x=bool(figure.x_unit), log_x=figure.log_x, log_y=figure.log_y)


def draw_all(found, folder):
    """Writes the figures that there are results for; returns their paths."""
    os.makedirs(folder, exist_ok=True)
    paths = []
    for figure in FIGURES:
        chart = chart_of(figure, found)
        if not chart.series:
            continue
        paths.append(os.path.join(folder, figure.file + ".svg"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(svg.render(chart))
    return paths


def main():
    parser = argparse.ArgumentParser(description="Draws the figures of a results file.")
    parser.add_argument("results")
    parser.add_argument("--output", help="folder of the SVG files; default: that of the results")
    options = parser.parse_args()
    try:
        _, found = measurements.read_document(options.results)
        paths = draw_all(found, options.output or os.path.dirname(os.path.abspath(options.results)))
    except (OSError, ValueError) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 1
    print(f"{len(paths)} figures: " + ", ".join(os.path.basename(path) for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
