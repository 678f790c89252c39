"""Draft heads, against equations 1-3 in float64; and what the writer makes of modules and refuses.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import types
from typing import Any

import numpy as np
import pytest

import sidbeam
from sidbeam import draft

pytestmark = pytest.mark.skipif("SIDBEAM_MODEL" not in os.environ, reason="the library was built without the runner")

L, V, D, E, M = 3, 8, 6, 5, 4


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.integers(-80, 81, shape) / 64).astype(np.float32)  # exact in bfloat16 too


def arrays(transition: str = "rnn", input: str = "both", seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    gates, width = D * (3 if transition == "gru" else 1), D * (2 if input == "both" else 1)
    made: dict[str, Any] = {"heads": [(numbers(rng, V, width), numbers(rng, V)) for _ in range(L)]}
    if transition != "none":
        made["embeddings"] = [numbers(rng, V, D if transition == "add" else E) for _ in range(L - 1)]
    if transition in ("rnn", "gru"):
        shapes = (gates, E), (gates,), (gates, D), (gates,)
        made["transitions"] = [tuple(numbers(rng, *shape) for shape in shapes) for _ in range(L - 1)]
    return made


def transit(made: dict[str, Any], transition: str, level: int, state: np.ndarray, code: int) -> np.ndarray:
    if transition == "none":
        return state
    e = made["embeddings"][level][code].astype(float)
    if transition == "add":
        return state + e
    w_i, b_i, w_r, b_r = (array.astype(float) for array in made["transitions"][level])
    i, r = w_i @ e + b_i, w_r @ state + b_r
    if transition == "rnn":
        return np.tanh(i + r)
    reset, update = 1 / (1 + np.exp(-(i + r)[:D])), 1 / (1 + np.exp(-(i + r)[D : 2 * D]))
    return (1 - update) * np.tanh(i[2 * D :] + reset * r[2 * D :]) + update * state


def reference(
    made: dict[str, Any], transition: str, input: str, hidden: np.ndarray, valid: set[Any], top_k: int = 0
) -> list[Any]:
    """Beam search: [(score, sid)], best first. Among valid prefixes; with top_k as Algorithm 3 has it: among all, until
    at the last level each beam's top_k best codes are looked up among the valid SIDs."""
    live = [(0.0, (), hidden[0].astype(float))]
    for level, (weight, bias) in enumerate(made["heads"]):
        found = []
        for score, prefix, state in live:
            parts = {"both": [hidden[level + 1], state], "hidden": [hidden[level + 1]], "state": [state]}[input]
            logits = weight.astype(float) @ np.concatenate(parts) + bias
            log_probs = logits - np.log(np.exp(logits).sum())
            last = level == L - 1
            for code in np.argsort(-log_probs)[:top_k].tolist() if top_k and last else range(V):
                sid = (*prefix, code)
                if (top_k and not last) or any(s[: len(sid)] == sid for s in valid):
                    after = state if last else transit(made, transition, level, state, code)
                    found.append((score + log_probs[code], sid, after))
        live = sorted(found, key=lambda beam: -beam[0])[:M]
    return [(score, sid) for score, sid, _ in live]


@pytest.fixture
def index() -> sidbeam.Index:
    sids = np.random.default_rng(3).integers(0, V, (100, L))
    return sidbeam.Index.build(sids, codes=V, kinds="trie|hash")


def hidden_states(count: int, seed: int = 2) -> np.ndarray:
    return numbers(np.random.default_rng(seed), count, L + 1, D)


def valid_sids(index: sidbeam.Index) -> set[Any]:
    return {tuple(int(c) for c in index.sid(i)) for i in range(index.info.sids)}


every_kind = pytest.mark.parametrize(
    "transition, input",
    [("rnn", "both"), ("gru", "both"), ("add", "both"), ("gru", "state"), ("none", "state"), ("none", "hidden")],
)


