"""The C reference: what Doxygen found in the headers, as pages of Sphinx in the order of the headers.

    python3 headers.py --filter HEADER          the header as Doxygen wants it, on standard output
    python3 headers.py XML_FOLDER OUTPUT_FOLDER

The headers' comments are prose for people who read headers. The filter marks them for Doxygen, one declaration's each,
and Doxygen carries them verbatim. A declaration without a comment of its own belongs to the comment that stands before
its block. What has neither is an error, and so is a parameter of a plain type that the comment does not name.
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

sys.dont_write_bytecode = True
import prose

COMMENT = re.compile(r"/\*.*?\*/", re.S)
HEADERS = pathlib.Path("include/sidbeam")
BESIDE = "<"  # begins the text of a comment that stands behind its declaration
INTRODUCTION = """The headers are the contract. Each page is one of them, in its own order and words; those up to
dlpack.h are of ``libsidbeam``, those from runner.h on of ``libsidbeam_runner``, the last two of ``libsidbeam_import``.
The first one has a whole program and the conventions."""
# In the order of learning.
ORDER = ("sidbeam base runtime builder arrow index filter constraint rows session sampling disc states speculate "
         "catalog api dlpack runner attention draft hidden runner_api import import_api").split()
# Parameters that the conventions of sidbeam.h explain for all functions.
KNOWN = {"err", "out", "stream", "context"}


@dataclass
class Item:
    """A declaration, or a comment that belongs to none."""

    line: int
    kind: str  # of Sphinx's C domain: function, struct, macro ...; "text"
    signature: str = ""
    name: str = ""
    text: str = ""
    members: list = field(default_factory=list)
    parameters: list = field(default_factory=list)  # (type, name)

    beside: bool = False  # the comment stands behind the declaration

    def __post_init__(self):
        self.beside = self.text.startswith(BESIDE)
        self.text = self.text.removeprefix(BESIDE).strip()

    @property
    def initial(self):
        """What there is to say of a struct's _INIT."""
        struct = self.name.removesuffix("_INIT").lower()
        return f"Initial value of {struct}." if self.kind == "macro" and self.name.endswith("_INIT") else ""


def comments(text):
    """(match, "file", "member", "beside" or "free") of every comment."""
    for match in COMMENT.finditer(text):
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        if match.start() == 0:
            yield match, "file"
        elif before:
            yield match, "beside"
        elif re.match(r"\n\s*(\n|#(?!define)|/\*)", text[match.end():]):
            yield match, "free"
        else:
            yield match, "member"


def marked(text):
    """The header with its comments as Doxygen's; line numbers stay."""
    out, at = ["/** \\file */ "], 0
    for match, kind in comments(text):
        body = match[0][2:-2]
        mark = {"member": "/** \\verbatim", "beside": f"/**< \\verbatim{BESIDE}"}.get(kind)
        out += [text[at:match.start()], f"{mark}{body}\\endverbatim */" if mark else match[0]]
        at = match.end()
    return "".join(out) + text[at:]


def plain(comment):
    """A comment's text without what frames it."""
    lines = [re.sub(r"^ *\* ?", "", line).rstrip() for line in comment.split("\n")]
    return "\n".join(line for line in lines if "SPDX-License-Identifier" not in line).strip()


def doc(element):
    return plain("\n".join(element.find("detaileddescription").itertext()).strip("\n"))


def words(element, tag):
    found = element.find(tag)
    return "" if found is None else " ".join("".join(found.itertext()).split())


def signature(member):
    kind = member.get("kind")
    name = words(member, "name")
    if kind == "define":
        parameters = [words(p, "defname") for p in member.findall("param")]
        return f"{name}({', '.join(parameters)})" if parameters else name
    return f"{words(member, 'type')} {name}{words(member, 'argsstring')}".replace("typedef ", "")


def item_of(member):
    kind = {"define": "macro", "typedef": "type", "variable": "member"}.get(member.get("kind"), member.get("kind"))
    item = Item(int(member.find("location").get("line")), kind, signature(member), words(member, "name"), doc(member))
    item.parameters = [(words(p, "type"), words(p, "declname")) for p in member.findall("param")]
    for value in member.findall("enumvalue"):
        name, initial = words(value, "name"), words(value, "initializer")
        item.members.append(Item(0, "enumerator", f"{name} {initial}".strip(), name, doc(value)))
    return item


def struct_of(path):
    compound = ElementTree.parse(path).getroot().find("compounddef")
    name = words(compound, "compoundname")
    item = Item(int(compound.find("location").get("line")), "struct", name, name, doc(compound))
    item.members = [item_of(member) for member in compound.iter("memberdef")]
    return item


def items_of(header, xml):
    """All that a header has, in its order."""
    text = header.read_text()
    compound = ElementTree.parse(xml / f"{header.stem.replace('_', '__')}_8h.xml").getroot()
    structs = {item.name: item for item in
               (struct_of(xml / f"{inner.get('refid')}.xml") for inner in compound.iter("innerclass"))}
    found = list(structs.values())
    for member in compound.iter("memberdef"):
        item = item_of(member)
        if item.kind == "type" and item.name in structs:
            structs[item.name].text = structs[item.name].text or item.text
        elif item.text or not re.fullmatch(r"SIDBEAM_(API|NODISCARD|\w+_H)", item.name):
            found.append(item)
    for match, kind in comments(text):
        if kind == "free":
            found.append(Item(text.count("\n", 0, match.start()) + 1, "text", text=plain(match[0][2:-2])))
    return sorted(found, key=lambda item: item.line)


