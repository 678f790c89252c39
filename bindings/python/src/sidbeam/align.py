"""Losses that align a draft model with its target (AtSpeed, Lin et al. 2025; needs ``pip install torch``)::

    tokens = ...                                        # [B, K, L] columns of each prompt's K best SIDs by the target
    valid = sidbeam.align.valid_tokens(constraints, codes)                     # [B, K, L, V]
    kth = sidbeam.align.kth_log_probs(target, tokens, valid)                   # [B, 1, L]
    strict = sidbeam.align.atspeed_s(draft, target, kth, valid=valid, top_k=K, form="released")
    loss = alpha * strict + (1 - alpha) * recommendation

``draft`` and ``target`` are logits ``[..., V]``: a row is what a model says after a prompt and a prefix of codes, V the
columns of its vocabulary. Row i of both is of the same prefix. No gradient goes through the target.

What the paper has is here:

- AtSpeed-S, eq. 4, over the target's K best SIDs: ``atspeed_s``
- AtSpeed-S, as its authors' code has it: ``atspeed_s(form="released")``
- AtSpeed-R, eq. 8: ``atspeed_r``
- without density regularization: ``density=False``
- without constrained alignment: ``valid=None``
- without top-K data: rows of the target's best SID alone, ``draft[:, :1]`` and so on
- WordKD, TVDKD, SeqKD: ``word_kd``, ``tvd_kd``, ``seq_kd``

Options of all losses:

- ``valid``: bool, shape of the logits: columns that continue the row's prefix to a SID. p and q are then distributions
  over these alone, and the other columns get no gradient. A row without any (padding) does not count, whatever it
  holds.
- ``weights``: ``[...]``, broadcast to the rows; None: 1. How often a row counts: where K SIDs share a prefix, once with
  their number will do. The paper's mean over a SID's levels, of different lengths, is 1 / length.
- ``reduction``: "mean" over the rows that count, by weight, "sum", or "none": ``[...]``, 0 where a row does not count.
  The paper's eq. 4 sums over the K SIDs of a prompt: K times the mean.

Half precision is computed in float32. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Optional

try:
    import torch
except ImportError as missing:
    raise ImportError("sidbeam.align needs PyTorch: pip install torch") from missing
from torch import Tensor
from torch.nn import functional as F

from .constraint_set import ConstraintSet
from .errors import InvalidArgument


def atspeed_s(
    draft: Tensor,
    target: Tensor,
    kth: Optional[Tensor] = None,
    *,
    valid: Optional[Tensor] = None,
    top_k: Optional[int] = None,
    density: bool = True,
    form: str = "equation",
    weights: Optional[Tensor] = None,
    reduction: str = "mean",
) -> Tensor:
    """For strict verification: reverse KL and density regularization, over the columns that the draft itself likes.

    - ``kth``: log p(y_K), of :func:`kth_log_probs`, broadcast to the rows; eq. 4 needs it with ``density``.
    - ``top_k``: the sums run over the K columns that the draft itself likes best (the paper's V_c). None: over all of
      the row.
    - ``form``: "equation", eq. 4: the sum of q log(q / p) - q log(q / p(y_K)), where q and p are not normalized over
      the K columns. "released", after the authors' code: q' and p' are, and the sum is of q' log(q' / p') - p'_K q' log
      q', where p'_K is that of the last of the K columns there are.

    The two forms are not alike. In eq. 4 the entropies of the two terms cancel, what is left is the sum of
    q (log p(y_K) - log p), which is linear in q and least where all of q is on the target's best column: a draft that
    learns nothing else drops the columns from the second to the K-th, which strict verification needs. The released
    form is least where q' is p' to the power of 1 / (1 - p'_K), next to p' itself; of the columns beyond the K it
    learns nothing, which is left to the recommendation loss. (p(y_K) in the place of p'_K fails: it is 1 wherever the
    K-th SID's prefix has one child.)
    Without ``density`` eq. 4 is least at q = p / e, which drives probability out of the K columns; the released form at
    q' = p'. A column of the sum where p is 0 makes the loss infinite.
    """
    if form not in ("equation", "released"):
        raise InvalidArgument(f"form is {form!r}, expected 'equation' or 'released'")
    if density and form == "equation" and kth is None:
        raise InvalidArgument("kth is None, expected log p(y_K) of each row, or density=False")
    (log_q, log_p), share = _distributions([draft, target.detach()], valid, weights)
    among = _best(log_q, top_k)
    log_q, log_p = log_q.gather(-1, among), log_p.gather(-1, among)
    inside = log_q > -torch.inf  # 0 log 0 = 0
    against = log_q
    if form == "released":
        log_q, log_p = F.log_softmax(log_q, -1), F.log_softmax(log_p, -1)
        last = log_p.gather(-1, inside.sum(-1, keepdim=True) - 1)  # _best() puts what is not valid behind
        against = torch.where(inside, log_q, 0) * (1 - density * last.exp())
    elif density and kth is not None:
        against = kth.detach().to(log_q.dtype).unsqueeze(-1)
    terms = log_q.exp() * torch.where(inside, against - log_p, 0)
    return _reduced(terms.sum(-1), share, reduction)


def atspeed_r(
    draft: Tensor,
    target: Tensor,
    *,
    valid: Optional[Tensor] = None,
    top_k: Optional[int] = None,
    weights: Optional[Tensor] = None,
    reduction: str = "mean",
) -> Tensor:
    """For relaxed verification: eq. 8, the total variation distance, half the sum of \\|p' - q'\\|.

    ``top_k``: p' and q' are normalized over the K columns that the target likes best; None: over all of the row.
    """
    (log_q, log_p), share = _distributions([draft, target.detach()], valid, weights)
    if top_k is not None:
        among = _best(log_p, top_k)
        log_q, log_p = (F.log_softmax(part.gather(-1, among), -1) for part in (log_q, log_p))
    distance = (log_q.exp() - log_p.exp()).abs().sum(-1) / 2
    return _reduced(distance, share, reduction)


def word_kd(
    draft: Tensor,
    target: Tensor,
    *,
    valid: Optional[Tensor] = None,
    weights: Optional[Tensor] = None,
    reduction: str = "mean",
) -> Tensor:
    """Word-level distillation: forward KL, the sum of p log(p / q); the baseline has it over the whole vocabulary."""
    (log_q, log_p), share = _distributions([draft, target.detach()], valid, weights)
    terms = log_p.exp() * torch.where(log_p > -torch.inf, log_p - log_q, 0)
    return _reduced(terms.sum(-1), share, reduction)


def tvd_kd(
    draft: Tensor,
    target: Tensor,
    *,
    valid: Optional[Tensor] = None,
    weights: Optional[Tensor] = None,
    reduction: str = "mean",
) -> Tensor:
    """Distillation by total variation distance; the baseline has it over the whole vocabulary."""
    return atspeed_r(draft, target, valid=valid, weights=weights, reduction=reduction)


def seq_kd(
    draft: Tensor,
    tokens: Tensor,
    *,
    valid: Optional[Tensor] = None,
    weights: Optional[Tensor] = None,
    reduction: str = "mean",
) -> Tensor:
    """Sequence-level distillation: the recommendation loss, -log q(token), on SIDs that the target wrote.

    ``tokens``: ``[...]`` column of the token that follows each row's prefix; -1: the row does not count.
    """
    _same("tokens", tokens, draft.shape[:-1])
    known = (tokens >= 0).to(torch.float32)
    (log_q,), share = _distributions([draft], valid, known if weights is None else known * weights)
    found = log_q.gather(-1, tokens.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return _reduced(-found, share, reduction)


@torch.no_grad()
def kth_log_probs(target: Tensor, tokens: Tensor, valid: Optional[Tensor] = None) -> Tensor:
    """``[..., 1, L]``: log p(y_K,t | y_K,<t), of the worst of K SIDs, level by level.

    - ``target``: logits ``[..., K, L, V]`` along the K SIDs, best first. ``valid``: likewise.
    - ``tokens``: ``[..., K, L]`` columns of their codes (and end); -1 after the end, and throughout where there are
      fewer than K SIDs: the last there is counts.
    """
    _same("tokens", tokens, target.shape[:-1])
    (log_p,), _ = _distributions([target], valid)
    found = log_p.gather(-1, tokens.clamp(min=0).unsqueeze(-1)).squeeze(-1).masked_fill(tokens < 0, 0)
    last = (tokens[..., 0] >= 0).sum(-1).sub(1).clamp(min=0)
    return found.gather(-2, last[..., None, None].expand(*last.shape, 1, found.shape[-1]))


def valid_tokens(constraints: ConstraintSet, codes: Tensor) -> Tensor:
    """``[..., L, V]`` bool: the columns that may follow each prefix of SIDs, of no code up to all but the last.

    - ``constraints``: on the CPU; V is its number of columns.
    - ``codes``: ``[..., L]`` integers, -1 after the end of a shorter SID, and throughout where there is none: nothing
      may follow those, so that the rows do not count.
    """
    levels = codes.shape[-1]
    rows = codes.reshape(-1, 1, levels).expand(-1, levels, -1).reshape(-1, levels).cpu()
    lengths = torch.arange(levels, dtype=torch.int32).repeat(codes.numel() // max(1, levels))
    gone = (rows < 0) & (torch.arange(levels) < lengths[:, None])
    states = constraints.prefixes(rows.clamp(min=0).int().numpy(), lengths.numpy())
    states[(gone.any(-1) | (rows[:, 0] < 0)).numpy()] = -1
    mask = torch.zeros(len(rows), constraints.columns)
    constraints.mask(mask.numpy(), states)
    return (mask == 0).view(*codes.shape, -1).to(codes.device)


def _same(name: str, tensor: Tensor, shape: torch.Size) -> None:
    if tensor.shape != shape:
        raise InvalidArgument(f"{name} has shape {tuple(tensor.shape)}, expected {tuple(shape)}")


def _distributions(
    models: list[Tensor], valid: Optional[Tensor], weights: Optional[Tensor] = None
) -> tuple[list[Tensor], Tensor]:
    """Log-probabilities of each model's logits, -inf at columns that are not valid, and each row's weight [...]."""
    shape = models[0].shape
    for target in models[1:]:
        _same("target", target, shape)
    share = torch.ones(shape[:-1], device=models[0].device)
    if weights is not None:
        share = share * weights.to(share.device)
    if valid is not None:
        if valid.dtype != torch.bool:
            raise InvalidArgument(f"valid has dtype {valid.dtype}, expected torch.bool")
        _same("valid", valid, shape)
        share = share * valid.any(-1)
    # A row that does not count becomes an ordinary one: NaN or nothing but -inf would spread through the gradients.
    without = (share == 0).unsqueeze(-1)
    hidden = None if valid is None else ~valid & ~without

    def log_softmax(logits: Tensor) -> Tensor:
        logits = logits.masked_fill(without, 0)
        half = logits.dtype in (torch.float16, torch.bfloat16)
        shown = logits if hidden is None else logits.masked_fill(hidden, -torch.inf)
        return F.log_softmax(shown, -1, dtype=torch.float32 if half else None)

    return [log_softmax(logits) for logits in models], share


def _best(log_probs: Tensor, top_k: Optional[int]) -> Tensor:
    """[..., K] columns, best first; all of them for None."""
    columns = log_probs.shape[-1]
    if top_k is None:
        return log_probs.detach().argsort(-1, descending=True)
    if top_k < 1:
        raise InvalidArgument(f"top_k is {top_k}, expected at least 1")
    return log_probs.detach().topk(min(top_k, columns), -1).indices


def _reduced(rows: Tensor, share: Tensor, reduction: str) -> Tensor:
    share = share.to(rows.dtype)
    weighed = torch.where(share != 0, rows, 0) * share
    if reduction == "none":
        return weighed
    if reduction not in ("mean", "sum"):
        raise InvalidArgument(f"reduction is {reduction!r}, expected 'mean', 'sum' or 'none'")
    total = share.sum()
    return weighed.sum() / torch.where(total != 0, total, 1) if reduction == "mean" else weighed.sum()
