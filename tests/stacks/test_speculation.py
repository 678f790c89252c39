"""tests/bench/speculation on a made-up catalogue, and what it is made of: relaxed rounds by the library's calls against
the law by enumeration, the padded target, the cost model. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import json
import pathlib
import sys

import numpy as np
import pytest
import torch

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"
sys.path[:0] = [str(BENCH / "speculation"), str(BENCH), str(BENCH.parents[1] / "samples/train")]

import accepted
import cost
import data
import drafts
import evaluate
import export
import measurements
import model
import plot
import relaxed
import rounds
import run
import sidbeam
import table
import train_cases
import widen
from test_align_draft import CODES, LEVELS, Table

SIDS = np.unique(np.random.default_rng(5).integers(0, 4, (20, LEVELS)), axis=0)
CHI = 52.6  # 1e-4 of chi-square with 20 degrees of freedom; there are fewer SIDs


def exact(sids, target: Table) -> np.ndarray:
    """Probability of each SID by the target, over valid codes alone."""
    listed, law = [tuple(sid) for sid in sids.tolist()], []
    for sid in listed:
        total = 1.0
        for level in range(LEVELS):
            row = np.exp(target.row(0, sid[:level]))
            total *= row[sid[level]] / sum(row[code] for code in {s[level] for s in listed if s[:level] == sid[:level]})
        law.append(total)
    return np.array(law)


@pytest.mark.parametrize("draft", [None, Table(4, 0.3)], ids=["target alone", "rounds"])
def test_one_relaxed_beam_follows_the_targets_law(draft) -> None:
    """K = N = 1, where without replacement is no approximation; rejections, second rounds and draws all occur."""
    trie, target, requests = evaluate.Trie(SIDS, CODES), Table(3, 0.3), 3000
    found, counts = relaxed.run(trie, target, draft, torch.zeros(requests, 1, dtype=torch.int64), np.arange(requests),
                                relaxed.Setting(1, 1))
    expected = exact(SIDS, target) * requests
    times = np.bincount(found[:, 0], minlength=len(SIDS))
    assert ((times - expected) ** 2 / expected).sum() < CHI
    assert (counts.calls + counts.accepted == LEVELS).all()
    assert set(counts.accepted.tolist()) == ({0} if draft is None else {0, 1, 2})


def test_relaxed_beams_are_different_sids_and_a_perfect_draft_is_accepted() -> None:
    trie, target, histories = evaluate.Trie(SIDS, CODES), Table(3, 0.3), torch.arange(8)[:, None]
    for k, n, depth in ((3, 3, 2), (4, 9, 2), (4, 9, 1), (len(SIDS) + 5, len(SIDS) + 9, 2)):
        found, counts = relaxed.run(trie, target, target, histories, np.arange(8), relaxed.Setting(k, n, depth))
        for row in found:
            live = row[row >= 0]
            assert len(live) == len(set(live.tolist())) == min(k, len(SIDS))
        if k < len(SIDS):
            assert (counts.calls == -(-LEVELS // (depth + 1))).all()
        alone, _ = relaxed.run(trie, target, None, histories, np.arange(8), relaxed.Setting(k, n))
        assert ((alone >= 0).sum(1) == min(k, len(SIDS))).all()


def test_a_widened_target_says_the_same() -> None:
    torch.manual_seed(2)
    decoder = model.Decoder(model.Shape(LEVELS, CODES, "a", 16, 2, 2, 24), 0.0).with_sids(SIDS).eval()
    for weight in decoder.parameters():
        torch.nn.init.normal_(weight, 0.5, 0.3)
    wide = widen.widened(decoder, 4).with_sids(SIDS)
    assert sum(w.numel() for w in wide.parameters()) > 8 * sum(w.numel() for w in decoder.parameters())
    items = torch.tensor([[1, 5, 2], [0, 3, 3]])
    for a, b in zip(decoder(items), wide(items)):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("free", [1.0, 4.0])
def test_the_cost_model_finds_what_times_are_made_of(free: float) -> None:
    costs = {**dict(zip(cost.NAMES, (900.0, 60.0, 11.0, 120.0, 9.0, 0.0))), "free": free}
    works = [cost.Work(calls, rows) for calls, rows in ((3, 3), (3, 21), (3, 41), (1, 1))]
    works += [cost.Work(calls, rows, drafted, wide) for calls, rows, drafted, wide in
              ((1.5, 80, 2.2, 41), (1.8, 43, 2.4, 24), (2.1, 122, 2.1, 61), (1.2, 80, 2.0, 41))]
    times = [cost.predicted(costs, work) for work in works]
    found = cost.fit(works, times)
    assert found["free"] == free
    assert all(found[name] == pytest.approx(costs[name], rel=1e-2, abs=0.5) for name in cost.NAMES)
    assert min(cost.fit(works, times[::-1]).values()) >= 0
    # 2 x (20 - 5) rows more, and a draft of a tenth: what it must save are calls, in which no rows are free any more.
    expected = (11 * 30 + 0.1 * (900 + 60 + 11 * 20)) / (60 - 11 * free)
    assert cost.needed(costs, 0.1, 5, 20, LEVELS) == pytest.approx(expected)
    assert cost.needed({**costs, "call": 0.0}, 0.1, 5, 20, LEVELS) == float("inf")


def test_the_program_and_its_tables(tmp_path: pathlib.Path) -> None:
    index, lines = train_cases.write(tmp_path, CODES), tmp_path / "lines"
    few = ["--epochs", "1", "1", "--align-epochs", "1", "--queries", "16", "--timed", "3", "--turns", "2", "--tiny"]
    run.main([str(index), "--work", str(tmp_path / "work"), "--lines", str(lines), "--codes", str(CODES), *few])
    found = measurements.read_lines(lines)
    assert len(found) == len(lines.read_text().splitlines())  # no case is measured twice
    printed = table.tables(found)
    assert len(printed) == 12 and not any(table.MISSING in line for lines in printed[:2] for line in lines)
    names = {pathlib.Path(path).stem for path in plot.draw_all(found, tmp_path)}
    assert names >= {"speculation_strict", "speculation_relaxed", "speculation_times", "speculation_relaxed_times"}

    # Relaxed rounds are the runner's: of three levels each is gained by a call, or saves one.
    relaxed_ones = {(m["name"], m["case"]["K"], m["case"].get("N"), m["unit"]): m["median"] for m in found
                    if m["table"] == "speculation" and m["case"].get("verify") == "relaxed"
                    and m["case"].get("drafted") != 1}
    for (name, k, n, unit), value in relaxed_ones.items():
        if unit == "accepted levels":
            assert value + relaxed_ones[name, k, n, "target calls"] == pytest.approx(LEVELS), (name, k, n)
    timed = {name for name, _, n, unit in relaxed_ones if n is None and unit == "us" and ", predicted" not in name}
    assert timed == {f"AtSpeed-R, {form}" for form in ("exact", *(f"relaxed, N={n}" for n in ("K", 20, 40, 60)))}
    errors = {m["name"] for m in found if m["table"] == "cost" and m["unit"] == "share"}
    assert errors == {"worst error", *(f"K={k} left out" for k in (1, 3, 5, 10, 20))}

    # The runner counts what PyTorch counts.
    dataset = data.read(index, CODES)
    target = export.load(tmp_path / "work/target", dataset)
    of = {(m["name"], m["unit"], m["case"].get("K"), m["case"].get("N")): m["median"] for m in found
          if m["case"].get("drafted") == 2}
    for name in ("SFT", "AtSpeed-R"):
        draft = export.load(drafts.folder_of(tmp_path / "work", name), dataset)
        for k in (3, 20):
            counted = accepted.measure(dataset, target, draft, k, 40, 2, dataset.test[:16])
            for unit, value in (("accepted levels", counted["accepted_levels"]),
                                ("target calls", counted["target_calls"]), ("target rows", counted["target_rows"])):
                assert of[name, unit, k, 40] == pytest.approx(value, abs=0.01), (name, unit, k)

    # Relaxed rounds too, whose draws are others: 40 queries of each of six cases where not everything is drafted, to
    # within three deviations.
    catalogue, requests = sidbeam.Index.build(dataset.sids, codes=CODES), rounds.prompts(dataset, dataset.test, 64)
    counts = []
    for name in ("SFT", "AtSpeed-R"):
        folder = drafts.folder_of(tmp_path / "work", name)
        for k, n in ((1, 1), (3, 4), (4, 4)):
            with rounds.open_runner(sidbeam.Model.open(tmp_path / "work/target"), sidbeam.Model.open(folder),
                                    catalogue, CODES, k, n, rounds.RELAXED) as runner:
                setup = rounds.Setup(name, {}, k, n, runner, True)
                rounds.count(setup, requests, LEVELS)
            counted = relaxed.measure(dataset, target, export.load(folder, dataset), relaxed.Setting(k, n),
                                      dataset.test)
            counts.append((setup.accepted, counted["accepted_levels"], setup.target_rows, counted["target_rows"]))
    accepted_levels, expected_levels, rows, expected_rows = np.mean(counts, axis=0)
    assert 1 < expected_levels < LEVELS - 1
    assert accepted_levels == pytest.approx(expected_levels, abs=0.15)
    assert rows == pytest.approx(expected_rows, rel=0.1)

    # What is there is not made again.
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("model.safetensors")}
    run.main([str(index), "--work", str(tmp_path / "work"), "--lines", str(lines), "--codes", str(CODES), *few,
              "--only", "train"])
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("model.safetensors")}
    assert len(json.loads(lines.read_text().splitlines()[0])) == 10