def groups(items, lines):
    """Lists of items that share the first one's comment. `lines`: of the header, to see where a block ends."""
    found = []
    for item in items:
        last = found[-1] if found else None
        if last and item.kind == last[0].kind and item.kind not in ("text", "enum") and shares(last, item, lines):
            last.append(item)
        else:
            found.append([item])
    return found


def shares(last, item, lines):
    if item.line == last[-1].line and item.text == last[0].text:
        return True
    between = lines[last[-1].line:item.line - 1]
    return not item.text and last[0].text and not last[0].beside and all(line.strip() for line in between)


def complaints(header, introduction, found, texts):
    """What lacks a comment, or a word on a parameter. A comment that begins with "The same" leans on the one before,
    one that names another function with () on that one's, all on the header's first; `texts`: of all functions."""
    before = ""
    for group in found:
        first = group[0]
        ours = first.name.lower().startswith("sidbeam")
        if first.kind in ("function", "macro") and ours and not (first.text or first.initial):
            yield f"{header}:{first.line}: {first.name} has no comment"
        if first.kind != "function":
            continue
        named = [texts.get(name, "") for name in re.findall(r"\b(sidbeam_\w+)\(\)", first.text)]
        text = " ".join([first.text, introduction, *named, before if first.text.startswith("The same") else ""])
        for item in group:
            for kind, name in item.parameters:
                word = rf"\b{name.replace('_', '[_ ]')}s?\b"
                if name not in KNOWN and "sidbeam_" not in kind and not re.search(word, text, re.I):
                    yield f"{header}:{item.line}: {item.name}: the comment does not name the parameter {name}"
        before = text


class Page:
    """A header's, in reStructuredText."""

    def __init__(self, names, headers):
        self.names, self.headers = names, headers
        self.lines = []

    def add(self, text, indent):
        self.lines += [" " * indent + line if line else "" for line in text.split("\n")]

    def prose(self, text, indent=0):
        self.add(prose.to_rst(text, self.names, self.headers), indent)

    def contents(self, found):
        """Links to what the page is looked up for."""
        for title, kind in (("Functions", "function"), ("Structs", "struct"), ("Handles and types", "type")):
            names = [item.name for group in found for item in group if item.kind == kind]
            if names:
                role = self.names[names[0]]
                self.add(f"{title}\n   {', '.join(f':c:{role}:`{name}`' for name in names)}\n", 0)

    def group(self, group, lines, indent=0):
        first = group[0]
        if first.kind == "text":
            self.prose(first.text)
            return
        if first.kind == "enum":
            self.prose(first.text)
        else:
            head = f".. c:{first.kind}:: "
            self.add(head + ("\n" + " " * len(head)).join(item.signature for item in group) + "\n", indent)
            self.prose(first.text or first.initial, indent + 3)
        for inner in groups(first.members, lines):
            self.group(inner, lines, indent if first.kind == "enum" else indent + 3)


def write(path, introduction, groups_of_header, lines, names, headers):
    page = Page(names, headers)
    page.add(f"{path.name}\n{'=' * len(path.name)}\n", 0)
    page.prose(introduction[:1].upper() + introduction[1:])
    page.add(f":doc:`The header itself </source/{path}>`\n", 0)
    page.contents(groups_of_header)
    for group in groups_of_header:
        page.group(group, lines)
    return "\n".join(page.lines) + "\n"


def read(path, xml):
    """(introduction, groups, lines) of a header."""
    text = path.read_text()
    lines = text.split("\n")
    introduction = plain(next(comments(text))[0][0][2:-2]).removeprefix("sidbeam: ")
    return introduction, groups(items_of(path, xml), lines), lines


def roles(read_headers):
    """The role by which Sphinx knows each name."""
    found = {}
    for _, groups_of_header, _ in read_headers:
        for item in (item for group in groups_of_header for item in group):
            for named in (item, *(item.members if item.kind == "enum" else ())):
                found[named.name] = {"function": "func"}.get(named.kind, named.kind)
    return found


def index(headers):
    """The first page: what each header begins with, in their order."""
    lines = ["C reference", "===========", "", INTRODUCTION, ""]
    for path, (introduction, _, _) in headers.items():
        first = re.split(r"(?<=[.;:]) |\n\n", introduction.split("\n\n")[0].replace("\n", " "))[0].rstrip(".;:")
        lines += [f":doc:`{path.name}`", f"   {prose.MARKUP.sub(chr(92) * 2 + chr(92) + '1', first)}", ""]
    return "\n".join([*lines, ".. toctree::", "   :hidden:", "", *(f"   {path.name}" for path in headers)]) + "\n"


def main(xml, output):
    paths = [HEADERS / f"{name}.h" for name in ORDER]
    if set(paths) != set(HEADERS.glob("*.h")):
        sys.exit("headers.py: ORDER names other headers than there are in include/sidbeam")
    headers = {path: read(path, xml) for path in paths}
    texts = {item.name: group[0].text for _, found, _ in headers.values() for group in found for item in group}
    bad = [line for path, (introduction, found, _) in headers.items()
           for line in complaints(path, introduction, found, texts)]
    if bad:
        sys.exit("\n".join(bad))
    names = roles(headers.values())
    output.mkdir(parents=True, exist_ok=True)
    (output / "index.rst").write_text(index(headers))
    for path, parts in headers.items():
        (output / f"{path.name}.rst").write_text(write(path, *parts, names, ORDER))


if __name__ == "__main__":
    if sys.argv[1] == "--filter":
        sys.stdout.write(marked(pathlib.Path(sys.argv[2]).read_text()))
    else:
        main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
