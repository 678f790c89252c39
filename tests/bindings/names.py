"""The table of names in bindings/README.md: which method of Python, Java and Go calls a function of the C ABI.

    tests/bindings/names.py            fails where the table is wrong
    tests/bindings/names.py --write    adds rows for new functions, with the methods that call them, and orders all rows

A cell has names, `Index.open`, or says in words why there is none. Read from the sources, nothing is built: the headers
say which functions there are, bindings/flat what calls them, and the languages' sources what calls that, directly or by
what is private there. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "bindings/README.md"
LANGUAGES = ("Python", "Java", "Go")
HEADERS = (
    *("base", "runtime", "builder", "arrow", "index", "filter", "catalog", "constraint", "session", "sampling", "disc"),
    *("states", "speculate", "api", "runner", "attention", "draft", "hidden", "runner_api", "import", "import_api"),
)
CLOSES = re.compile(r"_(destroy|release|close)$")  # what a handle of flat/handle.h does when it is closed


def read(path: Path) -> str:
    """A source without its block comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)


def blocks(text: str, head: str) -> Iterator[tuple[re.Match[str], str]]:
    """Definitions that begin as ``head`` says: each goes on to the next one."""
    heads = list(re.finditer(head, text, re.MULTILINE))
    for this, following in itertools.zip_longest(heads, heads[1:]):
        yield this, text[this.start() : following.start() if following else None]


def functions() -> dict[str, str]:
    """The functions of the C ABI, and the header of each, in the order of the headers."""
    declared = r"SIDBEAM_API\b[^;{(]*?\b(sidbeam_\w+)\("
    headers = {path.stem for path in (ROOT / "include/sidbeam").glob("*.h")}
    names = [*HEADERS, *sorted(headers - set(HEADERS))]
    return {c: name for name in names for c in re.findall(declared, read(ROOT / f"include/sidbeam/{name}.h"))}


class Flat:
    """bindings/flat, and what Python's typemaps put over it: which functions of the C ABI a function calls."""

    def __init__(self, c: dict[str, str]) -> None:
        self.c, self.bodies = c, {}
        self.closed = {name for name in c if CLOSES.search(name)}
        for path in sorted((ROOT / "bindings/flat").glob("*.h")):
            self.add(path, r"^static inline [^;{]*?\b(fl(?:at)?_\w+)\(")
        self.add(ROOT / "bindings/python/typemaps.i", r"^static [^;{]*?\b(?:py_)?(\w+)\(")

    def add(self, path: Path, head: str) -> None:
        self.bodies.update((found[1], body) for found, body in blocks(read(path), head))

    def reaches(self, name: str, seen: frozenset[str] = frozenset()) -> set[str]:
        if name in self.c:
            return {name}
        found = set(self.closed) if name in ("flat_close", "flat_free") else set()
        for word in re.findall(r"\b(?:sidbeam|flat|fl)_\w+|(?<=->)\w+", self.bodies.get(name, "")):
            for called in {word, f"sidbeam_{word}"} - seen - {name}:
                if called in self.c or called in self.bodies:
                    found |= self.reaches(called, seen | {name})
        return found


