#!/usr/bin/env python3
"""Prints the lists of abi_v1.c from the headers: fields with offset and size, constants, entries of the table.

    python3 tests/abi/freeze.py > new.inc && mv new.inc tests/abi/abi_v1.inc
    python3 tests/abi/freeze.py runner > new.inc && mv new.inc tests/abi/runner_v1.inc
    python3 tests/abi/freeze.py import > new.inc && mv new.inc tests/abi/import_v1.inc

For use when something has been added. The difference must then be additions only: once a version has been published, a
line that changes or goes is a new ABI version. A struct keeps the size that it had first, which callers may still have.
SPDX-License-Identifier: Apache-2.0"""
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
LIBRARY = sys.argv[1] if len(sys.argv) > 1 else ""
RECORD = pathlib.Path(__file__).with_name(f"{LIBRARY or 'abi'}_v1.inc")
HEADERS = {"runner": ["attention", "runner", "draft", "hidden", "runner_api"],
           "import": ["import", "import_api"],
           "": ["base", "runtime", "index", "builder", "arrow", "filter", "catalog", "constraint", "rows", "sampling",
                "session", "disc", "states", "speculate", "api"]}[LIBRARY]
OF = {"runner": " of the runner", "import": " of the importers", "": ""}[LIBRARY]


def check_headers():
    """A header that is missing from the list would not be frozen."""
    listed = set(re.findall(r'#include "(\w+)\.h"', (INCLUDE / "sidbeam" / "sidbeam.h").read_text()))
    if LIBRARY == "" and listed != set(HEADERS):
        sys.exit(f"sidbeam.h and HEADERS differ in {sorted(listed ^ set(HEADERS))}")


def declarations():
    text = "\n".join((INCLUDE / "sidbeam" / f"{name}.h").read_text() for name in HEADERS)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def structs(text):
    for name, body in re.findall(r"typedef struct (sidbeam_\w+) \{(.*?)\} \1;", text, flags=re.S):
        body = re.sub(r"\(\*(\w+)\)\s*\([^;]*\);", r"\1;", body)  # function pointers: the name is what counts
        fields = []
        for declaration in body.split(";"):
            for part in declaration.split(","):
                match = re.search(r"(\w+)\s*(?:\[\w+\])?\s*$", part.strip())
                if match:
                    fields.append(match.group(1))
        yield name, fields


def constants(text):
    for body in re.findall(r"enum \{(.*?)\}", text, flags=re.S):
        yield from re.findall(r"(SIDBEAM_\w+) =", body)


def measured(text):
    """The lists, with the numbers that the C compiler gives."""
    lines = []
    known = RECORD.read_text() if RECORD.exists() else ""
    first_bytes = dict(re.findall(r"STRUCT\((\w+), (\d+)\)", known))
    for name, fields in structs(text):
        if name in ("sidbeam_api", "sidbeam_runner_api", "sidbeam_import_api"):
            lines += [f'printf("ENTRY(%zu, {field})\\n", offsetof({name}, {field}) / sizeof(void*));'
                      for field in fields if field != "struct_size"]
            continue
        bytes_ = f"(size_t){first_bytes[name]}" if name in first_bytes else f"sizeof({name})"
        lines.append(f'printf("STRUCT({name}, %zu)\\n", {bytes_});')
        lines += [f'printf("FIELD({name}, {field}, %zu, %zu)\\n", offsetof({name}, {field}), '
                  f'sizeof((({name}*)0)->{field}));'
                  for field in fields]
    lines += [f'printf("CONSTANT({name}, %d)\\n", {name});' for name in constants(text)]
    includes = "".join(f"#include <sidbeam/{name}.h>\n" for name in HEADERS)
    program = includes + "#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        binary = f"{folder}/freeze"
        subprocess.run(["cc", "-x", "c", "-I", INCLUDE, "-o", binary, "-"], input=program, text=True, check=True)
        return subprocess.run([binary], capture_output=True, text=True, check=True).stdout


check_headers()
print(f"// ABI version 1{OF}, as freeze.py wrote it. "
      "SPDX-License-Identifier: Apache-2.0")
print(measured(declarations()), end="")
