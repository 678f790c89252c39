"""What README.md quotes of a results file, between two marks, so that a program can write it and a test compare it.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib

END = "<!-- end -->"


def quoted(readme, begin):
    """What stands between the marks of README.md's text."""
    return readme.split(begin)[1].split(END)[0].strip()


def put(path, begin, text):
    """Writes `text` between the marks of the file."""
    path = pathlib.Path(path)
    before, rest = path.read_text(encoding="utf-8").split(begin)
    path.write_text(f"{before}{begin}\n\n{text}\n\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
