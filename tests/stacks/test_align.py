"""sidbeam.align against eqs. 4 and 8 of AtSpeed written out in NumPy float64, and its gradients against finite
differences. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import Tensor

import sidbeam
from conftest import index_of, vocabulary_of
from oracle import BIGRAM_TRAP, DUPLICATES, VARIABLE, random_catalogue
from sidbeam import align

B, K, L, V = 2, 3, 3, 9
RANDOM = random_catalogue(np.random.default_rng(1), 60, (4, 5, 6), offsets=(2, 7, 13))
OPTIONS = [{"top_k": k, "constrained": c} for k in (None, 2, 5) for c in (True, False)]


class Case:
    """Logits [B, K, L, V] of a draft and a target, valid columns (none in one row), tokens and weights."""

    def __init__(self, seed: int = 3, constrained: bool = True):
        rng = np.random.default_rng(seed)
        self.draft, self.target = rng.normal(size=(2, B, K, L, V)) * 2
        self.valid = rng.random((B, K, L, V)) < 0.6
        self.valid[..., 0] = True
        self.valid[1, 2, 1] = False
        if not constrained:
            self.valid[:] = True
        likely = np.where(self.valid, self.target, -np.inf).argmax(-1)
        self.tokens = np.where(self.valid.any(-1), likely, -1)
        self.weights = rng.random((B, K, L)) + 0.5
        self.constrained = constrained

    def tensors(self):
        draft, target = torch.from_numpy(self.draft).requires_grad_(), torch.from_numpy(self.target)
        return draft, target, torch.from_numpy(self.valid) if self.constrained else None

    def distribution(self, logits: np.ndarray, row: tuple[int, ...]) -> dict[int, float]:
        """Probability of each valid column."""
        columns = np.flatnonzero(self.valid[row])
        total = math.fsum(math.exp(logits[row][c]) for c in columns)
        return {int(c): math.exp(logits[row][c]) / total for c in columns}

    def kth(self, row: tuple[int, ...]) -> float:
        """p(y_K): that of the last SID's code at this level."""
        last = (row[0], K - 1, row[2])
        return self.distribution(self.target, last).get(int(self.tokens[last]), 1.0)

    def mean(self, loss, weights: np.ndarray | None = None) -> float:
        rows = [row for row in np.ndindex(B, K, L) if self.valid[row].any()]
        shares = [1.0 if weights is None else weights[row] for row in rows]
        values = [loss(row, self.distribution(self.draft, row), self.distribution(self.target, row)) for row in rows]
        return sum(s * v for s, v in zip(shares, values)) / sum(shares)


def best(of: dict[int, float], k: int | None) -> list[int]:
    return sorted(of, key=lambda c: -of[c])[:k]


def strict_loss(case: Case, top_k: int | None, density: bool):
    def loss(row, q, p):
        among = best(q, top_k)
        divergence = sum(q[c] * math.log(q[c] / p[c]) for c in among)
        return divergence - density * sum(q[c] * math.log(q[c] / case.kth(row)) for c in among)

    return loss


def released_loss(case: Case, top_k: int | None, density: bool):
    def loss(row, q, p):
        among = best(q, top_k)
        q_sum, p_sum = sum(q[c] for c in among), sum(p[c] for c in among)
        share = 1 - density * p[among[-1]] / p_sum
        return sum(q[c] / q_sum * (share * math.log(q[c] / q_sum) - math.log(p[c] / p_sum)) for c in among)

    return loss


def relaxed_loss(case: Case, top_k: int | None):
    def loss(row, q, p):
        among = best(p, top_k)
        q_sum, p_sum = sum(q[c] for c in among), sum(p[c] for c in among)
        return sum(abs(q[c] / q_sum - p[c] / p_sum) for c in among) / 2

    return loss


def kth_of(case: Case, target, valid):
    return align.kth_log_probs(target, torch.from_numpy(case.tokens), valid)


