"""Every field of GenerationConfig and every argument of generate(): as in transformers' own beam search under the same
constraint, without effect, or refused by name. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import copy
import inspect
import re

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import sidbeam
from models import allowed_tokens_fn, batch, histories, model_of, prompt_length, real
from oracle import VARIABLE, Catalogue
from sidbeam._transformers_fields import ARGUMENTS, SAMPLING, SEARCH, Kind, check_fields
from sidbeam.transformers import SidBeamSearch, SidSampler
from transformers_cases import KINDS, VOCAB, Ban, at, by_processor, generate, sids_of
from transformers_values import CHANGES, OUTPUTS, REFUSED, REFUSED_BY_GENERATE, WITHOUT_EFFECT
from transformers.generation import GenerationConfig, GenerationMixin

WIDTH = 6
CATALOGUE, _ = real()
SIDS = sids_of(CATALOGUE)


@pytest.fixture(params=KINDS)
def model(request):
    return model_of(request.param, VOCAB)


@pytest.fixture
def requests():
    return batch(histories(CATALOGUE, 2))


def named(kind: Kind, *tables) -> set[str]:
    return {name for table in tables for name, rule in table.items() if rule.kind is kind}


def best(model, requests) -> int:
    """The first token of the best beam: what a bias or ban of it changes."""
    return int(generate(model, requests, WIDTH, custom_generate=SidBeamSearch(SIDS))[0][0, 0, 0])


def assert_like_generate(model, requests, **options):
    """Beams and scores of both are the same, and others than without the options."""
    loop, scores = generate(model, requests, WIDTH, custom_generate=SidBeamSearch(SIDS), **options)
    stock, stock_scores = by_processor(model, requests, SIDS, WIDTH, **options)
    assert torch.equal(loop, stock)
    torch.testing.assert_close(scores, stock_scores, atol=1e-4, rtol=1e-4)
    plain, plain_scores = generate(model, requests, WIDTH, custom_generate=SidBeamSearch(SIDS))
    assert not torch.equal(loop, plain) or not torch.allclose(scores, plain_scores, atol=1e-3)


def test_every_field_has_a_rule() -> None:
    fields = set(vars(GenerationConfig()))
    assert fields == set(SEARCH) == set(SAMPLING)
    documented = set(re.findall(r"^        (\w+) ?:? ?\(`", GenerationConfig.__doc__, re.MULTILINE))
    assert len(documented) > 50 and documented <= fields


def test_every_argument_has_a_rule() -> None:
    arguments = set(inspect.signature(GenerationMixin.generate).parameters) - {"self"}
    source = inspect.getsource(GenerationMixin.generate) + inspect.getsource(
        GenerationMixin._extract_generation_mode_kwargs
    )
    assert arguments | set(re.findall(r'(?<!_)kwargs\.pop\("(\w+)"', source)) == set(ARGUMENTS)


def test_the_documentation_names_every_rule() -> None:
    for loop, rules in ((SidBeamSearch, SEARCH), (SidSampler, SAMPLING)):
        for kind, text in zip(Kind, re.split(r"\n(?:Honoured|Without effect|Refused):\n", loop.__doc__)[1:]):
            assert set(re.findall(r"``(\w+)``", text)) == named(kind, rules, ARGUMENTS)


# A decoder's prompt holds no token of a SID, and no SID has one twice; generate() guides models without an encoder.
NOT_ENCODED = {"repetition_penalty", "no_repeat_ngram_size", "guidance_scale"}


@pytest.mark.parametrize("field, kind", [(f, k) for f in CHANGES for k in KINDS[: 1 if f in NOT_ENCODED else 2]])
def test_honoured(field: str, kind: str) -> None:
    model = model_of(kind, VOCAB)
    requests = batch([[100 + 2 * i for i in range(90)], [101 + 3 * i for i in range(60)]])  # of tokens of level 0
    assert_like_generate(model, requests, **{field: CHANGES[field](best(model, requests))})


def test_marks_that_go_by_the_whole_row(model, requests) -> None:
    """They see what is valid alone, as behind generate()'s own constraint."""
    selfhash = transformers.WatermarkingConfig(bias=6.0, seeding_scheme="selfhash")
    assert_like_generate(model, requests, watermarking_config=selfhash)
    text = transformers.generation.SynthIDTextWatermarkingConfig(ngram_len=2, keys=[3, 14, 15])
    assert_like_generate(model, requests, watermarking_config=text)
    assert_like_generate(model, requests, renormalize_logits=True, repetition_penalty=1.3, watermarking_config=selfhash)


