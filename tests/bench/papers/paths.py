"""Importing this makes modules of samples/train and tests/bench importable. SPDX-License-Identifier: Apache-2.0"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve()
sys.path += [str(HERE.parents[3] / "samples/train"), str(HERE.parents[1])]