def losses(case: Case, top_k: int | None):
    """Name to a function of the draft's logits (and keywords), and the reference."""
    draft, target, valid = case.tensors()
    kth, tokens = kth_of(case, target, valid), torch.from_numpy(case.tokens)
    both = {"valid": valid}
    return draft, {
        "s": (lambda q, **o: align.atspeed_s(q, target, kth, top_k=top_k, **both, **o),
              strict_loss(case, top_k, True)),
        "s without density": (
            lambda q, **o: align.atspeed_s(q, target, top_k=top_k, density=False, **both, **o),
            strict_loss(case, top_k, False)),
        "s released": (lambda q, **o: align.atspeed_s(q, target, top_k=top_k, form="released", **both, **o),
                       released_loss(case, top_k, True)),
        "s released without density": (
            lambda q, **o: align.atspeed_s(q, target, top_k=top_k, form="released", density=False, **both, **o),
            released_loss(case, top_k, False)),
        "r": (lambda q, **o: align.atspeed_r(q, target, top_k=top_k, **both, **o), relaxed_loss(case, top_k)),
        "word": (lambda q, **o: align.word_kd(q, target, **both, **o),
                 lambda row, q, p: sum(p[c] * math.log(p[c] / q[c]) for c in p)),
        "tvd": (lambda q, **o: align.tvd_kd(q, target, **both, **o), relaxed_loss(case, None)),
        "seq": (lambda q, **o: align.seq_kd(q, tokens, **both, **o),
                lambda row, q, p: -math.log(q[int(case.tokens[row])])),
    }


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_values_are_those_of_the_equations(options) -> None:
    case = Case(constrained=options["constrained"])
    draft, made = losses(case, options["top_k"])
    weights = torch.from_numpy(case.weights)
    for name, (function, loss) in made.items():
        assert function(draft).item() == pytest.approx(case.mean(loss), rel=1e-12), name
        assert function(draft, weights=weights).item() == pytest.approx(case.mean(loss, case.weights), rel=1e-12), name
        rows = function(draft, reduction="none")
        assert rows.shape == (B, K, L) and (rows[1, 2, 1] == 0) == options["constrained"], name
        assert rows.sum().item() == pytest.approx(function(draft, reduction="sum").item(), rel=1e-12), name


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradients_are_those_of_finite_differences(options) -> None:
    case = Case(constrained=options["constrained"])
    draft, made = losses(case, options["top_k"])
    for name, (function, loss) in made.items():
        assert torch.autograd.gradcheck(function, (draft,)), name
        (gradient,) = torch.autograd.grad(function(draft), draft)
        assert torch.isfinite(gradient).all() and gradient.abs().max() > 1e-3, name
        assert not gradient[torch.from_numpy(~case.valid)].any(), name  # exactly 0, the row without any too
        for place in [(0, 0, 0, 0), (1, 2, 0, 0), (0, 1, 2, 0)]:  # the reference's own slope
            slopes = []
            for step in (1e-6, -1e-6):
                moved = Case(constrained=options["constrained"])
                moved.draft[place] += step
                slopes.append(moved.mean(loss) / 2e-6 * math.copysign(1, step))
            assert gradient[place].item() == pytest.approx(sum(slopes), abs=1e-7), (name, place)


def test_nothing_flows_into_the_target() -> None:
    case = Case()
    draft, target, valid = case.tensors()
    target = target.requires_grad_()
    for loss in (align.atspeed_s(draft, target, kth_of(case, target, valid), valid=valid),
                 align.atspeed_r(draft, target, valid=valid), align.word_kd(draft, target, valid=valid)):
        assert torch.autograd.grad(loss, target, allow_unused=True) == (None,)


