"""samples/train's drafts: how speculation counts, against a loop over lists that shares nothing with it, and that what
align.py learns raises the levels that a target accepts. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples/train"
sys.path.insert(0, str(SAMPLES))

import accepted
import align as sample
import data
import evaluate
import export
import model
import train
import train_cases
from sidbeam import align as losses

CODES, LEVELS = 8, 3


class Table:
    """A decoder whose logits after a prefix are drawn from a hash of it: any two have nothing in common but `share`."""

    def __init__(self, seed: int, share: float):
        self.seed, self.share = seed, share

    def row(self, history: int, prefix: tuple[int, ...]) -> np.ndarray:
        common, own = (np.random.default_rng([seed, history, len(prefix), *prefix]).normal(size=CODES) * 2
                       for seed in (1, self.seed))
        return self.share * common + (1 - self.share) * own

    def rows(self, histories, paths):
        rows = [[self.row(h, tuple(p)) for p in of] for h, of in zip(histories.tolist(), paths.tolist())]
        return torch.tensor(np.array(rows)), (histories, paths)

    def prefill(self, histories):
        return self.rows(histories[:, 0], torch.zeros(len(histories), 1, 0, dtype=torch.int64))

    def decode(self, codes, parents, state):
        histories, paths = state
        paths = paths.gather(1, parents[..., None].expand(-1, -1, paths.shape[2]))
        return self.rows(histories, torch.cat([paths, codes[..., None]], -1))


def steps(sids, table: Table, history: int, begin, width: int, levels: int):
    """Beams [(score, prefix)] after each level more."""
    grown, beams = [], begin
    for _ in range(levels):
        found = []
        for score, prefix in beams:
            row = table.row(history, prefix)
            row = row - np.log(np.exp(row).sum())
            children = {sid[len(prefix)] for sid in sids if sid[: len(prefix)] == prefix}
            found += [(score + row[code], (*prefix, code)) for code in children]
        beams = sorted(found, reverse=True)[:width]
        grown.append(beams)
    return grown


def counted(sids, target: Table, draft: Table, history: int, k: int, n: int, depth: int) -> tuple[int, int, int, int]:
    """Calls of the target, accepted and drafted levels, rows of the target."""
    calls = took = drafted = level = rows = 0
    beams = [(0.0, ())]
    while level < LEVELS:
        drafts = steps(sids, draft, history, beams, n, min(depth, LEVELS - 1 - level))
        drafted, calls = drafted + len(drafts), calls + 1
        rows += sum(map(len, [beams, *drafts]))
        for of_draft in [*drafts, []]:
            level, (beams,) = level + 1, steps(sids, target, history, beams, k, 1)
            if not {prefix for _, prefix in beams} <= {prefix for _, prefix in of_draft}:
                break
            took += 1
    return calls, took, drafted, rows


@pytest.mark.parametrize("share, items", [(0.0, 90), (0.6, 90), (0.9, 90), (1.0, 90), (0.6, 12)])
def test_speculation_counts_what_a_loop_counts(share: float, items: int) -> None:
    """With 12 items there are fewer prefixes than beams."""
    sids = np.unique(np.random.default_rng(2).integers(0, CODES, (items, LEVELS)), axis=0)
    trie, listed = evaluate.Trie(sids, CODES), [tuple(sid) for sid in sids.tolist()]
    target, draft, histories = Table(3, share), Table(4, share), torch.arange(12)[:, None]
    for k, n, depth in ((1, 1, 2), (3, 6, 1), (3, 6, 2), (5, 5, 2), (40, 60, 2)):
        found = accepted.speculate(trie, target, draft, histories, k, n, depth)
        expected = [counted(listed, target, draft, history, k, n, depth) for history in range(12)]
        together = torch.stack([found.calls, found.accepted, found.drafted, found.nodes], 1).tolist()
        assert together == [list(row) for row in expected], (k, n, depth)
        assert (found.calls + found.accepted == LEVELS).all()
        if share == 1:
            assert (found.calls == -(-LEVELS // (depth + 1))).all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Data, a target, and a smaller draft that has learnt for an epoch at a small rate, next to nothing."""
    made = tmp_path_factory.mktemp("aligned")
    dataset = data.read(train_cases.write(made, CODES), CODES)
    large, small = model.Shape(LEVELS, CODES, "a", 16, 2, 2, 24), model.Shape(LEVELS, CODES, "a", 8, 1, 2, 12)
    recipe = train.Recipe(epochs=12, batch=16, warmup=10, average=0.95, rate=1e-2, dropout=0.05, smoothing=0.01)
    export.save(train.train(dataset, large, recipe, 3), made / "target")
    export.save(train.train(dataset, small, train.Recipe(epochs=1, batch=16, rate=1e-3), 4), made / "draft")
    return made


