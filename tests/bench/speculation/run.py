"""AtSpeed's tables in small: trains a target and its drafts on a catalogue's histories, and measures what speculation
accepts, calls and takes. Appends measurements to LINES; what was trained stays in WORK and is not trained again.

    PYTHONPATH=build/release/bindings/python/package python tests/bench/speculation/run.py X.index.json \\
        --work build/speculation --lines LINES
    python tests/bench/document.py --build build/release --lines LINES --output tests/bench/results/speculation.json
    python tests/bench/plot.py tests/bench/results/speculation.json
    python tests/bench/speculation/table.py tests/bench/results/speculation.json tests/bench/README.md

It needs PyTorch and sidbeam's Python package. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import dataclasses
import json
import math
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[2] / "samples/train")]
sys.dont_write_bytecode = True

import accepted
import align
import cost
import data
import drafts
import export
import measurements
import model
import relaxed
import rounds
import sidbeam
import widen

BEAMS = (1, 3, 5, 10, 20)
DRAFT_BEAMS = 40  # N, unless it is varied; K where that is more
VARIED = (20, 30, 50, 60)
MIDDLE = 10  # K where another thing is varied
TEMPERATURES = (0.5, 1.0)
FIRST = "first layer"
PROMPT = "prompt alone"
ALIGNED = {"strict": "AtSpeed-S", "relaxed": "AtSpeed-R"}  # the draft of each kind of round
WIDER = 4  # times the target's hidden size
RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclasses.dataclass
class Bench:
    """What every table needs."""

    dataset: data.Dataset
    work: pathlib.Path
    target: model.Decoder
    index: sidbeam.Index
    requests: int
    lines: pathlib.Path

    def write(self, found: list[dict]) -> None:
        with open(self.lines, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(m) + "\n" for m in found)

    def write_means(self, name: str, case: dict, found: dict) -> None:
        units = {"accepted_levels": "accepted levels", "target_calls": "target calls", "target_rows": "target rows",
                 "recall": "recall"}
        self.write([rounds.once(case, name, unit, found[key], self.requests) for key, unit in units.items()
                    if key in found])

    def prompts(self, count: int):
        return rounds.prompts(self.dataset, self.dataset.test[:count], self.target.shape.max_items)

    def runner(self, opened: sidbeam.Model, beams: int, draft_beams: int = 0, draft: str = "",
               verify: dict = rounds.STRICT, index: sidbeam.Index | None = None) -> sidbeam.Runner:
        model = sidbeam.Model.open(drafts.folder_of(self.work, draft)) if draft else None
        return rounds.open_runner(opened, model, index or self.index, self.dataset.codes, beams, draft_beams, verify)

    def case(self, **more) -> dict:
        return {"data": self.dataset.name, **more}


def strict_cases() -> list[tuple[str, int, int]]:
    """Draft, K, N: the paper's table 1, figures 3 (a), 4 (a) and 4 (c)."""
    table = [(name, k, max(k, DRAFT_BEAMS)) for name in drafts.KINDS for k in BEAMS]
    parts = [(name, MIDDLE, DRAFT_BEAMS) for name in (*drafts.ABLATIONS, *drafts.STRENGTHS)]
    return table + parts + [("AtSpeed-S", MIDDLE, n) for n in VARIED]


def counted(bench: Bench, opened: sidbeam.Model, name: str, case: dict, verify: dict) -> None:
    """Counts of the runner's rounds."""
    requests = bench.prompts(bench.requests)
    with bench.runner(opened, case["K"], case["N"], name, verify) as runner:
        setup = rounds.Setup(name, bench.case(**case), case["K"], case["N"], runner, verify != rounds.STRICT)
        rounds.count(setup, requests, bench.dataset.levels)
    bench.write(rounds.counts(setup, len(requests)))
    drafts.say(f"{name}, {case}: {setup.accepted:.3f}")


def strict(bench: Bench, opened: sidbeam.Model) -> None:
    for name, k, n in strict_cases():
        counted(bench, opened, name, {"verify": "strict", "K": k, "N": n, "drafted": 2}, rounds.STRICT)


