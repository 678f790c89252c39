#!/usr/bin/env python3
"""Reads what the compiler made of the CUDA plugin's kernels, and fails where they break a rule. Needs no GPU.

    python3 check.py LIBRARY CHOICES              checks the kernels, and table.md if this compiler wrote it
    python3 check.py LIBRARY CHOICES --write      writes table.md

Needs cuobjdump and nvdisasm in PATH (run.sh gets them from PyPI). The rules, for every kernel:

  - No local memory: no stack and no spills. CUDA reserves a stack for as many threads as a device can have, at the
    first launch of the kernel that has one: some 300 MB for 1,200 bytes.
  - No compare-and-swap loop, which threads would run one after the other.
  - No 64-bit integer division, which takes over a hundred instructions.
  - 16-byte loads, those of the logits, are at least LOADS in flight: so many are issued before the first that they load
    is used.

CHOICES is a cubin of choices.cu: the way from random bits to a choice, which must be the same on every machine. Its
kernels have no special-function instruction (MUFU), whose results are the hardware's own.

SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import re
import sys

from kernels import common_faults, compiler, few_loads, parse, read_kernels, runs_of_loads, verdict

TABLE = pathlib.Path(__file__).with_name("table.md")
READS_ROWS = ("row_kernel", "step_kernel", "topk_kernel", "draw_kernel", "perturb_kernel", "sample_kernel")
CHOICES = {"chosen_child", "last_kept", "log_of_children", "perturbed_child", "root_noise"}


def faults_of(kernel):
    yield from common_faults(kernel)
    if kernel.name.split("<")[0] in READS_ROWS and not kernel.runs:
        yield "no 16-byte loads, expected those of the logits"
    yield from few_loads(kernel)


def faults_of_choices(kernels):
    names = {kernel.name for kernel in kernels}
    if names != CHOICES:
        yield f"choices.cu: kernels {sorted(names)}, expected {sorted(CHOICES)}"
    for kernel in kernels:
        if special := kernel.count(r"\bMUFU\b"):
            yield f"{kernel.name}: {special} special-function instructions, expected none between bits and a choice"


def rows_of_choices(kernels):
    lines = [
        "",
        "What chooses in the modes that sample, from random bits and x to a child, is in `choices.cu` as kernels of",
        "its own, made of the functions that the kernels above call. Those have special-function instructions (MUFU)",
        "too: in the log-sum-exp (ex2), which moves log-probabilities under P by its rounding and chooses nothing; and",
        "in divisions, which begin with one and end rounded correctly, as on the CPU: those of a soft-cap, before",
        "there is an x, and of the probability that a stochastic beam is included, after the choice.",
        "",
        "| choice | instructions | special functions | fused multiply-adds |",
        "|---|---|---|---|",
    ]
    for kernel in kernels:
        lines.append(f"| `{kernel.name}` | {kernel.instructions():,} | {kernel.count(r'MUFU')} |"
                     f" {kernel.count(r'FFMA')} |")
    return lines


def table_of(kernels, choices):
    lines = [
        "# What the compiler made of the kernels",
        "",
        f"Written by `bash tests/gpu/machine_code/run.sh --write` for compute capability 9.0 with nvcc {compiler()}.",
        "Blocks: how many fit on a multiprocessor by their registers (of 65,536). Threads: how many of its 2,048 those",
        "are. Loads: how many 16-byte loads of a thread are in flight together, at least and at most. Nothing is in",
        "local memory.",
        "",
        "| kernel | threads a block | registers | blocks | threads | loads | instructions |",
        "|---|---|---|---|---|---|---|",
    ]
    for kernel in kernels:
        loads = f"{min(kernel.runs)} to {max(kernel.runs)}" if kernel.runs else ""
        lines.append(f"| `{kernel.name}` | {kernel.threads} | {kernel.registers} | {kernel.blocks()} |"
                     f" {kernel.blocks() * kernel.threads:,} | {loads} | {kernel.instructions():,} |")
    return "\n".join(lines + rows_of_choices(choices)) + "\n"


def main():
    arguments = parse(__doc__, "libsidbeam_cuda.so", TABLE, ("choices", "cubin of choices.cu"))
    kernels, choices = read_kernels(arguments.library), read_kernels(arguments.choices)
    faults = [] if kernels else [f"{arguments.library}: no kernels, expected those of the CUDA plugin for sm_90"]
    for kernel in kernels:
        kernel.runs = runs_of_loads(kernel.code)
        faults += [f"{kernel.name}: {fault}" for fault in faults_of(kernel)]
    faults += faults_of_choices(choices)
    failed = verdict(faults, table_of(kernels, choices), TABLE, arguments.write)
    if not failed:
        print(f"kernels: {len(kernels)} passed, and {len(choices)} of choices")
    return failed


if __name__ == "__main__":
    sys.exit(main())
