"""SidSampler against generate()'s own sampling and against the law of the model, by enumeration.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import sidbeam
from conftest import index_of
from models import batch, model_of, prompt_length
from oracle import Catalogue
from sidbeam._transformers_fields import ARGUMENTS, SAMPLING, SEARCH, Kind
from sidbeam.transformers import SidLogitsProcessor, SidSampler
from transformers_cases import KINDS, Ban, sids_of, tokens_of
from transformers_values import OUTPUTS, REFUSED, REFUSED_BY_GENERATE, WITHOUT_EFFECT

# Two levels of four codes in a vocabulary of five: after codes 0 and 2 little is valid, after 3 much. The models are
# made for larger ones: temperatures at which they are undecided enough.
FEW = Catalogue([(0, 1), (2, 0), (2, 3), (3, 0), (3, 1), (3, 2)], [4, 4], offsets=[1, 1])
TOKENS = 5
TEMPERATURES = {"decoder": 2.0, "encoder-decoder": 20.0}
DRAWS = 400  # of a call


def law_of(model, inputs, temperature: float, processors=lambda said, rows: rows):
    """P and x of the SIDs, by enumeration; processors come before the mask."""
    probs = masses = np.ones(len(FEW.distinct))
    ids = inputs["input_ids"]
    for level in range(2):
        said = torch.tensor([tokens_of(FEW, sid[:level]) for sid in FEW.distinct], dtype=torch.long)
        prompt = ids.expand(len(said), -1)
        if model.config.is_encoder_decoder:
            given = {"input_ids": prompt, "decoder_input_ids": torch.cat([torch.zeros_like(prompt[:, :1]), said], 1)}
        else:
            given = {"input_ids": torch.cat([prompt, said], 1)}
        with torch.no_grad():
            rows = model(**given).logits[:, -1] / temperature
            rows = processors(given.get("decoder_input_ids", given["input_ids"]), rows).double().softmax(-1).numpy()
        valid = [[FEW.column(level, code) for code in FEW.children(sid[:level])] for sid in FEW.distinct]
        probs = probs * [row[FEW.column(level, sid[level])] for row, sid in zip(rows, FEW.distinct)]
        masses = masses * [row[columns].sum() for row, columns in zip(rows, valid)]
    return probs, masses


def chi_square(ordinals, expected) -> float:
    wanted = expected * len(ordinals)
    return float(((np.bincount(ordinals, minlength=len(wanted)) - wanted) ** 2 / wanted).sum())


BOUND = 25.7  # 1e-4 of chi-square with five degrees of freedom


def drawn(model, inputs, sids, calls: int = 5, **options):
    """Ordinals of the SIDs of some calls of generate(), -1 dead."""
    found = []
    for call in range(calls):
        torch.manual_seed(call)
        given = {"num_return_sequences": DRAWS, "max_new_tokens": 2, "top_k": 0, **options}
        out = model.generate(**inputs, do_sample=True, **given)
        tokens = out[:, prompt_length(model, inputs) :]
        found.append(index_of(FEW).find_many(*sids.codes(tokens)))
    return np.concatenate(found)


@pytest.mark.parametrize("kind", KINDS)
def test_sampling_has_the_law_of_generate_and_disc_that_of_the_model(kind) -> None:
    model, inputs = model_of(kind, TOKENS), batch([[3, 1, 4]])
    sids, temperature = sids_of(FEW), TEMPERATURES[kind]
    probs, masses = law_of(model, inputs, temperature)
    plain, exact = probs / masses, probs / probs.sum()
    assert plain.sum() == pytest.approx(1, abs=1e-6)
    processor = SidLogitsProcessor(sids, prompt_length(model, inputs))
    assert chi_square(drawn(model, inputs, sids, temperature=temperature, logits_processor=[processor]), plain) < BOUND
    ours = drawn(model, inputs, sids, temperature=temperature, custom_generate=SidSampler(sids))
    assert chi_square(ours, plain) < BOUND < chi_square(ours, exact)
    rejected = 1 - probs.sum()
    rounds = int(np.ceil(np.log(1e-4) / np.log(rejected)))
    disc = drawn(model, inputs, sids, temperature=temperature, custom_generate=SidSampler(sids, rounds=rounds))
    assert chi_square(disc, exact) < BOUND < chi_square(disc, plain)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_tell_what_they_are(kind) -> None:
    model, inputs = model_of(kind, TOKENS), batch([[3, 1, 4], [2, 2, 1]])
    sids = sids_of(FEW)
    given = {"num_return_sequences": 6, "max_new_tokens": 2, "return_dict_in_generate": True, "do_sample": True}
    given |= {"top_k": 0, "temperature": TEMPERATURES[kind]}
    different = SidSampler(sids, rounds=30, without_replacement=True)
    for sampler in (SidSampler(sids), SidSampler(sids, rounds=3), different):
        out = model.generate(**inputs, **given, custom_generate=sampler, seed=4)
        ordinals = index_of(FEW).find_many(*sids.codes(out.sequences[:, prompt_length(model, inputs) :]))
        for request in range(2):
            one = {name: value[request : request + 1] for name, value in inputs.items()}
            probs, masses = law_of(model, one, TEMPERATURES[kind])
            mine = slice(6 * request, 6 * request + 6)
            assert (ordinals[mine] >= 0).all()
            np.testing.assert_allclose(out.log_probs[mine], np.log(probs)[ordinals[mine]], atol=1e-4)
            np.testing.assert_allclose(out.log_masses[mine], np.log(masses)[ordinals[mine]], atol=1e-4)
            assert len(set(ordinals[mine])) == 6 or not sampler.without_replacement
        if sampler.rounds is not None:
            assert (out.rows_run >= out.draws_used).all() and (out.draws_used >= 1).all() and out.accepted.any()


def test_equal_seeds_and_requests_draw_alike() -> None:
    model, inputs, sids = model_of("decoder", TOKENS), batch([[3, 1, 4], [3, 1, 4]]), sids_of(FEW)
    one = {name: value[:1] for name, value in inputs.items()}
    given = {"max_new_tokens": 2, "do_sample": True}
    for sampler in (SidSampler(sids), SidSampler(sids, rounds=4), SidSampler(sids, rounds=4, draws=3)):
        both = model.generate(**inputs, **given, num_return_sequences=20, custom_generate=sampler, seed=9)
        again = model.generate(**one, **given, num_return_sequences=30, custom_generate=sampler, seed=9, requests=[1])
        assert torch.equal(again[:20], both[20:]) and not torch.equal(both[:20], both[20:])
        torch.manual_seed(5)
        free = model.generate(**inputs, **given, num_return_sequences=20, custom_generate=sampler)
        torch.manual_seed(5)
        assert torch.equal(model.generate(**inputs, **given, num_return_sequences=20, custom_generate=sampler), free)
        assert not torch.equal(free, both)


def test_truncation_comes_before_the_mask() -> None:
    """generate()'s own settings, by the session or, beside another warper, by torch; and other processors."""
    model, sids = model_of("decoder", TOKENS), sids_of(FEW)
    valid = [FEW.column(0, code) for code in FEW.children(())]
    prompts = (batch([[a, b, c]]) for a, b, c in itertools.product(range(1, TOKENS), repeat=3))
    inputs = next(given for given in prompts if int(model(**given).logits[0, -1].argmax()) not in valid)
    assert (drawn(model, inputs, sids, 1, custom_generate=SidSampler(sids), top_k=1) == -1).all()
    assert (drawn(model, inputs, sids, 1, custom_generate=SidSampler(sids, rounds=2), top_k=1) == -1).all()
    for sampler in (SidSampler(sids), SidSampler(sids, rounds=2)):
        given = {"custom_generate": sampler, "top_k": 4, "top_p": 0.95, "temperature": 2.0}
        by_session = drawn(model, inputs, sids, 1, **given)
        by_torch = drawn(model, inputs, sids, 1, **given, min_p=1e-9)
        assert (by_session == by_torch).all() and len(set(by_session.tolist())) > 2
    banned = drawn(
        model, inputs, sids, 1, custom_generate=SidSampler(sids), logits_processor=[Ban(tokens_of(FEW, (3,)))]
    )
    assert {FEW.distinct[ordinal][0] for ordinal in banned} == {0, 2}