def test_forced_tokens(requests) -> None:
    model = model_of("encoder-decoder", VOCAB)
    first = CATALOGUE.column(0, CATALOGUE.sids[0][0])
    assert_like_generate(model, requests, forced_bos_token_id=first)
    with pytest.raises(sidbeam.InvalidArgument, match="forced_bos_token_id is 7, which no SID has at level 0"):
        generate(model, requests, 4, custom_generate=SidBeamSearch(SIDS), forced_bos_token_id=7)
    with pytest.raises(sidbeam.InvalidArgument, match=r"forced_eos_token_id is \[7, 8\], which no SID has at level 2"):
        generate(model, requests, 4, custom_generate=SidBeamSearch(SIDS), forced_eos_token_id=[7, 8])
    plain, scores = generate(model, requests, 4, custom_generate=SidBeamSearch(SIDS))
    last = int(plain[0, 0, 2])
    forced, forced_scores = generate(model, requests, 4, custom_generate=SidBeamSearch(SIDS), forced_eos_token_id=last)
    stock, stock_scores = by_processor(model, requests, SIDS, 4, forced_eos_token_id=last)
    alive = forced_scores > -torch.inf
    assert alive.any() and not alive.all() and torch.equal(alive, stock_scores > -1e8)
    assert torch.equal(forced[alive], stock[alive]) and forced[alive][:, 2].eq(last).all()
    torch.testing.assert_close(forced_scores[alive], stock_scores[alive], atol=1e-4, rtol=1e-4)
    behind = generate(model, requests, 4, 4, custom_generate=SidBeamSearch(SIDS), forced_eos_token_id=7)
    assert torch.equal(plain, behind[0][:, :, :3]) and torch.allclose(scores, behind[1])


def test_remove_invalid_values(model) -> None:
    """A logit of +inf makes log-probabilities NaN, which no beam survives; with the field they are 0, and each beam
    has one code left at the last level."""
    sids, inputs = sids_of(at(Catalogue([(0, 0, 0), (1, 1, 1), (2, 2, 2), (3, 0, 3)], [5, 5, 5]))), batch([[5, 6, 7]])

    def found(way, **options):
        passes = []

        def poison(module, args, logits):
            passes.append(None)
            logits[..., 3] = torch.inf if len(passes) == 3 else logits[..., 3]
            return logits

        hook = model.get_output_embeddings().register_forward_hook(poison)
        try:
            return way(model, inputs, width=4, **options)
        finally:
            hook.remove()

    loop, scores = found(generate, custom_generate=SidBeamSearch(sids), remove_invalid_values=True)
    stock, stock_scores = found(by_processor, sids=sids, remove_invalid_values=True)
    assert torch.equal(loop, stock)
    torch.testing.assert_close(scores, stock_scores, atol=1e-4, rtol=1e-4)
    broken, scores = found(generate, custom_generate=SidBeamSearch(sids))
    assert scores.eq(-torch.inf).all() and broken.eq(0).all()


