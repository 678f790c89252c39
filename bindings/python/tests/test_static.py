"""STATIC's arrays: walked by STATIC's own rules, and equal to the command's. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidbeam
from conftest import build, catalogues
from oracle import Catalogue

NAMES = ("start_mask", "dense_mask", "dense_states", "packed_csr", "csr_indptr", "layer_max_branches")


def children(arrays: sidbeam.StaticArrays, state: int) -> dict[int, int]:
    lo, hi = arrays.csr_indptr[state : state + 2]
    return dict(arrays.packed_csr[lo:hi].tolist())


@given(catalogues(variable=False), st.integers(1, 2))
def test_walks_reach_the_sids_and_no_other(catalogue: Catalogue, dense: int) -> None:
    index = build(catalogue)
    if dense >= len(catalogue.codes):
        with pytest.raises(sidbeam.InvalidArgument, match=f"dense_levels is {dense}, expected 1 or 2, less than"):
            index.static_arrays(dense)
        return
    arrays = index.static_arrays(dense)
    walks = {(int(t),): 1 + int(t) for t in np.flatnonzero(arrays.start_mask)}
    for _ in range(len(catalogue.codes) - 1):
        walks = {(*sid, t): s for sid, state in walks.items() for t, s in children(arrays, state).items()}
    assert sorted(walks) == catalogue.distinct and set(walks.values()) == {0}
    cells = {tuple(c) for c in np.argwhere(arrays.dense_mask).tolist()}
    assert cells == {p for p in catalogue.prefixes if len(p) == dense}
    for cell in cells:
        state = int(arrays.dense_states[cell])
        assert sorted(children(arrays, state)) == catalogue.children(cell)
    padding = arrays.packed_csr[arrays.csr_indptr[-2] :]
    assert (padding == [arrays.vocab_size, 0]).all() and len(padding) == arrays.vocab_size
    most = [
        max(len(catalogue.children(p)) for p in catalogue.prefixes if len(p) == l) for l in range(len(catalogue.codes))
    ]
    assert list(arrays.layer_max_branches) == most


@pytest.mark.skipif("SIDBEAM_CLI" not in os.environ, reason="SIDBEAM_CLI does not name the command; test.sh does")
@pytest.mark.parametrize("dense", [1, 2])
def test_same_as_the_command(tmp_path: Path, dense: int) -> None:
    sids = np.random.default_rng(3).integers(0, 40, (3000, 4))
    index = sidbeam.Index.build(sids, codes=[40, 50, 45, 40], path=tmp_path / "a.sidx")
    command = [os.environ["SIDBEAM_CLI"], "convert", tmp_path / "a.sidx", "--output-dir", tmp_path / "out"]
    subprocess.run([*command, "--dense-levels", str(dense)], check=True, capture_output=True)
    index.verify()
    arrays = index.static_arrays(dense)
    for name in NAMES:
        expected = np.load(tmp_path / "out" / f"{name}.npy")
        got = np.asarray(getattr(arrays, name), expected.dtype)
        assert got.shape == expected.shape and (got == expected).all(), name


def test_only_of_what_was_verified(tmp_path: Path) -> None:
    path = tmp_path / "a.sidx"
    sidbeam.Index.build([(1, 2), (3, 4)], path=path)
    for depth in ("header", "checksums"):
        index = sidbeam.Index.open(path, verify=depth)
        text = f"static_arrays: the index is verified to depth {depth}, expected full: call verify"
        with pytest.raises(sidbeam.BadState, match=text):
            index.static_arrays(1)
        index.verify()
        assert index.static_arrays(1).vocab_size == 5
    assert sidbeam.Index.open(path, verify="full").static_arrays(1).vocab_size == 5


def test_not_of_different_lengths() -> None:
    with pytest.raises(sidbeam.Unsupported, match="SIDs of different lengths"):
        sidbeam.Index.build([(1,), (1, 2)], variable_length=True).static_arrays(1)
