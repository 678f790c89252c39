"""What the site needs to know of Markdown: links, headings and code, as GitHub reads them.

SPDX-License-Identifier: Apache-2.0
"""
import re

FENCE = re.compile(r"^ *```.*?^ *```[ \t]*$", re.M | re.S)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^][]*\])*)\]\(([^()\s]+)\)")


def outside_code(text):
    """The text with code blanked out, character for character, so that positions hold."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    return CODE.sub(blank, FENCE.sub(blank, text))


def links(text):
    """(position of the target, whether it is an image, target)"""
    for match in LINK.finditer(outside_code(text)):
        yield match.start(3), bool(match[1]), text[match.start(3):match.end(3)]


def rewrite(text, change):
    """The text with its links changed: change(target, image) gives ("page", target), which Sphinx resolves, or ("file",
    address), which is a plain link."""
    out, at = [], 0
    for match in LINK.finditer(outside_code(text)):
        kind, target = change(match[3], bool(match[1]))
        label = text[match.start(2):match.end(2)]
        out += [text[at:match.start()],
                f"{match[1]}[{label}]({target})" if kind == "page" else f'<a href="{target}">{label}</a>']
        at = match.end()
    return "".join(out) + text[at:]


def slug(heading):
    """The anchor of a heading, by GitHub's rule."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(text):
    found = set()
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", FENCE.sub("", text), re.M):
        name, number = slug(heading), 0
        while (name if number == 0 else f"{name}-{number}") in found:
            number += 1
        found.add(name if number == 0 else f"{name}-{number}")
    return found
