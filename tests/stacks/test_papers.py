"""The program of the papers' tables (tests/bench/papers) on a made-up catalogue: models are trained, every table is
measured, and what must hold of any model holds.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import pathlib
import sys

import numpy as np
import pytest
import torch

PAPERS = pathlib.Path(__file__).resolve().parents[1] / "bench/papers"
sys.path.insert(0, str(PAPERS))

import paths  # noqa: F401  before those that it finds
import data
import evaluate
import measurements
import models
import papers_cases
import plot
import readme
import table_cold
import table_draws
import tables
import world
from export import load
from train import Recipe
from walks import Transitions

CODES, BEAMS = 8, 10
TINY = {"hidden": 16, "heads": 2, "ffn": 24}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return papers_cases.write(tmp_path_factory.mktemp("data"), CODES)


@pytest.fixture(scope="module")
def folder(index: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made, dataset = tmp_path_factory.mktemp("models"), data.read(index, CODES)
    recipe = Recipe(epochs=2, batch=32, rate=1e-2, warmup=2)
    for name in models.SETTINGS:
        for seed in (1, 2) if name in models.SEVERAL_SEEDS else (1,):
            models.make(dataset, made, name, seed, recipe, **TINY)
    return made


@pytest.fixture(scope="module")
def found(index: pathlib.Path, folder: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """The measurements of all tables."""
    lines = tmp_path_factory.mktemp("lines") / "lines"
    before = sys.argv
    sys.argv = ["tables.py", str(index), "--models", str(folder), "--json", str(lines), "--codes", str(CODES),
                "--beams", str(BEAMS), "--timed", "2"]
    try:
        tables.main()
    finally:
        sys.argv = before
    return measurements.read_lines(lines)


def values(found: list[dict], table: str, name: str, unit: str, **case: object) -> list[float]:
    """Medians of the measurements that fit."""
    return [m["median"] for m in found if (m["table"], m["name"], m["unit"]) == (table, name, unit)
            and all(m["case"].get(key) == value for key, value in case.items())]


def test_every_table_is_there_and_every_share_is_one(found: list[dict]) -> None:
    assert {m["table"] for m in found} == {*tables.TABLES, "same_sids"}
    shares = [m["median"] for m in found if m["unit"].startswith("share")]
    assert len(shares) > 100 and all(0 <= share <= 1 for share in shares)
    assert {m["case"]["data"] for m in found} == {"X"}


def test_cpp_returns_the_sids_of_pytorch(found: list[dict]) -> None:
    for given in ("logits", "hidden states"):
        for unit in ("queries of other SIDs", "queries in another order"):
            assert values(found, "same_sids", f"same {given}", unit) == [0, 0]
        assert values(found, "same_sids", f"same {given}", "queries") == [40, 40]


def test_verified_results_exist(found: list[dict]) -> None:
    for name in models.SETTINGS:
        for verification in ("hash", "trie"):
            valid = values(found, "nezha", name, "share valid of those given", verification=verification)
            assert valid and set(valid) == {1.0}
        assert set(values(found, "nezha", name, "share valid", verification="trie")) == {1.0}
        assert max(values(found, "nezha", name, "share valid", verification="none")) < 1.0


def test_the_runner_finds_what_pytorch_finds(index: pathlib.Path, folder: pathlib.Path, found: list[dict]) -> None:
    """Hits of the search code by code, which the table has from the runner, against PyTorch's own."""
    dataset = data.read(index, CODES)
    decoder = load(folder / "X/code_by_code-1", dataset)
    figure = evaluate.evaluate(dataset, Transitions(dataset), decoder, BEAMS)["decoder"]
    assert values(found, "nezha", "code_by_code", "share H@10", verification="trie") == [pytest.approx(figure.recall)]
    assert values(found, "nezha", "code_by_code", "share N@10", verification="trie") == [pytest.approx(figure.ndcg)]


def test_prompts_are_those_of_pytorch(index: pathlib.Path, folder: pathlib.Path) -> None:
    dataset = data.read(index, CODES)
    history = next(query.history for query in dataset.test if len(query.history) > 3)
    for name, placeholders in (("code_by_code", False), ("nezha", True)):
        decoder = load(folder / f"X/{name}-1", dataset)
        expected = decoder.prompt(torch.tensor([history]))
        if placeholders:
            expected = torch.cat([expected, decoder.alone(decoder.placeholders()[None])], 1)
        made = world.tokens_of(decoder.shape, dataset.sids, history, placeholders)
        np.testing.assert_array_equal(made, expected[0].numpy())


def test_the_runner_with_the_head_finds_what_the_other_tables_have_of_the_decoder(
        index: pathlib.Path, folder: pathlib.Path) -> None:
    here = world.open_world(str(index), str(folder), "", CODES, 20, BEAMS, 1)
    drafter = world.drafter_of(here, here.first("nezha"))
    prompts = [world.tokens_of(drafter.decoder.shape, here.dataset.sids, query.history) for query in here.dataset.test]
    for verification, strategy in (("trie", "trie"), ("hash", "hash_final")):
        with world.runner_of(here, drafter.of, drafter.decoder, BEAMS, strategy, head=drafter.head) as runner:
            for prompt, expected in zip(prompts, world.draft(here, drafter, BEAMS, verification), strict=True):
                assert runner.run(prompt).ordinals.tolist() == expected[expected >= 0].tolist()