def shallow(bench: Bench) -> None:
    """At most one level drafted in a round, which the runner does not offer (the paper's figure 6): by PyTorch."""
    queries = bench.dataset.test[: bench.requests]
    aligned = {name: export.load(drafts.folder_of(bench.work, name), bench.dataset) for name in ALIGNED.values()}
    for k in BEAMS:
        n = max(k, DRAFT_BEAMS)
        found = {
            "strict": accepted.measure(bench.dataset, bench.target, aligned[ALIGNED["strict"]], k, n, 1, queries),
            "relaxed": relaxed.measure(bench.dataset, bench.target, aligned[ALIGNED["relaxed"]],
                                       relaxed.Setting(k, n, 1), queries)}
        for verify, name in ALIGNED.items():
            means = {key: value for key, value in found[verify].items() if key != "recall"}
            bench.write_means(name, bench.case(verify=verify, K=k, N=n, drafted=1), means)


def relaxed_cases() -> list[tuple[str, int, int]]:
    """Draft, K, N: table 1, figures 3 (b) and 4 (b)."""
    table = [(name, k, max(k, DRAFT_BEAMS)) for name in drafts.KINDS for k in BEAMS]
    parts = [(name, MIDDLE, DRAFT_BEAMS) for name in (*drafts.ABLATIONS, *drafts.STRENGTHS) if name[0] == "R"]
    return table + parts + [("AtSpeed-R", MIDDLE, n) for n in VARIED]


def drawn(bench: Bench, opened: sidbeam.Model) -> None:
    """Relaxed rounds, in the form of the paper's released code."""
    for name, k, n in relaxed_cases():
        counted(bench, opened, name, {"verify": "relaxed", "K": k, "N": n, "temperature": 1.0}, rounds.RELAXED)


def tempered(bench: Bench) -> None:
    """Recall of draws by temperature (table 2), which acts on whole sequences: by the library's calls for hosts."""
    cases = [(name, k, n) for k in (5, MIDDLE) for name, n in (("AtSpeed-R", DRAFT_BEAMS), ("", k))]
    for name, k, n in cases:
        draft = export.load(drafts.folder_of(bench.work, name), bench.dataset) if name else None
        for temperature in TEMPERATURES:
            setting = relaxed.Setting(k, n, temperature=temperature)
            found = relaxed.measure(bench.dataset, bench.target, draft, setting, bench.dataset.test[: bench.requests])
            case = bench.case(verify="relaxed", K=k, N=n, temperature=temperature)
            bench.write_means(name or "target alone", case, {"recall": found["recall"]})
            drafts.say(f"relaxed, {name or 'target alone'}, K={k}, N={n}, T={temperature}: {found}")


def searched(bench: Bench, opened: sidbeam.Model) -> None:
    """Recall of plain search, which is that of strict rounds (temperature 0 of the paper's table 2)."""
    queries = bench.dataset.test[: bench.requests]
    wanted = {tuple(sid): number for number, sid in enumerate(bench.dataset.sids.tolist())}
    for k in (5, MIDDLE):
        with bench.runner(opened, k) as runner:
            found = [runner.run(tokens).sids.tolist() for tokens in bench.prompts(bench.requests)]
        hits = sum(query.target in {wanted[tuple(sid)] for sid in sids} for query, sids in zip(queries, found))
        case = bench.case(verify="strict", K=k, temperature=0.0)
        bench.write_means("target alone", case, {"recall": hits / len(queries)})


def plain_setups(bench: Bench, case: dict, opened: sidbeam.Model) -> list[rounds.Setup]:
    """The prompt alone (a search of one level), and plain search."""
    first = sidbeam.Index.build(bench.dataset.sids[:, :1], codes=bench.dataset.codes)
    alone = rounds.Setup(PROMPT, {**case, "K": 1}, 1, 0, bench.runner(opened, 1, index=first))
    return [alone] + [rounds.Setup("plain search", {**case, "K": k}, k, 0, bench.runner(opened, k)) for k in BEAMS]


def width(draft_beams: int) -> str:
    return f"N={draft_beams if draft_beams >= 20 else 'K'}"