def test_columns_and_rows_that_do_not_count_may_hold_anything() -> None:
    """NaN, infinities, and padding without any valid column neither change the loss nor reach a gradient."""
    for name in losses(Case(), 2)[1]:
        plain, spoilt = Case(), Case()
        for logits in (spoilt.draft, spoilt.target):
            logits[~spoilt.valid] = np.resize([np.nan, np.inf, -np.inf], (~spoilt.valid).sum())
            logits[0, 1, 2] = np.nan  # of weight 0
        found = []
        for case in (plain, spoilt):
            case.tokens = plain.tokens
            draft, made = losses(case, 2)
            weights = torch.ones(B, K, L)
            weights[0, 1, 2] = 0
            with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
                loss = made[name][0](draft, weights=weights)
                found.append((loss.item(), torch.autograd.grad(loss, draft)[0]))
        assert found[0][0] == found[1][0] and torch.equal(found[0][1], found[1][1]), name


def test_density_draws_probability_to_what_the_target_likes_better_than_the_kth() -> None:
    """One step against the gradient: more of q on columns with p > p(y_K). Reverse KL alone, at q = p, does nothing."""
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0, -2.0, -3.0]], dtype=torch.float64)
    draft, kth = logits.clone().requires_grad_(), torch.log_softmax(logits, -1)[:, 1]
    (alone,) = torch.autograd.grad(align.atspeed_s(draft, logits, top_k=4, density=False), draft)
    (whole,) = torch.autograd.grad(align.atspeed_s(draft, logits, density=False), draft)
    (drawn,) = torch.autograd.grad(align.atspeed_s(draft, logits, kth, top_k=4), draft)
    assert whole.abs().max() < 1e-15 < 1e-3 < alone.abs().max()
    before, after = torch.softmax(logits, -1)[0], torch.softmax(draft - drawn, -1)[0]
    assert after[0] > before[0] and after[2:4].sum() < before[2:4].sum()


def test_equation_4_drops_what_the_released_form_keeps() -> None:
    """A draft that already says what the target says: the equation takes the second best from it, the other form not,
    and reverse KL of the equation without density, over some columns, drives probability out of these."""
    logits = torch.tensor([[2.0, 1.8, 0.0, -1.0, -2.0, -3.0]], dtype=torch.float64)
    kth = torch.log_softmax(logits, -1)[:, 3]

    def learnt(**options) -> Tensor:
        draft = logits.clone().requires_grad_()
        optimizer = torch.optim.Adam([draft], 0.05)
        for _ in range(400):
            optimizer.zero_grad()
            align.atspeed_s(draft, logits, kth, top_k=4, **options).backward()
            optimizer.step()
        return torch.softmax(draft.detach(), -1)[0]

    before = torch.softmax(logits, -1)[0]
    assert learnt()[1] < 0.01 < 0.3 < before[1]
    assert learnt(form="released")[:4].tolist() == pytest.approx(before[:4].tolist(), abs=0.05)
    assert learnt(density=False)[:4].sum() < 0.92 < 0.98 < before[:4].sum()


@pytest.mark.parametrize(
    "name", ["s", "s without density", "s released", "s released without density", "r", "word", "tvd", "seq"])
def test_descent_aligns_a_draft(name: str) -> None:
    """With free logits: the losses that measure a distance end at the target's distribution, the others at its best."""
    case = Case(seed=8)
    draft, made = losses(case, None)
    optimizer = torch.optim.Adam([draft], 0.2)
    for _ in range(400):
        optimizer.zero_grad()
        made[name][0](draft, reduction="sum").backward()
        optimizer.step()
        optimizer.param_groups[0]["lr"] *= 0.985
    for row in np.ndindex(B, K, L):
        q, p = case.distribution(draft.detach().numpy(), row), case.distribution(case.target, row)
        if name in ("s", "seq"):
            assert best(q, 1) == best(p, 1)
        elif name == "s released":
            power = 1 / (1 - p[best(q, None)[-1]]) if len(p) > 1 else 1
            total = sum(value**power for value in p.values())
            assert list(q.values()) == pytest.approx([value**power / total for value in p.values()], abs=0.02)
        else:
            assert list(q.values()) == pytest.approx(list(p.values()), abs=0.02)


