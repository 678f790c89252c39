"""The samples run and say what C says. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[3] / "samples"


def test_minimal() -> None:
    done = subprocess.run([sys.executable, SAMPLES / "minimal.py"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("item 2  score -7.215\nitem 1  score -8.215\n", "")
