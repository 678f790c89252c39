"""Makes one results file from the lines that the benchmark's programs appended, and says on what machine they ran.

    python3 tests/bench/document.py --build build/release --lines LINES --output RESULTS.json [--load BEFORE AFTER]

No names of hosts, people or folders are recorded. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import ctypes
import glob
import json
import os
import subprocess

import measurements


def read(path, default=""):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return default


def fields(text):
    """Of lines `name : value`, as /proc has them; the first of each name."""
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    out = {}
    for name, value in pairs:
        out.setdefault(name.strip(), value.strip())
    return out


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def caches():
    out = {}
    for folder in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")):
        level, kind, size = (read(f"{folder}/{name}") for name in ("level", "type", "size"))
        if kind != "Instruction":
            out[f"L{level}"] = size
    return out


def cmake_cache(build, name):
    for line in read(os.path.join(build, "CMakeCache.txt")).splitlines():
        if line.startswith(name + ":"):
            return line.split("=", 1)[1]
    return ""


def compiler(build):
    program = cmake_cache(build, "CMAKE_CXX_COMPILER")
    return output_of(program, "--version").splitlines()[0] if program else ""


def library(build):
    """Version and CPU target that the built library reports."""
    loaded = ctypes.CDLL(os.path.join(os.path.abspath(build), "runtime", "libsidbeam.so.1"))
    names = ("sidbeam_version", "sidbeam_cpu_target")
    for name in names:
        getattr(loaded, name).restype = ctypes.c_char_p
    return [getattr(loaded, name)().decode() for name in names]


def machine(build, load):
    cpu, memory = fields(read("/proc/cpuinfo")), fields(read("/proc/meminfo"))
    version, target = library(build)
    changed = output_of("git", "status", "--porcelain", "--untracked-files=no")
    return {
        "cpu": cpu.get("model name", cpu.get("CPU implementer", "unknown")),
        "cores": len(os.sched_getaffinity(0)),
        "mhz_at_start": cpu.get("cpu MHz", ""),
        "caches": caches(),
        "memory_gib": round(int(memory.get("MemTotal", "0 kB").split()[0]) / 2**20, 1),
        "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "kernel": os.uname().release,
        "architecture": os.uname().machine,
        "compiler": compiler(build),
        "build_type": cmake_cache(build, "CMAKE_BUILD_TYPE"),
        "sidbeam": version,
        "cpu_target": target,
        "commit": output_of("git", "rev-parse", "HEAD") + (" and uncommitted changes" if changed else ""),
        "date": output_of("date", "-u", "+%Y-%m-%d"),
        **({"load_before": load[0], "load_after": load[1]} if load else {}),
    }


def main():
    parser = argparse.ArgumentParser(description="Makes a results file from lines of measurements.")
    parser.add_argument("--build", required=True, help="the build folder that was measured")
    parser.add_argument("--lines", required=True, help="file with one measurement a line")
    parser.add_argument("--output", required=True)
    parser.add_argument("--load", nargs=2, type=float, metavar=("BEFORE", "AFTER"),
                        help="load averages of one minute")
    options = parser.parse_args()
    document = {"machine": machine(options.build, options.load), "measurements": measurements.read_lines(options.lines)}
    with open(options.output, "w", encoding="utf-8") as file:
        # One measurement per line: a results file is committed, and its diffs are read.
        file.write('{"machine": ' + json.dumps(document["machine"], indent=1) + ',\n"measurements": [\n')
        file.write(",\n".join(json.dumps(m) for m in document["measurements"]))
        file.write("\n]}\n")
    for name, value in document["machine"].items():
        print(f"{name:>14}  {value}")


if __name__ == "__main__":
    main()
