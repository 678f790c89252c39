#!/usr/bin/env python3
"""Copies the headers, with a field added at the end of each struct that has a struct_size: what a later version of this
library looks like to clients of today.

    grow.py INCLUDE_FOLDER OUTPUT_FOLDER

SPDX-License-Identifier: Apache-2.0"""
import pathlib
import re
import sys

source, target = (pathlib.Path(argument) / "sidbeam" for argument in sys.argv[1:3])
target.mkdir(parents=True, exist_ok=True)
grown = 0
for header in sorted(source.glob("*.h")):
    text = header.read_text()
    for name in re.findall(r"^typedef struct (sidbeam_\w+) \{\n  uint32_t struct_size;", text, flags=re.M):
        if name in ("sidbeam_api", "sidbeam_runner_api", "sidbeam_import_api"):  # these grow by functions
            continue
        text = text.replace(f"\n}} {name};", f"\n  int64_t added_later;\n}} {name};", 1)
        grown += 1
    (target / header.name).write_text(text)
print(f"{grown} structs have grown")
sys.exit(0 if grown > 20 else 1)