class Sources:
    """What a language defines: its methods by class and name, functions and constructors without a class."""

    call = re.compile(r"(?:(\w*)\.)?\b(\w+)(?:\[[\w.]+\])?\(")  # of what, and the name
    own: tuple[str | None, ...] = ()  # of what are the calls of one's own class

    def __init__(self) -> None:
        self.methods: dict[tuple[str, str], str] = {}
        self.public: set[tuple[str, str]] = set()
        self.bases: dict[str, list[str]] = {}
        self.classes: set[str] = set()
        self.by_name: dict[str, set[tuple[str, str]]] = {}

    def add(self, owner: str, name: str, body: str, public: bool) -> None:
        self.methods[owner, name] = self.methods.get((owner, name), "") + body
        self.classes.update({owner} - {""})
        self.by_name.setdefault(name, set()).add((owner, name))
        if public:
            self.public.add((owner, name))

    def find(self, owner: str, name: str) -> tuple[str, str] | None:
        """A method of a class or of its bases."""
        if (owner, name) in self.methods:
            return owner, name
        return next((found for base in self.bases.get(owner, ()) if (found := self.find(base, name))), None)

    def constructor(self, owner: str) -> tuple[str, str] | None:
        return self.find(owner, owner)

    def named(self, cell: str) -> tuple[str, str] | None:
        """The public method that a cell names, or the constructor of the class."""
        owner, _, name = cell.rpartition(".")
        found = self.find(owner, name) or (None if owner else self.constructor(name))
        return found if found in self.public else None

    def mentions(self, body: str) -> set[str]:
        """The flat functions in a body."""
        return set(re.findall(r"\b(?:flat|sidbeam)_\w+", body))

    def called(self, owner: str, body: str) -> Iterator[tuple[str, str]]:
        """What a body calls, of other objects only what is not public."""
        for of, name in {found.groups() for found in self.call.finditer(body.replace("super().", "super."))}:
            if of in self.own:
                yield from filter(None, [self.find(owner, name)])
            if of == "super":
                yield from filter(None, [self.find(base, name) for base in self.bases.get(owner, ())])
            elif of in self.classes:
                yield from filter(None, [self.find(of, name)])
            elif of is None or name in self.classes:
                yield from filter(None, [self.find("", name), self.constructor(name)])
            else:
                yield from (key for key in self.by_name.get(name, ()) if key not in self.public)

    def flat(self, method: tuple[str, str], depth: int = 5) -> dict[str, int]:
        """The flat functions that a method may call, and how far they are."""
        found: dict[str, int] = {}
        waiting, seen = [(method[0], method)], {method}
        for far in range(depth):
            following = []
            for owner, key in waiting:
                for name in self.mentions(self.methods[key]):
                    found.setdefault(name, far)
                for next_key in set(self.called(owner, self.methods[key])) - seen:
                    seen.add(next_key)
                    following.append((owner if next_key[0] in self.family(owner) else next_key[0], next_key))
            waiting = following
        return found

    def family(self, owner: str) -> set[str]:
        return {owner}.union(*(self.family(base) for base in self.bases.get(owner, ())))


class Python(Sources):
    own = ("self", "cls")

    def __init__(self) -> None:
        super().__init__()
        self.functions: set[str] = set()  # sidbeam.draft.write
        folder = ROOT / "bindings/python/src/sidbeam"
        imports = ast.parse((folder / "__init__.py").read_text()).body
        self.exported = {
            alias.name: node.module for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        for path in sorted(folder.glob("*.py")):
            text, self.module = path.read_text(), path.stem
            self.lines = text.splitlines()
            self.walk(ast.parse(text).body, "")
        shown = set().union(*(self.family(name) for name in self.exported))
        self.public = {key for key in self.public if key[0] in shown or not key[0]}

    def walk(self, nodes: list[ast.stmt], owner: str) -> None:
        for node in nodes:
            body = "\n".join(self.lines[node.lineno - 1 : node.end_lineno])
            if isinstance(node, ast.ClassDef):
                name = node.name if self.exported.get(node.name, self.module) == self.module else f"their {node.name}"
                self.bases[name] = [ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases]
                self.walk(node.body, name)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                shown = not node.name.startswith("_") or node.name.endswith("__")
                at_top = self.exported.get(node.name, "__init__") == self.module
                self.add(owner, node.name, body, shown and (bool(owner) or at_top))
                if shown and not owner:
                    self.functions.add(f"{self.module}.{node.name}")
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):  # _step = _native.session_step
                self.add(owner, node.targets[0].id, body, False)

    def constructor(self, owner: str) -> tuple[str, str] | None:
        return self.find(owner, "__init__") if owner else None

    def named(self, cell: str) -> tuple[str, str] | None:
        if cell in self.functions:
            return "", cell.rpartition(".")[2]
        return super().named(cell) if cell.partition(".")[0] in {*self.exported, "cpu_target"} else None

    def mentions(self, body: str) -> set[str]:
        return set(re.findall(r"\b_native\.(\w+)", body))


class Java(Sources):
    own = (None, "this")
    head = (
        r"^  (?! )(public |private |protected )?(?:static |final |abstract |synchronized |<[^>]*> )*"
        r"(?:[\w<>\[\], .?]+ )?(\w+)\([^;{]*\{"
    )

    def __init__(self) -> None:
        super().__init__()
        for path in sorted((ROOT / "bindings/java/src/main/java/io/sidbeam").glob("*.java")):
            text = read(path)
            self.bases[path.stem] = re.findall(r"^[\w ]*class \w+(?:<[^>]*>)? extends (\w+)", text, re.MULTILINE)
            for head, body in blocks(text, self.head):
                self.add(path.stem, head[2], body.partition("\n  }\n")[0], head[1] == "public ")