@pytest.mark.parametrize(
    "options", [{"min_new_tokens": 3}, {"min_length": 3}, {"exponential_decay_length_penalty": (0, 0.3)}], ids=str
)
def test_of_variable_length(model, options) -> None:
    """With as many beams as there are SIDs, generate() finds all that the search finds."""
    catalogue, inputs, width = at(VARIABLE), batch([[5, 6, 7]]), 2 * len(VARIABLE.distinct)
    sids, given = sids_of(catalogue), {"eos_token_id": 19, "early_stopping": "never"}
    if "min_length" in options:
        options = {"min_length": prompt_length(model, inputs) + options["min_length"]}

    def found(tokens, scores):
        alive = scores[0] > -1e8
        rows = [tuple(row[: (row + [19]).index(19)]) for row in tokens[0][alive].tolist()]
        return {tuple(t for t in row if t): score for row, score in zip(rows, scores[0][alive].tolist())}

    loop = found(*generate(model, inputs, width, custom_generate=SidBeamSearch(sids), **options, eos_token_id=19))
    stock = found(*by_processor(model, inputs, sids, width, **given, **options))
    plain = found(*generate(model, inputs, width, custom_generate=SidBeamSearch(sids), eos_token_id=19))
    assert loop == pytest.approx(stock, abs=1e-4) and loop != pytest.approx(plain, abs=1e-3)


def test_decay_without_an_end_token_fails_in_generate_itself(requests) -> None:
    model, options = model_of("decoder", VOCAB), {"exponential_decay_length_penalty": (0, 0.3)}
    for loop in ({}, {"custom_generate": SidBeamSearch(SIDS)}):
        with pytest.raises(RuntimeError, match="Could not infer dtype of NoneType"):
            generate(model, requests, 4, **options, **loop)


def test_sizes(model, requests) -> None:
    for options in ({"num_beams": 4, "num_return_sequences": 3}, {"max_length": prompt_length(model, requests) + 3}):
        given = {"num_beams": WIDTH, "num_return_sequences": WIDTH, **options}
        given |= {} if "max_length" in options else {"max_new_tokens": 3}
        fn = allowed_tokens_fn(CATALOGUE, prompt_length(model, requests))
        loop = model.generate(**requests, **given, custom_generate=SidBeamSearch(SIDS))
        assert torch.equal(loop, model.generate(**requests, **given, prefix_allowed_tokens_fn=fn))
        assert len(loop) == 2 * given["num_return_sequences"]
        assert isinstance(loop, torch.Tensor)  # without return_dict_in_generate


def test_prompts_of_special_tokens() -> None:
    decoder, encoded = (model_of(kind, VOCAB) for kind in KINDS)
    search, options = SidBeamSearch(SIDS), {"num_beams": 4, "max_new_tokens": 3}
    made = decoder.generate(bos_token_id=7, **options, custom_generate=search)
    assert torch.equal(made, decoder.generate(torch.tensor([[7]]), **options, custom_generate=search))
    assert_like_generate(encoded, batch([[5, 6, 7]]), decoder_start_token_id=8)
    catalogue = at(VARIABLE)
    dead, scores = generate(
        decoder, batch([[5, 6]]), 40, custom_generate=SidBeamSearch(sids_of(catalogue)), pad_token_id=4
    )
    assert scores.eq(-torch.inf).any() and dead[scores.eq(-torch.inf)].eq(4).all()


def counted(model, *args, sids=SIDS, **options):
    """Rows and columns of the input of each pass of the model, and whether it had a cache."""
    passes = []

    def note(module, args, given):
        tokens = given.get("input_ids") if given.get("input_ids") is not None else given["decoder_input_ids"]
        passes.append((*tokens.shape, given.get("past_key_values") is not None))

    hook = model.register_forward_pre_hook(note, with_kwargs=True)
    try:
        out = generate(model, *args, **options, custom_generate=SidBeamSearch(sids))
    finally:
        hook.remove()
    return passes, out


