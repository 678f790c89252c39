"""Rules in sidbeam.transformers: what generate() gives with a Python trie of the allowed items, and, bit for bit, what
an index of the allowed items alone gives. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

import sidbeam
from conftest import index_of
from models import allowed_tokens_fn, batch, histories, model_of, prompt_length, real
from oracle import DUPLICATES, VARIABLE, Catalogue
from rules_cases import NOTHING, Rules, Shop
from sidbeam.transformers import SidBeamSearch, SidLogitsProcessor, SidSampler, SidTokens
from transformers_cases import KINDS, VOCAB, assert_beams, at, brute_force, generate, sids_of, tokens_of


@pytest.fixture(params=KINDS)
def model(request):
    return model_of(request.param, VOCAB)


SHOP = Shop(real()[0])


def tokens_of_shop(shop: Shop = SHOP) -> SidTokens:
    return SidTokens(shop.index, shop.vocabulary)


def requests_of(count: int):
    return batch(histories(SHOP.catalogue, count))


def drawn(seed: int) -> list[Rules]:
    rng = np.random.default_rng(seed)
    return [SHOP.draw(rng), Rules(), SHOP.draw(rng), SHOP.draw(rng)]


def of_each(model, inputs, catalogues: list[Catalogue]):
    """prefix_allowed_tokens_fn of requests whose allowed items are these catalogues."""
    functions = [allowed_tokens_fn(catalogue, prompt_length(model, inputs)) for catalogue in catalogues]
    return lambda request, ids: functions[request](request, ids)


@pytest.mark.parametrize("seed", range(2))
def test_requests_under_rules_of_their_own(model, seed: int) -> None:
    rules, inputs, width = drawn(seed), requests_of(4), 8
    left = [SHOP.left(one) for one in rules]
    search = SidBeamSearch(tokens_of_shop())
    loop, scores = generate(model, inputs, width, custom_generate=search, **SHOP.arguments(rules))
    slow, slow_scores = generate(model, inputs, width, prefix_allowed_tokens_fn=of_each(model, inputs, left))
    processor = SidLogitsProcessor(tokens_of_shop(), prompt_length(model, inputs), **SHOP.arguments(rules))
    masked, masked_scores = generate(model, inputs, width, logits_processor=[processor])
    assert torch.equal(masked, slow) and torch.equal(masked_scores, slow_scores)
    assert torch.equal(loop, slow)
    torch.testing.assert_close(scores, slow_scores, atol=1e-5, rtol=1e-5)
    alone = SidBeamSearch(sids_of(*left))
    expected, expected_scores = generate(model, inputs, width, custom_generate=alone, which=[0, 1, 2, 3])
    assert torch.equal(loop, expected) and torch.equal(scores, expected_scores)
    free, free_scores = generate(model, inputs, width, custom_generate=search)  # by the session that had the rules
    plain, plain_scores = generate(model, inputs, width, custom_generate=SidBeamSearch(tokens_of_shop()))
    assert torch.equal(free, plain) and torch.equal(free_scores, plain_scores) and not torch.equal(free, loop)


@pytest.mark.parametrize("of", [DUPLICATES, VARIABLE], ids=["duplicates", "variable"])
@pytest.mark.parametrize("seed", range(4))
def test_few_items(model, of: Catalogue, seed: int) -> None:
    """Often fewer than beams; SIDs of which some items are left out; a request that nothing is left for."""
    shop, inputs = Shop(at(of), seed), batch([[5, 6, 7], [8, 9], [5, 5, 5]])
    rules = [shop.draw(np.random.default_rng(seed)), NOTHING, shop.draw(np.random.default_rng(seed + 9))]
    search = SidBeamSearch(tokens_of_shop(shop))
    loop, scores = generate(model, inputs, 5, custom_generate=search, **shop.arguments(rules))
    for request, one in enumerate(rules):
        left = shop.left(one)
        best = brute_force(model, inputs, left, 5, request) if left.sids else []
        assert_beams(left, loop[request], scores[request], best)


@pytest.mark.parametrize("form", ["list", "array", "tensor", "rows"])
def test_one_rule_for_all_requests(model, form: str) -> None:
    rules, inputs = SHOP.draw(np.random.default_rng(5))._replace(exclude=SHOP.ids[::2], allow=None), requests_of(2)
    made = {"list": list, "array": np.array, "tensor": torch.tensor, "rows": rows_of}[form](rules.exclude)
    kept = None if rules.below is None else SHOP.index.filter(f"price<{rules.below}")
    search = SidBeamSearch(tokens_of_shop())
    loop, scores = generate(model, inputs, 6, custom_generate=search, exclude=made, filter=kept)
    alone = SidBeamSearch(sids_of(SHOP.left(rules)))
    expected, expected_scores = generate(model, inputs, 6, custom_generate=alone)
    assert torch.equal(loop, expected) and torch.equal(scores, expected_scores)


def rows_of(ids: list[int]) -> sidbeam.ItemRows:
    return sidbeam.ItemRows(SHOP.index.filter(ids=ids).rows())


def test_lists_per_request_in_tensors() -> None:
    """generate() repeats tensors of the model's arguments for beams; a loop's own it leaves alone."""
    model, inputs = model_of("decoder", VOCAB), requests_of(2)
    lists = torch.tensor([SHOP.ids[:900], SHOP.ids[900:1800]])
    found = [
        generate(model, inputs, 6, custom_generate=SidBeamSearch(tokens_of_shop()), exclude=exclude)
        for exclude in (lists, list(lists), lists.numpy(), lists.tolist())
    ]
    assert all(torch.equal(found[0][0], tokens) and torch.equal(found[0][1], scores) for tokens, scores in found)
    assert not torch.equal(found[0][0], generate(model, inputs, 6, custom_generate=SidBeamSearch(tokens_of_shop()))[0])


def test_nothing_is_allowed(model) -> None:
    inputs = requests_of(2)
    loop, scores = generate(model, inputs, 4, custom_generate=SidBeamSearch(tokens_of_shop()), allow=[])
    assert loop.eq(0).all() and scores.eq(-math.inf).all()
    processor = SidLogitsProcessor(tokens_of_shop(), 2, allow=[])
    assert processor(torch.tensor([[5, 6]]), torch.randn(1, VOCAB)).eq(-math.inf).all()


def test_constraints_per_request(model) -> None:
    """By number or as they are, of several catalogues; what a request excludes comes to the rules of its constraint."""
    other = Shop(at(Catalogue([(0, 0, 0), (4, 4, 4), (4, 0, 4), (1, 2, 3)], [5, 5, 5])), 1)
    shop = Shop(at(Catalogue([(0, 1, 2), (3, 1, 4), (0, 2, 4), (3, 2, 2)], [5, 5, 5])), 2)
    sids, inputs = SidTokens([shop.index, other.index], shop.vocabulary), batch([[5, 6, 7], [8, 9], [1, 2, 3], [4]])
    ruled = sidbeam.Constraint(other.index, exclude=[100])
    which = [0, ruled, sidbeam.Constraint(shop.index, allow=[101, 102, 103]), 1]
    exclude = [[100], [103], [102], None]
    left = [
        shop.left(Rules(exclude=[100])),
        other.left(Rules(exclude=[100, 103])),
        shop.left(Rules(allow=[101, 103])),
        other.catalogue,
    ]
    loop, scores = generate(model, inputs, 4, custom_generate=SidBeamSearch(sids), which=which, exclude=exclude)
    processor = SidLogitsProcessor(sids, prompt_length(model, inputs), which=which, exclude=exclude)
    masked, masked_scores = generate(model, inputs, 4, logits_processor=[processor])
    for request, catalogue in enumerate(left):
        assert_beams(catalogue, loop[request], scores[request], brute_force(model, inputs, catalogue, 4, request))
        alive = masked_scores[request] > -1e8
        assert torch.equal(masked[request][alive], loop[request][scores[request] > -math.inf])
    loop, scores = generate(model, batch([[5, 6]]), 4, custom_generate=SidBeamSearch(sids), which=[ruled])
    expected = brute_force(model, batch([[5, 6]]), other.left(Rules(exclude=[100])), 4, 0)
    assert_beams(other.catalogue, loop[0], scores[0], expected)


def test_constraints_have_the_tokens_of_their_catalogue(model) -> None:
    """The end of a SID is another code where a catalogue has other codes."""
    few = Shop(Catalogue([(1,), (1, 2), (0, 3)], [4, 4], True, [20, 30], None, 19))
    many = Shop(Catalogue([(1,), (7, 2), (0, 3)], [9, 9], True, [20, 30], None, 19))
    sids, inputs = SidTokens([many.index, few.index], few.vocabulary), batch([[5, 6, 7], [8, 9]])
    ruled = sidbeam.Constraint(few.index, exclude=[101])
    loop, scores = generate(model, inputs, 3, 2, custom_generate=SidBeamSearch(sids), which=[ruled] * 2)
    alone = SidBeamSearch(sids_of(few.left(Rules(exclude=[101]))))
    expected, expected_scores = generate(model, inputs, 3, 2, custom_generate=alone)
    assert torch.equal(loop, expected) and torch.equal(scores, expected_scores) and loop.eq(19).any()


def test_without_numbers_all_follow_the_first(model) -> None:
    """Also where another one is longer."""
    short, long = at(Catalogue([(0, 3), (1, 2)], [4, 4])), at(Catalogue([(0, 1, 1), (2, 2, 2)], [4, 4, 4]))
    sids, inputs = SidTokens([index_of(short), index_of(long)], sidbeam.Vocabulary(long.offsets)), batch([[5, 6], [7]])
    loop, scores = generate(model, inputs, 2, custom_generate=SidBeamSearch(sids))
    expected = {tuple(tokens_of(short, sid)) for sid in short.sids}
    assert [{tuple(row[:2]) for row in rows} for rows in loop.tolist()] == [expected] * 2 and scores.isfinite().all()


@pytest.mark.parametrize("options", [{}, {"rounds": 3}, {"rounds": 3, "without_replacement": True}], ids=str)
def test_draws_under_rules(options) -> None:
    """The draws of an index of the allowed items alone, sample by sample."""
    model, inputs, rules = model_of("decoder", VOCAB), requests_of(3), [*drawn(3)[:2], NOTHING]
    left = [SHOP.left(one) for one in rules[:2]]

    def draw(sids: SidTokens, inputs, **more):
        given = {"do_sample": True, "num_return_sequences": 9, "max_new_tokens": 3, "return_dict_in_generate": True}
        given["top_k"] = 0  # generate() keeps 50 tokens by itself, among which no SID may begin
        return model.generate(**inputs, **given, custom_generate=SidSampler(sids, **options), seed=7, **more)

    found = draw(tokens_of_shop(), inputs, **SHOP.arguments(rules))
    expected = draw(sids_of(*left, left[0]), inputs, which=[0, 1, 2])  # the third is not compared
    for name in ("sequences", "log_probs", "log_masses", "accepted", "draws_used", "rows_run"):
        if expected.get(name) is not None:
            assert torch.equal(found[name][:18], expected[name][:18]), name
    assert found.log_probs[18:].eq(-math.inf).all()
    first = found.sequences[:9][found.log_probs[:9] > -math.inf]
    codes = tokens_of_shop().codes(first[:, inputs["input_ids"].shape[1] :])
    assert len(first) and (index_of(left[0]).find_many(*codes) >= 0).all()


def test_scores_and_what_stands_behind_the_mask() -> None:
    """output_scores are masked by each request's own rules; renormalize_logits sees what they allow alone."""
    model, inputs, rules = model_of("decoder", VOCAB), requests_of(2), drawn(4)[::2]
    given = {"num_beams": 4, "num_return_sequences": 4, "max_new_tokens": 3, "output_scores": True}
    given |= {"return_dict_in_generate": True, "do_sample": False}
    left = [SHOP.left(one) for one in rules]
    for more in ({}, {"renormalize_logits": True}):
        search, alone = SidBeamSearch(tokens_of_shop()), SidBeamSearch(sids_of(*left))
        found = model.generate(**inputs, **given, **more, custom_generate=search, **SHOP.arguments(rules))
        expected = model.generate(**inputs, **given, **more, custom_generate=alone, which=[0, 1])
        assert torch.equal(found.sequences, expected.sequences)
        assert torch.equal(found.sequences_scores, expected.sequences_scores)
        assert all(torch.equal(one, other) for one, other in zip(found.scores, expected.scores))
        assert len(found.scores) == 3


