#!/usr/bin/env python3
"""Reads what the compiler made of the kernels of the runner's CUDA plugin, and fails where they break a
rule. Needs no GPU.

    python3 check_runner.py LIBRARY            checks the kernels, and runner.md if this compiler wrote it
    python3 check_runner.py LIBRARY --write    writes runner.md

The rules, for every kernel, are those of check.py on local memory, compare-and-swap and 64-bit divisions. The shared
stage of attention in 16 bits has tensor-core products (HMMA of 16x8x16), loads of their operands from shared memory
(LDSM) and copies to it that run beside them (LDGSTS); and at least LEAST_WARPS of its warps fit on a multiprocessor.
The products of children have as many 16-byte loads in flight as check.py wants of those that read logits.

SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import re
import sys

from kernels import common_faults, compiler, few_loads, parse, read_kernels, verdict

TABLE = pathlib.Path(__file__).with_name("runner.md")
LEAST_WARPS = 8
SHARED, RESERVED = 228 * 1024, 1024  # of a multiprocessor, compute capability 9.0; of each block
TYPES = {"float": 4, "F16": 2, "Bf16": 2}


def shared_bytes(name):
    """As SharedTiles and WideTiles have them; 0 for kernels that need next to nothing."""
    found = re.match(r"attention_stages<(\w+), (\d+)>", name)
    if not found:
        return 0
    size, dim = TYPES[found.group(1)], int(found.group(2))
    rows, keys, stages = (16, 32, 1) if size == 4 else (64, 64 if dim <= 128 else 32, 2)
    return size * (dim + 16 // size) * (rows + 2 * stages * keys) + (4 * 128 if size == 4 else 0)


def blocks_of(kernel):
    by_shared = SHARED // (shared_bytes(kernel.name) + RESERVED)
    return min(kernel.blocks(), by_shared, 32)


def faults_of(kernel):
    yield from common_faults(kernel)
    if re.match(r"attention_stages<B?[fF]16", kernel.name):
        for instruction in (r"\bHMMA\.16816\.F32", r"\bLDSM\b", r"\bLDGSTS\b"):
            if not kernel.count(instruction):
                yield f"no {instruction[2:]}, expected some"
    if kernel.name.startswith("children_kernel"):
        yield from few_loads(kernel)
        if not kernel.runs:
            yield "no 16-byte loads, expected those of weights"
    if kernel.name.startswith("attention_stages") and blocks_of(kernel) * kernel.threads < 32 * LEAST_WARPS:
        yield f"{blocks_of(kernel)} blocks fit on a multiprocessor, expected {LEAST_WARPS} warps"


def table_of(kernels):
    lines = [
        "# What the compiler made of the runner's kernels",
        "",
        "Written by `bash tests/gpu/machine_code/run.sh --write` for compute capability 9.0 with nvcc "
        f"{compiler()}.",
        "Blocks: how many fit on a multiprocessor by their registers (of 65,536) and shared memory (of 228 KiB).",
        "Nothing is in local memory. HMMA: tensor-core products of 16x8x16. None of it says how fast the kernels are.",
        "",
        "| kernel | threads a block | registers | shared bytes | blocks | warps | HMMA | instructions |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kernel in kernels:
        products = kernel.count(r"\bHMMA\.16816") or ""
        shared = f"{shared_bytes(kernel.name):,}" if shared_bytes(kernel.name) else ""
        lines.append(f"| `{kernel.name}` | {kernel.threads} | {kernel.registers} | {shared} | {blocks_of(kernel)} |"
                     f" {blocks_of(kernel) * kernel.threads // 32} | {products} | {kernel.instructions():,} |")
    return "\n".join(lines) + "\n"


def main():
    arguments = parse(__doc__, "libsidbeam_runner_cuda.so", TABLE)
    kernels = read_kernels(arguments.library)
    faults = [] if kernels else [f"{arguments.library}: no kernels, expected those of the runner's plugin for sm_90"]
    faults += [f"{kernel.name}: {fault}" for kernel in kernels for fault in faults_of(kernel)]
    failed = verdict(faults, table_of(kernels), TABLE, arguments.write)
    if not failed:
        print(f"runner's kernels: {len(kernels)} passed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
