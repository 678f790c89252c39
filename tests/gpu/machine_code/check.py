#!/usr/bin/env python3
"""Reads what the compiler made of the CUDA plugin's kernels, and fails where they break a rule. Needs no GPU.

    python3 check.py LIBRARY              checks the kernels, and table.md if this compiler wrote it
    python3 check.py LIBRARY --write      writes table.md

Needs cuobjdump and nvdisasm in PATH (run.sh gets them from PyPI). The rules, for every kernel:

  - No local memory: no stack and no spills. CUDA reserves a stack for as many threads as a device can have, at the
    first launch of the kernel that has one: some 300 MB for 1,200 bytes.
  - No compare-and-swap loop, which threads would run one after the other.
  - No 64-bit integer division, which takes over a hundred instructions.
  - 16-byte loads, those of the logits, are at least LOADS in flight: so many are issued before the first that they load
    is used.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

LOADS = 4
REGISTERS, WARPS = 65536, 64  # of a multiprocessor, compute capability 8.0 and 9.0
TABLE = pathlib.Path(__file__).with_name("table.md")
READS_ROWS = ("row_kernel", "step_kernel", "topk_kernel")


@dataclass
class Kernel:
    name: str
    registers: int = 0
    stack: int = 0
    threads: int = 0
    code: list = field(default_factory=list)  # (address, instruction)
    runs: list = field(default_factory=list)  # of 16-byte loads: how many are in flight together

    def blocks(self):
        """Blocks that the registers leave room for on a multiprocessor."""
        warps = (self.threads + 31) // 32
        of_warp = (self.registers * 32 + 255) // 256 * 256
        return min(REGISTERS // of_warp, WARPS) // warps

    def count(self, pattern):
        return sum(re.search(pattern, instruction) is not None for _, instruction in self.code)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def dump(what, library):
    """What cuobjdump says of one architecture, whose table we keep; a library may hold several."""
    return output_of("cuobjdump", what, "-arch", "sm_90", library)


def short_name(symbol):
    name = output_of("c++filt", symbol).strip()
    name = re.sub(r"\(anonymous namespace\)::|sidbeam::cuda::|^void ", "", name)
    return name.split("(")[0]


def read_kernels(library):
    """The kernels of a library, or of a cubin, by symbol."""
    kernels = {}
    for symbol, registers, stack in re.findall(
            r"Function (\S+):\s+REG:(\d+) STACK:(\d+)", dump("-res-usage", library)):
        kernels[symbol] = Kernel(short_name(symbol), int(registers), int(stack))
    for symbol, attributes in re.findall(
            r"^\.nv\.info\.(\S+)\n(.*?)(?=^\.|\Z)", dump("-elf", library), re.M | re.S):
        threads = re.search(r"EIATTR_MAX_THREADS\s+Format:\s+\S+\s+Value:\s+(0x[0-9a-f]+)", attributes)
        if symbol in kernels and threads:
            kernels[symbol].threads = int(threads.group(1), 16)
    for part in re.split(r"^\s*Function : ", dump("-sass", library), flags=re.M)[1:]:
        kernels[part.split(None, 1)[0]].code = [
            (int(address, 16), instruction) for address, instruction in
            re.findall(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", part)]
    return kernels


def registers_of(instruction):
    """The registers that an instruction names; a width makes one name several."""
    named = set()
    width = 4 if ".128" in instruction else 2 if re.search(r"\.(64|WIDE)|DADD|DMUL|DFMA", instruction) else 1
    for number in re.findall(r"\bR(\d+)\b", instruction):
        named.update(range(int(number), int(number) + width))
    return named


def runs_of_loads(code):
    """For each run of 16-byte loads, how many are issued before one of their results is used or control goes on
    elsewhere."""
    targets = {int(target, 16) for _, instruction in code
               for target in re.findall(r"(?:BRA|BSSY|CALL)\S*.*?(0x[0-9a-f]+)", instruction)}
    runs, pending, count = [], set(), 0
    for address, instruction in code:
        load = re.match(r"(?:@!?U?P\d+ )?LDG\S*\.128\S* R(\d+), (.*)", instruction)
        used = registers_of(load.group(2).replace(".64", "") if load else instruction)
        ends = address in targets or re.search(r"\b(BRA|EXIT|BAR|CALL|RET|BSYNC|WARPSYNC)\b", instruction)
        if count and (ends or used & pending):
            runs.append(count)
            pending, count = set(), 0
        if load:
            first = int(load.group(1))
            pending.update(range(first, first + 4))
            count += 1
    return runs


def faults_of(kernel):
    local = kernel.count(r"\b(LDL|STL)\b")
    if kernel.stack or local:
        yield f"{kernel.stack} bytes of stack and {local} accesses to local memory, expected none"
    if loops := kernel.count(r"\bATOMS?\S*\.CAS|\bRED\S*\.CAS"):
        yield f"{loops} compare-and-swap instructions, expected none"
    if divisions := kernel.count(r"\bI2F\.[US]64"):
        yield f"{divisions} divisions of 64 bits, expected none"
    if kernel.name.split("<")[0] in READS_ROWS and not kernel.runs:
        yield "no 16-byte loads, expected those of the logits"
    if kernel.runs and min(kernel.runs) < LOADS:
        yield f"runs of {sorted(set(kernel.runs))} 16-byte loads in flight, expected at least {LOADS} in each"


def compiler():
    return re.search(r"release (\S+), V(\S+)", output_of("nvcc", "--version")).group(2)


def table_of(kernels):
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
        instructions = sum(not re.match("NOP", instruction) for _, instruction in kernel.code)
        lines.append(f"| `{kernel.name}` | {kernel.threads} | {kernel.registers} | {kernel.blocks()} |"
                     f" {kernel.blocks() * kernel.threads:,} | {loads} | {instructions:,} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libsidbeam_cuda.so, or a cubin")
    parser.add_argument("--write", action="store_true", help="write table.md")
    arguments = parser.parse_args()
    kernels = sorted(read_kernels(arguments.library).values(), key=lambda kernel: kernel.name)
    failed = not kernels
    if failed:
        print(f"{arguments.library}: no kernels, expected those of the CUDA plugin for sm_90")
    for kernel in kernels:
        kernel.runs = runs_of_loads(kernel.code)
        for fault in faults_of(kernel):
            failed = True
            print(f"{kernel.name}: {fault}")
    table = table_of(kernels)
    if arguments.write and not failed:
        TABLE.write_text(table)
    if f"nvcc {compiler()}." in TABLE.read_text() and TABLE.read_text() != table:
        failed = True
        print(f"{TABLE.name} is of other code: run.sh --write writes it")
    if not failed:
        print(f"kernels: {len(kernels)} passed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
