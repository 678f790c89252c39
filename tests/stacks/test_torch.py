"""sidbeam.torch against brute force in torch. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import sidbeam
import sidbeam.torch as ops
from conftest import index_of, vocabulary_of
from oracle import BIGRAM_TRAP, DUPLICATES, VARIABLE, Catalogue, beam_search, random_catalogue
from rules_cases import NOTHING, Rules, Shop

RANDOM = random_catalogue(np.random.default_rng(1), 300, (12, 20, 9), offsets=(3, 15, 35))
CATALOGUES = [BIGRAM_TRAP, DUPLICATES, VARIABLE, RANDOM]
FLOATS = [torch.float32, torch.bfloat16, torch.float16]

_cuda = torch.cuda.is_available()
on_cuda = pytest.mark.skipif(not _cuda, reason="CUDA: this machine has no GPU that torch can use")
DEVICES = ["cpu", pytest.param("cuda", marks=on_cuda)]


@pytest.fixture(params=CATALOGUES, ids=["bigrams", "duplicates", "variable", "random"])
def catalogue(request) -> Catalogue:
    return request.param


def set_of(catalogue: Catalogue, device: str = "cpu") -> int:
    return ops.register(sidbeam.ConstraintSet(index_of(catalogue), vocabulary=vocabulary_of(catalogue), device=device))


def prefixes_of(catalogue: Catalogue) -> list[tuple[int, ...]]:
    """Every prefix of a SID, and some that are none."""
    return sorted(catalogue.prefixes) + [(catalogue.codes[0] - 1,) * len(catalogue.codes)]


def states_of(handle: int, prefixes, device: str = "cpu"):
    longest = max(map(len, prefixes))
    codes = [[*prefix, *[0] * (longest - len(prefix))] for prefix in prefixes]
    lengths = [len(prefix) for prefix in prefixes]
    given = (torch.tensor(values, dtype=torch.int32, device=device) for values in (codes, lengths))
    return ops.prefixes(handle, *given)


def valid(catalogue: Catalogue, prefixes, columns: int):
    """bool [n, columns], from the list of SIDs alone."""
    mask = torch.zeros(len(prefixes), columns, dtype=torch.bool)
    for row, prefix in enumerate(prefixes):
        for code in catalogue.children(prefix):
            mask[row, catalogue.column(len(prefix), code)] = True
    return mask


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_mask(catalogue: Catalogue, dtype, device: str) -> None:
    handle, prefixes = set_of(catalogue, device), prefixes_of(catalogue)
    whole = torch.randn(len(prefixes), catalogue.width() + 9, dtype=dtype, device=device)
    logits = whole[:, 4 : 4 + catalogue.width()]  # strided rows
    before, around = logits.cpu().clone(), whole[:, -5:].cpu().clone()
    assert ops.mask_(handle, logits, states_of(handle, prefixes, device)) is None
    allowed = valid(catalogue, prefixes, catalogue.width())
    assert torch.equal(logits.cpu(), torch.where(allowed, before, -math.inf))
    assert torch.equal(whole[:, -5:].cpu(), around)


@pytest.mark.parametrize("device", DEVICES)
def test_bitmask(catalogue: Catalogue, device: str) -> None:
    handle, prefixes = set_of(catalogue, device), prefixes_of(catalogue)
    columns = catalogue.width() + 40
    words = ops.bitmask(handle, states_of(handle, prefixes, device), columns).cpu()
    bits = (words[:, :, None] >> torch.arange(32, dtype=torch.int32)) & 1
    assert words.shape == (len(prefixes), -(-columns // 32))
    assert torch.equal(bits.flatten(1)[:, :columns].bool(), valid(catalogue, prefixes, columns))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("normalization", ["full", "valid", "none"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_topk(catalogue: Catalogue, normalization: str, dtype, device: str) -> None:
    handle, prefixes, k = set_of(catalogue, device), prefixes_of(catalogue), 6
    logits = torch.randn(len(prefixes), catalogue.width(), dtype=dtype, device=device)
    codes, log_probs, states = ops.topk(handle, logits, states_of(handle, prefixes, device), k, normalization)
    assert (codes.dtype, log_probs.dtype, states.dtype) == (torch.int32, torch.float32, torch.int64)
    for row, prefix in enumerate(prefixes):
        allowed = catalogue.children(prefix)
        columns = [catalogue.column(len(prefix), token) for token in allowed]
        x = logits[row].cpu().double()
        log_sum = {"full": x, "valid": x[columns]}[normalization].logsumexp(0) if normalization != "none" else 0
        best = sorted(zip((-(x[columns] - log_sum)).tolist(), allowed))[:k]
        kept = [code for code in codes[row].tolist() if code >= 0]
        assert len(kept) == len(best) and len(set(kept)) == len(kept) and set(kept) <= set(allowed)
        assert codes[row, len(best) :].eq(-1).all() and states[row, len(best) :].eq(-1).all()
        assert log_probs[row, len(best) :].eq(-math.inf).all()
        torch.testing.assert_close(
            log_probs[row, : len(best)].cpu().double(),
            torch.tensor([-b for b, _ in best]).double(),
            atol=2e-5,
            rtol=1e-5,
        )
        assert dtype != torch.float32 or kept == [token for _, token in best]
    after = ops.advance(handle, states_of(handle, prefixes, device).repeat_interleave(k), codes.flatten())
    assert torch.equal(after, states.flatten())


@pytest.mark.parametrize("device", DEVICES)
def test_advance(catalogue: Catalogue, device: str) -> None:
    handle = set_of(catalogue, device)
    whole = [sid for sid in catalogue.distinct if len(sid) == max(map(len, catalogue.distinct))]
    codes = torch.tensor(whole, device=device)  # int64, as argmax and topk of torch give
    states = torch.zeros(len(whole), dtype=torch.int64, device=device)
    for level in range(codes.shape[1]):
        order = torch.randperm(len(whole)).to(device)  # rows trade places, as in a beam search
        states, codes = ops.advance(handle, states, codes[order, level], parents=order), codes[order]
        assert torch.equal(states, states_of(handle, codes[:, : level + 1].tolist(), device))
        assert (states >= 0).all()
    assert ops.advance(handle, torch.full_like(states, -1), codes[:, 0]).eq(-1).all()


def test_codes_that_int32_cannot_hold_are_dead() -> None:
    """They are not equal to the code, nor to the -1, in their low halves."""
    handle, wrapped = set_of(BIGRAM_TRAP), torch.tensor([0, 2**32, 2**32 - 1, -(2**32)])
    states = torch.zeros(4, dtype=torch.int64)
    assert ops.advance(handle, states, wrapped).ge(0).tolist() == [True, False, False, False]
    lengths = torch.ones(4, dtype=torch.int32)
    assert ops.prefixes(handle, wrapped[:, None], lengths).ge(0).tolist() == [True, False, False, False]
    variable = set_of(VARIABLE)
    ended = ops.advance(variable, states_of(variable, [(1,)]), torch.tensor([VARIABLE.codes[1]]))
    assert ops.advance(variable, ended, torch.tensor([-1])).equal(ended) and ended.ge(0).all()
    assert ops.advance(variable, ended, torch.tensor([2**32 - 1])).eq(-1).all()


def test_wrong_dtypes_are_refused() -> None:
    handle = set_of(BIGRAM_TRAP)
    states, codes = torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.int32)
    for name, call in (
        ("states", lambda: ops.mask_(handle, torch.zeros(2, 5), states.float())),
        ("codes", lambda: ops.advance(handle, states, codes.double())),
        ("parents", lambda: ops.advance(handle, states, codes, parents=states.half())),
        ("which", lambda: ops.bitmask(handle, states, 5, which=codes.bool())),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=f"{name} has dtype torch.*, expected torch.int"):
            call()


def test_bigrams_are_not_enough() -> None:
    handle = set_of(BIGRAM_TRAP)
    assert states_of(handle, [(0, 1, 2), (0, 1, 4)]).ge(0).tolist() == [True, False]


def test_constraints_of_rows() -> None:
    """One batch of two catalogues; no row follows its neighbour's."""
    other = Catalogue([(0, 0, 0), (4, 4, 4)], [5, 5, 5])
    handle = ops.register(sidbeam.ConstraintSet([index_of(BIGRAM_TRAP), index_of(other)]))
    which = torch.tensor([0, 1, 1, 0], dtype=torch.int32)
    logits = torch.zeros(4, 5)
    ops.mask_(handle, logits, torch.zeros(4, dtype=torch.int64), which)
    of_row = [{0, 3}, {0, 4}, {0, 4}, {0, 3}]
    assert [set(torch.isfinite(row).nonzero().flatten().tolist()) for row in logits] == of_row


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rows_without_candidates(dtype) -> None:
    """A dead state, and a row whose valid codes are all -inf: nothing, and no error."""
    handle = set_of(BIGRAM_TRAP)
    states = torch.tensor([-1, 0], dtype=torch.int64)
    logits = torch.zeros(2, 5, dtype=dtype)
    logits[1, [0, 3]] = -math.inf
    codes, log_probs, _ = ops.topk(handle, logits, states, 3)
    assert codes.eq(-1).all() and log_probs.eq(-math.inf).all()
    ops.mask_(handle, logits, states)
    assert logits.eq(-math.inf).all()


