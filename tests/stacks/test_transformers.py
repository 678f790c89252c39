"""sidbeam.transformers against generate() with prefix_allowed_tokens_fn, and against brute force over the list of SIDs.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import sidbeam
from compare_transformers import compare, table_of
from conftest import index_of
from models import allowed_tokens_fn, batch, histories, model_of, prompt_length, real
from oracle import BIGRAM_TRAP, DUPLICATES, VARIABLE, Catalogue
from sidbeam.transformers import SidBeamSearch, SidLogitsProcessor, SidTokens
from transformers_cases import (
    KINDS,
    VOCAB,
    Ban,
    assert_beams,
    at,
    brute_force,
    by_processor,
    generate,
    sids_of,
    tokens_of,
)


@pytest.fixture(params=KINDS)
def model(request):
    return model_of(request.param, VOCAB)


@pytest.fixture
def requests():
    catalogue, _ = real()
    return batch(histories(catalogue, 3))


def test_real_catalogue(model, requests) -> None:
    """All four ways give the same SIDs, of prompts that hold SIDs themselves and are of different lengths."""
    catalogue, _ = real()
    sids, width = sids_of(catalogue), 8
    loop, scores = generate(model, requests, width, custom_generate=SidBeamSearch(sids))
    masked, masked_scores = by_processor(model, requests, sids, width)
    fn = allowed_tokens_fn(catalogue, prompt_length(model, requests))
    slow, slow_scores = generate(model, requests, width, prefix_allowed_tokens_fn=fn)
    assert torch.equal(masked, slow) and torch.equal(masked_scores, slow_scores)
    assert torch.equal(loop, masked)
    torch.testing.assert_close(scores, masked_scores, atol=1e-5, rtol=1e-5)
    for request in range(3):
        assert_beams(catalogue, loop[request], scores[request], brute_force(model, requests, catalogue, width, request))


@pytest.mark.parametrize("options", [{"use_cache": False}, {"num_return_sequences": 2}], ids=str)
def test_options(model, requests, options) -> None:
    sids = sids_of(real()[0])
    keep = options.get("num_return_sequences", 8)
    full, _ = generate(model, requests, 8, custom_generate=SidBeamSearch(sids))
    out = model.generate(
        **requests,
        **{"num_beams": 8, "num_return_sequences": 8, "max_new_tokens": 5, **options},
        custom_generate=SidBeamSearch(sids),
    )
    assert torch.equal(out[:, prompt_length(model, requests) :].unflatten(0, (3, keep)), full[:, :keep])


def test_bfloat16(requests) -> None:
    """Read as they are; generate() makes them float32 first, which changes nothing."""
    import copy

    half = copy.deepcopy(model_of("decoder", VOCAB)).to(torch.bfloat16)
    sids = sids_of(real()[0])
    loop, scores = generate(half, requests, 4, custom_generate=SidBeamSearch(sids))
    _, masked_scores = by_processor(half, requests, sids, 4)
    ordinals = index_of(real()[0]).find_many(*sids.codes(loop.flatten(0, 1)))
    # A row's place in a batch changes a matrix product of bfloat16, so beams that are close may trade places.
    assert (ordinals >= 0).all()
    torch.testing.assert_close(scores, masked_scores, atol=0.05, rtol=0.02)


def test_bigrams(model) -> None:
    """Of (0, 1, 4) every pair of neighbours is in the catalogue; the SID is not."""
    catalogue, inputs = at(BIGRAM_TRAP), batch([[5, 6, 7], [8, 9]])
    sids, wanted = sids_of(catalogue), {tuple(tokens_of(catalogue, sid)) for sid in BIGRAM_TRAP.sids}
    loop, scores = generate(model, inputs, 4, custom_generate=SidBeamSearch(sids))
    for request in range(2):
        assert {tuple(row) for row in loop[request].tolist()} == wanted
        assert_beams(catalogue, loop[request], scores[request], brute_force(model, inputs, catalogue, 4, request))
    masked, _ = by_processor(model, inputs, sids, 4)
    assert {tuple(row) for row in masked.flatten(0, 1).tolist()} <= wanted


def test_duplicates_and_few(model) -> None:
    """Six items of three SIDs, and eight beams: each SID once, then nothing."""
    catalogue, inputs = at(DUPLICATES), batch([[5, 6, 7], [8, 9]])
    sids, index = sids_of(catalogue), index_of(catalogue)
    loop, scores = generate(model, inputs, 8, custom_generate=SidBeamSearch(sids))
    for request in range(2):
        assert_beams(catalogue, loop[request], scores[request], brute_force(model, inputs, catalogue, 8, request))
    ordinals = index.find_many(*sids.codes(loop[0]))
    assert sorted(ordinals.tolist()) == [-1] * 5 + [0, 1, 2]
    assert [len(index.item_rows(ordinal)) for ordinal in sorted(ordinals)[5:]] == [2, 3, 1]
    masked, masked_scores = by_processor(model, inputs, sids, 8)
    real_ones = masked_scores > -1e8  # the others are what generate() fills up with
    assert real_ones.sum(1).tolist() == [3, 3]
    assert torch.equal(masked[real_ones], loop[scores > -math.inf])
    assert set(index.find_many(*sids.codes(masked[~real_ones])).tolist()) <= {-1, 0, 1, 2}


def test_all_allowed_are_banned(model) -> None:
    """No SID comes back, and nothing that is none is taken for one."""
    catalogue, inputs = at(BIGRAM_TRAP), batch([[5, 6, 7], [8, 9]])
    sids, index = sids_of(catalogue), index_of(catalogue)
    for banned in ([20, 23], tokens_of(catalogue, (0, 1, 2))[1:] + tokens_of(catalogue, (0, 2, 4))[1:2]):
        ban = Ban(banned)
        loop, scores = generate(model, inputs, 4, logits_processor=[ban], custom_generate=SidBeamSearch(sids))
        masked, masked_scores = by_processor(model, inputs, sids, 4, also=[ban])
        left = {sid for sid in BIGRAM_TRAP.sids if not set(tokens_of(catalogue, sid)) & set(banned)}
        for tokens, alive in ((loop, scores > -math.inf), (masked, masked_scores > -1e8)):
            found = index.find_many(*sids.codes(tokens[alive]))
            assert (found >= 0).all() and {index.sid(o) for o in found} == left
            assert set(index.find_many(*sids.codes(tokens[~alive])).tolist()) <= {-1} | set(found.tolist())


def test_other_processors(model, requests) -> None:
    """They see log-probabilities and what was said, and are applied before the mask, as in generate()."""
    sids, bias = sids_of(real()[0]), {(200,): 3.0, (400,): -2.0, (700, 800): 1.5}
    also = [transformers.SequenceBiasLogitsProcessor(bias), transformers.RepetitionPenaltyLogitsProcessor(1.3)]
    loop, scores = generate(model, requests, 6, logits_processor=also, custom_generate=SidBeamSearch(sids))
    masked, masked_scores = by_processor(model, requests, sids, 6, also=also)
    assert torch.equal(loop, masked)
    torch.testing.assert_close(scores, masked_scores, atol=1e-5, rtol=1e-5)


def test_processors_that_generate_prepares(requests) -> None:
    """generate() makes them for a row per beam, here of prompts that are padded on the left."""
    sids, model = sids_of(real()[0]), model_of("decoder", VOCAB)
    loop, scores = generate(model, requests, 6, repetition_penalty=1.3, custom_generate=SidBeamSearch(sids))
    masked, masked_scores = by_processor(model, requests, sids, 6, repetition_penalty=1.3)
    assert torch.equal(loop, masked)
    torch.testing.assert_close(scores, masked_scores, atol=1e-5, rtol=1e-5)
    # Guidance keeps a cache of its own, whose rows generate() never reorders: what it gives is not compared.
    guided, scores = generate(model, requests, 6, guidance_scale=1.5, custom_generate=SidBeamSearch(sids))
    assert (index_of(real()[0]).find_many(*sids.codes(guided.flatten(0, 1))) >= 0).all() and scores.isfinite().all()


class Rows(transformers.LogitsProcessor):
    """What a processor sees."""

    def __init__(self) -> None:
        self.seen = []

    def __call__(self, input_ids, scores):
        self.seen.append((tuple(input_ids.shape), tuple(scores.shape)))
        return scores


def test_processors_see_a_row_per_beam(model, requests) -> None:
    rows, length = Rows(), prompt_length(model, requests)
    generate(model, requests, 4, logits_processor=[rows], custom_generate=SidBeamSearch(sids_of(real()[0])))
    assert rows.seen == [((12, length + level), (12, VOCAB)) for level in range(3)]


def test_codes_without_a_token(model) -> None:
    """A tokenizer has only the codes that occur."""
    inputs = batch([[5, 6, 7], [8, 9]])
    used = [{sid[level] for sid in BIGRAM_TRAP.sids} for level in range(3)]
    maps = [[30 + 5 * level + code if code in used[level] else -1 for code in range(5)] for level in range(3)]
    catalogue = Catalogue(BIGRAM_TRAP.sids, BIGRAM_TRAP.codes, maps=maps)
    sids = sids_of(catalogue)
    loop, scores = generate(model, inputs, 4, custom_generate=SidBeamSearch(sids))
    for request in range(2):
        assert_beams(catalogue, loop[request], scores[request], brute_force(model, inputs, catalogue, 4, request))
    assert (index_of(catalogue).find_many(*sids.codes(loop.flatten(0, 1))) >= 0).all()


def test_renormalised(requests) -> None:
    """renormalize_logits is a processor too; the mask stands before it in generate(), so scores are of SIDs alone."""
    sids, model = sids_of(real()[0]), model_of("decoder", VOCAB)
    processor = SidLogitsProcessor(sids, prompt_length(model, requests))
    _, scores = generate(model, requests, 4, logits_processor=[processor], renormalize_logits=True)
    session = sidbeam.Session(index_of(real()[0]), beams=4, normalization="valid", vocabulary=sids.vocabulary)
    with torch.no_grad():
        logits = model(input_ids=requests["input_ids"][:1], attention_mask=requests["attention_mask"][:1]).logits[:, -1]
    session.start()
    session.step(logits.numpy())
    assert scores[0, 0] * 3 <= session.beams().scores[0, 0] + 1e-4  # each level is a distribution over SIDs


def test_variable_length(model) -> None:
    catalogue, inputs = at(VARIABLE), batch([[5, 6, 7], [8, 9]])
    sids, index = sids_of(catalogue), index_of(catalogue)
    loop, scores = generate(model, inputs, 3, custom_generate=SidBeamSearch(sids))
    for request in range(2):
        assert_beams(catalogue, loop[request], scores[request], brute_force(model, inputs, catalogue, 3, request))
    assert (index.find_many(*sids.codes(loop.flatten(0, 1))) >= 0).all()
    # generate() keeps what has ended apart from its beams, so it may find others; all exist.
    masked, masked_scores = by_processor(model, inputs, sids, 3, levels=4, eos_token_id=19)
    assert (index.find_many(*sids.codes(masked[masked_scores > -1e8])) >= 0).all()


def test_requests_that_are_over_wait(model) -> None:
    """A request whose SIDs have all ended, the beams in another order than before, stays so while others go on."""
    short = at(Catalogue([(0,), (1,), (2,), (3,)], [4, 4, 4], variable=True))
    long = at(Catalogue([(0, 3, 1), (0, 3, 2)], [4, 4, 4], variable=True))
    search, inputs = SidBeamSearch(sids_of(short, long)), batch([[5, 6, 7], [8, 9], [5, 5, 5]])
    loop, scores = generate(model, inputs, 4, custom_generate=search, which=[0, 1, 0])
    for request, catalogue in enumerate((short, long, short)):
        assert_beams(catalogue, loop[request], scores[request], brute_force(model, inputs, catalogue, 4, request))


def test_threads_share_a_search(model) -> None:
    """A call has a session for itself, whatever other threads' calls of the same size do."""
    catalogue, _ = real()
    sids = sids_of(catalogue)
    search = SidBeamSearch(sids)
    inputs = [batch([[5 + i, 7, 9 + 3 * i]]) for i in range(8)]
    expected = [generate(model, i, 8, custom_generate=SidBeamSearch(sids)) for i in inputs]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda i: generate(model, i, 8, custom_generate=search), inputs * 10))
    wrong = [i for i, got in enumerate(found) if not all(map(torch.equal, got, expected[i % len(inputs)]))]
    assert wrong == []


