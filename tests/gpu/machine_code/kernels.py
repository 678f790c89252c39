"""What the compiler made of the kernels of a library: reading it, the rules for all kernels, and keeping a table of it.
Of check.py and check_runner.py.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import re
import subprocess
from dataclasses import dataclass, field

LOADS = 4
REGISTERS, WARPS = 65536, 64  # of a multiprocessor, compute capability 8.0 and 9.0


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

    def instructions(self):
        return sum(not re.match("NOP", instruction) for _, instruction in self.code)

    def count(self, pattern):
        return sum(re.search(pattern, instruction) is not None for _, instruction in self.code)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def dump(what, library):
    """What cuobjdump says of one architecture, whose table we keep; a library may hold several."""
    return output_of("cuobjdump", what, "-arch", "sm_90", library)


def short_name(symbol):
    name = output_of("c++filt", symbol).strip()
    name = re.sub(r"\(anonymous namespace\)::|sidbeam::(runner::)?(cuda::)?|^void ", "", name)
    return name.split("(")[0]


def read_kernels(library):
    """The kernels of a library, or of a cubin, by name."""
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
    return sorted(kernels.values(), key=lambda kernel: kernel.name)


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


def few_loads(kernel):
    """Fewer than LOADS 16-byte loads in flight somewhere: for kernels that read much."""
    kernel.runs = runs_of_loads(kernel.code)
    if kernel.runs and min(kernel.runs) < LOADS:
        yield f"runs of {sorted(set(kernel.runs))} 16-byte loads in flight, expected at least {LOADS} in each"


def common_faults(kernel):
    """No local memory, no compare-and-swap loop, no 64-bit division: for every kernel."""
    local = kernel.count(r"\b(LDL|STL)\b")
    if kernel.stack or local:
        yield f"{kernel.stack} bytes of stack and {local} accesses to local memory, expected none"
    if loops := kernel.count(r"\bATOMS?\S*\.CAS|\bRED\S*\.CAS"):
        yield f"{loops} compare-and-swap instructions, expected none"
    if divisions := kernel.count(r"\bI2F\.[US]64"):
        yield f"{divisions} divisions of 64 bits, expected none"


def compiler():
    return re.search(r"release (\S+), V(\S+)", output_of("nvcc", "--version")).group(2)


def parse(doc, library, table, *others):
    """Arguments of a program that checks `library` and keeps `table`."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help=f"{library}, or a cubin")
    for name, help_text in others:
        parser.add_argument(name, help=help_text)
    parser.add_argument("--write", action="store_true", help=f"write {table.name}")
    return parser.parse_args()


def verdict(faults, text, table, write):
    """Prints the faults, and keeps the table or compares it; whether something is wrong."""
    faults = list(faults)
    if write and not faults:
        table.write_text(text)
    known = table.read_text() if table.exists() else ""
    if f"nvcc {compiler()}." in known and known != text:
        faults.append(f"{table.name} is of other code: run.sh --write writes it")
    print(*faults, sep="\n", end="\n" if faults else "")
    return bool(faults)