def test_half_precision_is_computed_in_single() -> None:
    case = Case()
    draft, target, valid = case.tensors()
    kth = kth_of(case, target, valid)
    for dtype in (torch.float16, torch.bfloat16):
        q, p = draft.detach().to(dtype).requires_grad_(), target.to(dtype)
        loss = align.atspeed_s(q, p, kth.to(dtype), valid=valid)
        expected = align.atspeed_s(q.float(), p.float(), kth.to(dtype).float(), valid=valid)
        loss.backward()
        assert loss.dtype == torch.float32 and loss.item() == expected.item() and q.grad.dtype == dtype


@pytest.mark.parametrize("catalogue", [BIGRAM_TRAP, DUPLICATES, VARIABLE, RANDOM], ids=str)
def test_valid_tokens_are_the_catalogues(catalogue) -> None:
    constraints = sidbeam.ConstraintSet(index_of(catalogue), vocabulary=vocabulary_of(catalogue))
    levels, sids = len(catalogue.codes), sorted(set(catalogue.sids))[:8]
    codes = torch.full((2, len(sids) + 1, levels), -1)
    for i, sid in enumerate(sids):
        codes[0, i, : len(sid)] = codes[1, -i - 1, : len(sid)] = torch.tensor(sid)
    found = align.valid_tokens(constraints, codes)
    assert found.shape == (2, len(sids) + 1, levels, constraints.columns)
    for at in np.ndindex(2, len(sids) + 1, levels):
        prefix, expected = tuple(codes[at[:2]][: at[2]].tolist()), set()
        if -1 not in prefix and codes[at[0], at[1], 0] >= 0:
            expected = {catalogue.column(at[2], code) for code in catalogue.children(prefix)}
        assert set(found[at].nonzero().flatten().tolist()) == expected, (at, prefix)


def test_kth_is_the_last_sid_there_is() -> None:
    case = Case(constrained=False)
    _, target, _ = case.tensors()
    tokens = torch.from_numpy(case.tokens)
    tokens[0, 2] = -1  # two SIDs,
    tokens[1, 2, 2] = -1  # and one that has ended
    found, logs = align.kth_log_probs(target, tokens), torch.log_softmax(target, -1)
    assert found.shape == (B, 1, L)
    assert found[0, 0].tolist() == [logs[0, 1, l, tokens[0, 1, l]].item() for l in range(L)]
    assert found[1, 0].tolist() == [*(logs[1, 2, l, tokens[1, 2, l]].item() for l in range(2)), 0]


def test_what_is_refused() -> None:
    draft, target, valid = Case().tensors()

    def refused(what: str, call) -> None:
        with pytest.raises(sidbeam.InvalidArgument, match=re.escape(what)):
            call()

    refused("target has shape (3, 3, 9), expected (2, 3, 3, 9)", lambda: align.atspeed_r(draft, target[0]))
    refused("valid has shape (2, 3, 3, 8), expected (2, 3, 3, 9)",
            lambda: align.word_kd(draft, target, valid=valid[..., 1:]))
    refused("valid has dtype torch.float64, expected torch.bool", lambda: align.tvd_kd(draft, target, valid=target))
    refused("kth is None, expected log p(y_K) of each row", lambda: align.atspeed_s(draft, target))
    refused("form is 'eq4', expected 'equation' or 'released'", lambda: align.atspeed_s(draft, target, form="eq4"))
    refused("top_k is 0, expected at least 1", lambda: align.atspeed_r(draft, target, top_k=0))
    refused("reduction is 'men', expected 'mean'", lambda: align.tvd_kd(draft, target, reduction="men"))
    refused("tokens has shape (2, 3), expected (2, 3, 3)", lambda: align.seq_kd(draft, torch.zeros(2, 3).long()))