def strict_setups(bench: Bench, case: dict, opened: sidbeam.Model, draft: str) -> list[rounds.Setup]:
    """Rounds with N beams of the draft."""
    return [rounds.Setup(f"{draft}, {width(n)}", {**case, "K": k}, k, n, bench.runner(opened, k, n, draft))
            for k in BEAMS for n in sorted({k, 20, 40, 60})]


def relaxed_setups(bench: Bench, case: dict, opened: sidbeam.Model, draft: str) -> list[rounds.Setup]:
    """The same in the released code's form, and exact rounds."""
    forms = [(f"relaxed, {width(n)}", rounds.RELAXED, k, n) for k in BEAMS for n in sorted({k, 20, 40, 60})]
    forms += [("exact", rounds.EXACT, k, k) for k in BEAMS]
    return [rounds.Setup(f"{draft}, {form}", {**case, "K": k, "verify": "relaxed"}, k, n,
                         bench.runner(opened, k, n, draft, verify), True) for form, verify, k, n in forms]


def timing(bench: Bench, case: dict, opened: sidbeam.Model, aligned: dict[str, str], count: int, turns: int) -> None:
    """Times of plain search and of rounds by one target, and the cost models fitted to them."""
    levels, requests = bench.dataset.levels, bench.prompts(count)
    plain = plain_setups(bench, case, opened)
    strict_ones = strict_setups(bench, case, opened, aligned["strict"])
    relaxed_ones = relaxed_setups(bench, case, opened, aligned["relaxed"])
    setups = plain + strict_ones + relaxed_ones
    for setup in setups:
        rounds.count(setup, requests, 1 if setup.name == PROMPT else levels)
    for setup, times in zip(setups, rounds.timed(setups, requests, turns)):
        found = measurements.summary("speculation", setup.case, setup.name, "us", times)
        setup.us = found["median"]
        bench.write([*rounds.counts(setup, count), found])
        setup.runner.close()
    fitted = modelled(bench, case, [], plain + strict_ones)
    modelled(bench, {**case, "verify": "relaxed"}, plain, relaxed_ones)
    for k in BEAMS:
        needed = {ratio: cost.needed(fitted, ratio, k, max(k, 20), levels) for ratio in RATIOS}
        bench.write([measurements.summary("break_even", {**case, "ratio": ratio}, f"K={k}", "levels", [value])
                     for ratio, value in needed.items() if value < math.inf])  # else no number of levels is enough


def modelled(bench: Bench, case: dict, known: list[rounds.Setup], judged: list[rounds.Setup]) -> dict[str, float]:
    """The cost model that is fitted to all of these setups, and how far off it is for those that are judged by it: for
    all of them, and for each K by a fit to the others."""
    def data(setups: list[rounds.Setup]) -> tuple[list[cost.Work], list[float]]:
        works = [cost.Work(s.target_calls, s.target_rows, s.draft_calls, s.draft_rows) for s in setups]
        return works, [s.us for s in setups]

    fitted = cost.fit(*data(known + judged))
    errors = {"worst error": cost.worst_error(fitted, *data(judged))}
    for k in BEAMS:
        others = cost.fit(*data([s for s in known + judged if s.beams != k or s.name == PROMPT]))
        left_out = [s for s in judged if s.beams == k and s.name != PROMPT]
        errors[f"K={k} left out"] = cost.worst_error(others, *data(left_out))
    bench.write([rounds.once(setup.case, f"{setup.name}, predicted", "us", cost.predicted(fitted, work))
                 for setup, work in zip(judged, data(judged)[0])])
    bench.write([measurements.summary("cost", case, key, "rows" if key == "free" else "us", [value])
                 for key, value in fitted.items()])
    bench.write([measurements.summary("cost", case, name, "share", [value]) for name, value in errors.items()])
    drafts.say(f"{case}: {errors}; {fitted}")
    return fitted


def both_timed(bench: Bench, aligned: dict[str, str], target: str, count: int, turns: int) -> None:
    """Of the target and of one that costs more and says the same; `aligned`: the draft of strict and relaxed rounds."""
    export.save(widen.widened(bench.target, WIDER), bench.work / "wide")
    for folder, wide in (("target", 1), ("wide", WIDER)):
        case = bench.case(target=target, wide=wide)
        timing(bench, case, sidbeam.Model.open(bench.work / folder), aligned, count, turns)