def test_rows_trade_places() -> None:
    """A row is masked by its own tokens, whichever row it was before."""
    catalogue, _ = real()
    sids, rng = sids_of(catalogue), np.random.default_rng(2)
    prompt = [tokens_of(catalogue, catalogue.sids[0]), tokens_of(catalogue, catalogue.sids[9])]
    said = [tokens_of(catalogue, catalogue.sids[i])[:2] for i in rng.integers(0, len(catalogue.sids), 12)]
    ids = torch.tensor([prompt[i % 2] + tokens for i, tokens in enumerate(said)])
    scores, order = torch.randn(12, VOCAB), torch.randperm(12)
    processor = SidLogitsProcessor(sids, 3)
    out = processor(ids, scores)
    assert torch.equal(processor(ids[order], scores[order]), out[order])
    fn = allowed_tokens_fn(catalogue, 3)
    for row in range(12):
        allowed = sorted(fn(0, ids[row]))
        assert torch.isfinite(out[row]).nonzero().flatten().tolist() == allowed
        assert torch.equal(out[row, allowed], scores[row, allowed])


def test_empty_allowed_set() -> None:
    """No SID begins with what was said: nothing is allowed, rather than everything."""
    catalogue = at(BIGRAM_TRAP)
    processor = SidLogitsProcessor(sids_of(catalogue), 2)
    wrong = [
        tokens_of(catalogue, (0, 4, 0))[:2],
        tokens_of(catalogue, (1, 1, 1))[:2],
        [5, 6],
        [899, 0],
        tokens_of(catalogue, (0, 1, 0))[1::-1],
    ]
    out = processor(torch.tensor([[5, 6, *said] for said in wrong]), torch.randn(len(wrong), VOCAB))
    assert out.eq(-math.inf).all()


