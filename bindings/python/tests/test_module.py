"""What the package says it offers. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import ast
import types
from pathlib import Path

import pytest

import sidbeam


def test_all_is_spelled_out_and_names_what_is_public() -> None:
    """Type checkers treat names as private that `__all__` lacks or that they would have to compute."""
    assigned = [
        statement.value
        for statement in ast.parse(Path(sidbeam.__file__).read_text()).body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"
    ]
    public = {
        name
        for name, value in vars(sidbeam).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType) and name != "annotations"
    }
    assert len(assigned) == 1 and ast.literal_eval(assigned[0]) == sorted(public)


@pytest.mark.parametrize("folder, module, needs", [("", "builder", "index"), ("serve", "front", "routes")])
def test_modules_do_not_import_each_other_in_a_circle(folder: str, module: str, needs: str) -> None:
    imports: dict[str, set[str]] = {}
    for path in Path(sidbeam.__file__).parent.joinpath(folder).glob("*.py"):
        if path.stem in ("__init__", "__main__"):  # the package itself, which every module is a part of
            continue
        nodes = ast.walk(ast.parse(path.read_text()))
        found = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1]
        imports[path.stem] = {
            name for node in found for name in ([node.module] if node.module else [alias.name for alias in node.names])
        }
    left = dict(imports)
    while free := {module for module, needed in left.items() if not needed & left.keys()}:
        left = {module: needed for module, needed in left.items() if module not in free}
    assert needs in imports[module] and not left