def test_times_add_up(found: list[dict]) -> None:
    for name in ("code by code", "NEZHA, trie", "NEZHA, hash"):
        for part in ("prefill", "decode", "total"):
            assert len(values(found, "nezha_time", name, "us", part=part)) == 3
        assert min(values(found, "nezha_time", name, "us", part="prefill")) > 0


def test_the_newest_are_those_that_training_lacks(index: pathlib.Path) -> None:
    dataset = data.read(index, CODES)
    order, unseen = table_cold.by_age(dataset)
    seen = {item for query in dataset.train for item in query.history}
    appeared = seen | {item for query in dataset.train + dataset.test for item in [*query.history, query.target]}
    assert set(order[:unseen]) == appeared - seen >= set(range(60 - papers_cases.UNSEEN, 60))
    assert sorted(order) == sorted(appeared)
    assert len(table_cold.newest(dataset, 5)) == 3 and len(table_cold.newest(dataset, 50)) == 0


def test_an_index_of_the_newest_finds_them_alone(found: list[dict]) -> None:
    newest = {"newest %": 5}  # three; no query has the one that 2 % are
    assert values(found, "cold_start", "random of the newest", "share R@1") == [pytest.approx(1 / 3)]
    assert values(found, "cold_start", "newest alone", "share R@10", **newest) == [1.0, 1.0]
    assert max(values(found, "cold_start", "whole catalogue", "share R@10", **newest)) < 1.0
    assert values(found, "cold_start", "cold queries", "queries", **newest)[0] > 0


def test_what_draws_are_made_of_is_the_decoder(index: pathlib.Path, folder: pathlib.Path) -> None:
    """logits_of() goes through the head from its beginning for each level; decode() goes on from the level before."""
    here = world.open_world(str(index), str(folder), "", CODES, 4, BEAMS, 1)
    drafter = world.drafter_of(here, here.first("nezha"))
    logits = table_draws.logits_of(drafter, drafter.hidden)
    codes = np.random.default_rng(3).integers(0, CODES, (4, 5, 2))
    with torch.no_grad():
        expected, state = drafter.decoder.write_first(drafter.hidden)
        np.testing.assert_allclose(logits(codes[..., :0]), expected.expand(-1, 5, -1), atol=1e-6)
        for level in (1, 2):
            parents = torch.arange(5).expand(4, -1) * (level > 1)
            expected, state = drafter.decoder.decode(torch.from_numpy(codes[..., level - 1]), parents, state)
            np.testing.assert_allclose(logits(codes[..., :level]), expected, atol=1e-6)


def test_draws_are_counted(found: list[dict]) -> None:
    for rounds in (1, 2, 3, 4):
        used = values(found, "disc_recall", "DISC", "draws per query", K=rounds)[0]
        run = values(found, "disc_recall", "DISC", "draws run per query", K=rounds)[0]
        assert 10 <= used <= run


def test_nothing_is_lost_by_the_exact_search_nor_where_no_code_is_left_out(
        index: pathlib.Path, folder: pathlib.Path, found: list[dict]) -> None:
    assert set(values(found, "lost_items", "exact", "share lost")) == {0.0}
    lost = values(found, "lost_items", "top 2M before the mask", "share lost")
    assert lost[1:] == [0.0, 0.0, 0.0]  # 2M >= 8 codes
    assert max(values(found, "lost_items", "filtered afterwards", "share lost")) > 0
    assert values(found, "lost_items", "exact", "share R@10", M=5)[0] < 1.0  # lists that are short of ten are no hits
    here = world.open_world(str(index), str(folder), "", CODES, None, BEAMS, 1)
    drafter = world.drafter_of(here, here.first("nezha"))
    np.testing.assert_array_equal(world.search(here, drafter, BEAMS)[0], world.draft(here, drafter, BEAMS, "trie"))


def test_every_table_is_rendered_and_drawn(found: list[dict], tmp_path: pathlib.Path) -> None:
    text = readme.text_of(found)
    assert [line.strip("`") for line in text.splitlines() if line.startswith("`")] == list(readme.TABLES)
    wins = values(found, "recall", "interpolated", "wins", seed=2)[0]
    assert f"| {wins:.0f}, " in next(line for line in text.splitlines() if line.startswith("| X, seed 2 "))
    named = [{**m, "case": {**m["case"], "data": "Industrial_and_Scientific"}} for m in found]
    figures = {figure.file for figure in plot.FIGURES if figure.file.startswith("papers_")}
    assert {pathlib.Path(path).stem for path in plot.draw_all(named, tmp_path)} == figures


def test_a_table_that_nobody_has_is_refused(index: pathlib.Path, capsys: pytest.CaptureFixture[str],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["--models", "m", "--json", "l", "--tables", "recall,heat"]
    monkeypatch.setattr(sys, "argv", ["tables.py", str(index), *arguments])
    with pytest.raises(SystemExit):
        tables.main()
    assert "--tables: expected some of recall" in capsys.readouterr().err
