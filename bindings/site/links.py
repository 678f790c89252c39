"""Follows every link of the site and of the READMEs; prints those that lead nowhere, and fails if there are any.

    python3 links.py --readmes     of the repository: paths and anchors
    python3 links.py SITE          of the built pages: pages, anchors, images, scripts, styles

Addresses outside are checked for their form alone: nothing here asks a network, and a page may load nothing from one.
SPDX-License-Identifier: Apache-2.0
"""
import html.parser
import os
import pathlib
import re
import sys
import urllib.parse

sys.dont_write_bytecode = True
import markup
import pages

OUTSIDE = re.compile(r"https?://[\w.-]+\.[a-z]{2,}(:\d+)?(/[^\s<>\"]*)?(#\S*)?|mailto:\S+@\S+")
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
STYLE_ADDRESS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = {name: value or "" for name, value in attributes}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        if tag == "link" and "canonical" in attributes.get("rel", ""):
            return
        for name in ("href", "src"):
            if name in attributes:
                self.links.append((self.getpos()[0], attributes[name], LOADED.get(tag) == name))


def style_links(path):
    text = path.read_text(encoding="utf-8")
    for match in STYLE_ADDRESS.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1] or match[2], True


class Site:
    def __init__(self, root):
        self.root = root
        self.files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
        self.pages = {name: Page(root / name) for name in self.files if name.endswith(".html")}

    def wrong(self, name, target, loaded):
        """What is wrong with a link of a file, or None."""
        target = target.strip()
        if target.startswith(("data:", "javascript:")):
            return None
        if re.match(r"([a-z]+:|//)", target):
            if loaded:
                return "loads from a network"
            return None if OUTSIDE.fullmatch(target) else "is no address"
        path, _, anchor = target.partition("#")
        path, anchor = urllib.parse.unquote(path.partition("?")[0]), urllib.parse.unquote(anchor)
        to = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if to not in self.files:
            return "is not in the site"
        if to in self.pages and anchor not in self.pages[to].anchors:
            return "has no such anchor"
        return None

    def broken(self):
        for name in sorted(self.files):
            links = self.pages[name].links if name in self.pages else \
                style_links(self.root / name) if name.endswith(".css") else ()
            for line, target, loaded in links:
                wrong = self.wrong(name, target, loaded)
                if wrong:
                    yield f"{self.root / name}:{line}: {target} {wrong}"


def broken_in_readmes():
    tracked = set(pages.tracked())
    folders = {str(folder) for path in tracked for folder in pathlib.PurePath(path).parents}
    texts = {path: pathlib.Path(path).read_text() for path in tracked if path.endswith(".md")}
    anchors = {path: markup.anchors(text) for path, text in texts.items()}
    for readme, text in sorted(texts.items()):
        for position, _, target in markup.links(text):
            where = f"{readme}:{text.count(chr(10), 0, position) + 1}: {target}"
            if re.match(r"[a-z]+:", target):
                if not OUTSIDE.fullmatch(target):
                    yield f"{where} is no address"
                continue
            path, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(readme), path)) if path else readme
            if to not in tracked and to not in folders:
                yield f"{where} is not in the repository"
            elif anchor and anchor not in anchors.get(to, ()):
                yield f"{where} has no such anchor"


if __name__ == "__main__":
    found = list(broken_in_readmes() if sys.argv[1] == "--readmes" else Site(pathlib.Path(sys.argv[1])).broken())
    sys.exit("\n".join(found) or 0)
