"""How objects show themselves, travel to other processes and hand over their results.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import copy
import dataclasses
import multiprocessing
import os
import pathlib
import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import sidbeam
from conftest import SIDS

NAMES = ["<b>a</b>", "b & c", '"d"']
LOGITS = np.log(np.array([[4, 1, 3, 1], [1, 5, 1, 3]], np.float32) / 10)


@pytest.fixture
def named(tmp_path: pathlib.Path) -> sidbeam.Index:
    return sidbeam.Index.build(SIDS, NAMES, codes=[4, 4], path=tmp_path / "<i>shop.sidx")


def searched(index: sidbeam.Index, slots: int = 1) -> sidbeam.Session:
    """A session of three beams whose SIDs are complete: (0, 1), (0, 3), (2, 2) by falling score."""
    session = sidbeam.Session(index, slots=slots, beams=3, normalization="none")
    session.start()
    session.step(np.broadcast_to(LOGITS[:1], (slots, 1, 4)))
    session.step(np.broadcast_to(LOGITS[1], (slots, 3, 4)))
    return session


class Page(HTMLParser):
    """The text of each cell, and the tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.text, self.widths, self.open = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []  # every element ends

    def handle_starttag(self, tag, attributes) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.widths += map(float, re.findall(r"width:([\d.]+)px", dict(attributes).get("style", "")))

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text.append(data)


TAGS = {"div", "b", "table", "thead", "tbody", "tr", "th", "td", "span", "code"}


def test_texts(named: sidbeam.Index) -> None:
    session = searched(named, slots=2)
    assert repr(named) == f"<sidbeam.Index 3 SIDs of 2 codes, 3 items, trie, {named._opened[0]!r}>"
    assert repr(session) == "<sidbeam.Session slots=2 beams=3 levels=2 on cpu>"
    assert repr(session.beams()) == "Beams(slots=2, beams=3, live=[3, 3], active=[0, 0], level=[2, 2])"
    assert repr(session.items()) == "Items(slots=2, complete=6 of 6 beams, items=6)"
    assert repr(session.items(limit=1)) == "Items(slots=2, complete=6 of 6 beams, items=2, truncated)"
    assert repr(sidbeam.Items()) == "Items(nothing)"
    assert repr(sidbeam.Builder([4])) == "<sidbeam.Builder 1 levels, ids i64>"
    many = sidbeam.Session(named, slots=9, beams=1)
    assert repr(many.beams()).endswith("level=[-1, -1, -1, -1, -1, -1, -1, -1, ..])")
    assert repr(session.tensors()) == "Beams(slots=2, beams=3, on cpu)"


def test_pages(named: sidbeam.Index) -> None:
    session = searched(named)
    index, beams, items = (Page(thing._repr_html_()) for thing in (named, session.beams(), session.items()))
    assert set(index.tags + beams.tags + items.tags) <= TAGS  # nothing of a path or a name became an element
    assert any("<i>shop.sidx" in text for text in index.text)
    assert index.text[-8:] == ["0", "4", "2", "2", "1", "4", "3", "2"] and index.widths == [80, 120]
    assert beams.text[-6:] == ["0", "2", "3 of 3", "0", f"{session.beams().scores[0, 0]:.4g}", "0"]
    assert "(0, 3)" in items.text and items.widths == [120] * 3
    assert "on cpu" in Page(session.tensors()._repr_html_()).text[0]
    named.close()
    assert Page(named._repr_html_()).text == ["<sidbeam.Index closed>"]


def test_long_pages_are_cut() -> None:
    index = sidbeam.Index.build([[i] for i in range(50)])
    session = sidbeam.Session(index, beams=50)
    session.start()
    session.step(np.zeros((1, 50), np.float32))
    page = Page(session.items()._repr_html_())
    assert page.tags.count("tr") == 22 and page.text[-1] == "and 30 more"


