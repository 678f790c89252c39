"""The samples run and say what C says. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[3] / "samples"


def test_minimal() -> None:
    done = subprocess.run([sys.executable, SAMPLES / "minimal.py"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("item 2  score -7.215\nitem 1  score -8.215\n", "")


def test_live_catalogue() -> None:
    done = subprocess.run([sys.executable, SAMPLES / "live_catalogue.py"], capture_output=True, text=True)
    said = "given up: generation 1\ncompacted: generation 2, 200,999 items\nrequests went on: True\n"
    assert (done.stdout, done.stderr) == (said, "")


def test_tour() -> None:
    """The notebook is committed without outputs; its cells run in order, and what ends one shows itself."""
    notebook = json.loads((SAMPLES / "tour.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    names: dict[str, object] = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert (cell["outputs"], cell["execution_count"]) == ([], None)
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), cell["id"], "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
            shown.append(getattr(value, "_repr_html_", value.__repr__)())
    shutil.rmtree(names["folder"])  # type: ignore[arg-type]
    assert sum("<table>" in text for text in shown) == 4 and any("exist" in text for text in shown)
