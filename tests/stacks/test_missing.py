"""Where a stack is not installed, its module says what to install. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module, absent, message",
    [
        ("torch", "torch", "sidbeam.torch needs PyTorch: pip install torch"),
        ("transformers", "transformers", 'sidbeam.transformers needs both: pip install torch "transformers>=5"'),
        ("jax", "jax", "sidbeam.jax needs JAX: pip install jax"),
    ],
)
def test_says_what_to_install(module: str, absent: str, message: str) -> None:
    program = f"import sys, sidbeam; sys.modules[{absent!r}] = None; import sidbeam.{module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f"ImportError: {message}" in done.stderr


def test_package_imports_none() -> None:
    program = "import sys, sidbeam; print(sorted({'torch', 'transformers', 'jax'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "[]"
