"""Ways to keep generate() of transformers inside a catalogue, in one run: their beams and their time.

    python tests/stacks/compare_transformers.py --requests 8 --beams 20
    python tests/stacks/compare_transformers.py --excluded 2000

Small models with random weights, a real catalogue and real histories as prompts (made up ones where ../shared/data is
absent). Times are medians of whole calls, taken in turns. With --excluded each request excludes so many items of its
own, and a call has to take them in: a trie of the items that are left, or exclude=.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any, Callable

import numpy as np
import torch
import transformers

from models import allowed_tokens_fn, batch, histories, model_of, prompt_length, real
from rules_cases import Rules, Shop
from sidbeam.transformers import SidBeamSearch, SidLogitsProcessor, SidTokens

CLOSE = 1e-5  # scores nearer than this, float32's rounding over three levels, may come in either order


Ways = dict[str, Callable[[], dict[str, Any]]]


def ways_of(model: Any, inputs: dict[str, Any], sids: SidTokens) -> Ways:
    """Arguments of generate(); the first that constrains is what the others are compared with."""
    prompt = prompt_length(model, inputs)
    ways = {
        "prefix_allowed_tokens_fn": {"prefix_allowed_tokens_fn": allowed_tokens_fn(real()[0], prompt)},
        "SidLogitsProcessor": {"logits_processor": [SidLogitsProcessor(sids, prompt)]},
        "SidBeamSearch": {"custom_generate": SidBeamSearch(sids)},
        "generate(), unconstrained": {},
    }
    return {way: lambda options=options: options for way, options in ways.items()}


def ways_under_rules(model: Any, inputs: dict[str, Any], sids: SidTokens, shop: Shop, lists: list[list[int]]) -> Ways:
    """The same, made anew for each call. A trie is of the items that are left, whose choice is not timed."""
    prompt, search = prompt_length(model, inputs), SidBeamSearch(sids)
    left = [shop.left(Rules(exclude=listed)) for listed in lists]

    def tries() -> dict[str, Any]:
        functions = [allowed_tokens_fn(catalogue, prompt) for catalogue in left]
        return {"prefix_allowed_tokens_fn": lambda request, ids: functions[request](request, ids)}

    return {
        "prefix_allowed_tokens_fn": tries,
        "SidLogitsProcessor": lambda: {"logits_processor": [SidLogitsProcessor(sids, prompt, exclude=lists)]},
        "SidBeamSearch": lambda: {"custom_generate": search, "exclude": lists},
    }


def compare(requests: int, beams: int, repeats: int, size: str, vocab: int, excluded: int = 0) -> list[dict[str, Any]]:
    catalogue, name = real()
    shop, rng = Shop(catalogue), np.random.default_rng(0)
    index, sids = shop.index, SidTokens(shop.index, shop.vocabulary)
    inputs = batch(histories(catalogue, requests))
    lists = [rng.permutation(shop.ids)[:excluded].tolist() for _ in range(requests)]
    rows = []
    for kind in ("decoder", "encoder-decoder"):
        model = model_of(kind, vocab, size)
        given = (model, inputs, sids)
        ways = ways_under_rules(*given, shop, lists) if excluded else ways_of(*given)
        common = dict(num_beams=beams, num_return_sequences=beams, max_new_tokens=3, do_sample=False)
        common |= dict(return_dict_in_generate=True, output_scores=True)
        times: dict[str, list[float]] = {way: [] for way in ways}
        results = {}
        for _ in range(repeats + 1):  # the first is a warm-up
            for way, options in ways.items():
                begin = time.perf_counter()
                results[way] = model.generate(**inputs, **common, **options())
                times[way].append(1e3 * (time.perf_counter() - begin))
        first = next(iter(ways))
        for way, out in results.items():
            tokens = out.sequences[:, prompt_length(model, inputs) :]
            legal = (index.find_many(*sids.codes(tokens)) >= 0).mean()
            same = "-" if way == "generate(), unconstrained" else same_beams(results[first], out, beams)
            taken = statistics.median(times[way][1:] or times[way])
            rows.append(dict(model=kind, way=way, same=same, legal=f"{legal:.0%}", ms=taken, catalogue=name))
    return rows


def same_beams(expected: Any, got: Any, beams: int) -> str:
    """ "yes": sequence by sequence, except neighbours of equal score, whose order torch.topk leaves open."""
    scores = expected.sequences_scores.unflatten(0, (-1, beams)), got.sequences_scores.unflatten(0, (-1, beams))
    if not torch.allclose(*scores, atol=CLOSE, rtol=1e-5):
        return "scores differ"
    sequences = [out.sequences.unflatten(0, (-1, beams)) for out in (expected, got)]
    for request in range(len(scores[0])):
        for beam in (sequences[0][request] != sequences[1][request]).any(-1).nonzero().flatten():
            # Its sequence must be elsewhere at that score, or, at the last score, just outside.
            own = scores[0][request, beam]
            near = ((scores[1][request] - own).abs() < 2 * CLOSE).nonzero().flatten()
            there = (sequences[1][request][near] == sequences[0][request, beam]).all(-1).any()
            if not there and own - scores[0][request, -1] > 2 * CLOSE:
                return "no"
    return "yes"


def table_of(rows: list[dict[str, Any]]) -> str:
    lines = [f"transformers {transformers.__version__}, torch {torch.__version__}, {rows[0]['catalogue']}"]
    lines += ["| model | way | same beams | SIDs that exist | ms per call |", "|---|---|---|---|---|"]
    lines += [f"| {r['model']} | {r['way']} | {r['same']} | {r['legal']} | {r['ms']:.1f} |" for r in rows]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--beams", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--size", choices=["small", "larger"], default="larger")
    parser.add_argument("--vocab", type=int, default=32000)
    parser.add_argument("--excluded", type=int, default=0)
    print(table_of(compare(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
