"""sidbeam.Runner against generate() of transformers in f32, on random small models of every family.

Scores agree within 1e-4, and beams are the same in the same order where neighbours differ by more than 2e-4. Returned
SIDs are also scored again by one pass over the whole sequence, which shares no cache with either.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import conftest  # noqa: F401
import sidbeam

# The classes of each, with and without an output layer.
FAMILIES = {
    "t5": "T5",
    "mt5": "MT5",
    "umt5": "UMT5",
    "llama": "Llama",
    "mistral": "Mistral",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
    "phi3": "Phi3",
}
T5S = ("t5", "mt5", "umt5")
ACTIVATIONS = ["relu", "gelu", "gelu_new", "gelu_python", "quick_gelu", "silu", "mish", "tanh"]
SEEDS = range(6)
LEVELS, SCORE, APART = 3, 1e-4, 2e-4


def random_rope(rng: random.Random) -> dict[str, object]:
    base = {"rope_theta": rng.choice([100.0, 10000.0, 500000.0])}
    return base | rng.choice(
        [
            {"rope_type": "default"},
            {"rope_type": "linear", "factor": rng.choice([2.0, 3.7])},
            {"rope_type": "dynamic", "factor": rng.choice([2.0, 3.7])},
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": rng.choice([40, 64])}
            | rng.choice([{}, {"attention_factor": 1.3}, {"beta_fast": 8.0, "beta_slow": 0.5, "truncate": False}])
            | rng.choice([{}, {"mscale": 0.7, "mscale_all_dim": 1.2}]),
            {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": rng.choice([32, 64]),
            },
        ]
    )


def random_config(family: str, rng: random.Random):
    heads = rng.choice([2, 4, 6])
    head_dim = rng.choice([4, 8, 10])
    sizes = {"vocab_size": rng.randint(40, 150), "eos_token_id": None, "bos_token_id": None, "pad_token_id": 0}
    tied = rng.random() < 0.5
    if family in T5S:
        layers = rng.randint(1, 3)
        return getattr(transformers, FAMILIES[family] + "Config")(
            **sizes,
            d_model=rng.choice([24, 40]),
            d_kv=head_dim,
            d_ff=rng.choice([32, 52]),
            num_heads=heads,
            num_layers=layers,
            num_decoder_layers=rng.randint(1, layers),  # generate() has caches for as many as the encoder's
            relative_attention_num_buckets=rng.choice([8, 16, 32]),
            relative_attention_max_distance=rng.choice([20, 32, 128]),
            feed_forward_proj=rng.choice(["", "gated-"]) + rng.choice(ACTIVATIONS),
            tie_word_embeddings=tied,
            decoder_start_token_id=rng.randint(0, 3),
        )
    sizes |= {
        "hidden_size": heads * head_dim if family in ("qwen2", "phi3") else rng.choice([24, 40]),
        "hidden_act": rng.choice(ACTIVATIONS),
        "max_position_embeddings": 256,
        "intermediate_size": rng.choice([32, 56]),
        "num_hidden_layers": rng.randint(1, 3),
        "num_attention_heads": heads,
        "num_key_value_heads": rng.choice([n for n in range(1, heads + 1) if heads % n == 0]),
        "rms_norm_eps": rng.choice([1e-6, 1e-5]),
        "rope_parameters": random_rope(rng),
        "tie_word_embeddings": tied,
    }
    if family == "phi3":
        sizes["rope_parameters"] = {"rope_type": "default", "rope_theta": 500.0}
        return transformers.Phi3Config(**sizes, sliding_window=rng.choice([None, 200]))
    if family == "qwen2":
        windows = rng.choice([{}, {"use_sliding_window": True, "sliding_window": 180, "max_window_layers": 1}])
        return transformers.Qwen2Config(**sizes, **windows)
    sizes["head_dim"] = head_dim
    if family == "mistral":
        return transformers.MistralConfig(**sizes, sliding_window=rng.choice([None, 160]))
    if family == "qwen3":
        return transformers.Qwen3Config(**sizes, attention_bias=rng.random() < 0.5)
    return transformers.LlamaConfig(**sizes, attention_bias=rng.random() < 0.5, mlp_bias=rng.random() < 0.5)


def random_model(family: str, seed: int):
    """Weights large enough that beams are seldom close."""
    rng = random.Random(f"{family} {seed}")
    torch.manual_seed(seed)
    config = random_config(family, rng)
    config._attn_implementation = "eager"
    head = "ForConditionalGeneration" if family in T5S else "ForCausalLM"
    model = getattr(transformers, FAMILIES[family] + head)(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape)
            if "norm" in name:
                parameter.copy_(1 + 0.2 * noise)
            elif parameter.dim() == 1 or "relative_attention_bias" in name:
                parameter.copy_(0.5 * noise)
            elif "embed" in name or "shared" in name:
                parameter.copy_(noise)
            else:
                parameter.copy_(1.2 * noise / parameter.shape[1] ** 0.5)
    return rng, model


class Case:
    def __init__(self, family: str, seed: int, folder) -> None:
        self.rng, self.model = random_model(family, seed)
        self.model.save_pretrained(folder)
        self.vocab = self.model.config.vocab_size
        self.history = [self.rng.randrange(self.vocab) for _ in range(self.rng.choice([1, 5, 33, 150]))]
        self.beams = self.rng.choice([1, 4, 9])
        self.runner_model = sidbeam.Model.open(folder)

    def generate(self, **options):
        """(tokens [beams, levels], scores)."""
        ids = torch.tensor([self.history])
        out = self.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            num_beams=self.beams,
            num_return_sequences=self.beams,
            max_new_tokens=LEVELS,
            min_new_tokens=LEVELS,
            length_penalty=0.0,
            do_sample=False,
            early_stopping=False,
            output_scores=True,
            return_dict_in_generate=True,
            **options,
        )
        skipped = 1 if self.model.config.is_encoder_decoder else len(self.history)
        tokens = out.sequences[:, skipped:].numpy()
        if self.beams > 1:
            return tokens, out.sequences_scores.numpy()
        return tokens, np.array([self.rescored(row, range(self.vocab)) for row in tokens.tolist()])

    def logits(self, tokens) -> "torch.Tensor":
        """[levels, vocabulary] before each token, by one pass."""
        with torch.no_grad():
            ids = torch.tensor([self.history])
            if self.model.config.is_encoder_decoder:
                begin = [self.model.config.decoder_start_token_id]
                out = self.model(input_ids=ids, decoder_input_ids=torch.tensor([begin + list(tokens)]))
            else:
                out = self.model(input_ids=torch.cat([ids, torch.tensor([list(tokens)])], 1))
        return out.logits[0, -1 - LEVELS : -1].double()

    def rescored(self, tokens, columns_of) -> float:
        """`columns_of`: what is normalised over: the same at every level, or a function of the prefix."""
        score = 0.0
        for level, row in enumerate(self.logits(tokens)):
            columns = list(columns_of(tuple(tokens[:level])) if callable(columns_of) else columns_of)
            score += float(row[tokens[level]] - row[columns].logsumexp(0))
        return score


def check_beams(found: np.ndarray, found_scores: np.ndarray, tokens: np.ndarray, scores: np.ndarray) -> None:
    """Places are the same where no other score is close; the last may have lost to one that is not listed."""
    assert found.shape == tokens.shape
    assert np.abs(found_scores - scores).max() <= SCORE
    for place, score in enumerate(scores[:-1]):
        if (np.abs(scores - score) <= APART).sum() == 1:
            assert found[place].tolist() == tokens[place].tolist(), f"place {place} of {scores}"


def check_unconstrained(case: Case) -> None:
    index = sidbeam.Index.build(np.zeros((1, LEVELS), np.int32), codes=[case.vocab] * LEVELS)
    with sidbeam.Runner(
        case.runner_model, index, beams=case.beams, strategy="none", max_prompt=150, lane_threads=False
    ) as runner:
        found = runner.run(case.history)
    check_beams(found.sids, found.scores, *case.generate(renormalize_logits=True))
    for sid, score in zip(found.sids.tolist(), found.scores):
        assert math.isclose(score, case.rescored(sid, range(case.vocab)), abs_tol=SCORE)


@pytest.fixture(params=[(family, seed) for family in FAMILIES for seed in SEEDS], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request, tmp_path) -> Case:
    return Case(*request.param, tmp_path)


def test_unconstrained(case: Case) -> None:
    check_unconstrained(case)


@pytest.mark.parametrize("normalization", ["full", "level", "valid"])
def test_constrained(case: Case, normalization: str) -> None:
    rng = np.random.default_rng(case.rng.randrange(1 << 30))
    width = case.vocab // LEVELS
    offsets = [level * width for level in range(LEVELS)]
    sids = np.unique(rng.integers(0, width, (width * 4, LEVELS)).astype(np.int32), axis=0)
    index = sidbeam.Index.build(sids, codes=[width] * LEVELS)
    children: dict[tuple[int, ...], set[int]] = {}
    for sid in (sids + np.array(offsets)).tolist():
        for level, token in enumerate(sid):
            children.setdefault(tuple(sid[:level]), set()).add(token)
    with sidbeam.Runner(
        case.runner_model,
        index,
        beams=case.beams,
        vocabulary=sidbeam.Vocabulary(offsets),
        normalization=normalization,
        max_prompt=150,
        lane_threads=False,
    ) as runner:
        found = runner.run(case.history)
    said = found.sids + np.array(offsets)
    assert all(row[-1] in children[tuple(row[:-1])] for row in said.tolist())
    over = {
        "full": range(case.vocab),
        "level": lambda prefix: range(offsets[len(prefix)], offsets[len(prefix)] + width),
        "valid": lambda prefix: sorted(children[prefix]),
    }[normalization]
    for row, score in zip(said.tolist(), found.scores):
        assert math.isclose(score, case.rescored(row, over), abs_tol=SCORE)
    if normalization == "level" or case.beams == 1:
        return  # generate() has no such normalisation, and no scores without beams
    start = 1 if case.model.config.is_encoder_decoder else len(case.history)
    tokens, scores = case.generate(
        prefix_allowed_tokens_fn=lambda _, ids: sorted(children[tuple(ids[start:].tolist())]),
        renormalize_logits=normalization == "valid",
    )
    check_beams(said, found.scores, tokens, scores)
