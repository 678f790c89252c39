"""One results file of how run.sh's parts ended and of what bench.cc and rivals.py measured, and a short table of that.

    python3 report.py --parts PARTS --lines LINES --commit COMMIT --output RESULTS.json
    python3 report.py --quote RESULTS.json README.md     puts the tables there (test_results.py)
SPDX-License-Identifier: Apache-2.0"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import measurements  # noqa: E402
import quotes  # noqa: E402

BEGIN = "<!-- of a results file, by bench/report.py -->"

COLUMNS = (("ceiling", "ceiling"), ("sidbeam", "sidbeam"), ("lse given", "sidbeam, lse given"),
           ("unconstr.", "sidbeam, unconstrained"), ("alone", "sidbeam, alone"), ("triton", "triton, graph"),
           ("static", "torch static, graph"), ("compiled", "torch static, compiled, graph"),
           ("top-k", "torch masked top-k, graph"), ("flashrec", "flashrec's way, graph"))


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine(commit):
    gpu = output_of("nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem,memory.total",
                    "--format=csv,noheader")
    return {"gpu": gpu.split("\n")[0] if gpu else "none", "nvcc": output_of("nvcc", "--version").split("\n")[-1],
            "cores": len(os.sched_getaffinity(0)), "commit": commit,
            "date": output_of("date", "-u", "+%Y-%m-%d")}


def read_parts(path):
    """Of each part of run.sh that has ended, how."""
    with open(path, encoding="utf-8", errors="replace") as file:
        rows = [line.rstrip("\n").split("\t", 3) for line in file]
    return [{"part": name, "status": status, "seconds": int(seconds), "says": says}
            for name, status, seconds, says in rows]


def read_measurements(path):
    """A program that was killed may have left half a line."""
    with open(path, "r+b") as file:
        file.truncate(file.read().rfind(b"\n") + 1)
    return measurements.read_lines(path)


def by_case(found):
    cases = {}
    for m in found:
        case = m["case"]
        key = (m["table"], *(case[name] for name in ("B", "M", "V", "columns", "dtype", "norm", "level")))
        cases.setdefault(key, {})[m["name"]] = m
    return cases


def figure(value):
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def lines_of(rows):
    """Aligned columns, without those that have a head alone."""
    kept = [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
    rows = [[row[i] for i in kept] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [row[0].ljust(widths[0]) + "".join("  " + cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))
            for row in rows]


def steps(cases):
    rows = [["us per step (median)", *(title for title, _ in COLUMNS)]]
    for (table, b, m, v, columns, dtype, norm, level), names in cases.items():
        text = f"{table} B={b} M={m} V={v}" + (f" of {columns}" if columns != v else "") + f" {dtype}"
        text += (f" {norm}" if norm != "full" else "") + f" level {level}"
        medians = [names[name]["median"] if name in names else None for _, name in COLUMNS]
        rows.append([text, *map(figure, medians)])
    return lines_of(rows) if cases else []


def targets(cases):
    """(what, came, wanted) of each target of the issue that was measured."""
    def median(names, name):
        return names[name]["median"] if name in names else None
    for (table, *_, columns, dtype, _, level), names in cases.items():
        ours, floor, none = (median(names, name) for name in ("sidbeam", "ceiling", "sidbeam, unconstrained"))
        given, where = median(names, "sidbeam, lse given"), f"{table} {dtype} level {level}"
        if ours is None or floor is None:
            continue
        if table == "small" and level >= 1:
            yield f"{where}: {'dense' if level == 1 else 'list'}", ours, 6 if level == 1 else 5
            if given and level >= 2:
                yield f"{where}: with the caller's lse", given, 3.5
        if table == "medium":
            yield f"{where}: ceiling + 6 us", ours, floor + 6
        if table == "large":
            share = 1.05 if dtype == "f32" else 1.08
            yield f"{where}: {share} x ceiling", ours, floor * share
        if none and table in ("small", "medium", "large") and level >= 1:
            yield f"{where}: unconstrained + max(0.5 us, 3 %)", ours, none + max(0.5, 0.03 * none)
    widths = {columns: median(names, "sidbeam, lse given") for (table, *_, columns, _, _, _), names in cases.items()
              if table == "width"}
    if len(widths) == 2 and all(widths.values()):
        narrow, wide = widths[min(widths)], widths[max(widths)]
        yield f"width: lse given, {max(widths)} columns against {min(widths)}, + 5 %", wide, 1.05 * narrow


def requests(found):
    """Batches of requests through the runner, and what transformers takes for them."""
    cases = {}
    for m in found:
        cases.setdefault(measurements.text_of_case(m["case"]), {})[m["name"]] = m["median"]
    names = ("sidbeam, valid items", "sidbeam", "transformers")
    rows = [["us per batch of requests (median)", *names]]
    rows += [[case, *(figure(medians.get(name)) for name in names)] for case, medians in cases.items()]
    return lines_of(rows) if cases else []


def tables(found):
    return [*steps(by_case([m for m in found if m["table"] != "requests"])),
            *requests([m for m in found if m["table"] == "requests"])]


def text_of(machine, found):
    """As README.md quotes them."""
    gpu, driver = machine["gpu"].split(", ")[:2]
    return "\n".join([f"{gpu}, driver {driver}, commit {machine['commit']}, {machine['date']}:", "", "```text",
                      *tables(found), "```"])


def show_measurements(found):
    print("\n".join(tables(found)))
    cases = by_case([m for m in found if m["table"] != "requests"])
    for m in found:
        if "exact beams" in m["note"]:
            print(f"flashrec's way, {m['table']} {m['case']['dtype']} level {m['case']['level']}: {m['note']}")
    for text, came, wanted in targets(cases):
        print(f"{'met   ' if came <= wanted else 'MISSED'}  {text}: {figure(came)}, wanted {figure(wanted)} us at most")


def main():
    parser = argparse.ArgumentParser(description="Makes a results file and a table of what came on a GPU.")
    parser.add_argument("--quote", nargs=2, metavar=("RESULTS", "README"))
    parser.add_argument("--parts", help="file with one part a line")
    parser.add_argument("--lines", help="file with one measurement a line")
    parser.add_argument("--commit")
    parser.add_argument("--output")
    options = parser.parse_args()
    if options.quote:
        results, readme = options.quote
        return quotes.put(readme, BEGIN, text_of(*measurements.read_document(results)))
    if None in (options.parts, options.lines, options.commit, options.output):
        parser.error("expected --quote, or --parts, --lines, --commit and --output")
    parts, found, about = read_parts(options.parts), read_measurements(options.lines), machine(options.commit)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write('{"machine": ' + json.dumps(about, indent=1) + ',\n"parts": [\n')
        file.write(",\n".join(json.dumps(part) for part in parts) + '\n],\n"measurements": [\n')
        file.write(",\n".join(json.dumps(m) for m in found) + "\n]}\n")
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    if found:
        show_measurements(found)


if __name__ == "__main__":
    main()
