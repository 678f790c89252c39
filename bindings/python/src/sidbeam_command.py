"""The ``sidbeam`` command of the wheel: ``sidbeam serve`` is Python's, all else the program that the wheel has.

Not in the package: to import that takes longer than most commands. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    if sys.argv[1:2] == ["serve"]:
        from sidbeam.serve import main as serve

        sys.exit(serve(sys.argv[2:]))
    package = importlib.util.find_spec("sidbeam")
    assert package is not None and package.origin is not None
    program = os.path.join(os.path.dirname(package.origin), "bin", "sidbeam")
    if not os.access(program, os.X_OK):
        only = "it has 'sidbeam serve' alone"
        sys.exit(f"sidbeam: this package was built without the program, by SIDBEAM_CLI=OFF: {only}")
    os.execv(program, ["sidbeam", *sys.argv[1:]])
