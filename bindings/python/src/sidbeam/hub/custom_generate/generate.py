"""What ``generate(custom_generate=FOLDER, trust_remote_code=True)`` runs: README.md beside this folder says how.

SPDX-License-Identifier: Apache-2.0
"""

from sidbeam._transformers_hub import generate

__all__ = ["generate"]