def row_of(catalogue: Catalogue, slot: int, prefix: tuple[int, ...]):
    """Logits after a prefix, the same whoever asks."""
    seed = hash((slot, *prefix)) % (2**31)
    return torch.randn(catalogue.width(), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_rows_under_rules_of_their_own(catalogue: Catalogue, compiled: bool) -> None:
    """As if the items that a row's rules leave were all there are; in one graph, whatever the rules."""
    shop, rng = Shop(catalogue), np.random.default_rng(4)
    prefixes, columns = prefixes_of(catalogue) * 4, catalogue.width()
    which = torch.arange(4).repeat_interleave(len(prefixes) // 4)
    longest = max(map(len, prefixes))
    codes = torch.tensor([[*prefix, *[0] * (longest - len(prefix))] for prefix in prefixes])
    lengths = torch.tensor([len(prefix) for prefix in prefixes])
    torch._dynamo.utils.counters.clear()

    def level(handle: int, logits):
        states, masked = ops.prefixes(handle, codes, lengths, which), logits + 0
        ops.mask_(handle, masked, states, which)
        return masked, ops.topk(handle, logits, states, 2, "none", which)[0], ops.bitmask(handle, states, 64, which)

    level = torch.compile(level, fullgraph=True, backend="aot_eager", dynamic=True) if compiled else level
    for _ in range(3):
        rules = [NOTHING, Rules(), shop.draw(rng), shop.draw(rng)]
        made = sidbeam.ConstraintSet(shop.index, vocabulary=shop.vocabulary, **shop.arguments(rules))
        left, logits = [shop.left(one) for one in rules], torch.randn(len(prefixes), columns)
        allowed = torch.cat([valid(one, prefixes[: len(prefixes) // 4], columns) for one in left])
        masked, best, words = level(ops.register(made), logits)
        assert torch.equal(masked, torch.where(allowed, logits, -math.inf))
        bits = (words[:, :, None] >> torch.arange(32, dtype=torch.int32)) & 1
        assert torch.equal(bits.flatten(1)[:, :columns].bool(), allowed[:, :64])
        assert torch.equal(best.ge(0).sum(1), allowed.sum(1).clamp(max=2))
    assert not compiled or torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("ruled", [False, True], ids=["free", "ruled"])
def test_step(catalogue: Catalogue, compiled: bool, device: str, ruled: bool) -> None:
    slots, width, levels = 3, 4, len(catalogue.codes)
    shop = Shop(catalogue, 1)
    rules = [Rules(exclude=shop.ids[::2]), Rules(allow=shop.ids[1::3]), Rules()] if ruled else [Rules()] * slots
    session = sidbeam.Session(shop.index, slots=slots, beams=width, vocabulary=shop.vocabulary, device=device)
    handle, beams = ops.register(session), ops.beams(session)

    def level(logits):
        ops.step_(handle, logits / 2, beams)
        return beams.codes + 0, beams.parents + 0, beams.scores.sum()  # reads what the step has written

    step = torch.compile(level, fullgraph=True, backend="aot_eager") if compiled else level
    tensors = lambda lists: [None if one is None else torch.tensor(one) for one in lists]  # noqa: E731
    session.start(exclude=tensors(r.exclude for r in rules), allow=tensors(r.allow for r in rules))
    prefixes = [[()] for _ in range(slots)]
    for _ in range(levels):
        if not beams.active.any():
            break  # shorter SIDs than there are levels; on the CPU such a step is refused
        logits = torch.zeros(slots, width, catalogue.width(), device=device)
        for slot in range(slots):
            for row, prefix in enumerate(prefixes[slot]):
                if len(prefix) < levels:
                    logits[slot, row] = row_of(catalogue, slot, prefix)
        codes, parents, _ = (t.cpu() for t in step(logits))
        assert torch.equal(codes, beams.codes.cpu())
        for slot in range(slots):
            live = range(int(beams.live[slot]))
            moved = [(prefixes[slot][parents[slot, m]], int(codes[slot, m])) for m in live]
            # Token -1: ended before; codes[level]: ends now.
            prefixes[slot] = [(*p, t) if 0 <= t < catalogue.codes[len(p)] else p for p, t in moved]
    for slot in range(slots):
        left = shop.left(rules[slot])
        best = beam_search(left, lambda ps: np.stack([row_of(catalogue, slot, p) / 2 for p in ps]), width)
        assert prefixes[slot] == [beam.prefix for beam in best]
        scores = beams.scores[slot, : len(best)].cpu()
        torch.testing.assert_close(scores, torch.tensor([float(beam.score) for beam in best]), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile_whole(backend: str) -> None:
    """A graph without breaks, one for constraint sets of all numbers and batches of all sizes."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    handles = [set_of(RANDOM) for _ in range(3)]

    def level(handle: int, hidden, states):
        logits = hidden * 3
        ops.mask_(handle, logits, states)
        codes, log_probs, after = ops.topk(handle, logits, states, 4, "valid")
        return (
            log_probs.exp().sum(-1),
            ops.advance(handle, after[:, 0], codes[:, 1] * 0 - 1),
            ops.bitmask(handle, states, 64),
        )

    compiled = torch.compile(level, fullgraph=True, backend=backend, dynamic=True)
    for handle, rows in zip(handles, (3, 5, 8)):
        prefixes = sorted(RANDOM.prefixes)[:rows]
        hidden, states = torch.randn(rows, RANDOM.width()), states_of(handle, prefixes)
        for got, expected in zip(compiled(handle, hidden, states), level(handle, hidden, states)):
            torch.testing.assert_close(got, expected)
    counts = torch._dynamo.utils.counters
    assert counts["stats"]["unique_graphs"] <= 2 and not counts["graph_break"]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_opcheck(dtype) -> None:
    handle, prefixes = set_of(RANDOM), prefixes_of(RANDOM)
    states, which = states_of(handle, prefixes), torch.zeros(len(prefixes), dtype=torch.int32)
    logits = torch.randn(len(prefixes), RANDOM.width(), dtype=dtype)
    codes = torch.zeros(len(prefixes), dtype=torch.int32)
    for operator, *arguments in (
        (ops.mask_, logits, states),
        (ops.mask_, logits[:, : RANDOM.width()], states, which),
        (ops.topk, logits, states, 3),
        (ops.topk, logits, states, 3, "level", which),
        (ops.bitmask, states, 100),
        (ops.advance, states, codes),
        (ops.advance, states, codes, torch.arange(len(states)), which),
        (ops.prefixes, torch.zeros(4, 3, dtype=torch.int32), torch.arange(4, dtype=torch.int32)),
    ):
        torch.library.opcheck(operator, (handle, *arguments))


def test_opcheck_step() -> None:
    session = sidbeam.Session(index_of(RANDOM), beams=3, vocabulary=vocabulary_of(RANDOM))
    session.start()
    arguments = (ops.register(session), torch.randn(1, 3, RANDOM.width()), *ops.beams(session))
    # Not test_aot_dispatch_dynamic, which calls twice and expects the same: a session goes on to its next level.
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(torch.ops.sidbeam.step_.default, arguments, test_utils=checks)


def test_handles() -> None:
    session = sidbeam.Session(index_of(RANDOM))
    constraints = sidbeam.ConstraintSet(index_of(RANDOM), vocabulary=vocabulary_of(RANDOM))
    ofsession, handle = ops.register(session), ops.register(constraints)
    assert ofsession != handle
    states = torch.zeros(1, dtype=torch.int64)
    with pytest.raises(sidbeam.InvalidArgument, match=f"handle {ofsession} is of another kind, .* for a ConstraintSet"):
        ops.bitmask(ofsession, states, 64)
    with pytest.raises(sidbeam.InvalidArgument, match="owner is Index, expected a ConstraintSet or a Session"):
        ops.register(index_of(RANDOM))
    ops.release(handle)
    ops.release(handle)
    with pytest.raises(sidbeam.InvalidArgument, match=f"handle {handle} is released, or never registered"):
        ops.bitmask(handle, states, 64)
    again = ops.register(constraints)
    assert again != handle
    constraints.close()
    with pytest.raises(sidbeam.BadState, match="constraint set is closed"):
        ops.bitmask(again, states, 64)


def test_bad_tensors() -> None:
    handle = set_of(RANDOM)
    states = torch.zeros(2, dtype=torch.int64)
    with pytest.raises(sidbeam.InvalidArgument, match="logits has 3 columns, expected at least"):
        ops.topk(handle, torch.zeros(2, 3), states, 2)
    with pytest.raises(sidbeam.InvalidArgument, match="logits has dtype float64"):
        ops.topk(handle, torch.zeros(2, RANDOM.width(), dtype=torch.float64), states, 2)
    with pytest.raises(sidbeam.InvalidArgument, match="states has 2 elements, expected at least 5"):
        ops.mask_(handle, torch.zeros(5, RANDOM.width()), states)
    with pytest.raises(sidbeam.InvalidArgument, match="k is 0"):
        ops.topk(handle, torch.zeros(2, RANDOM.width()), states, 0)


@on_cuda
def test_cuda_graph() -> None:
    catalogue, width = RANDOM, 4
    session = sidbeam.Session(index_of(catalogue), beams=width, vocabulary=vocabulary_of(catalogue), device="cuda")
    handle, beams = ops.register(session), ops.beams(session)
    logits = torch.zeros(1, width, catalogue.width(), device="cuda")
    session.start()
    ops.step_(handle, logits, beams)  # warm
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ops.step_(handle, logits, beams)
    session.start()
    given = torch.randn(3, 1, width, catalogue.width())
    plain = sidbeam.Session(index_of(catalogue), beams=width, vocabulary=vocabulary_of(catalogue))
    plain.start()
    for level in given:
        logits.copy_(level)
        graph.replay()
        plain.step(level.numpy())
    torch.cuda.synchronize()
    assert np.array_equal(beams.codes.cpu().numpy(), plain.beams().codes)


@pytest.mark.parametrize(
    "module, absent, message",
    [
        ("torch", "torch", "sidbeam.torch needs PyTorch: pip install torch"),
        ("align", "torch", "sidbeam.align needs PyTorch: pip install torch"),
        ("transformers", "torch", 'sidbeam.transformers needs both: pip install torch "transformers>=5.3"'),
        ("jax", "jax", "sidbeam.jax needs JAX: pip install jax"),
    ],
)
def test_says_what_to_install(module: str, absent: str, message: str) -> None:
    program = f"import sys, sidbeam; sys.modules[{absent!r}] = None; import sidbeam.{module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f"ImportError: {message}" in done.stderr


def test_package_imports_none() -> None:
    program = "import sys, sidbeam; print(sorted({'torch', 'transformers', 'jax'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "[]"


class Rows(torch.utils.data.Dataset):
    """SIDs of an index, which workers open by its path."""

    def __init__(self, index) -> None:
        self.index = index

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, ordinal: int):
        return torch.tensor(self.index.sid(ordinal))


def test_spawned_workers_of_a_data_loader(tmp_path) -> None:
    index = sidbeam.Index.build([(0, 1), (0, 3), (2, 2)], path=tmp_path / "shop.sidx")
    loader = torch.utils.data.DataLoader(Rows(index), batch_size=3, num_workers=1, multiprocessing_context="spawn")
    assert [batch.tolist() for batch in loader] == [[[0, 1], [0, 3], [2, 2]]]
