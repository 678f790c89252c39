"""Runs fuzz targets until each has had its CPU time, and counts. Called by farm.sh, which builds them.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/fuzz"
FARM = ROOT / "build/fuzz-farm"
TARGETS = ["fuzz_files", "fuzz_tool", "fuzz_import", "fuzz_abi", "fuzz_runner", "fuzz_numeric", "fuzz_model",
           "fuzz_draft", "fuzz_arrow", "fuzz_rules", "fuzz_catalog"]
ROOMS = ["runtime", "bindings/cli"]  # whose lines --lines counts
SLICE = 300  # seconds; a target that lags behind waits no longer than this for a core
# The limit of an input is wall clock, and others may want the cores too.
LIMITS = ["-max_len=8192", "-timeout=300", "-rss_limit_mb=3000"]
BEGIN, END = "<!-- farm -->", "<!-- end of farm -->"


def binary(target, build="fuzz"):
    return ROOT / "build" / build / "tests/fuzz" / target


class Target:
    """The time that a target has had, and what it has found, in this sitting. `before`: seconds it had already."""

    def __init__(self, name, before):
        self.name = name
        self.before = before
        self.folder = FARM / name
        self.corpus = self.folder / "corpus"
        self.findings = self.folder / "findings"
        self.corpus.mkdir(parents=True, exist_ok=True)
        self.findings.mkdir(exist_ok=True)
        self.cpu = 0.0
        self.inputs = 0
        self.running = 0
        self.failed = None
        self.slices = 0

    def had(self):
        """Seconds, counting slices that run as whole ones."""
        return self.before + self.cpu + self.running * SLICE

    def command(self, *options):
        return [binary(self.name), *LIMITS, *options, self.corpus, FARM / "seeds" / self.name]


class Farm:
    def __init__(self, targets, seconds):
        self.targets = targets
        self.seconds = seconds  # of each
        self.jobs = int(os.environ.get("SIDBEAM_JOBS", os.cpu_count()))
        self.lock = threading.Lock()
        self.processes = set()
        self.stopped = False

    def next(self):
        """The target that is furthest behind, or None."""
        with self.lock:
            waiting = [t for t in self.targets if t.failed is None and t.had() < self.seconds]
            if self.stopped or not waiting:
                return None
            target = min(waiting, key=Target.had)
            seconds = min(SLICE, int(self.seconds - target.had()) + 1)
            target.running += 1
            target.slices += 1
            return target, target.slices, seconds

    def work(self):
        while (turn := self.next()) is not None:
            target, number, seconds = turn
            self.run_slice(target, number, seconds)

    def run_slice(self, target, number, seconds):
        log = target.folder / f"slice-{number}.log"
        command = target.command(f"-max_total_time={seconds}", "-print_final_stats=1",
                                 f"-seed={random.randrange(1, 2**31)}", f"-artifact_prefix={target.findings}/")
        with open(log, "wb") as out:
            # A session of its own: an interrupt of the terminal comes through stop(), once.
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        with self.lock:
            self.processes.add(process)
        if self.stopped:
            process.send_signal(signal.SIGINT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        text = log.read_text(errors="replace")
        inputs = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
        with self.lock:
            self.processes.discard(process)
            target.running -= 1
            target.cpu += usage.ru_utime + usage.ru_stime
            target.inputs += int(inputs.group(1)) if inputs else 0
            if process.returncode != 0 and not self.stopped:
                target.failed = log
        what = f", FAILED: see {log}" if target.failed else ""  # one write, since the other threads print too
        print(f"{target.name}: {target.cpu / 3600:.2f} CPU hours, {target.inputs:,} inputs{what}\n", end="", flush=True)

    def stop(self, *_):
        with self.lock:
            self.stopped = True
            for process in self.processes:
                process.send_signal(signal.SIGINT)

    def run(self):
        workers = [threading.Thread(target=self.work) for _ in range(self.jobs)]
        signal.signal(signal.SIGINT, self.stop)
        signal.signal(signal.SIGTERM, self.stop)
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():  # signals are handled between these
                worker.join(0.5)


def reduce_corpus(target):
    """Keeps the smallest inputs that reach as much; returns how many, and the edges and features they reach."""
    reduced = target.folder / "reduced"
    shutil.rmtree(reduced, ignore_errors=True)
    reduced.mkdir()
    merged = subprocess.run([binary(target.name), *LIMITS, "-merge=1", reduced, target.corpus,
                             FARM / "seeds" / target.name], capture_output=True, text=True, errors="replace")
    if merged.returncode == 0 and any(reduced.iterdir()):
        shutil.rmtree(target.corpus)
        reduced.rename(target.corpus)
    counted = subprocess.run([binary(target.name), *LIMITS, "-runs=0", target.corpus], capture_output=True, text=True,
                             errors="replace").stderr
    found = re.findall(r"cov: (\d+) ft: (\d+)", counted)
    edges, features = map(int, found[-1]) if found else (0, 0)
    return {"corpus": len(list(target.corpus.iterdir())), "edges": edges, "features": features}


def measure_lines(target):
    """Lines of runtime/ and of bindings/cli that the inputs reach, as (reached, all) for each."""
    folder = target.folder / "lines"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    program = binary(target.name, "fuzz-lines")
    environment = dict(os.environ, LLVM_PROFILE_FILE=str(folder / "%m.profraw"))
    subprocess.run([program, *LIMITS, "-runs=0", target.corpus], env=environment, capture_output=True)
    merged = folder / "merged.profdata"
    subprocess.run(["llvm-profdata", "merge", "-o", merged, *folder.glob("*.profraw")], check=True)
    exported = subprocess.run(["llvm-cov", "export", "-summary-only", f"-instr-profile={merged}", program,
                               f"-object={next((ROOT / 'build/fuzz-lines/runtime').glob('libsidbeam.so.1'))}"],
                              check=True, capture_output=True, text=True).stdout
    lines = {}
    for file in json.loads(exported)["data"][0]["files"]:
        for room in ROOMS:
            if file["filename"].startswith(f"{ROOT}/{room}/"):
                covered, total = lines.get(room, (0, 0))
                count = file["summary"]["lines"]
                lines[room] = (covered + count["covered"], total + count["count"])
    return lines


def count(target, lines):
    """Reduces the target's corpus; returns what results.json says of it."""
    counts = reduce_corpus(target)
    if lines:
        counts["lines"] = measure_lines(target)
    return counts


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def percent(pair):
    return f"{100 * pair[0] / pair[1]:.1f} %" if pair and pair[1] else "–"