def test_how_the_model_runs() -> None:
    model, requests = model_of("decoder", VOCAB), batch([[5, 6, 7, 8, 9], [1, 2, 3]])
    passes, (plain, _) = counted(model, requests, 4)
    assert passes == [(2, 5, True), (8, 1, True), (8, 1, True)]
    passes, (chunks, _) = counted(model, requests, 4, prefill_chunk_size=2)
    assert passes == [(2, 2, True), (2, 2, True), (2, 1, True), (8, 1, True), (8, 1, True)]
    passes, (without, _) = counted(model, requests, 4, use_cache=False)
    assert passes == [(2, 5, False), (8, 6, False), (8, 7, False)]
    assert torch.equal(plain, chunks) and torch.equal(plain, without)


def test_processes_that_share_a_model_run_it_equally_often() -> None:
    """Alone, a search is over when its SIDs are; with synced_gpus in mind each process makes a pass per level."""
    short = sids_of(at(Catalogue([(0,), (1,)], [4, 4, 4], variable=True)))
    passes, alone = counted(model_of("decoder", VOCAB), batch([[5, 6, 7]]), 2, sids=short)
    assert len(passes) == 2
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        passes, together = counted(model_of("decoder", VOCAB), batch([[5, 6, 7]]), 2, sids=short)
    finally:
        torch.distributed.destroy_process_group()
    assert len(passes) == 3 and all(map(torch.equal, alone, together))


def assert_same(ours, theirs) -> None:
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs) > 0
        for one, other in zip(ours, theirs):
            assert_same(one, other)
    else:
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def both(model, requests, **options):
    given = {"num_beams": 4, "num_return_sequences": 3, "max_new_tokens": 3, "return_dict_in_generate": True, **options}
    fn = allowed_tokens_fn(CATALOGUE, prompt_length(model, requests))
    return (
        model.generate(**requests, **given, custom_generate=SidBeamSearch(SIDS)),
        model.generate(**requests, **given, prefix_allowed_tokens_fn=fn),
    )


@pytest.mark.parametrize("field", OUTPUTS)
@pytest.mark.parametrize("options", [{}, {"repetition_penalty": 1.3, "renormalize_logits": True}], ids=str)
def test_outputs(model, requests, field: str, options) -> None:
    """The dict has what generate()'s own has, of the same content and shape, and nothing that was not asked for."""
    model.set_attn_implementation("eager")  # others give no attentions, here as there
    ours, theirs = both(model, requests, **options, **{field: True})
    assert type(ours) is type(theirs)
    given = set(theirs) & set.union(*OUTPUTS.values())
    assert given and given <= OUTPUTS[field] and set(ours) - {"sequences_scores"} == set(theirs) - {"sequences_scores"}
    for name in given | {"sequences", "beam_indices"}:
        assert_same(ours[name], theirs[name])


def test_no_outputs(model, requests) -> None:
    ours, theirs = both(model, requests, return_dict_in_generate=False, **dict.fromkeys(OUTPUTS, True))
    assert torch.equal(ours, theirs)


def test_transition_scores(model, requests) -> None:
    """transformers' own function adds up what was recorded to the scores of the beams."""
    ours, _ = both(model, requests, output_scores=True)
    steps = model.compute_transition_scores(ours.sequences, ours.scores, ours.beam_indices)
    torch.testing.assert_close(steps.sum(1) / 3, ours.sequences_scores, atol=1e-5, rtol=1e-5)
    few, catalogue = SidBeamSearch(sids_of(at(VARIABLE))), at(VARIABLE)
    out = model.generate(
        **batch([[5, 6, 7]]),
        num_beams=20,
        num_return_sequences=20,
        max_new_tokens=len(catalogue.codes),
        return_dict_in_generate=True,
        output_scores=True,
        custom_generate=few,
    )
    steps = model.compute_transition_scores(out.sequences, out.scores, out.beam_indices)
    alive = out.sequences_scores > -torch.inf
    lengths = out.beam_indices.ge(0).sum(1)
    assert alive.any() and not alive.all() and lengths[~alive].eq(0).all()
    torch.testing.assert_close(steps.sum(1)[alive] / lengths[alive], out.sequences_scores[alive], atol=1e-5, rtol=1e-5)


