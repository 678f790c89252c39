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
        ({"draft_beams": BEAMS - 1}, sidbeam.InvalidArgument, "draft_beams is 4, expected at least 5, beams"),
        ({"draft": None, "draft_beams": 6}, sidbeam.InvalidArgument, "expected a model, since draft_beams is 6"),
        ({"speculate": "relaxed", "draft_beams": 6}, sidbeam.InvalidArgument, "is 6, expected 5, beams"),
        ({"without_replacement": True}, sidbeam.InvalidArgument, "without_replacement is 1, expected 0"),
        ({"mode": "sample"}, sidbeam.Unsupported, 'mode is "sample"'),
        ({"mode": "stochastic", "speculate": "relaxed"}, sidbeam.InvalidArgument, 'mode is 2, expected "search"'),
        ({"speculate": "loose"}, sidbeam.InvalidArgument, "Speculate is 'loose', expected one of 'strict', 'relaxed'"),
        ({"adjust": print}, sidbeam.InvalidArgument, "adjust is given, expected None beside draft"),
        ({"draft": 3}, sidbeam.InvalidArgument, "draft is int, expected a Model"),
        ({"draft": closed}, sidbeam.BadState, "draft model is closed"),
    ]:
        with pytest.raises(error, match=message):
            make(index, **{"draft": shallow, **options})


DRAWS = [
    {"speculate": "relaxed"},
    {"speculate": sidbeam.Speculate.RELAXED, "without_replacement": True, "draft_beams": BEAMS + 3},
    {"mode": "stochastic"},
]


@pytest.mark.parametrize("options", DRAWS, ids=["with", "without", "stochastic"])
def test_draws_repeat_by_their_seeds(index: sidbeam.Index, shallow: sidbeam.Model, options: dict[str, Any]) -> None:
    """Lanes, batches and the order of requests change nothing."""
    differ = 0
    together = {"lanes": 2, "batch_requests": 3, "wait_us": 1000}
    with make(index, draft=shallow, **options) as alone, make(index, draft=shallow, **together, **options) as lanes:
        futures = [lanes.submit(HISTORY, seed=5, sampling_request=i) for i in range(11, -1, -1)]
        for i, future in zip(range(11, -1, -1), futures):
            got, wanted = future.result(), alone.run(HISTORY, seed=5, sampling_request=i)
            for name in ("sids", "scores", "ordinals"):
                assert getattr(got, name).tobytes() == getattr(wanted, name).tobytes()
            assert got.rounds >= 1 and got.rounds + got.accepted_levels == LEVELS
            if options.get("speculate") == "relaxed":
                assert len(got) == BEAMS
            else:
                assert len(set(got.ordinals.tolist())) == len(got)
            differ += got.sids.tobytes() != alone.run(HISTORY, seed=6, sampling_request=i).sids.tobytes()
    assert differ > 0


@pytest.mark.parametrize("options", DRAWS[:2], ids=["with", "without"])
def test_draws_of_sids_of_variable_length(shallow: sidbeam.Model, options: dict[str, Any]) -> None:
    random = np.random.default_rng(2)
    sids = [random.integers(0, 4, length).tolist() for length in (1, 2, 3) for _ in range(8)]
    index = sidbeam.Index.build(sids, codes=4, variable_length=True)
    vocabulary = sidbeam.Vocabulary([16, 24, 32], end_column=9)
    with make(index, draft=shallow, vocabulary=vocabulary, normalization="valid", **options) as runner:
        lengths = set()
        for seed in range(30):
            result = runner.run(HISTORY, seed=seed)
            found = [[code for code in sid if code >= 0] for sid in result.sids.tolist()]
            assert all(sid in sids for sid in found)
            assert result.rounds + result.accepted_levels <= LEVELS
            if "without_replacement" in options:
                assert len(set(result.ordinals.tolist())) == len(result)
            else:
                assert len(result) == BEAMS
            lengths |= {len(sid) for sid in found}
    assert lengths == {1, 2, 3}


def test_stochastic_beams_are_the_same_with_a_draft(index: sidbeam.Index, shallow: sidbeam.Model) -> None:
    with make(index, mode="stochastic") as plain, make(index, mode="stochastic", draft=shallow) as drafted:
        for seed in range(20):
            wanted, got = plain.run(HISTORY, seed=seed), drafted.run(HISTORY, seed=seed)
            for name in ("sids", "scores", "ordinals"):
                assert getattr(got, name).tobytes() == getattr(wanted, name).tobytes()


def test_seeds_are_of_runners_that_draw(index: sidbeam.Index) -> None:
    with make(index) as runner, pytest.raises(sidbeam.InvalidArgument, match="seed is 5, expected 0"):
        runner.run(HISTORY, seed=5)
