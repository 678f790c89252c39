"""The cases of cases.txt by other means, on the same GPU: PyTorch as STATIC's paper gives the step (eager, compiled, in
a graph), torch.topk over masked log-probabilities, FlashRec's way, and a step in Triton.

    python3 rivals.py [--only TABLE[,TABLE]] [--json FILE] [--replays 20] [--budget SECONDS] [--quick] [--device cpu]

Times are those of one launch of a graph of `chain` steps, over the chain, on rows that are taken in turns, as in
bench.cc; "eager" is the same chain without a graph. Every exact method must give the scores of the first; FlashRec's
share of the exact beams is counted. On a CPU (with TRITON_INTERPRET=1 for Triton) the program only tests itself, and
its times mean nothing.
SPDX-License-Identifier: Apache-2.0"""
import argparse
import json
import os
import sys
import time

import torch

import device_trie
import torch_steps

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "bench"))
import measurements  # noqa: E402

CHAIN = 20  # at most, of rivals whose step takes long
COMPILED = ("small", "medium")  # the tables whose step is given to torch.compile, which takes seconds per case


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def beams_at(spec, trie, logits, level):
    """Decodes `level` steps by the paper's method: what every rival starts from."""
    one = torch.zeros((spec.slots, 1), device=logits[0].device)
    beams, rows = device_trie.Beams(one, one.int()), logits[0][:, :1]
    for at in range(level):
        scores, _, _, nodes = torch_steps.Static(spec, trie, at)(rows, beams)
        beams, rows = device_trie.Beams(scores.contiguous(), nodes.int().contiguous()), logits[(at + 1) % len(logits)]
    return beams


def time_eager(step, logits, beams, chain, replays):
    device, times = logits[0].device, []
    for replay in range(replays + 1):
        synchronize(device)
        begin = time.perf_counter()
        for i in range(chain):
            step(logits[i % len(logits)], beams)
        synchronize(device)
        if replay:
            times.append((time.perf_counter() - begin) * 1e6 / chain)
    return times


def time_graph(step, logits, beams, chain, replays):
    if logits[0].device.type != "cuda":
        return time_eager(step, logits, beams, chain, replays)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(logits[0], beams)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(chain):
            step(logits[i % len(logits)], beams)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for replay in range(replays + 2):
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        if replay >= 2:
            times.append(begin.elapsed_time(end) * 1000 / chain)
    return times