def result(constraint, sids, scores, ordinals) -> sidbeam.Result:
    arrays = np.array(sids, np.int32), np.array(scores, np.float32), np.array(ordinals, np.int64)
    return sidbeam.Result(*arrays, 7, 12, 340, 1, 0, 0, 0, 0, constraint=constraint)


def test_results(named: sidbeam.Index) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    found = result(named, [[2, 2], [0, 1]], [-0.5, -1.5], [2, 0])
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == ["item", "score", "sid", "ordinal", "rank"]
    assert frame["item"].tolist() == ['"d"', "<b>a</b>"] and frame["rank"].tolist() == [0, 1]
    assert frame["sid"].tolist() == [(2, 2), (0, 1)] and frame["score"].tolist() == [-0.5, -1.5]
    several = sidbeam.Index.build([(0, 1), (2, 2), (0, 1)], [10, 11, 12], priorities=[1, 0, 2])
    frame = result(several, [[0, 1], [2, 2]], [-1, -2], [0, 1]).to_pandas()
    assert frame["item"].tolist() == [12, 10, 11] and frame["rank"].tolist() == [0, 0, 1]
    twice = result(sidbeam.Index.build([(0, 1), (2, 2)], [7, 7]), [[2, 2], [0, 1]], [-1, -2], [1, 0])
    assert twice.to_pandas()["rank"].tolist() == [0, 1]
    assert twice.to_pandas(distinct=True)["sid"].tolist() == [(2, 2)]
    gone = sidbeam.Index.build([(0, 1)]).constraint  # and nobody holds its index
    without = result(gone, [[0, 1], [3, -1]], [-1, -2], [0, -1]).to_pandas()
    assert list(without.columns) == ["score", "sid", "ordinal", "rank"] and without["sid"].tolist() == [(0, 1), (3,)]
    assert result(named, np.empty((0, 2)), [], []).to_pandas().empty


def test_results_show_themselves(named: sidbeam.Index) -> None:
    found = result(named, [[2, 2], [0, 1]], [-0.5, -1.5], [2, 0])
    assert repr(found) == "Result(request=7, 2 SIDs, best (2, 2) at -0.5, waited 12 us, ran 340 us)"
    page = Page(found._repr_html_())
    assert set(page.tags) <= TAGS and "<b>a</b>" in page.text and "(2, 2)" in page.text
    assert page.widths == [120, pytest.approx(120 * np.exp(-1), abs=0.5)]
    assert repr(result(named, np.empty((0, 2)), [], [])).startswith("Result(request=7, 0 SIDs, waited")
    assert "(0, 1)" in Page(result(named.constraint, [[0, 1]], [-1], [0])._repr_html_()).text


def test_recommendations(named: sidbeam.Index) -> None:
    session = searched(named, slots=2)
    scores = session.beams().scores
    both = session.recommendations()
    assert [[r.item for r in slot] for slot in both] == [["<b>a</b>", "b & c", '"d"']] * 2
    assert [r.score for r in both[1]] == scores[1].tolist() == sorted(scores[1].tolist(), reverse=True)
    assert both[0][1] == ("b & c", scores[0, 1], (0, 3), 1)
    assert session.recommendations(1, limit=2) == [both[1][:2]]
    other = sidbeam.Index.build([(0, 1), (0, 1), (2, 2)], [10, 11, 12], codes=[4, 4])
    session.start([0], constraints=[other])
    session.step(LOGITS[None, :1], slots=[0])
    session.step(np.broadcast_to(LOGITS[1], (1, 3, 4)), slots=[0])
    mixed = session.recommendations([1, 0], limit_per_sid=2)
    assert mixed[0] == both[1] and [(r.item, r.sid) for r in mixed[1]] == [(10, (0, 1)), (11, (0, 1)), (12, (2, 2))]
    assert len(session.recommendations(0, limit_per_sid=1)[0]) == 2
    session.start([0], constraints=[sidbeam.Index.build([(0, 1), (2, 2)], [7, 7], codes=[4, 4])])
    session.step(LOGITS[None, :1], slots=[0])
    session.step(np.broadcast_to(LOGITS[1], (1, 3, 4)), slots=[0])
    assert [len(session.recommendations(0, distinct=d)[0]) for d in (False, True)] == [2, 1]
    session.start(constraints=named.constraint)
    assert session.recommendations() == [[], []]
    session.start(constraints=sidbeam.Index.build([(0, 1)], codes=[4, 4]).constraint)
    with pytest.raises(sidbeam.BadState, match="slot 0 ran under a Constraint whose Index is gone"):
        session.recommendations()
    session.start()
    assert session.recommendations() == [[], []]  # no SID is complete yet


