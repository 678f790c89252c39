#!/usr/bin/env python3
"""clang-tidy on the C and C++ files of runtime, bindings and samples, by the compile commands of a built tree.

    python3 tests/tidy.py BUILD         the files of the last commits and a twenty-fourth of the rest: first those whose
                                        headers these commits changed, then a share that goes round with the commit's
                                        hash
    python3 tests/tidy.py BUILD all     all of them

A file that passed is not checked again until it, its includes or the rules change: stamps are in build/tidy.
SIDBEAM_TIDY_COMMITS: how many commits are the last ones (10); SIDBEAM_JOBS: files at a time (cores).
SPDX-License-Identifier: Apache-2.0
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAMPS = ROOT / "build" / "tidy"
FOLDERS = ("runtime", "bindings", "samples")
# jax_ffi.cc wants JAX's headers, and is compiled by the tests of the stacks; native holds what SWIG wrote;
# the absent ones are of builds without the runner.
LEFT_OUT = ("/jax_ffi.cc", "/internal/native/", "/draft_absent.cc", "/run_absent.cc")


def output(*command, **options):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, **options).stdout


def files(*suffixes):
    found = {str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*")
             if path.suffix in suffixes}
    return sorted(name for name in found if not any(part in name for part in LEFT_OUT))


def dependencies(build, sources):
    """{source: the project's files that its compilation read}, as ninja has noted them."""
    found = {source: set() for source in sources}
    for target in output("ninja", "-C", build, "-t", "deps").split("\n\n"):
        lines = (line.strip() for line in target.split("\n")[1:])
        read = {os.path.relpath(os.path.join(build, line), ROOT) for line in lines if line}
        read = {name for name in read if not name.startswith(("..", "build/"))}
        for source in read & found.keys():
            found[source] |= read
    everything = set(files(".h", ".cuh")) | {str(path.relative_to(ROOT)) for path in (ROOT / "include").rglob("*.h")}
    return {source: read or everything | {source} for source, read in found.items()}  # not compiled here: any header


def changed_files():
    """Those of the last commits and of the work tree, with a number that the commit gives; None without a
    repository."""
    try:
        last = os.environ.get("SIDBEAM_TIDY_COMMITS", "10")
        names = output("git", "log", f"--max-count={last}", "--no-merges", "--format=", "--name-only")
        names += output("git", "diff", "--name-only", "HEAD")
        names += output("git", "ls-files", "--others", "--exclude-standard")
        return set(names.split("\n")), int(output("git", "rev-parse", "HEAD"), 16)
    except (OSError, subprocess.CalledProcessError):
        return None


def share(sources, read):
    """The sources that changed, and a twenty-fourth of the rest."""
    changes = changed_files()
    if changes is None:
        return sources
    changed, turn = changes
    rank = {source: 0 if source in changed else 1 if read[source] & changed else 2 for source in sources}
    begin = turn % len(sources)
    order = sorted(sources[begin:] + sources[:begin], key=rank.get)  # stable
    count = sum(place == 0 for place in rank.values())
    return order[:count + (len(sources) - count + 23) // 24]


def write_commands(build):
    """The build's compile commands without precompiled headers: clang cannot read g++'s, and this way a file passes
    only if it includes what it needs."""
    commands = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
    for command in commands:
        words = shlex.split(command.pop("command"))
        headers = {i + k for i, word in enumerate(words[:-1]) if word == "-include" and "cmake_pch" in words[i + 1]
                   for k in (0, 1)}
        command["arguments"] = [word for i, word in enumerate(words)
                                if i not in headers and word not in ("-Winvalid-pch", "-fpch-preprocess")]
    (STAMPS / "compile_commands.json").write_text(json.dumps(commands))


def stamp(source, read):
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for name in sorted(read[source]):
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return STAMPS / hashlib.sha256(source.encode() + digest.digest()).hexdigest()[:32]


def passes(source, mark):
    command = ["clang-tidy", "--quiet", "-p", str(STAMPS), "--extra-arg=-Wno-unknown-warning-option", source]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if result.returncode == 0:
        mark.touch()
        return True
    print(result.stdout + result.stderr, flush=True)
    return False


def main():
    build, everything = os.path.abspath(sys.argv[1]), sys.argv[2:] == ["all"]
    STAMPS.mkdir(parents=True, exist_ok=True)
    write_commands(build)
    sources = files(".c", ".cc")
    read = dependencies(build, sources)
    chosen = sources if everything else share(sources, read)
    marks = {source: stamp(source, read) for source in chosen}
    todo = [source for source in chosen if not marks[source].exists()]
    print(f"{len(chosen)} of {len(sources)} files, {len(chosen) - len(todo)} of them known to be well", flush=True)
    jobs = int(os.environ.get("SIDBEAM_JOBS") or os.cpu_count())
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        wrong = [source for source, well in zip(todo, pool.map(lambda s: passes(s, marks[s]), todo)) if not well]
    if wrong:
        sys.exit("clang-tidy has findings in " + ", ".join(wrong))


main()