class Run:
    def __init__(self, options):
        self.options, self.device = options, torch.device(options.device)
        self.end = time.monotonic() + options.budget
        properties = torch.cuda.get_device_properties(self.device) if self.device.type == "cuda" else None
        self.l2_bytes = getattr(properties, "L2_cache_size", 1 << 20)
        self.left_out = []

    def add(self, spec, level, name, times, note=""):
        found = measurements.summary(spec.table, spec.case(level), name, "us", times, note)
        print(f"  {name:<34} {found['median']:10.1f} us   p99 {found['p99']:.1f}  {note}", flush=True)
        if self.options.json:
            with open(self.options.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")

    def attempt(self, spec, level, name, measure, note=""):
        """A rival that cannot run here is left out, and listed as such."""
        if time.monotonic() > self.end:
            self.left_out.append(f"{spec.table} {spec.dtype} level {level}: {name}: no time left")
            return
        try:
            self.add(spec, level, name, measure(), note)
        except Exception as error:  # of torch, of Triton, of CUDA's memory
            self.left_out.append(f"{spec.table} {spec.dtype} level {level}: {name}: {type(error).__name__}: "
                                 + str(error).split("\n", maxsplit=1)[0][:160])
            if self.device.type == "cuda":
                torch.cuda.empty_cache()


def expect_same_scores(name, wanted, got):
    if not torch.allclose(wanted, got, atol=2e-4, rtol=1e-5):
        raise RuntimeError(f"{name} gives other scores than the paper's method: "
                           f"{float((wanted - got).abs().nan_to_num(nan=1e9).max()):.3g} apart")


def share_found(wanted, got, spec):
    """The part of the wanted (parent, token) that were found, with a finite score."""
    keys = [parents.long() * spec.codes + tokens.long() for _, parents, tokens, _ in (wanted, got)]
    keys[1] = torch.where(got[0] > -torch.inf, keys[1], -1)
    return sum(int(torch.isin(a, b).sum()) for a, b in zip(*keys)) / keys[0].numel()


def run_level(run, spec, trie, logits, level):
    replays, short = run.options.replays, min(spec.chain, CHAIN)
    beams = beams_at(spec, trie, logits, level)
    static = torch_steps.Static(spec, trie, level)
    wanted = [part.clone() for part in static(logits[0], beams)]
    run.attempt(spec, level, "torch static, eager", lambda: time_eager(static, logits, beams, short, replays))
    run.attempt(spec, level, "torch static, graph", lambda: time_graph(static, logits, beams, short, replays))
    run_compiled(run, spec, trie, logits, level, beams, wanted)
    run.attempt(spec, level, "torch masked top-k, graph", lambda: time_graph(
        torch_steps.MaskedTopK(spec, trie, level, beams), logits, beams, short, replays), "its mask was made before")
    run.attempt(spec, level, "torch unconstrained, graph", lambda: time_graph(
        torch_steps.Unconstrained(spec), logits, beams, short, replays))
    flashrec = torch_steps.FlashRec(spec, trie, level)
    share = share_found(wanted, flashrec(logits[0], beams), spec)
    run.attempt(spec, level, "flashrec's way, graph", lambda: time_graph(flashrec, logits, beams, short, replays),
                f"finds {100 * share:.1f} % of the exact beams")
    run_triton(run, spec, trie, logits, level, beams, wanted)


def run_compiled(run, spec, trie, logits, level, beams, wanted):
    def measure():
        step = torch_steps.compiled(torch_steps.Static(spec, trie, level))
        expect_same_scores("torch.compile", wanted[0], step(logits[0], beams)[0])
        return time_graph(step, logits, beams, min(spec.chain, CHAIN), run.options.replays)
    if run.options.compile and spec.table in COMPILED:
        run.attempt(spec, level, "torch static, compiled, graph", measure)


def run_triton(run, spec, trie, logits, level, beams, wanted):
    def measure():
        import triton_step
        step = triton_step.TritonStep(spec, trie, level)
        scores, parents, tokens, nodes = step(logits[0], beams)
        synchronize(run.device)
        expect_same_scores("Triton", wanted[0], scores)
        ties = (wanted[0][:, 1:] - wanted[0][:, :-1]).abs().min() < 1e-5
        if not ties and not all(torch.equal(a.int(), b) for a, b in zip(wanted[1:], (parents, tokens, nodes))):
            raise RuntimeError("Triton gives other beams than the paper's method")
        return time_graph(step, logits, beams, spec.chain, run.options.replays)
    run.attempt(spec, level, "triton, graph", measure)


def warm(run, spec, trie):
    """Compiles a case for Triton and torch.compile, into their caches."""
    import triton_step
    logits = torch.zeros((spec.slots, spec.beams, spec.columns), device=run.device,
                         dtype=torch.bfloat16 if spec.dtype == "bf16" else torch.float32)
    zeros = torch.zeros((spec.slots, spec.beams), device=run.device)
    for level in filter(None, spec.at):
        beams = device_trie.Beams(zeros, zeros.int())
        triton_step.TritonStep(spec, trie, level)(logits, beams)
        if run.options.compile and spec.table in COMPILED:
            torch_steps.compiled(torch_steps.Static(spec, trie, level))(logits, beams)
    synchronize(run.device)


def run_all(run):
    catalogue, trie = None, None
    for spec in device_trie.read_specs(run.options.cases):
        if run.options.only and spec.table not in run.options.only.split(","):
            continue
        spec = device_trie.quick(spec) if run.options.quick else spec
        if spec.catalogue() != catalogue:
            trie = None
            trie = device_trie.Trie(device_trie.random_sids(spec.sids, spec.levels, spec.codes, run.device), spec.codes)
            catalogue = spec.catalogue()
        if run.options.warm:
            warm(run, spec, trie)
            continue
        logits = device_trie.make_logits(spec, run.device, run.l2_bytes)
        for level in spec.at:
            if level == 0:
                continue
            print(f"{spec.table}: {measurements.text_of_case(spec.case(level))}", flush=True)
            run_level(run, spec, trie, logits, level)
        del logits


def parse():
    parser = argparse.ArgumentParser(description="The steps of cases.txt in PyTorch and Triton.")
    parser.add_argument("--cases", default=os.path.join(HERE, "cases.txt"))
    parser.add_argument("--only", help="tables, with commas between them")
    parser.add_argument("--json", help="file to append measurements to, one a line")
    parser.add_argument("--replays", type=int, default=20)
    parser.add_argument("--budget", type=float, default=150, help="seconds after which no further rival begins")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--warm", action="store_true", help="only compile what must be compiled")
    parser.add_argument("--quick", action="store_true", help="small sizes: is it right, not how fast")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    if options.quick:
        options.replays = 2
    return options


def main():
    options = parse()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("skipped: PyTorch sees no CUDA device")
        return 77
    run = Run(options)
    with torch.inference_mode():
        run_all(run)
    for line in run.left_out:
        print(f"left out: {line}")
    return 1 if options.quick and run.left_out else 0


if __name__ == "__main__":
    sys.exit(main())
