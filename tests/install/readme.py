#!/usr/bin/env python3
"""Compiles and runs what a README shows, so that it cannot rot.

    readme.py README.md WORK_FOLDER PREFIX LIBRARY_FOLDER

Every ```c block is compiled as C99 against the library installed under PREFIX, and run from the README's folder; one without a main becomes the
body of one, with the headers, `err` and `check` of samples/minimal.c before it. Of the
```sh blocks those run, from the README's folder, that have <!-- run --> on the line before. A ```text or ```console
block that has <!-- output --> on the line before must be, line by line, what the block before it printed; a line of
"..." stands for any lines and a "…" within a line for any characters.
SPDX-License-Identifier: Apache-2.0"""
import os
import pathlib
import re
import subprocess
import sys

MAIN = """#include <sidbeam/sidbeam.h>
#include <stdio.h>
#include <stdlib.h>

static sidbeam_error err = SIDBEAM_ERROR_INIT;

static void check(sidbeam_status status) {{
  if (status == SIDBEAM_OK) return;
  fprintf(stderr, "%s: %s\\n", sidbeam_status_name(status), err.message);
  exit(1);
}}

int main(void) {{
{}
  return 0;
}}
"""
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ \t]*$", re.M | re.S)


def blocks(text):
    """(line, language, mark of the HTML comment before, body)"""
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip("\n").rsplit("\n", 1)[-1].strip()
        mark = re.fullmatch(r"<!--\s*(\w+)\s*-->", before)
        yield text.count("\n", 0, match.start()) + 1, match[1], mark[1] if mark else "", match[2]


def run(command, where, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{where}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def run_c(body, where, work, prefix, libraries, folder):
    source, program = work / "snippet.c", work / "snippet"
    source.write_text(body if re.search(r"\bmain\s*\(", body) else MAIN.format(body))
    run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", f"{prefix}/include", source, "-o", program,
         "-L", libraries, "-lsidbeam"], where)
    return run([program.resolve()], where, cwd=folder, env={**os.environ, "LD_LIBRARY_PATH": libraries})


def check_output(expected, got, where):
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line).replace("…", ".*") + r"\n"
                      for line in expected.splitlines())
    if not re.fullmatch(pattern, got):
        sys.exit(f"{where}: expected\n{expected}\ngot\n{got}")


def main(readme, work, prefix, libraries):
    readme, work = pathlib.Path(readme).resolve(), pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    output, count = None, 0
    for line, language, mark, body in blocks(readme.read_text()):
        where = f"{readme.name}:{line}"
        if mark == "output":
            if output is None:
                sys.exit(f"{where}: <!-- output --> of a block that was not run")
            check_output(body, output, where)
        elif language == "c":
            output, count = run_c(body, where, work, prefix, libraries, readme.parent), count + 1
        elif language == "sh" and mark == "run":
            output, count = run(["bash", "-euo", "pipefail", "-c", body], where, cwd=readme.parent), count + 1
        else:
            output = None
    print(f"{count} snippets compiled and run")


main(*sys.argv[1:])