def untrained(dataset: data.Dataset, work: pathlib.Path, shape: model.Shape) -> model.Decoder:
    """A target of random weights, beside its first layer as a draft: what they say is of no use, but what they take is
    what trained ones take."""
    torch.manual_seed(1)
    target = model.Decoder(shape, 0.0).with_sids(dataset.sids)
    for weight in target.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.06)  # so that the draft is right at some levels and wrong at others
    draft = model.Decoder(dataclasses.replace(shape, layers=1), 0.0)
    draft.load_state_dict({key: weight for key, weight in target.state_dict().items() if key in draft.state_dict()})
    export.save(target, work / "target")
    export.save(draft, drafts.folder_of(work, FIRST))
    return export.load(work / "target", dataset)


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", help="X.index.json, beside X.valid.jsonl and X.test.jsonl")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for models")
    parser.add_argument("--lines", type=pathlib.Path, required=True, help="file that measurements are appended to")
    parser.add_argument("--codes", type=int, default=256, help="codes per level")
    parser.add_argument("--epochs", type=int, nargs=2, default=(8, 6), help="of the target and of the first draft")
    parser.add_argument("--align-epochs", type=int, default=align.How.epochs)
    parser.add_argument("--walks", type=int, default=0, help="of alignment, as align.py has it")
    parser.add_argument("--histories", type=int, help="of alignment, so many; all by default")
    parser.add_argument("--queries", type=int, default=500, help="test queries of the counts")
    parser.add_argument("--timed", type=int, default=60, help="test queries of the times")
    parser.add_argument("--turns", type=int, default=5, help="of the times")
    parser.add_argument("--tiny", action="store_true", help="models of a few thousand weights: that everything runs")
    parser.add_argument("--untrained", action="store_true", help="times and cost model alone, of random weights")
    parser.add_argument("--only", choices=["train", "strict", "relaxed", "shallow", "time"],
                        help="one part; all by default")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = options_of(arguments)
    torch.set_num_threads(1)
    dataset = data.read(options.index, options.codes)
    if dataset.levels != 3:
        raise SystemExit(f"{options.index} has {dataset.levels} levels, expected 3: draft rows are counted for these")
    large, small = ({"hidden": 16, "layers": 1, "heads": 2, "ffn": 16}, {"hidden": 8, "layers": 1, "heads": 2, "ffn": 8}
                    ) if options.tiny else ({}, drafts.SMALL)
    options.work.mkdir(parents=True, exist_ok=True)
    shape = {"levels": dataset.levels, "codes": dataset.codes}
    index, queries = sidbeam.Index.build(dataset.sids, codes=dataset.codes), min(options.queries, len(dataset.test))
    if options.untrained:
        target = untrained(dataset, options.work, model.Shape(**shape, **{"layers": 2, **large}))
        bench = Bench(dataset, options.work, target, index, queries, options.lines)
        return both_timed(bench, {"strict": FIRST, "relaxed": FIRST}, "random", options.timed, options.turns)
    target = drafts.trained(dataset, options.work / "target", model.Shape(**shape, **large), options.epochs[0], 1)
    drafts.trained(dataset, options.work / "begin", model.Shape(**shape, **small), options.epochs[1], 2)
    how = align.How(epochs=options.align_epochs, walks=options.walks, histories=options.histories)
    lessons = drafts.Lessons(dataset, target, options.work / "lessons.pt", how, 1)
    drafts.make(dataset, options.work, list(drafts.ALL), options.work / "begin", lessons, how, 1)
    bench = Bench(dataset, options.work, target, index, queries, options.lines)
    opened, wanted = sidbeam.Model.open(options.work / "target"), lambda part: options.only in (None, part)
    if wanted("strict"):
        strict(bench, opened)
    if wanted("relaxed"):
        drawn(bench, opened)
        tempered(bench)
    if wanted("shallow"):
        shallow(bench)
        searched(bench, opened)
    if wanted("time"):
        both_timed(bench, ALIGNED, "trained", options.timed, options.turns)


if __name__ == "__main__":
    main()
