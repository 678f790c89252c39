"""SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import sidbeam
from emulated import PLUGIN, Device
from oracle import Catalogue
from sidbeam.build import Watched

settings.register_profile("sidbeam", max_examples=150, deadline=None, derandomize=True, database=None)
settings.load_profile("sidbeam")

SIDS = [(0, 1), (0, 3), (2, 2)]


@pytest.fixture
def device() -> Device:
    if PLUGIN is None:
        pytest.skip("SIDBEAM_CUDA_EMULATED does not name the plugin; test.sh does")
    return Device(PLUGIN)


@pytest.fixture
def index() -> sidbeam.Index:
    """The catalogue of samples/minimal.c."""
    return sidbeam.Index.build(SIDS, codes=[4, 4])


@pytest.fixture
def session(index: sidbeam.Index) -> sidbeam.Session:
    session = sidbeam.Session(index, beams=2)
    session.start()
    return session


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Calls that are watched begin their work when this is set, or when they are cancelled: begun sooner, it may be
    over before anybody has looked at it."""
    run, cancel, go_on = Watched._run_beside, Watched.cancel, threading.Event()

    def cancelled(self: Watched) -> None:
        cancel(self)
        go_on.set()

    late = lambda self, call, progress: run(self, lambda: go_on.wait(60) and call(), progress)  # noqa: E731
    monkeypatch.setattr(Watched, "_run_beside", late)
    monkeypatch.setattr(Watched, "cancel", cancelled)
    return go_on


def vocabulary_of(catalogue: Catalogue) -> sidbeam.Vocabulary:
    return sidbeam.Vocabulary(catalogue.offsets, catalogue.maps, catalogue.end_column)


def build(catalogue: Catalogue, **options: object) -> sidbeam.Index:
    return sidbeam.Index.build(catalogue.sids, codes=catalogue.codes, variable_length=catalogue.variable, **options)


@st.composite
def catalogues(draw: st.DrawFn, variable: bool | None = None) -> Catalogue:
    """Small catalogues of every shape: levels, widths, lengths, and places of codes in a row."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = draw(st.integers(1, 4))
    codes = [int(c) for c in rng.integers(1, draw(st.sampled_from([3, 12, 70])) + 1, levels)]
    varies = draw(st.booleans()) if variable is None else variable
    sids = []
    for _ in range(draw(st.integers(1, 80))):
        length = int(rng.integers(1, levels + 1)) if varies else levels
        sids.append(tuple(int(rng.integers(0, codes[l])) for l in range(length)))
    offsets = maps = None
    where = draw(st.sampled_from(["none", "offsets", "maps"]))
    if where != "none":
        offsets = [int(o) for o in rng.integers(0, 20, levels)]
    if where == "maps":
        maps = [
            [int(c) for c in rng.permutation(100)[: codes[l]]] if rng.random() < 0.6 else None for l in range(levels)
        ]
    result = Catalogue(sids, codes, varies, offsets, maps)
    if varies:
        result.end_column = result.width() + int(rng.integers(0, 3))
    return result