def table(results):
    rooms = [room for room in ROOMS if any(room in r.get("lines", {}) for r in results.values())]
    columns = ["target", "inputs", "CPU hours", "sittings", "corpus", "edges", "features",
               *(f"lines of {room}/" for room in rooms), "last"]
    rows = [columns, ["---"] * len(columns)]
    for name, r in results.items():
        rows.append([f"`{name}`", f"{r['inputs']:,}", f"{r['cpu_seconds'] / 3600:.2f}", str(r["sittings"]),
                     str(r["corpus"]), f"{r['edges']:,}", f"{r['features']:,}",
                     *(percent(r.get("lines", {}).get(room)) for room in rooms), f"{r['date']}, {r['commit']}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def read_results():
    path = HERE / "results.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write_results(targets, counted):
    results = read_results()
    commit = git("rev-parse", "--short=10", "HEAD") or "no commit"
    for target in targets:
        if target.inputs == 0:
            continue
        r = results.setdefault(target.name, {"inputs": 0, "cpu_seconds": 0, "sittings": 0})
        r["inputs"] += target.inputs
        r["cpu_seconds"] = round(r["cpu_seconds"] + target.cpu)
        r["sittings"] += 1
        r.update(counted[target.name], date=datetime.date.today().isoformat(), commit=commit)
    results = {name: results[name] for name in TARGETS if name in results}
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    readme = HERE / "README.md"
    text = readme.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    readme.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}")
    print(table(results))


def main():
    parser = argparse.ArgumentParser(prog="farm.sh")
    parser.add_argument("hours", type=float, help="CPU hours of each target")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--in-all", action="store_true")
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--no-results", action="store_true")
    options = parser.parse_args()
    names = options.targets.split(",")
    for name in names:
        if name not in TARGETS or not binary(name).exists():
            parser.error(f"no target {name}, expected some of {', '.join(TARGETS)}")
    FARM.mkdir(parents=True, exist_ok=True)
    subprocess.run([binary("make_corpus"), FARM / "seeds"], check=True)
    before = {name: r["cpu_seconds"] for name, r in read_results().items()} if options.in_all else {}
    farm = Farm([Target(name, before.get(name, 0)) for name in names], options.hours * 3600)
    begin = time.time()
    farm.run()
    with concurrent.futures.ThreadPoolExecutor(farm.jobs) as pool:
        counts = pool.map(lambda target: count(target, options.lines), farm.targets)
    counted = {target.name: found for target, found in zip(farm.targets, counts)}
    if options.no_results:
        print(json.dumps(counted))
    else:
        write_results(farm.targets, counted)
    print(f"{time.time() - begin:.0f} s")
    failed = [t for t in farm.targets if t.failed]
    for target in failed:
        print(f"{target.name} found something: {target.failed}, inputs in {target.findings}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