def test_top_k_without_scores(index: sidbeam.Index) -> None:
    constraints, states = sidbeam.ConstraintSet(index), np.zeros(1, np.int64)
    whole = constraints.topk(LOGITS[:1], states, 2)
    codes = np.empty((1, 2), np.int32)
    given = constraints.topk(LOGITS[:1], states, 2, scores=False, next_states=False, out=sidbeam.TopK(codes))
    assert given.codes is codes and given.log_probs is None and given.states is None
    np.testing.assert_array_equal(codes, whole.codes)


def test_an_index_travels_by_its_path(named: sidbeam.Index, tmp_path: pathlib.Path, monkeypatch) -> None:
    again = pickle.loads(pickle.dumps(named))
    assert again is not named and again.info.fingerprint == named.info.fingerprint and again.find((0, 3)) == 1
    monkeypatch.chdir(tmp_path)
    relative = sidbeam.Index.open("<i>shop.sidx", residency="copy", verify="full")
    monkeypatch.chdir(tmp_path.parent)
    other = pickle.loads(pickle.dumps(relative))
    assert other._opened == relative._opened and other.info.verified == sidbeam.Verify.FULL
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # as PyTorch's DataLoader has its workers
        assert pool.apply(len, (named,)) == 3
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot copy Index: share the object itself"):
            copied(named)


def test_an_index_that_cannot_travel(named: sidbeam.Index, index: sidbeam.Index, tmp_path: pathlib.Path) -> None:
    with pytest.raises(TypeError, match="cannot pickle Index: it is in memory alone; build it with path="):
        pickle.dumps(index)
    sent = pickle.dumps(named)
    sidbeam.Index.build([(0, 1)], codes=4, path=tmp_path / "<i>shop.sidx")
    with pytest.raises(sidbeam.BadState, match="has fingerprint .*, expected .*, as when it was pickled"):
        pickle.loads(sent)
    os.unlink(tmp_path / "<i>shop.sidx")
    with pytest.raises(sidbeam.IOFailure, match="shop.sidx"):
        pickle.loads(sent)


ARRAYS = [
    cls
    for cls in map(sidbeam.__dict__.get, sidbeam.__all__)
    if dataclasses.is_dataclass(cls)
    and cls not in (sidbeam.Beams, sidbeam.Result)  # whose words are their own, above
    and any("ndarray" in str(field.type) or field.type == "Any" for field in dataclasses.fields(cls))
]


@pytest.mark.parametrize("cls", ARRAYS, ids=lambda cls: cls.__name__)
def test_arrays_are_shown_in_a_line(cls) -> None:
    """Of every public record that holds arrays: no numbers by the thousand, whatever its fields hold."""
    values = {field.name: np.zeros((30, 40), np.int32) for field in dataclasses.fields(cls)}
    text = repr(cls(**values))
    assert text.startswith(f"{cls.__name__}(") and "\n" not in text and len(text) < 700


def test_few_numbers_are_shown(session: sidbeam.Session) -> None:
    assert repr(sidbeam.TopK(np.array([[3, 1]]))) == "TopK(codes=[[3, 1]])"
    drawn = sidbeam.Sampled(np.zeros(9, np.int32), session.tensors().scores, np.ones(1), None)
    assert repr(drawn) == "Sampled(codes=int32[9], log_probs=float32[1, 2], log_masses=[1.0])"
    assert len(ARRAYS) >= 8  # Items, Samples, TopK, ...
