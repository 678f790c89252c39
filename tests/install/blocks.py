#!/usr/bin/env python3
"""Every code block of every README is run by readme.py, or looked at here, or named in NOT_RUN with the reason.

    python3 tests/install/blocks.py           that is so
    python3 tests/install/blocks.py --run     the READMEs that have blocks for readme.py to run

A ```sh block that is not run is looked at: bash can parse it, what it names of this repository is there, and the
programs of this repository know the options that it gives them. SPDX-License-Identifier: Apache-2.0"""
import pathlib
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
import readme

# What readme.py runs, in tests/run.sh.
RUN = {"README.md": {"c", "python", "java", "go"}, "bindings/python/README.md": {"python"},
       "bindings/java/README.md": {"java"}, "bindings/go/README.md": {"go"}, "schemas/README.md": {"python"}}
# What is neither: a README and how the block begins.
NOT_RUN = {
    ("README.md", "strategy  returned SIDs exist"): "measured by quickstart.sh on the machine that the text names",
    ("tests/gpu/README.md", "us per step (median)"): "measured on a card; tests/bench/test_results.py compares it",
    ("bindings/python/src/sidbeam/hub/README.md", "out = model.generate("):
        "needs transformers; tests/stacks/test_transformers_hub.py makes such calls",
}
# Where the options of a program are: its own text, or the sources of a folder.
PROGRAMS = {"sidbeam": "bindings/cli", "./service": "samples/service-go", "recommend": "samples/recommend",
            "build/java/service.jar": "samples/service-java", "build/release/samples/recommend": "samples/recommend"}
SERVE = "bindings/python/src/sidbeam/serve"  # of the Python package's command
TOP = r"(?:bindings|include|runtime|samples|schemas|tests)/"


def text_of(path):
    path = readme.ROOT / path
    if path.is_file():
        return path.read_text()
    kinds = (".cc", ".h", ".go", ".java", ".py", ".sh")
    files = [file for file in sorted(path.rglob("*")) if file.suffix in kinds]
    return "\n".join(file.read_text() for file in files)


def commands(block):
    """The words of each command, without comments; words that no shell can split give none."""
    for line in block.replace("\\\n", " ").split("\n"):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # a quotation over several lines
            continue
        while words:
            end = next((i for i, word in enumerate(words) if word in ("&&", "|", ";")), len(words))
            yield words[:end]
            words = words[end + 1:]


def program_of(words):
    """(the source of the program that a command runs, its arguments), or None"""
    for i, word in enumerate(words):
        built = re.fullmatch(rf"build/\w+/({TOP}.*)/[^/]+", word)
        if word == "sidbeam" and words[i + 1:i + 2] == ["serve"]:
            return SERVE, words[i + 2:]
        if word in PROGRAMS or word.endswith("/sidbeam"):
            return PROGRAMS.get(word, "bindings/cli"), words[i + 1:]
        if built:
            return built[1], words[i + 1:]
        if re.match(TOP, word) and (readme.ROOT / word).is_file():
            return word, words[i + 1:]
    return None


def looked_at(block):
    """What is wrong with a block of shell commands."""
    parsed = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)
    if parsed.returncode != 0:
        yield parsed.stderr.strip()
    for words in commands(block):
        program = program_of(words)
        for word in words:
            if re.match(TOP, word) and not (readme.ROOT / word).exists() and not is_output(word, words):
                yield f"{word} is not there"
        if program:
            options = [word for word in program[1] if re.match(r"--?[a-z]", word)]
            if "--" in program[1]:
                options = [word for word in options if program[1].index(word) < program[1].index("--")]
            known = text_of(program[0])
            for option in (option.partition("=")[0].lstrip("-") for option in options):
                if not re.search(rf"(?<!\w){re.escape(option)}(?![\w-])", known):
                    yield f"{program[0]} knows no option {option}"


def is_output(word, words):
    return "results/" in word and words.index(word) > 1


def wrong(path, text):
    for line, language, mark, body in readme.blocks(text):
        where = f"{path}:{line}"
        if mark in ("run", "output") or language in RUN.get(path, ()):
            continue
        if language == "sh":
            yield from (f"{where}: {what}" for what in looked_at(body))
        elif not any(path == readme_path and body.startswith(begin) for readme_path, begin in NOT_RUN):
            yield f"{where}: a block of {language or 'no language'} that is neither run nor named in NOT_RUN"


def main():
    listed = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, cwd=readme.ROOT)
    paths = listed.stdout.split() if listed.returncode == 0 else \
        [str(path.relative_to(readme.ROOT)) for path in readme.ROOT.rglob("*.md") if "build" not in path.parts]
    texts = {path: (readme.ROOT / path).read_text() for path in paths}
    found = [what for path, text in texts.items() for what in wrong(path, text)]
    found += [f"NOT_RUN names a block of {path} that is not there: {begin}" for path, begin in NOT_RUN
              if not any(body.startswith(begin) for _, _, _, body in readme.blocks(texts.get(path, "")))]
    count = sum(len(list(readme.blocks(text))) for text in texts.values())
    sys.exit("\n".join(found) or print(f"{count} blocks of {len(texts)} READMEs"))


if __name__ == "__main__":
    if sys.argv[1:] == ["--run"]:
        print(*RUN)
    else:
        main()