# What changes the law, of fields that are applied to a row; what bears on the decoder's prompt is for decoders alone.
FIELDS = {
    "temperature": 3.0,
    "top_k": 3,
    "top_p": 0.8,
    "min_p": 0.5,
    "top_h": 0.8,
    "typical_p": 0.8,
    "epsilon_cutoff": 0.15,
    "eta_cutoff": 0.3,
    "encoder_repetition_penalty": 2.0,
    "encoder_no_repeat_ngram_size": 1,
    "bad_words_ids": [[4]],
    "suppress_tokens": [4],
    "begin_suppress_tokens": [4],
    "sequence_bias": [[[4], -1.0]],
    "repetition_penalty": 2.0,
    "no_repeat_ngram_size": 1,
    "guidance_scale": 1.5,
}
SHARPER = {"decoder": 2.0, "encoder-decoder": 4.0}
CASES = [(f, k) for f in FIELDS for k in KINDS[: 1 if f in [*FIELDS][-3:] else 2]]


@pytest.mark.parametrize("field, kind", CASES)
def test_fields_that_shape_the_row(field: str, kind: str) -> None:
    """Each draw has the probability and the mass of the row as generate()'s own processors leave it."""
    model, inputs, sids = model_of(kind, TOKENS), batch([[3, 3 if "no_repeat" in field else 1, 3]]), sids_of(FEW)
    options = {"temperature": SHARPER[kind], "top_k": 0, "do_sample": True, field: FIELDS[field]}
    config, _ = model._prepare_generation_config(None, **options)
    model._prepare_special_tokens(config, device="cpu")
    processors = model._get_logits_processor(config, prompt_length(model, inputs), inputs["input_ids"], device="cpu")
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = [np.log(array) for array in law_of(model, inputs, 1.0, processors)]
        plain = [np.log(array) for array in law_of(model, inputs, SHARPER[kind])]
    given = {"num_return_sequences": 50, "max_new_tokens": 2, "return_dict_in_generate": True, "seed": 4, **options}
    out = model.generate(**inputs, **given, custom_generate=SidSampler(sids))
    ordinals = index_of(FEW).find_many(*sids.codes(out.sequences[:, prompt_length(model, inputs) :]))
    drawn = ordinals[ordinals >= 0]
    assert len(set(drawn)) > 1
    for ours, one, other in zip((out.log_probs, out.log_masses), wanted, plain):
        np.testing.assert_allclose(ours[ordinals >= 0], one[drawn], atol=1e-4)
    assert not np.allclose(wanted[0][drawn], plain[0][drawn], atol=1e-3)