def test_slots_are_used_again(model) -> None:
    """What requests before have left in a session's slots does not matter, nor how many they were."""
    first, second = at(BIGRAM_TRAP), at(Catalogue([(0, 0, 0), (4, 4, 4), (4, 0, 4)], [5, 5, 5]))
    search = SidBeamSearch(sids_of(first, second))
    inputs = batch([[5, 6, 7], [8, 9], [10, 11, 12]])
    for which, rows in (([0, 0, 1], slice(0, 3)), ([1], slice(2, 3)), ([1, 0, 1], slice(0, 3)), ([1, 0], slice(1, 3))):
        given = {name: value[rows] for name, value in inputs.items()}
        loop, scores = generate(model, given, 4, custom_generate=search, which=which)
        masked, masked_scores = by_processor(model, given, search.sids, 4, which=which)
        for request, number in enumerate(which):
            catalogue = (first, second)[number]
            assert_beams(catalogue, loop[request], scores[request], brute_force(model, given, catalogue, 4, request))
            alive = masked_scores[request] > -1e8
            assert torch.equal(masked[request][alive], loop[request][scores[request] > -math.inf])


def test_sampling_and_greedy(requests) -> None:
    catalogue, _ = real()
    sids, index, model = sids_of(catalogue), index_of(catalogue), model_of("decoder", VOCAB)
    processor = SidLogitsProcessor(sids, prompt_length(model, requests), end_token=9)
    for options in ({"do_sample": True, "num_return_sequences": 20}, {"do_sample": False}):
        out = model.generate(**requests, logits_processor=[processor], max_new_tokens=4, eos_token_id=9, **options)
        tokens = out[:, prompt_length(model, requests) :]
        assert (index.find_many(*sids.codes(tokens)) >= 0).all() and tokens[:, 3].eq(9).all()