class Go(Sources):
    head = r"^func (?:\((\w+) \*?(\w+)(?:\[\w+\])?\) )?(\w+)(?:\[[^\]]*\])?\("

    def __init__(self) -> None:
        super().__init__()
        for path in sorted((ROOT / "bindings/go").glob("*.go")):
            if path.name.endswith("_test.go"):
                continue
            for head, body in blocks(read(path), self.head):
                owner, name = head[2] or "", head[3]
                inside = re.split(r"^}|(?<= })$", body, maxsplit=1, flags=re.MULTILINE)[0]
                if head[1]:  # so that calls of its own class look alike
                    inside = re.sub(rf"\b{head[1]}\.", "self.", inside)
                self.add(owner, name, inside, name[0].isupper() and (owner or name)[0].isupper())

    own = ("self",)

    def mentions(self, body: str) -> set[str]:
        return {name[0].lower() + name[1:] for name in re.findall(r"\bnative\.((?:Flat|Sidbeam)_\w+)", body)}


class Table:
    """The page: rows by function, each with a cell per language."""

    row = re.compile(r"^\| `(sidbeam_\w+)` \|(.*)\|$", re.MULTILINE)
    begins = "<!-- made by tests/bindings/names.py --write -->\n"

    def __init__(self) -> None:
        self.page = PAGE.read_text()
        self.rows = {c: [cell.strip() for cell in cells.split("|")] for c, cells in self.row.findall(self.page)}
        self.order = [c for c, _ in self.row.findall(self.page)]
        self.c = functions()
        self.flat = Flat(self.c)
        self.sources: dict[str, Sources] = dict(zip(LANGUAGES, (Python(), Java(), Go())))

    def reached(self, method: tuple[str, str], language: str) -> dict[str, int]:
        """The functions of the C ABI that a method calls, and through how many others."""
        found: dict[str, int] = {}
        for name, far in self.sources[language].flat(method).items():
            for c in self.flat.reaches(name):
                found[c] = min(far, found.get(c, far))
        return found

    def mistakes(self) -> Iterator[str]:
        for c in self.c:
            if c not in self.rows:
                yield f"{c} has no row: run tests/bindings/names.py --write"
        if self.order != [c for c in self.c if c in self.rows]:
            yield "the rows are not one per function, in the headers' order: run tests/bindings/names.py --write"
        for c, cells in self.rows.items():
            if len(cells) != len(LANGUAGES):
                yield f"{c} has {len(cells)} cells, expected one for each of {', '.join(LANGUAGES)}"
            for language, cell in zip(LANGUAGES, cells):
                yield from self.mistakes_of(c, language, cell)

    def mistakes_of(self, c: str, language: str, cell: str) -> Iterator[str]:
        calling = re.findall(r"`([^`]*)`", cell.partition(" for ")[0]) if cell.startswith("`") else []
        if not calling and not re.fullmatch(r"[a-z].{15,}", cell):
            yield f"{c}: {language} has neither a name in backquotes nor a reason in words, but {cell!r}"
        for name in sorted({*re.findall(r"`([^`_]*\.[^`]*)`", cell), *calling}):
            method = self.sources[language].named(name)
            if method is None:
                yield f"{c}: {language} has no public {name}"
            elif name in calling and c not in self.reached(method, language):
                yield f"{c}: {language}'s {name} does not call it"

    def nearest(self, c: str, language: str) -> str:
        """The public methods that call a function with the least between."""
        sources = self.sources[language]
        reached = {key: self.reached(key, language) for key in sources.public}
        least = min((found[c] for found in reached.values() if c in found), default=0)
        keys = sorted(key for key, found in reached.items() if found.get(c) == least)
        return ", ".join(f"`{'.'.join(filter(None, key))}`" for key in keys) or "?"

    def write(self) -> None:
        text = self.page.partition(self.begins)[0] + self.begins
        for header, names in itertools.groupby(self.c, self.c.__getitem__):
            text += f"\n## {header}.h\n\n| C | {' | '.join(LANGUAGES)} |\n|---|---|---|---|\n"
            for c in names:
                cells = self.rows.get(c) or [self.nearest(c, language) for language in LANGUAGES]
                text += f"| `{c}` | {' | '.join(cells)} |\n"
        PAGE.write_text(text)


def main() -> int:
    table = Table()
    if sys.argv[1:] == ["--write"]:
        table.write()
        table = Table()
    mistakes = list(table.mistakes())
    print("\n".join(f"{PAGE.relative_to(ROOT)}: {mistake}" for mistake in mistakes) or f"{len(table.rows)} rows passed")
    return bool(mistakes)


if __name__ == "__main__":
    sys.exit(main())
