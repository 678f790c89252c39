"""From the prose of the headers' comments to reStructuredText.

A comment is paragraphs, lists ("- "), definitions (a term, two spaces, text in a column of its own) and, where it is
indented otherwise, text that keeps its lines: programs and tables. Names of the C ABI become links, so that one that
does not exist is an error of the build. SPDX-License-Identifier: Apache-2.0
"""
import re

# A function, struct or constant by its whole name; not a family of them (sidbeam_disc_*), a library or a file.
NAME = re.compile(r"(?<![\w./-])(sidbeam_\w*[a-z0-9]|SIDBEAM_\w*[A-Z0-9])(\(\))?(?![\w*]|\.so|\.[ch]\b)")
# What looks like a name: the pattern of the entries of a table, variables of the environment.
NO_NAMES = {"sidbeam_x", "SIDBEAM_CUDA_LIBRARY", "SIDBEAM_RUNNER_CUDA_LIBRARY"}
HEADER = re.compile(r"(?<![\w./])(\w+)\.h\b")
MARKUP = re.compile(r"([\\*`|_])")
TERM = re.compile(r"( +)(\S(?:.{0,38}?\S)?)  +(\S.*)")


def inline(text, names, headers):
    """A line's text, escaped, with links to the names and headers that there are."""
    out, at = [], 0
    matches = sorted([*NAME.finditer(text), *HEADER.finditer(text)], key=lambda match: match.start())
    for match in matches:
        if match[1] in NO_NAMES or (match.re is HEADER and match[1] not in headers):
            continue
        out.append(escaped(text[at:match.start()]))
        if match.re is HEADER:
            role = f":doc:`{match[0]}`"
        else:
            role = f":c:{'func' if match[2] else names.get(match[1], 'type')}:`{match[1]}`"
        out.append(f"\\ {role}\\ ")
        at = match.end()
    return "".join(out) + escaped(text[at:])


def escaped(text):
    """Text of which Sphinx takes nothing for markup, except what is `code`."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(f"\\ ``{part}``\\ " if i % 2 else MARKUP.sub(r"\\\1", part) for i, part in enumerate(parts))


def indent_of(line):
    return len(line) - len(line.lstrip(" "))


def runs(lines):
    """(kind, lines) of what belongs together: "text", "list" or "block" (indented)."""
    found = []
    for line in lines:
        if not line.strip():
            if found:
                found[-1][1].append("")
            continue
        inside = found and found[-1][0] == "list" and indent_of(line) > indent_of(found[-1][1][0])
        kind = "list" if inside or line.lstrip().startswith("- ") else "block" if line.startswith("  ") else "text"
        if not found or found[-1][0] != kind or (kind == "text" and not found[-1][1][-1]):
            found.append((kind, []))
        found[-1][1].append(line)
    return [(kind, strip_end(lines)) for kind, lines in found]


def strip_end(lines):
    while lines and not lines[-1]:
        lines.pop()
    return lines


def definitions(lines):
    """[(term, text)] if the lines are that, else None."""
    found, column = [], None
    for line in lines:
        match = TERM.fullmatch(line)
        if match and (column is None or match.start(3) == column) and not re.search(r"[;{=]", match[2]):
            column = match.start(3)
            found.append([match[2], [match[3]]])
        elif found and line and indent_of(line) == column:
            found[-1][1].append(line.strip())
        else:
            return None
    return [(term, " ".join(text)) for term, text in found]


def bullets(lines):
    """The texts of a list's entries."""
    found, margin = [], indent_of(lines[0])
    for line in lines:
        if indent_of(line) == margin and line.lstrip().startswith("- "):
            found.append([])
        found[-1].append(line.strip().removeprefix("- ") if len(found[-1]) == 0 else line.strip())
    return [" ".join(entry) for entry in found]


def to_rst(text, names=(), headers=()):
    """`names`: the role that each name of the ABI has; `headers`: their names without ".h"."""
    names = dict(names)
    out = []
    for kind, lines in runs(text.split("\n")):
        if kind == "text":
            out += [inline(" ".join(lines), names, headers), ""]
        elif kind == "list":
            out += [f"- {inline(entry, names, headers)}" for entry in bullets(lines)] + [""]
        elif (entries := definitions(lines)) is not None:
            for term, meaning in entries:
                out += [f"``{term}``", f"   {inline(meaning, names, headers)}"]
            out.append("")
        else:
            margin = min(indent_of(line) for line in lines if line)
            out += ["::", ""] + [f"   {line[margin:]}" if line else "" for line in lines] + [""]
    return "\n".join(out)
