"""The Python reference: a page for each module that has public names, and what the docstrings need for Sphinx.

SPDX-License-Identifier: Apache-2.0
"""
import inspect
import operator
import pathlib
import re

from sphinx import addnodes

# Modules of a serving stack; each is imported by itself, with that stack mocked.
STACKS = ("transformers", "torch", "align", "jax", "vllm", "sglang", "serving", "serving_rules")
# What modules have beside that: functions that the package itself lacks, classes that come from elsewhere.
MORE = {"draft": ("write",), "transformers": ("SidTokens",),
        "vllm": ("BeamSearch", "AsyncBeamSearch", "Found", "Worker", "Routes")}
MEMBERS = "   :members:\n   :undoc-members:\n   :inherited-members: object, int, Exception\n"
MOCKED = ["torch", "transformers", "jax", "jaxlib", "vllm", "sglang", "starlette", "fastapi", "uvicorn"]


def title(text):
    return f"{text}\n{'=' * len(text)}\n\n"


def modules(package):
    """{module of the package: its public names, in the order of the source}"""
    found = {}
    for name in package.__all__:
        module = getattr(getattr(package, name), "__module__", None) or ""
        module = module if module.startswith(f"{package.__name__}.") else f"{package.__name__}.enums"
        found.setdefault(module.removeprefix(f"{package.__name__}."), []).append(name)
    for names in found.values():
        names.sort(key=lambda name: source_line(getattr(package, name)))
    return dict(sorted(found.items()))


def source_line(value):
    try:
        return inspect.getsourcelines(value)[1]
    except TypeError:
        return 0


def entry(package, name):
    value = operator.attrgetter(name)(package)
    kind, options = "autofunction" if callable(value) else "autodata", ""
    if inspect.isclass(value) and issubclass(value, BaseException):
        kind = "autoexception"
    elif inspect.isclass(value):
        kind = "autoclass"
        options = MEMBERS
    return f".. {kind}:: {package.__name__}.{name}\n{options}\n"


def write(package, folder):
    folder.mkdir(parents=True, exist_ok=True)
    name = package.__name__
    found = modules(package)
    for module, names in found.items():
        text = title(module.replace("_", " ").capitalize()) + f".. py:currentmodule:: {name}\n\n"
        entries = [entry(package, own) for own in names + [f"{module}.{more}" for more in MORE.get(module, ())]]
        (folder / f"{name}.{module}.rst").write_text(text + "".join(entries))
    for module in STACKS:
        text = title(f"{name}.{module}") + f".. automodule:: {name}.{module}\n   :members:\n\n"
        text += "".join(f".. autoclass:: {name}.{module}.{more}\n   :members:\n   :inherited-members:\n\n"
                        for more in MORE.get(module, ()))
        (folder / f"stack.{module}.rst").write_text(text)
    lines = "".join(f"   {name}.{module}\n" for module in found)
    stacks = "".join(f"   stack.{module}\n" for module in STACKS)
    (folder / "index.rst").write_text(
        title("Python reference") + f".. automodule:: {name}\n   :no-members:\n\n"
        f".. toctree::\n   :caption: The package\n\n{lines}\n.. toctree::\n   :caption: Serving stacks\n\n{stacks}")


def clean(app, what, name, value, options, lines):
    """Without the licence, and with the blank lines and marks that Sphinx wants around lists and programs."""
    text = re.sub(r" ?SPDX-License-Identifier: \S+", "", "\n".join(lines))
    out = [""]
    for line in text.split("\n"):
        before = next((other for other in reversed(out) if other.strip()), "")
        if is_entry(line) and out[-1].strip() and not is_entry(before) and not before.startswith(" "):
            out.append("")
        elif begins_program(line, out[-1], before):
            out += ["::", ""]
        elif line.strip() and not line.startswith(" ") and out[-1].startswith((" ", "- ")) and not is_entry(line):
            out.append("")
        out.append(line)
    lines[:] = out[1:]


def is_entry(line):
    return line.lstrip().startswith("- ")


def begins_program(line, last, before):
    """An indented block under a paragraph, unless it is marked as one or belongs to a list or a directive."""
    return (line.startswith(" ") and not last.strip() and before and not before.startswith((" ", "- ", ".. ", ":"))
            and not before.rstrip().endswith("::"))


def is_annotation(app, domain, node):
    """Whether a name that nothing explains is a type in a signature, which says what it is without a link."""
    while node is not None and not isinstance(node, addnodes.desc_signature):
        node = node.parent
    return True if node is not None else None


def setup(app):
    import sidbeam

    app.connect("builder-inited", lambda app: write(sidbeam, pathlib.Path(app.srcdir) / "python"))
    app.connect("autodoc-process-docstring", clean)
    app.connect("warn-missing-reference", is_annotation)