@pytest.mark.parametrize(
    "options, message",
    [
        ({"exclude": [[1], [2], [3]]}, r"exclude has shape \(3,\), expected \(2,\)"),
        ({"exclude": 5}, "exclude is int, expected a list of ids, or ItemRows"),
        ({"filter": "price<20"}, "filter is str, expected a Filter"),
        ({"filter": Shop(DUPLICATES).index.filter("price<20")}, "filter is of another index"),
        ({"which": [Shop(DUPLICATES).index.constraint] * 2}, "which has a Constraint of another index"),
        ({"which": []}, "which is .., expected a number or a Constraint for each of 2 requests"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_is_refused(options, message: str) -> None:
    model, sids, inputs = model_of("decoder", VOCAB), tokens_of_shop(), requests_of(2)
    with pytest.raises(sidbeam.InvalidArgument, match=message):
        generate(model, inputs, 4, custom_generate=SidBeamSearch(sids), **options)


def test_what_the_processor_refuses() -> None:
    with pytest.raises(sidbeam.InvalidArgument, match="which is empty, expected a number or a Constraint"):
        SidLogitsProcessor(tokens_of_shop(), 2, which=[])
    processor = SidLogitsProcessor(tokens_of_shop(), 1, exclude=[[1], [2]])
    with pytest.raises(sidbeam.InvalidArgument, match="there are 3 rows, expected as many for each of 2 requests"):
        processor(torch.tensor([[5], [6], [7]]), torch.randn(3, VOCAB))