def accepted_levels(dataset: data.Dataset, target, draft) -> float:
    return accepted.measure(dataset, target, draft, 3, 6, 2, dataset.test)["accepted_levels"]


@pytest.mark.parametrize("loss", sample.LOSSES)
def test_alignment_raises_what_is_accepted(folder: pathlib.Path, loss: str) -> None:
    dataset = data.read(folder / "X.index.json", CODES)
    target, before = export.load(folder / "target", dataset), export.load(folder / "draft", dataset)
    alpha = 1 if loss in ("s", "r") else 0.5  # these two without the recommendation loss, which would do it alone
    how = sample.How(loss, sids=6, columns=6, alpha=alpha, epochs=3, batch=16, rate=1e-2)
    lines: list[float] = []
    after = sample.align(dataset, sample.lessons_of(dataset, target, how, 1), export.load(folder / "draft", dataset),
                         how, 1, lambda line: lines.append(float(line.split()[-1])))
    assert lines[-1] < lines[0]
    found = [accepted_levels(dataset, target, draft) for draft in (before, after.eval())]
    assert found[1] > found[0] + 0.2


def test_options_are_those_of_the_losses() -> None:
    """Each ablation is the loss without its option; K rows, then that of the item that was taken."""
    random = np.random.default_rng(3)
    draft, target = torch.from_numpy(random.normal(size=(2, 4, 6, LEVELS, CODES)))
    tokens, valid = torch.from_numpy(random.integers(0, CODES, (4, 6, LEVELS))), torch.ones(4, 6, LEVELS, CODES) > 0
    valid[..., ::3] = False
    valid.scatter_(-1, tokens[..., None], True)
    taken = losses.seq_kd(draft[:, 5:], tokens[:, 5:])
    best, among = (draft[:, :5], target[:, :5]), {"valid": valid[:, :5], "top_k": 4}
    kth = losses.kth_log_probs(target[:, :5], tokens[:, :5], valid[:, :5])
    released = {"form": "released", **among}
    expected = {
        ("s",): losses.atspeed_s(*best, **released),
        ("s", ("form", "equation")): losses.atspeed_s(*best, kth, **among),
        ("s", ("density", False)): losses.atspeed_s(*best, density=False, **released),
        ("s", ("constrained", False)): losses.atspeed_s(*best, form="released", top_k=4),
        ("r",): losses.atspeed_r(*best, **among),
        ("r", ("constrained", False)): losses.atspeed_r(*best, top_k=4),
        ("seq",): losses.seq_kd(draft[:, :5], tokens[:, :5]),
        ("word",): losses.word_kd(draft[:, 5:], target[:, 5:]),
        ("tvd",): losses.tvd_kd(draft[:, 5:], target[:, 5:]),
    }
    assert len({round(loss.item(), 9) for loss in expected.values()}) == len(expected)
    for (name, *changed), loss in expected.items():
        how = sample.How(name, sids=5, columns=4, alpha=0.3, **dict(changed))
        found = sample.loss_of(how, draft, target, tokens, valid, kth)
        assert found.item() == pytest.approx(0.3 * loss.item() + 0.7 * taken.item(), rel=1e-6), (name, changed)
    assert sample.loss_of(sample.How("sft"), draft, target, tokens, valid, None).item() == taken.item()


def test_a_loss_sees_the_sids_that_it_asks_for() -> None:
    rows = torch.arange(5)
    for name, top_k, expected in [("sft", True, [4]), ("word", True, [4]), ("tvd", False, [4]), ("r", False, [0, 4]),
                                  ("s", True, [0, 1, 2, 3, 4]), ("seq", True, [0, 1, 2, 3, 4])]:
        assert rows[sample.rows_of(sample.How(name, top_k=top_k))].tolist() == expected


