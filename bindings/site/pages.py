"""The READMEs of the repository, and the sources that they link to, as pages of Sphinx.

    python3 pages.py OUTPUT_FOLDER

A README is a page at its own path, README.md of the top the first one. What it links to becomes, where it is
  another README, or a folder with one    that page
  a header of the ABI, or their folder    its page of the C reference
  a text file                             a page that shows it
  anything else: a figure, results        a copy of the file
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import markup

# The navigation: (caption, [what pages begin with, or (title, page)]); a page stands where it is named first.
SECTIONS = (
    ("Guide", [("Python", "bindings/python/README"), ("Java", "bindings/java/README"), ("Go", "bindings/go/README"),
               "bindings/", "samples/", ("The files", "schemas/README"), "schemas/"]),
    ("Reference", [("C", "c/index"), ("Python", "python/index"), ("Java", "java"), ("Go", "go")]),
    ("Measured and tested", [("The benchmark", "tests/bench/README"), "tests/"]),
    ("The project", [""]),
)
SHOWN = {".c": "c", ".cc": "cpp", ".h": "c", ".py": "python", ".java": "java", ".go": "go", ".sh": "sh",
         ".yaml": "yaml", ".yml": "yaml", ".fbs": "text", ".service": "ini", ".toml": "toml", "": "text"}
FILES = "files"  # where copies are, below the site's root


def tracked():
    """What git tracks; without a repository, every file except what was built."""
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [path for path in listed.stdout.split("\0") if path]
    return [str(path) for path in pathlib.Path(".").rglob("*") if path.is_file() and path.parts[0] != "build"]


def page_of_readme(path):
    return "index" if path == "README.md" else path.removesuffix(".md").replace(".github/", "project/")


class Site:
    def __init__(self, output):
        self.output = output
        self.tracked = tracked()
        self.readmes = [path for path in self.tracked if path.endswith(".md")]
        self.folders = {str(folder) for path in self.tracked for folder in pathlib.PurePath(path).parents}
        self.wanted = {}  # page -> source file or folder that it shows
        self.copied = set()

    def target(self, path):
        """(kind, page or file) that stands for a path of the repository."""
        if path in self.readmes:
            return "page", page_of_readme(path)
        if f"{path}/README.md" in self.readmes:
            return "page", page_of_readme(f"{path}/README.md")
        if path == "include/sidbeam":
            return "page", "c/index"
        if path.startswith("include/sidbeam/"):
            return "page", f"c/{pathlib.PurePath(path).name}"
        if path in self.folders or pathlib.PurePath(path).suffix in SHOWN:
            self.wanted[f"source/{path}"] = path
            return "page", f"source/{path}"
        self.copied.add(path)
        return "file", f"{FILES}/{path}"

    def link(self, readme, page, target, image):
        """A link of a README as one between pages."""
        path, hash_sign, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return "page", target
        path = os.path.normpath(os.path.join(os.path.dirname(readme), path))
        if path not in self.tracked and path not in self.folders:
            raise SystemExit(f"{readme}: links to {target}, which is not in the repository")
        here = os.path.dirname(page) or "."
        if image:
            self.copied.add(path)
            return "page", os.path.relpath(f"_extra/{FILES}/{path}", here)
        kind, to = self.target(path)
        return kind, os.path.relpath(to + (".md" if kind == "page" else ""), here) + hash_sign + anchor

    def write(self, page, text):
        file = self.output / f"{page}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def readme(self, path):
        page = page_of_readme(path)
        text = pathlib.Path(path).read_text()
        text = markup.rewrite(text, lambda target, image: self.link(path, page, target, image))
        self.write(page, text + (self.navigation() if page == "index" else ""))

    def navigation(self):
        pages, out = [page_of_readme(path) for path in self.readmes if path != "README.md"], []
        for caption, entries in SECTIONS:
            lines = []
            for entry in entries:
                if isinstance(entry, tuple):
                    lines.append(f"{entry[0]} <{entry[1]}>")
                    pages = [page for page in pages if page != entry[1]]
                else:
                    lines += [page for page in pages if page.startswith(entry)]
                    pages = [page for page in pages if not page.startswith(entry)]
            if lines:
                out.append("\n```{toctree}\n:hidden:\n:caption: %s\n%s\n```\n" % (caption, "\n".join(lines)))
        return "".join(out)

    def source(self, page, path):
        if path in self.folders:
            inside = sorted(file for file in self.tracked if file.startswith(path + "/"))
            body = "".join(f"- `{file.removeprefix(path + '/')}`\n" for file in inside)
        else:
            text = pathlib.Path(path).read_text()
            fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
            body = f"{fence}{SHOWN[pathlib.PurePath(path).suffix]}\n{text}{fence}\n"
        self.write(page, f"---\norphan: true\n---\n# {path}\n\n{body}")

    def build(self):
        for path in self.readmes:
            self.readme(path)
        for header in (path for path in self.tracked if path.startswith("include/sidbeam/")):
            self.wanted[f"source/{header}"] = header
        for page, path in sorted(self.wanted.items()):
            self.source(page, path)
        for path in sorted(self.copied):
            copy = self.output / "_extra" / FILES / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


if __name__ == "__main__":
    Site(pathlib.Path(sys.argv[1])).build()
