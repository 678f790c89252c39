#!/usr/bin/env python3
"""Compiles and runs what a README shows, so that it cannot rot.

    readme.py README.md WORK_FOLDER PREFIX LIBRARY_FOLDER [BUILD_FOLDER]

Every ```c block is compiled as C99 against the library installed under PREFIX, and run from the repository's root, as
all blocks are. A block without a main becomes the body of one, after the headers, `err` and `check` of
samples/minimal.c. With a BUILD_FOLDER in which bindings/*/test.sh have run, ```python, ```java and ```go blocks run
too, the last two as the body of a main, and where tests/install/given has a file for the README's folder and the
language, in the place of its THE_BLOCK: what the README takes for granted stands there. Their argument is the index
that README.md makes. Of the ```sh blocks, those with <!-- run --> on the line before run. A ```text or ```console block
with <!-- output --> on the line before must be, line by line, what the block before it printed; a line of "..." stands
for any lines and a "…" within a line for any characters. What is not run is blocks.py's.
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
JAVA = """import io.sidbeam.*;
import java.nio.FloatBuffer;
import java.nio.file.Path;

public class Readme {{
  public static void main(String[] arguments) {{
{}
  }}
}}
"""
GO = """package main

import (
	"fmt"
	"log"

	"sidbeam.io/sidbeam"
)

func main() {{
{}
}}

func check(err error) {{
	if err != nil {{
		log.Fatal(err)
	}}
}}
"""
ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = {"python": "py", "java": "java", "go": "go"}
INDEX = "build/readme.sidx"
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


def given(readme, language, body, otherwise):
    """The program that a block is part of."""
    folder = "_".join(readme.parent.relative_to(ROOT).parts)
    for path in (ROOT / "tests/install/given").glob(f"{folder}.{SUFFIXES[language]}"):
        return path.read_text().replace("THE_BLOCK", body)
    return otherwise.format(body) if otherwise else body


def run_c(body, where, work, prefix, libraries):
    source, program = work / "snippet.c", work / "snippet"
    source.write_text(body if re.search(r"\bmain\s*\(", body) else MAIN.format(body))
    run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", f"{prefix}/include", source, "-o",
         program, "-L", libraries, "-lsidbeam"], where)
    return run([program.resolve()], where, cwd=ROOT, env={**os.environ, "LD_LIBRARY_PATH": libraries})


def run_python(body, where, work, build, readme):
    source = work / "snippet.py"
    source.write_text(given(readme, "python", body, None))
    package = build / "bindings/python/package"
    return run([ROOT / "build/python/venv/bin/python", "-W", "error", source.resolve(), INDEX], where, cwd=ROOT,
               env={**os.environ, "PYTHONPATH": str(package.resolve()), "PYTHONDONTWRITEBYTECODE": "1"})


def run_java(body, where, work, build, readme):
    source = work / "Readme.java"
    source.write_text(given(readme, "java", body, JAVA))
    return run(["java", "-cp", ROOT / "build/java/sidbeam.jar", source.resolve(), INDEX], where, cwd=ROOT)


def run_go(body, where, work, build, readme):
    module = (work / "go").resolve()
    module.mkdir(exist_ok=True)
    (module / "main.go").write_text(given(readme, "go", body, GO))
    (module / "go.mod").write_text("module readme\n\ngo 1.19\n\nrequire sidbeam.io/sidbeam v0.0.0\n\n"
                                   f"replace sidbeam.io/sidbeam => {ROOT}/bindings/go\n")
    library = next((ROOT / "build/go/prefix").rglob("libsidbeam.so.1")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": f"{library}/pkgconfig", "LD_LIBRARY_PATH": str(library),
                   "GOCACHE": str(ROOT / "build/go/cache"), "GOPROXY": "off", "GOWORK": "off"}
    run(["go", "build", "-o", "program", "."], where, cwd=module, env=environment)
    return run([module / "program", INDEX], where, cwd=ROOT, env=environment)


LANGUAGES = {"python": run_python, "java": run_java, "go": run_go}


def check_output(expected, got, where):
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line).replace("…", ".*") + r"\n"
                      for line in expected.splitlines())
    if not re.fullmatch(pattern, got):
        sys.exit(f"{where}: expected\n{expected}\ngot\n{got}")


def main(readme, work, prefix, libraries, build=None):
    readme, work = pathlib.Path(readme).resolve(), pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    output, count = None, 0
    for line, language, mark, body in blocks(readme.read_text()):
        where = f"{readme.relative_to(ROOT)}:{line}"
        if mark == "output":
            if output is None and not build:
                continue
            if output is None:
                sys.exit(f"{where}: <!-- output --> of a block that was not run")
            check_output(body, output, where)
        elif language == "c":
            output, count = run_c(body, where, work, prefix, libraries), count + 1
        elif build and language in LANGUAGES:
            output = LANGUAGES[language](body, where, work, pathlib.Path(build), readme)
            count += 1
        elif language == "sh" and mark == "run":
            output, count = run(["bash", "-euo", "pipefail", "-c", body], where, cwd=ROOT), count + 1
        else:
            output = None
    print(f"{count} snippets compiled and run")


if __name__ == "__main__":
    main(*sys.argv[1:])