def test_the_cache_is_that_of_the_beams(model, requests) -> None:
    """generate() itself reorders its last cache among scores of -1e9, so the model says what is right."""
    ours, _ = both(model, requests, num_return_sequences=4)
    given = {name: value.repeat_interleave(4, 0) for name, value in requests.items()}
    said = ours.sequences[:, :-1]
    if model.config.is_encoder_decoder:
        given["decoder_input_ids"] = said
    else:
        mask = torch.cat([given["attention_mask"], torch.ones(8, 2, dtype=torch.long)], 1)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        given = {"input_ids": said, "attention_mask": mask, "position_ids": positions}
    with torch.no_grad():
        wanted = model(**given, use_cache=True).past_key_values
    pair = [getattr(cache, "self_attention_cache", cache) for cache in (ours.past_key_values, wanted)]
    alive = torch.ones(pair[0].layers[0].keys.shape[2], dtype=torch.bool)
    if not model.config.is_encoder_decoder:
        alive[: int(requests["attention_mask"].eq(0).sum(1).max())] = False  # where a prompt is padded
    for ours_layer, wanted_layer in zip(pair[0].layers, pair[1].layers):
        assert_same(ours_layer.keys[:, :, alive], wanted_layer.keys[:, :, alive])


@pytest.mark.parametrize("field", WITHOUT_EFFECT)
def test_without_effect(requests, field: str) -> None:
    model = model_of("decoder", VOCAB)
    plain, scores = generate(model, requests, WIDTH, custom_generate=SidBeamSearch(SIDS))
    for value in WITHOUT_EFFECT[field]:
        given, given_scores = generate(model, requests, WIDTH, custom_generate=SidBeamSearch(SIDS), **{field: value})
        assert torch.equal(given, plain) and torch.equal(given_scores, scores)


@pytest.mark.parametrize("field", REFUSED)
def test_refused(requests, field: str, monkeypatch) -> None:
    monkeypatch.setattr(transformers.TextStreamer, "put", lambda self, tokens: None)
    with pytest.raises(sidbeam.InvalidArgument, match=f"^{field} is .+, which is refused: .+"):
        generate(
            model_of("decoder", VOCAB), requests, 4, custom_generate=SidBeamSearch(SIDS), **{field: REFUSED[field]}
        )


@pytest.mark.parametrize("field", REFUSED_BY_GENERATE)
def test_refused_by_generate_itself(requests, field: str) -> None:
    given = {field: REFUSED_BY_GENERATE[field]}
    with pytest.raises(sidbeam.InvalidArgument, match=f"^{field} is .+, which is refused: .+"):
        check_fields(GenerationConfig(**given), SEARCH)
    with pytest.raises(ValueError, match=field.replace("_", " ")):
        generate(model_of("decoder", VOCAB), requests, 4, custom_generate=SidBeamSearch(SIDS), **given)


def test_fields_of_another_version() -> None:
    """A field that is new there is refused once it is set; what a checkpoint adds of its own is not."""
    rules = {name: rule for name, rule in SEARCH.items() if name != "min_p"}
    check_fields(GenerationConfig(), rules)
    check_fields(GenerationConfig(alignment_heads=[1]), rules)
    with pytest.raises(sidbeam.InvalidArgument, match="min_p is 0.5, a field of transformers .* does not know"):
        check_fields(GenerationConfig(min_p=0.5), rules)
    defaults = GenerationConfig()
    defaults.update(**GenerationConfig._get_default_generation_params())
    check_fields(defaults, SEARCH)


