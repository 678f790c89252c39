"""SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import pathlib

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is fetched
os.environ.setdefault("SIDBEAM_JAX_CACHE", str(pathlib.Path(__file__).resolve().parents[2] / "build/stacks/jax"))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # models this small gain nothing from more

import sidbeam
from oracle import Catalogue


def index_of(catalogue: Catalogue, **options: object) -> sidbeam.Index:
    return sidbeam.Index.build(catalogue.sids, codes=catalogue.codes, variable_length=catalogue.variable, **options)


def vocabulary_of(catalogue: Catalogue) -> sidbeam.Vocabulary:
    return sidbeam.Vocabulary(catalogue.offsets, catalogue.maps, catalogue.end_column)