@every_kind
def test_drafts_are_as_the_equations_say(tmp_path: Any, index: sidbeam.Index, transition: str, input: str) -> None:
    made = arrays(transition, input)
    draft.write(tmp_path / "head", **made, input=input)
    head = sidbeam.DraftHead.open(tmp_path / "head")
    assert (head.info.transition.name.lower(), head.info.input.name.lower()) == (transition, input)
    assert (head.info.levels, head.info.hidden, head.info.codes) == (L, D, (V,) * L)
    hidden, valid = hidden_states(5), valid_sids(index)
    decoder = sidbeam.DraftDecoder(head, index, beams=M, requests=5)
    head.close()
    drafts = decoder.run(hidden)
    assert drafts.live.tolist() == [M] * 5 and not drafts.errors.any()
    for i in range(5):
        expected = reference(made, transition, input, hidden[i], valid)
        assert drafts.scores[i] == pytest.approx([score for score, _ in expected], abs=1e-4)
        assert [tuple(sid) for sid in drafts.sids[i].tolist()] == [sid for _, sid in expected]
        assert [index.find(sid) for sid in drafts.sids[i]] == drafts.ordinals[i].tolist()
    one = decoder.run(hidden[2])
    assert one.scores.tolist() == drafts.scores[2:3].tolist() and one.sids.tolist() == drafts.sids[2:3].tolist()


@every_kind
def test_hash_verification_is_as_algorithm_3_says(
    tmp_path: Any, index: sidbeam.Index, transition: str, input: str
) -> None:
    made, hidden, valid = arrays(transition, input), hidden_states(20), valid_sids(index)
    draft.write(tmp_path / "head", **made, input=input)
    head = sidbeam.DraftHead.open(tmp_path / "head")
    for top_k in (2, 5):
        decoder = sidbeam.DraftDecoder(head, index, beams=M, requests=20, verification="hash", top_k=top_k)
        drafts = decoder.run(hidden)
        for i in range(20):
            expected = reference(made, transition, input, hidden[i], valid, top_k)
            live = drafts.live[i]
            assert live == len(expected)
            assert drafts.scores[i, :live] == pytest.approx([score for score, _ in expected], abs=1e-4)
            assert [tuple(sid) for sid in drafts.sids[i, :live].tolist()] == [sid for _, sid in expected]
            assert [index.find(sid) for sid in drafts.sids[i, :live]] == drafts.ordinals[i, :live].tolist()
            assert (drafts.ordinals[i, live:] == -1).all()
        assert 0 < drafts.live.sum() < 20 * M


def test_dtypes_strides_and_modules_change_nothing(tmp_path: Any, index: sidbeam.Index) -> None:
    made, hidden = arrays("gru"), hidden_states(3)
    expected = None
    cells = [dict(zip(("weight_ih", "bias_ih", "weight_hh", "bias_hh"), cell)) for cell in made["transitions"]]
    modules = {
        "heads": [types.SimpleNamespace(weight=w, bias=b) for w, b in made["heads"]],
        "embeddings": [types.SimpleNamespace(weight=table) for table in made["embeddings"]],
        "transitions": [types.SimpleNamespace(**cell) for cell in cells],
    }
    layers = [types.SimpleNamespace(**{name + "_l0": array for name, array in cell.items()}) for cell in cells]
    for dtype in ("f32", "f16", "bf16"):
        for source in (made, modules, {**modules, "transitions": layers}):
            draft.write(tmp_path / "head", **source, dtype=dtype)
            with sidbeam.DraftHead.open(tmp_path / "head") as head:
                assert head.info.dtype.name.lower() == dtype
                decoder = sidbeam.DraftDecoder(head, index, beams=M, requests=3, verification="hash")
            spread = np.zeros((3, 2 * L + 2, D), np.float32)
            spread[:, ::2] = hidden
            for states in (hidden, hidden.astype(np.float16), spread[:, ::2]):
                drafts = decoder.run(states)
                found = drafts.scores.tolist(), drafts.sids.tolist(), drafts.live.tolist()
                expected = expected or found
                assert found == expected