def test_arguments_that_reach_the_model(model, requests) -> None:
    """Embeddings in place of tokens, an encoder's output, a decoder's prompt, positions and a cache of one's own."""
    embedded = model.get_input_embeddings()(requests["input_ids"]).detach()
    mask = {"attention_mask": requests["attention_mask"]}
    if model.config.is_encoder_decoder:
        with torch.no_grad():
            encoded = model.get_encoder()(**requests)
        several = [{"encoder_outputs": encoded, **mask}, {"inputs_embeds": embedded, **mask}]
        several.append({**requests, "decoder_input_ids": torch.tensor([[0, 7, 8], [0, 9, 8]])})
    else:
        positions = (requests["attention_mask"].cumsum(1) - 1).clamp(min=0) * 2
        several = [{"inputs_embeds": embedded, **mask}, {**requests, "position_ids": positions}]
    for inputs in several:
        given = {"num_beams": 4, "num_return_sequences": 4, "max_new_tokens": 3}
        plain = model.generate(**requests, **given, custom_generate=SidBeamSearch(SIDS))
        loop = model.generate(**copy.deepcopy(inputs), **given, custom_generate=SidBeamSearch(SIDS))  # it expands them
        fn = allowed_tokens_fn(CATALOGUE, loop.shape[1] - 3)
        assert torch.equal(loop, model.generate(**inputs, **given, prefix_allowed_tokens_fn=fn))
        same = "inputs_embeds" in inputs or "encoder_outputs" in inputs
        assert torch.equal(loop[:, -3:], plain[:, -3:]) == same
    if not model.config.is_encoder_decoder:
        own = transformers.DynamicCache()
        loop = model.generate(**requests, **given, past_key_values=own, custom_generate=SidBeamSearch(SIDS))
        assert torch.equal(loop, plain) and own.get_seq_length() == requests["input_ids"].shape[1] + 2


def test_other_constraints_and_negative_prompts(model, requests) -> None:
    token = best(model, requests)
    loop, _ = generate(
        model,
        requests,
        WIDTH,
        custom_generate=SidBeamSearch(SIDS),
        prefix_allowed_tokens_fn=lambda request, said: [t for t in range(VOCAB) if t != token],
    )
    banned, _ = generate(model, requests, WIDTH, custom_generate=SidBeamSearch(SIDS), logits_processor=[Ban([token])])
    plain, _ = generate(model, requests, WIDTH, custom_generate=SidBeamSearch(SIDS))
    assert torch.equal(loop, banned) and not torch.equal(loop, plain)
    if not model.config.is_encoder_decoder:
        negative = torch.tensor([[5, 6]]).repeat(2 * WIDTH, 1)
        padded = torch.tensor([[0, 1]]).repeat(2 * WIDTH, 1)
        assert_like_generate(model, requests, guidance_scale=1.5, negative_prompt_ids=negative)
        assert_like_generate(
            model,
            requests,
            guidance_scale=1.5,
            negative_prompt_ids=negative,
            negative_prompt_attention_mask=padded,
        )


def test_every_rule_has_a_test() -> None:
    elsewhere = {"generation_config", "logits_processor", "custom_generate", "kwargs", "inputs", "num_beams"}
    elsewhere |= {"max_length", "max_new_tokens", "min_length", "min_new_tokens", "use_cache", "prefill_chunk_size"}
    elsewhere |= {
        "exponential_decay_length_penalty",
        "remove_invalid_values",
        "forced_bos_token_id",
        "forced_eos_token_id",
    }
    elsewhere |= {
        "pad_token_id",
        "bos_token_id",
        "decoder_start_token_id",
        "num_return_sequences",
        "return_dict_in_generate",
    }
    elsewhere |= {"prefix_allowed_tokens_fn", "negative_prompt_ids", "negative_prompt_attention_mask"}
    assert named(Kind.HONOURED, SEARCH, ARGUMENTS) == {*CHANGES, *OUTPUTS, *elsewhere}
    assert named(Kind.NO_EFFECT, SEARCH, ARGUMENTS) == set(WITHOUT_EFFECT)
    assert named(Kind.REFUSED, SEARCH, ARGUMENTS) == {*REFUSED, *REFUSED_BY_GENERATE}