RULES = {**SAMPLING, **ARGUMENTS}
WITHOUT = {name: values for name, values in WITHOUT_EFFECT.items() if RULES[name].kind is Kind.NO_EFFECT}
WITHOUT |= {"early_stopping": [True, "never"], "length_penalty": [2.0], "renormalize_logits": [True]}
NOT_DRAWN = {**REFUSED, **dict.fromkeys(OUTPUTS, True), "watermarking_config": transformers.WatermarkingConfig()}
del NOT_DRAWN["do_sample"]


def sampled(**options):
    model, inputs = model_of("decoder", TOKENS), batch([[3, 1, 4]])
    given = {"do_sample": True, "max_new_tokens": 2, "return_dict_in_generate": True, **options}
    return model.generate(**inputs, **given, custom_generate=SidSampler(sids_of(FEW)), seed=4)


def test_fields_without_effect_on_draws() -> None:
    plain = sampled(num_return_sequences=20)
    for field, values in WITHOUT.items():
        for value in values:
            out = sampled(**{"num_return_sequences": 20, field: value})
            assert torch.equal(out.sequences, plain.sequences), field
            torch.testing.assert_close(out.log_probs, plain.log_probs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("field", NOT_DRAWN)
def test_fields_that_are_refused(field: str, monkeypatch) -> None:
    monkeypatch.setattr(transformers.TextStreamer, "put", lambda self, tokens: None)
    with pytest.raises(sidbeam.InvalidArgument, match=f"^{field} is .+, which is refused: .+"):
        sampled(**{field: NOT_DRAWN[field]})


def test_every_rule_of_draws_has_a_test() -> None:
    def named(kind, *tables):
        return {name for table in tables for name, rule in table.items() if rule.kind is kind}

    assert named(Kind.NO_EFFECT, SAMPLING) == set(WITHOUT) - set(ARGUMENTS)
    assert named(Kind.REFUSED, SAMPLING, ARGUMENTS) == {*NOT_DRAWN, *REFUSED_BY_GENERATE}
    # The rest is the same as for searches: prompts, caches and processors are those of one pass over the model.
    assert named(Kind.HONOURED, SAMPLING) - named(Kind.HONOURED, SEARCH) <= {*FIELDS, "do_sample"}


def test_guidance_is_refused_where_passes_are_several() -> None:
    model, inputs = model_of("decoder", TOKENS), batch([[3, 1, 4]])
    given = {"do_sample": True, "max_new_tokens": 2, "custom_generate": SidSampler(sids_of(FEW), rounds=3)}
    model.generate(**inputs, **given, guidance_scale=1)
    with pytest.raises(sidbeam.InvalidArgument, match="guidance_scale is 1.5, expected None with rounds"):
        model.generate(**inputs, **given, guidance_scale=1.5)


def test_what_the_sampler_refuses() -> None:
    model, inputs, sids = model_of("decoder", TOKENS), batch([[3, 1, 4]]), sids_of(FEW)
    for options, message in (
        ({"do_sample": False}, "do_sample is False and num_beams 1, expected True and 1"),
        ({"num_beams": 2}, "do_sample is True and num_beams 2, expected True and 1"),
        ({"max_new_tokens": 1}, "max_new_tokens is 1, expected at least 2"),
        ({"requests": [1, 2]}, r"requests has shape \(2,\), expected \(1,\)"),
        ({"seed": 0.5}, "seeds has dtype float64, expected int64"),
    ):
        with pytest.raises(sidbeam.InvalidArgument, match=message):
            given = {"do_sample": True, "max_new_tokens": 2, "custom_generate": SidSampler(sids), **options}
            model.generate(**inputs, **given)
    with pytest.raises(sidbeam.InvalidArgument, match="rounds is None, expected a number with without_replacement"):
        SidSampler(sids, draws=5)
