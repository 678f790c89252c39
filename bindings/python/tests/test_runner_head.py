"""A runner whose model carries a draft head, on a model of random weights (tests/bindings/tiny_model.py): the head's
biases alone decide, so that NumPy knows what comes out.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidbeam
from sidbeam import draft

FOLDER = os.environ.get("SIDBEAM_MODEL", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="SIDBEAM_MODEL is not set: the library was built without the runner")

HISTORY, PLACEHOLDERS = [17, 25, 33, 20, 30, 39], [40, 41, 42]
LEVELS, CODES, BEAMS = 3, 8, 5


@pytest.fixture
def index() -> sidbeam.Index:
    sids = np.random.default_rng(1).integers(0, CODES, (60, LEVELS))
    return sidbeam.Index.build(sids, codes=CODES, kinds="trie|hash", codebook="books")


@pytest.fixture
def biases() -> np.ndarray:
    return np.random.default_rng(2).standard_normal((LEVELS, CODES)).astype(np.float32)


def write(path: Path, biases: np.ndarray, hidden: int = 0, codebook: str = "") -> sidbeam.DraftHead:
    weights = np.zeros((CODES, hidden or sidbeam.Model.open(FOLDER).info.hidden), np.float32)
    draft.write(path, heads=[(weights, bias) for bias in biases], input="hidden", transition="none", codebook=codebook)
    return sidbeam.DraftHead.open(path)


@pytest.fixture
def head(tmp_path: Path, biases: np.ndarray) -> sidbeam.DraftHead:
    return write(tmp_path / "head.sdraft", biases)


def make(index: sidbeam.Index, head: Any, **options: Any) -> sidbeam.Runner:
    settings = {"beams": BEAMS, "head": head, "placeholders": PLACEHOLDERS, **options}
    return sidbeam.Runner(sidbeam.Model.open(FOLDER), index, **settings)


def test_the_head_decides(index: sidbeam.Index, head: sidbeam.DraftHead, biases: np.ndarray) -> None:
    log_probs = biases - np.log(np.exp(biases).sum(1, keepdims=True))
    live: list[Any] = [(0.0, ())]
    valid = np.unique(np.random.default_rng(1).integers(0, CODES, (60, LEVELS)), axis=0)
    for level in range(LEVELS):
        prefixes = {tuple(sid[: level + 1]) for sid in valid.tolist()}
        found = [(score + log_probs[level][code], (*sid, code)) for score, sid in live for code in range(CODES)]
        live = sorted((beam for beam in found if beam[1] in prefixes), key=lambda beam: -beam[0])[:BEAMS]
    with make(index, head) as runner:
        head.close()  # the runner holds it
        for result in (runner.run(HISTORY), runner.submit([30], beams=0).result()):
            assert [tuple(sid) for sid in result.sids.tolist()] == [sid for _, sid in live]
            np.testing.assert_allclose(result.scores, [score for score, _ in live], atol=1e-5)
            assert (result.ordinals >= 0).all() and result.rounds == 0


def test_hash_verification_finds_items_alone(index: sidbeam.Index, head: sidbeam.DraftHead) -> None:
    states = np.zeros((1, LEVELS + 1, sidbeam.Model.open(FOLDER).info.hidden), np.float32)  # which do not matter
    found = []
    for top_k in (1, CODES):
        decoder = sidbeam.DraftDecoder(head, index, beams=40, verification="hash", top_k=top_k)
        drafts = decoder.run(states)
        with make(index, head, strategy="hash_final", top_k=top_k, beams=40) as runner:
            result = runner.run(HISTORY)
        live = int(drafts.live[0])
        np.testing.assert_array_equal(result.sids, drafts.sids[0, :live])
        assert result.scores.tobytes() == drafts.scores[0, :live].tobytes()
        assert (result.ordinals >= 0).all()
        found.append(live)
    assert 0 < found[0] < found[1]


def test_adjust_sees_the_codes_of_a_level(index: sidbeam.Index, head: sidbeam.DraftHead) -> None:
    seen = []

    def adjust(level: sidbeam.Level) -> None:
        seen.append(level.logits.shape[1])
        level.logits[:, 3] += 100

    with make(index, head, adjust=adjust, beams=1) as runner:
        assert runner.run(HISTORY).sids[0, 0] == 3
    assert seen == [CODES] * LEVELS


def test_heads_that_make_no_sense_are_refused(
    index: sidbeam.Index, head: sidbeam.DraftHead, biases: np.ndarray, tmp_path: Path
) -> None:
    narrow, films = write(tmp_path / "narrow", biases, hidden=4), write(tmp_path / "films", biases, codebook="films")
    closed = write(tmp_path / "closed", biases)
    closed.close()
    for options, error, message in [
        ({"placeholders": None}, sidbeam.InvalidArgument, "the number of placeholders is 0, expected 3, one per level"),
        (
            {"placeholders": [40, 41]},
            sidbeam.InvalidArgument,
            "the number of placeholders is 2, expected 3, one per level",
        ),
        ({"placeholders": [40, 1000, 42]}, sidbeam.InvalidArgument, r"placeholders\[1\] is 1000, expected 0..63"),
        ({"head": None}, sidbeam.InvalidArgument, "head is None, expected one"),
        ({"head": narrow}, sidbeam.InvalidArgument, "head is for hidden states of 4 elements, expected 16"),
        ({"head": films}, sidbeam.InvalidArgument, "is of codebook 'books', expected 'films', that of the draft head"),
        ({"head": 3}, sidbeam.InvalidArgument, "head is int, expected a DraftHead"),
        ({"head": closed}, sidbeam.BadState, "draft head is closed"),
        ({"draft": sidbeam.Model.open(FOLDER)}, sidbeam.InvalidArgument, "draft is given, expected None beside"),
        ({"top_k": -1}, sidbeam.InvalidArgument, "top_k is -1, expected 0"),
    ]:
        with pytest.raises(error, match=message):
            make(index, **{"head": head, **options})


def test_the_output_path_changes_no_bit(index: sidbeam.Index) -> None:
    vocabulary, found = sidbeam.Vocabulary([16, 24, 32]), []
    for path in sidbeam.HiddenPath:
        with sidbeam.Runner(
            sidbeam.Model.open(FOLDER),
            index,
            beams=BEAMS,
            vocabulary=vocabulary,
            normalization="valid",
            output_path=path,
        ) as runner:
            result = runner.run(HISTORY)
            found.append((result.sids.tobytes(), result.scores.tobytes()))
    assert len(set(found)) == 1 and len(found) == 3
    with pytest.raises(
        sidbeam.Unsupported, match='"children", expected another, since normalization is not "valid"'
    ):
        sidbeam.Runner(sidbeam.Model.open(FOLDER), index, vocabulary=vocabulary, output_path="children")