def test_constraints_widths_and_bad_rows(tmp_path: Any, index: sidbeam.Index) -> None:
    draft.write(tmp_path / "head", **arrays(), codebook="books")
    head = sidbeam.DraftHead.open(tmp_path / "head")
    assert head.info.codebook == "books" and "3 levels, hidden 6, rnn" in repr(head)
    decoder = sidbeam.DraftDecoder(head, index, beams=M, requests=3)
    two = sidbeam.Index.build([(0, 1, 2), (7, 7, 7)], codes=V)
    hidden = hidden_states(3)
    drafts = decoder.run(hidden, constraints=[None, two, None], widths=[1, 0, 3])
    assert drafts.live.tolist() == [1, 2, 3] and sorted(drafts.ordinals[1].tolist()) == [-1, -1, 0, 1]
    hidden[1, 0, 0] = np.nan
    drafts = decoder.run(hidden)
    assert drafts.live.tolist() == [M, 0, M] and drafts.errors.tolist() == [0, sidbeam.SlotError.BAD_ROW, 0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_an_owner_that_cannot_be_kept(tmp_path: Any) -> None:
    path = tmp_path / "head"
    path.write_text("old")
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(0o777)
    os.seteuid(1234)
    try:
        with pytest.raises(sidbeam.IOFailure, match="cannot keep the owner of '.*head': Operation not permitted"):
            draft.write(path, **arrays())
        assert path.read_text() == "old"
        draft.write(path, **arrays(), allow_attribute_loss=True)
    finally:
        os.seteuid(0)
    assert path.stat().st_uid == 1234 and sidbeam.DraftHead.open(path).info.levels == L


def test_what_is_refused(tmp_path: Any, index: sidbeam.Index) -> None:
    path = tmp_path / "head"
    draft.write(path, **arrays(), codebook="books")
    head = sidbeam.DraftHead.open(path)
    decoder = sidbeam.DraftDecoder(head, index, beams=M)
    good = decoder.run(hidden_states(1)).scores.tolist()
    for states, what in (
        (np.zeros((1, L + 1, D + 1), np.float32), "hidden has 7 columns, expected 6"),
        (np.zeros((1, L, D), np.float32), "hidden has 3 rows, expected 4"),
        (np.zeros((2, L + 1, D), np.float32), r"hidden has 2 slots, expected 1\.\.1"),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=what):
            decoder.run(states)
    others = sidbeam.Index.build([(0, 1, 2)], codes=V, codebook="others")
    with pytest.raises(sidbeam.InvalidArgument, match=r"constraints\[0\] is of codebook 'others', expected 'books'"):
        decoder.run(hidden_states(1), constraints=others)
    assert decoder.run(hidden_states(1)).scores.tolist() == good
    with pytest.raises(sidbeam.InvalidArgument, match="beams is 0"):
        sidbeam.DraftDecoder(head, index, beams=0)
    with pytest.raises(sidbeam.MissingSection, match="has no hash set"):
        plain = sidbeam.Index.build([(0, 1, 2)], codes=V)
        sidbeam.DraftDecoder(head, plain, beams=1, verification="hash")
    with pytest.raises(sidbeam.InvalidArgument, match="codebook 'others', expected 'books'"):
        sidbeam.DraftDecoder(head, others, beams=1)
    with pytest.raises(sidbeam.InvalidArgument, match="has 9 codes at level 0, expected 8"):
        sidbeam.DraftDecoder(head, sidbeam.Index.build([(0, 1, 2)], codes=V + 1), beams=1)
    with pytest.raises(sidbeam.IOFailure, match="nowhere"):
        sidbeam.DraftHead.open(tmp_path / "nowhere")
    (tmp_path / "cut").write_bytes(path.read_bytes()[:-64])
    with pytest.raises(sidbeam.Corrupt, match="the file has"):
        sidbeam.DraftHead.open(tmp_path / "cut")
    decoder.close()
    with pytest.raises(sidbeam.BadState, match="draft decoder is closed"):
        decoder.run(hidden_states(1))


def test_weights_that_are_no_head(tmp_path: Any) -> None:
    def refused(what: str, **changes: Any) -> None:
        with pytest.raises(sidbeam.InvalidArgument, match=what):
            draft.write(tmp_path / "head", **{**arrays(), **changes})
        assert not (tmp_path / "head").exists()

    made = arrays()
    refused("heads is empty", heads=[])
    refused("embeddings has 1 entries, expected 2, or none", embeddings=made["embeddings"][:1])
    heads, cell = made["heads"], made["transitions"][0]
    narrow, long = [heads[0], np.zeros((8, 11)), heads[2]], (cell[0], np.zeros(7), *cell[2:])
    refused(r"head of level 1 has shape \(8, 11\), expected \(8, 12\)", heads=narrow)
    refused(r"b_i of level 0 has shape \(7,\), expected \(6,\)", transitions=[long] * 2)
    refused("a transition has 2 arrays", transitions=[(1, 2), (3, 4)])
    for suffix, setting, value, expected in (
        ("", "nonlinearity", "relu", "'tanh'"),
        ("_l0", "nonlinearity", "relu", "'tanh'"),
        ("_l0", "num_layers", 2, "1"),
        ("_l0", "bidirectional", True, "False"),
    ):
        arrays_of = dict(zip((name + suffix for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")), cell))
        module = types.SimpleNamespace(**arrays_of, **{setting: value})
        refused(f"a transition has {setting}={value!r}, expected {expected}", transitions=[module] * 2)
    refused("weights.transition is 0, expected NONE", input="hidden", heads=[np.zeros((V, D))] * L)
    refused("Transition is 'lstm', expected one of", transition="lstm")
    refused("weights.input_weights is None", transition="rnn", transitions=())


@pytest.mark.parametrize(
    ("odd", "what"),
    [
        (None, "is None, expected an array"),
        (np.full((V, 2 * D), 1j), "has dtype complex128, expected real numbers"),
        (np.full((V, 2 * D), 1.0, object), "has dtype object, expected real numbers"),
        (np.full((V, 2 * D), None), "has dtype object, expected real numbers"),
        (np.full((V, 2 * D), "1"), "has dtype <U1, expected real numbers"),
        ("weights", "is str, expected an array or a list"),
        ({"weight": 1}, "is dict, expected an array or a list"),
        ([[1.0, 2.0], [3.0]], "(is no array of numbers: .*inhomogeneous|has dtype object)"),
        ([[None] * (2 * D)] * V, "has dtype object, expected real numbers"),
        (1.0, "has 0 dimensions, expected 2"),
        ([1.0, 2.0], "has 1 dimensions, expected 2"),
    ],
)
def test_weights_that_are_no_real_numbers(tmp_path: Any, odd: Any, what: str) -> None:
    def refused(name: str, **changes: Any) -> None:
        with pytest.raises(sidbeam.InvalidArgument, match=f"{name} of level 0 {what}"):
            draft.write(tmp_path / "head", **{**arrays(), **changes})
        assert not (tmp_path / "head").exists()

    made = arrays()
    heads, embeddings, cells = made["heads"], made["embeddings"], made["transitions"]
    refused("head", heads=[odd, *heads[1:]])
    refused("head", heads=[(odd, None), *heads[1:]])
    refused("embedding", embeddings=[odd, *embeddings[1:]])
    refused("W_i", transitions=[(odd, *cells[0][1:]), *cells[1:]])
    refused("W_r", transitions=[(*cells[0][:2], odd, None), *cells[1:]])


def test_lists_of_weights_that_are_none(tmp_path: Any) -> None:
    def refused(what: str, **changes: Any) -> None:
        with pytest.raises(sidbeam.InvalidArgument, match=what):
            draft.write(tmp_path / "head", **{**arrays(), **changes})

    made = arrays()
    refused("heads is None, expected a list", heads=None)
    refused("embeddings is int, expected a list", embeddings=3)
    refused("a transition is None, expected a list", transitions=[None] * (L - 1))
    refused(r"a head is a tuple of 3, expected \(weight, bias\)", heads=[(1, 2, 3), *made["heads"][1:]])
    for odd in (1j, "b", None):
        first, (weight, _), last = made["heads"]
        refused("head bias of level 1 has dtype", heads=[first, (weight, np.full(V, odd)), last])


def test_weights_that_a_dtype_cannot_hold(tmp_path: Any) -> None:
    for dtype, most, name in (("f16", 65519.0, "f16"), ("bf16", 3.3961e38, "bf16"), ("f32", 3.4e38, "")):
        made = arrays()
        w_i = made["transitions"][1][0]
        w_i[2, 3] = most  # rounded, the largest there is
        made["heads"][1][1][2] = -np.inf  # a code that is never found
        draft.write(tmp_path / "head", **made, dtype=dtype)
        (tmp_path / "head").unlink()
        if name:
            w_i[2, 3] = -most * 1.0001
            what = f"W_i of level 1 has -.*, expected numbers that {name} can hold"
            with pytest.raises(sidbeam.InvalidArgument, match=what):
                draft.write(tmp_path / "head", **made, dtype=dtype)
            assert not (tmp_path / "head").exists()
    for odd in (-np.inf, np.inf, np.nan):
        made = arrays()
        made["transitions"][1][0][0, 0] = odd
        with pytest.raises(sidbeam.InvalidArgument, match=f"W_i of level 1 has {odd}, expected finite numbers"):
            draft.write(tmp_path / "head", **made)
