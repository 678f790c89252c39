"""What the tests of sidbeam.transformers share: catalogues as tokens, generate() in each way, brute force.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import math

import numpy as np
import torch
import transformers
from conftest import index_of, vocabulary_of
from models import prompt_length
from oracle import Catalogue, beam_search
from sidbeam.transformers import SidLogitsProcessor, SidTokens

KINDS = ["decoder", "encoder-decoder"]
VOCAB = 900


def at(catalogue: Catalogue, offset: int = 20) -> Catalogue:
    """The same with its codes at other tokens, each level's beside the last's."""
    offsets = [offset + sum(catalogue.codes[:level]) for level in range(len(catalogue.codes))]
    end = 19 if catalogue.variable else -1
    return Catalogue(catalogue.sids, catalogue.codes, catalogue.variable, offsets, None, end)


def sids_of(*catalogues: Catalogue) -> SidTokens:
    return SidTokens([index_of(c) for c in catalogues], vocabulary_of(catalogues[0]))


def generate(model, inputs, width: int, levels: int = 3, **options):
    """(tokens after the prompt, scores), [requests, width, ..]."""
    out = model.generate(
        **inputs,
        **{"num_beams": width, "num_return_sequences": width, "max_new_tokens": levels, "do_sample": False, **options},
        return_dict_in_generate=True,
        output_scores=True,
    )
    tokens = out.sequences[:, prompt_length(model, inputs) :]
    return tokens.unflatten(0, (-1, width)), out.sequences_scores.unflatten(0, (-1, width))


def by_processor(model, inputs, sids: SidTokens, width: int, levels: int = 3, also=(), which=None, **options):
    processor = SidLogitsProcessor(
        sids, prompt_length(model, inputs), which=which, end_token=options.get("eos_token_id")
    )
    return generate(model, inputs, width, levels, logits_processor=[*also, processor], **options)


def tokens_of(catalogue: Catalogue, sid: tuple[int, ...]) -> list[int]:
    return [catalogue.column(level, code) for level, code in enumerate(sid)]


def brute_force(model, inputs, catalogue: Catalogue, width: int, request: int):
    """The best SIDs of a request and their scores, without a cache, padding or a mask."""

    def rows_of(prefixes):
        rows = np.zeros((len(prefixes), VOCAB))
        for length in {len(prefix) for prefix in prefixes}:
            chosen = [row for row, prefix in enumerate(prefixes) if len(prefix) == length]
            said = torch.tensor([tokens_of(catalogue, prefixes[row]) for row in chosen], dtype=torch.long)
            ids = inputs["input_ids"][request][inputs["attention_mask"][request].bool()].expand(len(chosen), -1)
            if model.config.is_encoder_decoder:
                given = {"input_ids": ids, "decoder_input_ids": torch.cat([torch.zeros_like(ids[:, :1]), said], 1)}
            else:
                given = {"input_ids": torch.cat([ids, said], 1)}
            rows[chosen] = model(**given).logits[:, -1].double().numpy()
        return rows

    with torch.no_grad():
        return beam_search(catalogue, rows_of, width)


def assert_beams(catalogue: Catalogue, tokens, scores, best) -> None:
    """Tokens [width, levels] and scores [width] of a request are those beams, then dead ones."""
    expected = [tokens_of(catalogue, beam.prefix) for beam in best]
    assert [row[: len(e)] for row, e in zip(tokens.tolist(), expected)] == expected
    lengths = [len(beam.prefix) + (beam.ended and len(beam.prefix) < len(catalogue.codes)) for beam in best]
    sums = [float(beam.score) / length for beam, length in zip(best, lengths)]
    torch.testing.assert_close(
        scores[: len(best)].double(), torch.tensor(sums, dtype=torch.double), atol=1e-4, rtol=1e-5
    )
    assert scores[len(best) :].eq(-math.inf).all() and tokens[len(best) :].eq(0).all()


class Ban(transformers.LogitsProcessor):
    """-inf for tokens, before the mask."""

    def __init__(self, tokens) -> None:
        self.tokens = tokens

    def __call__(self, input_ids, scores):
        scores = scores.clone()
        scores[:, self.tokens] = -math.inf
        return scores
