"""A runner whose draft writes levels ahead, on a model of random weights (tests/bindings/tiny_model.py).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidbeam

FOLDER = os.environ.get("SIDBEAM_MODEL", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="SIDBEAM_MODEL is not set: the library was built without the runner")

HISTORY = [17, 25, 33, 20, 30, 39]
LEVELS, BEAMS = 3, 5


@pytest.fixture
def index() -> sidbeam.Index:
    return sidbeam.Index.build(np.random.default_rng(1).integers(0, 8, (60, LEVELS)), codes=8)


@pytest.fixture
def shallow(tmp_path: Path) -> sidbeam.Model:
    """The model without its second layer."""
    folder = shutil.copytree(FOLDER, tmp_path / "shallow")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}))
    return sidbeam.Model.open(folder)


def make(index: sidbeam.Index, **options: Any) -> sidbeam.Runner:
    vocabulary = sidbeam.Vocabulary([16, 24, 32])
    return sidbeam.Runner(sidbeam.Model.open(FOLDER), index, **{"beams": BEAMS, "vocabulary": vocabulary, **options})


def test_a_draft_changes_rounds_alone(index: sidbeam.Index, shallow: sidbeam.Model) -> None:
    with make(index) as alone:
        plain = alone.run(HISTORY)
        assert (plain.rounds, plain.drafted_levels, plain.accepted_levels, plain.draft_us) == (0, 0, 0, 0)
        assert (alone.stats().rounds, alone.stats().round_levels, alone.stats().nodes) == (0, 0, 0)
    for draft, always_right in ((sidbeam.Model.open(FOLDER), True), (shallow, False)):
        for draft_beams in (0, BEAMS + 3):
            with make(index, draft=draft, draft_beams=draft_beams, speculate=sidbeam.Speculate.STRICT) as runner:
                got = runner.run(HISTORY)
                for result in (got, runner.submit(HISTORY).result()):
                    for name in ("sids", "scores", "ordinals"):
                        assert getattr(result, name).tobytes() == getattr(plain, name).tobytes()
                    assert (result.rounds, result.accepted_levels) == (got.rounds, got.accepted_levels)
                assert got.rounds >= 1 and got.rounds + got.accepted_levels == LEVELS
                assert got.accepted_levels <= got.drafted_levels and 0 <= got.draft_us <= got.run_us
                if always_right:
                    assert (got.rounds, got.drafted_levels, got.accepted_levels) == (1, 2, 2)


def test_rounds_are_counted(index: sidbeam.Index, shallow: sidbeam.Model) -> None:
    with make(index, draft=shallow, draft_beams=BEAMS + 3) as runner:
        shallow.close()  # the runner holds it
        results = [runner.run(HISTORY), runner.run([20, 30, 39])]
        stats = runner.stats()
    for name in ("rounds", "drafted_levels", "accepted_levels"):
        assert getattr(stats, name) == sum(getattr(result, name) for result in results), name
    assert 0 < stats.accepted_levels < stats.drafted_levels
    assert stats.round_levels == 2 * LEVELS and stats.round_levels - stats.rounds == stats.accepted_levels
    assert stats.nodes > stats.rounds and stats.draft_us >= sum(result.draft_us for result in results)


def test_drafts_that_make_no_sense_are_refused(index: sidbeam.Index, shallow: sidbeam.Model) -> None:
    closed = sidbeam.Model.open(FOLDER)
    closed.close()
    for options, error, message in [
        ({"draft_beams": BEAMS - 1}, sidbeam.InvalidArgument, "draft_beams is 4, expected at least 5, config.beams"),
        ({"draft": None, "draft_beams": 6}, sidbeam.InvalidArgument, "expected a model, since config.draft_beams is 6"),
        ({"speculate": "relaxed"}, sidbeam.Unsupported, "runners have no relaxed rounds"),
        ({"speculate": sidbeam.Speculate.RELAXED}, sidbeam.Unsupported, "runners have no relaxed rounds"),
        ({"speculate": "loose"}, sidbeam.InvalidArgument, "Speculate is 'loose', expected one of 'strict', 'relaxed'"),
        ({"adjust": print}, sidbeam.InvalidArgument, "adjust is given, expected NULL beside config.draft"),
        ({"draft": 3}, sidbeam.InvalidArgument, "draft is int, expected a Model"),
        ({"draft": closed}, sidbeam.BadState, "model is closed"),
    ]:
        with pytest.raises(error, match=message):
            make(index, **{"draft": shallow, **options})
