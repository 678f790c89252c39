"""Catalogues by name, as the plugins of serving engines find them. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import json

import numpy as np
import pytest

import sidbeam
from sidbeam import serving

SIDS = np.array([(0, 1), (0, 2), (2, 2)], np.int32)


@pytest.fixture(autouse=True)
def no_names(monkeypatch):
    monkeypatch.setattr(serving, "_registered", {})
    monkeypatch.setattr(serving, "_default", [])
    monkeypatch.delenv(serving.ENVIRONMENT, raising=False)
    serving._read_environment.cache_clear()
    yield
    serving._read_environment.cache_clear()


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "shop.sidx")
    sidbeam.Index.build(SIDS, codes=3, path=name).close()
    return name


@pytest.mark.parametrize("as_file", [False, True])
def test_environment(monkeypatch, tmp_path, path, as_file):
    entries = {
        "shop": {"path": path, "offsets": [10, 20], "begin": 9, "end": 2},
        "mapped": {"path": path, "maps": [[7, 5, 3], None], "default": True},
    }
    text = json.dumps(entries)
    if as_file:
        (tmp_path / "catalogues.json").write_text(text)
        text = str(tmp_path / "catalogues.json")
    monkeypatch.setenv(serving.ENVIRONMENT, text)
    assert [catalogue.name for catalogue in serving.named()] == ["shop", "mapped"]
    shop = serving.find("shop")
    assert (shop.begin, shop.end, shop.levels) == (9, 2, 2)
    assert [shop.tokens(level).tolist() for level in (0, 1)] == [[10, 11, 12], [20, 21, 22]]
    assert shop.codes[1, 20:].tolist() == [0, 1, 2] and (shop.codes[1, :20] == -1).all()
    assert shop.newest.constraints("cpu") is shop.newest.constraints("cpu")
    mapped = serving.choice_of(None)
    assert mapped.catalogue.name == "mapped" and mapped.catalogue.codes[0].tolist() == [-1, -1, -1, 2, -1, 1, -1, 0]
    assert serving.choice_of({"sidbeam": False}) is None
    own = serving.choice_of({"sidbeam": {"index": "shop", "begin": None, "end": 4}, "other": 1})
    assert (own.begin, own.end) == (None, 4)


def test_registered_here_wins(monkeypatch, path):
    monkeypatch.setenv(serving.ENVIRONMENT, json.dumps({"shop": {"path": path, "end": 50}}))
    mine = serving.register("shop", sidbeam.Index.open(path), end=60)
    assert serving.find("shop") is mine and serving.choice_of(None) is None
    other = serving.register("shop", sidbeam.Index.open(path), end=61)
    assert serving.find("shop") is other is not mine


@pytest.mark.parametrize(
    "entry, message",
    [
        ({"offsets": 1}, "SIDBEAM_CATALOGUES: 'shop' has path None, expected that of an index"),
        (
            {"path": "here", "offset": 1},
            "SIDBEAM_CATALOGUES: 'shop' has ['offset'], expected path, offsets, maps, end_column, begin, end",
        ),
    ],
)
def test_wrong_environment(monkeypatch, entry, message):
    monkeypatch.setenv(serving.ENVIRONMENT, json.dumps({"shop": entry}))
    for _ in range(2):  # the second question gets the same answer
        with pytest.raises(sidbeam.InvalidArgument) as error:
            serving.find("shop")
        assert message in str(error.value)


def test_errors_of_files_name_the_environment(monkeypatch, tmp_path, path):
    """An operator reads them in the log of an engine that did not start."""
    damaged = tmp_path / "damaged.sidx"
    damaged.write_bytes(b"no index at all")
    for entry, error, message in [
        ({"path": str(tmp_path / "nowhere")}, sidbeam.IOFailure, "catalogue 'shop': cannot open '"),
        ({"path": str(damaged)}, sidbeam.Corrupt, "catalogue 'shop': "),
        ({"path": path, "offsets": "ten"}, sidbeam.WrongType, "catalogue 'shop': offsets"),
        ({"path": path, "filters": {"cheap": "price<"}}, sidbeam.InvalidArgument, "catalogue 'shop': filter 'cheap': "),
        ({"path": path, "follow": 2}, sidbeam.WrongType, "catalogue 'shop': follow is 2, expected True or False"),
    ]:
        monkeypatch.setenv(serving.ENVIRONMENT, json.dumps({"shop": entry}))
        with pytest.raises(error) as raised:
            serving.find("shop")
        assert raised.value.message.startswith(f"SIDBEAM_CATALOGUES: {message}")
        assert type(raised.value) is error and raised.value.code == error.code


def test_ambiguous_tokens_are_refused():
    index = sidbeam.Index.build(SIDS, codes=3)
    for options, message in [
        ({"vocabulary": sidbeam.Vocabulary(maps=[[4, 5, 4], None])}, "a token stands for several codes of level 0"),
        ({"vocabulary": sidbeam.Vocabulary([0, 8]), "begin": 9}, "begin 9 is the token of a code of level 1"),
        ({"end": 2}, "end 2 is the token of a code of level 0"),
    ]:
        with pytest.raises(sidbeam.InvalidArgument, match=f"catalogue 'shop': {message}"):
            serving.register("shop", index, **options)
    assert serving.named() == []


def test_padded_tokens():
    sids = [(1,), (1, 2), (0, 3)]
    index = sidbeam.Index.build(sids, codes=[2, 4], variable_length=True)
    catalogue = serving.register("short", index, vocabulary=sidbeam.Vocabulary([10, 20], end_column=5))
    assert catalogue.padded_tokens.tolist() == [[10, 11, 5, 10, 10], [20, 21, 22, 23, 5]]


def test_codes_without_a_token(path):
    """-1 in a map: a tokenizer has only the codes that occur."""
    index = sidbeam.Index.build([(0, 1), (2, 2)], codes=[4, 3])
    vocabulary = sidbeam.Vocabulary(maps=[[7, -1, 5, -1], [-1, 8, 9]])
    shop = serving.register("holes", index, vocabulary=vocabulary, begin=3, end=4)
    assert shop.codes.tolist() == [[-1, -1, -1, -1, -1, 2, -1, 0, -1, -1], [-1] * 8 + [1, 2]]
    assert shop.padded_tokens.tolist() == [[7, 7, 5, 7, 7], [8, 8, 9, 8, 8]]
    assert shop.newest.constraints("cpu").bitmask([0]).tolist() == [[1 << 7 | 1 << 5]]
    with pytest.raises(sidbeam.InvalidArgument, match="begin 5 is the token of a code of level 0"):
        serving.register("holes", index, vocabulary=vocabulary, begin=5, end=4)
