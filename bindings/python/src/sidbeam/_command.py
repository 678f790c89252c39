"""The ``sidbeam`` command of the wheel. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import pathlib
import sys
from typing import NoReturn

_PROGRAM = pathlib.Path(__file__).parent / "bin" / "sidbeam"


def main() -> NoReturn:
    """``sidbeam serve`` is Python's; all other commands are those of the program that the wheel has."""
    if sys.argv[1:2] == ["serve"]:
        from .serve import main as serve

        sys.exit(serve(sys.argv[2:]))
    try:
        os.execv(_PROGRAM, ["sidbeam", *sys.argv[1:]])
    except FileNotFoundError:
        print(
            "sidbeam: this package was built without the program, with SIDBEAM_CLI=OFF: it has 'sidbeam serve' alone",
            file=sys.stderr,
        )
        sys.exit(1)