def test_codes_of_anything() -> None:
    catalogue = at(BIGRAM_TRAP)
    sids, index = sids_of(catalogue), index_of(catalogue)
    tokens = torch.tensor([[20, 26, 32, 7], [20, 26, 26, 7], [26, 26, 32, 7], [0, 0, 0, 0], [-5, 9999, 20, 0]])
    codes, lengths = sids.codes(tokens)
    assert codes.tolist() == [[0, 1, 2], [0, 1, -1], [-1] * 3, [-1] * 3, [-1] * 3] and lengths.tolist() == [
        3,
        2,
        0,
        0,
        0,
    ]
    assert index.find_many(codes, lengths).tolist() == [0, -1, -1, -1, -1]
    assert sids.codes(tokens[:, :0])[1].tolist() == [0] * 5


FILLED = transformers.DynamicCache()
FILLED.update(torch.zeros(8, 4, 1, 16), torch.zeros(8, 4, 1, 16), 0)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"max_new_tokens": 2}, "max_new_tokens is 2, expected at least 3"),
        ({"do_sample": True}, "do_sample is True, which is refused: this is a beam search; SidSampler draws"),
        ({"cache_implementation": "static"}, "cache_implementation is 'static', which is refused: the cache has to be"),
        ({"past_key_values": FILLED}, "past_key_values is filled or static, expected an empty, dynamic cache"),
        ({"which": [0]}, r"which is \[0\], expected a number or a Constraint for each of 2 requests"),
        ({"which": [1, 0]}, r"which is \[1, 0\], expected a number below 1"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_the_loop_refuses(options, message: str) -> None:
    search, inputs = SidBeamSearch(sids_of(at(BIGRAM_TRAP))), batch([[5, 6, 7], [8, 9]])
    with pytest.raises(sidbeam.InvalidArgument, match=message):
        generate(model_of("decoder", VOCAB), inputs, 4, custom_generate=search, **options)


def test_what_the_processor_refuses() -> None:
    model, inputs = model_of("decoder", VOCAB), batch([[5, 6, 7]])
    sids = sids_of(at(BIGRAM_TRAP))
    with pytest.raises(
        sidbeam.InvalidArgument, match=r"token 4 of SIDs of 3 codes: expected max_new_tokens=3, or end_token"
    ):
        generate(model, inputs, 2, levels=4, logits_processor=[SidLogitsProcessor(sids, 3)])
    with pytest.raises(sidbeam.InvalidArgument, match="prompt_length is 9, but input_ids has 3 tokens"):
        generate(model, inputs, 2, logits_processor=[SidLogitsProcessor(sids, 9)])
    with pytest.raises(sidbeam.InvalidArgument, match="a token for two codes of level 1"):
        SidTokens(index_of(BIGRAM_TRAP), sidbeam.Vocabulary(maps=[None, [1, 2, 3, 4, 1], None]))


def test_comparison(capsys) -> None:
    """The script for users runs, and says that the beams are the same."""
    rows = compare(requests=2, beams=4, repeats=1, size="small", vocab=VOCAB)
    print(table_of(rows))
    assert {row["model"] for row in rows} == set(KINDS) and len(rows) == 8
    assert all(row["same"] == "yes" for row in rows if row["way"] != "generate(), unconstrained")
    ruled = compare(requests=2, beams=4, repeats=1, size="small", vocab=VOCAB, excluded=2500)
    assert [row["same"] for row in ruled] == ["yes"] * 6
