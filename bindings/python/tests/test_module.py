"""What the package says it offers. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import ast
import types
from pathlib import Path

import sidbeam


def test_all_is_spelled_out_and_names_what_is_public() -> None:
    """Type checkers take what `__all__` does not name, or what they would have to run to know, for private."""
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
