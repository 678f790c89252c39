#!/usr/bin/env python3
"""Fails where a line of a tracked source is wider than 120 columns, or has a carriage return; names file:line of each.

    python3 tests/line_width.py

Not checked: data, generated files, and in Markdown the rows of tables and lines of a single word (a link, say).
SPDX-License-Identifier: Apache-2.0"""
import pathlib
import subprocess
import sys

LIMIT = 120
SUFFIXES = set(".c .cc .cmake .cu .cuh .fbs .go .h .i .inc .java .map .md .py .pyi .sh .toml .txt".split())
SCRIPTS = {"tests/bench/compare", ".ci/run"}
GENERATED = "bindings/go/internal/native/native"


def is_checked(path):
    return (pathlib.Path(path).suffix in SUFFIXES or path in SCRIPTS) and not path.startswith(GENERATED)


def cannot_be_broken(line):
    words = line.split()
    return line.startswith("|") or len(words) == 1 or len(words) == 2 and words[0] in "-*>"


def sources():
    """What git tracks; without a repository, every file except what was built."""
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode == 0:
        return listed.stdout.split("\0")
    return [str(path) for path in pathlib.Path(".").rglob("*") if path.is_file() and path.parts[0] != "build"]


wrong = 0
for path in sources():
    if not is_checked(path):
        continue
    for number, line in enumerate(pathlib.Path(path).read_bytes().decode().split("\n"), 1):
        if len(line) > LIMIT and not (path.endswith(".md") and cannot_be_broken(line)):
            print(f"{path}:{number}: {len(line)} columns, expected at most {LIMIT}")
            wrong += 1
        if "\r" in line:
            print(f"{path}:{number}: a carriage return")
            wrong += 1
sys.exit(wrong > 0)