def test_lessons_are_what_the_target_says(folder: pathlib.Path) -> None:
    """Its best SIDs and its logits along them; the worst of them for AtSpeed-S; and those of a mixture."""
    dataset = data.read(folder / "X.index.json", CODES)
    target, draft = export.load(folder / "target", dataset), export.load(folder / "draft", dataset)
    trie, sids, how = evaluate.Trie(dataset.sids, CODES), torch.from_numpy(dataset.sids), sample.How(sids=5, walks=0)
    lessons = sample.lessons_of(dataset, target, how, 1)
    members = np.array([i for i, query in enumerate(lessons.queries) if len(query.history) == 3][:4])
    histories = torch.tensor([lessons.queries[i].history for i in members])
    some, codes = lessons.codes(sids, members, slice(None))
    assert torch.equal(some[:, :5], evaluate.search(trie, 5, target, histories, None, 1.0))
    assert some[:, 5].tolist() == [lessons.queries[i].target for i in members]
    with torch.no_grad():
        logits = sample.along(target, histories, codes)
    assert torch.allclose(lessons.logits[torch.from_numpy(members)].float(), logits, atol=1e-2)
    valid = sample.valid_columns(trie, some[:, :5])
    worst = logits[:, 4].masked_fill(~valid[:, 4], -torch.inf).log_softmax(-1)
    expected = worst.gather(-1, codes[:, 4, :, None])[..., 0]
    how = sample.How(sids=5, walks=0, form="equation")
    assert torch.allclose(sample.kth_of(how, lessons, trie, sids, members)[:, 0], expected, atol=2e-2)
    for other in (sample.How("r"), sample.How("s"), sample.How("s", form="equation", density=False)):
        assert sample.kth_of(other, lessons, trie, sids, members) is None

    mixture = sample.Mixture(target, draft, 0.3)
    shares = [torch.softmax(decoder.prefill(histories)[0], -1) for decoder in (target, draft)]
    assert torch.allclose(mixture.prefill(histories)[0].exp(), 0.3 * shares[0] + 0.7 * shares[1], atol=1e-6)
    mixed = sample.lessons_of(dataset, target, sample.How(sids=5, walks=0, mixed=0.3), 1, draft)
    assert torch.equal(mixed.numbers[members, :5], evaluate.search(trie, 5, mixture, histories, None, 1.0))


def test_unseen_prompts_end_with_what_was_taken(folder: pathlib.Path) -> None:
    dataset = data.read(folder / "X.index.json", CODES)
    last = {query.user: query for query in dataset.train}
    found = accepted.unseen(dataset)
    assert len(found) == len(last) < len(dataset.train)
    assert all(query.history == [*last[query.user].history, last[query.user].target] for query in found)


def test_valid_columns_are_those_of_the_library(folder: pathlib.Path) -> None:
    import sidbeam

    dataset = data.read(folder / "X.index.json", CODES)
    constraints = sidbeam.ConstraintSet(sidbeam.Index.build(dataset.sids, codes=CODES))
    numbers = torch.tensor([[3, 14, -1], [59, 0, 7]])
    codes = torch.from_numpy(dataset.sids)[numbers].masked_fill((numbers < 0)[..., None], -1)
    found = sample.valid_columns(evaluate.Trie(dataset.sids, CODES), numbers)
    assert torch.equal(found, losses.valid_tokens(constraints, codes))
    assert found[0, 0].any() and not found[0, 2].any()


def test_the_commands(folder: pathlib.Path) -> None:
    """A draft is aligned, written, read by the other command, and the same seed gives the same file."""
    index, common = folder / "X.index.json", ["--codes", str(CODES), "--target", str(folder / "target")]
    for run in "12":
        subprocess.run([sys.executable, SAMPLES / "align.py", index, *common, "--draft", folder / "draft", "--out",
                        folder / run, "--loss", "r", "--no-top-k", "--sids", "4", "--epochs", "1"], check=True)
    files = [(folder / run / "model.safetensors").read_bytes() for run in ("1", "2", "draft")]
    assert files[0] == files[1] != files[2]
    printed = subprocess.run([sys.executable, SAMPLES / "accepted.py", index, *common, "--draft", folder / "1",
                              "--beams", "1,9", "--draft-beams", "4"], check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in printed.stdout.splitlines()]
    assert [(row["beams"], row["draft_beams"]) for row in rows] == [(1, 4), (9, 9)]
    for row in rows:
        assert row["accepted_levels"] + row["target_calls"] == pytest.approx(LEVELS, abs=1e-3)
