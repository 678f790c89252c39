"""Milliseconds of a request's beam search: vLLM's own with sidbeam's plugin, sidbeam.vllm.BeamSearch, and the runner.

    python vllm_beams.py FOLDER make                           a Llama of 34 million random weights, and a catalogue
    python vllm_beams.py FOLDER runner|engine [--block TOKENS] [--json LINES]

All search the same: 100 tokens, 3 levels of 256 codes, 100,000 SIDs, normalised over valid codes. The lists of vLLM's
own and BeamSearch are checked: each has at most one SID that the other lacks. Wall clock, methods in turns; the runner
in a process of its own, since an idle engine spins.
SPDX-License-Identifier: Apache-2.0"""
import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np

import measurements

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "stacks"))

TOKENS, BEGIN, END, OFFSETS = 8192, 9, 2, [1000, 1256, 1512]
BEAMS, ROUNDS, TOGETHER = (10, 50, 200), 5, 4
SLOW = 2  # rounds of a search that takes seconds


def make(folder):
    import sidbeam
    import tokenizers
    import torch
    import transformers
    from serving_cases import write_entry_points

    torch.manual_seed(0)
    sizes = {"hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 8, "num_attention_heads": 8}
    config = transformers.LlamaConfig(vocab_size=TOKENS, max_position_embeddings=1024, eos_token_id=1, bos_token_id=0,
                                      tie_word_embeddings=False, **sizes)
    transformers.LlamaForCausalLM(config).float().save_pretrained(folder / "model")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"t{i}": i for i in range(TOKENS)}, unk_token="t2"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="t1", unk_token="t2")
    fast.save_pretrained(folder / "model")
    sids = np.random.default_rng(0).integers(0, 256, (100_000, 3))
    sidbeam.Index.build(sids, codes=256, path=folder / "shop.sidx").close()
    write_entry_points(folder / "site")


def prompts(count):
    """A new one each time, so that no cache knows it."""
    rng = np.random.default_rng(11)
    return [rng.integers(3000, TOKENS, 99).tolist() + [BEGIN] for _ in range(count)]


def timed(call):
    begin = time.perf_counter()
    found = call()
    return (time.perf_counter() - begin) * 1000, found


def of_runner(folder):
    import sidbeam

    index, model = sidbeam.Index.open(folder / "shop.sidx"), sidbeam.Model.open(folder / "model")
    for beams in BEAMS:
        settings = {"vocabulary": sidbeam.Vocabulary(OFFSETS), "normalization": "valid"}
        with sidbeam.Runner(model, index, beams=beams, **settings) as runner:
            every = [timed(lambda: runner.run(prompt)) for prompt in prompts(ROUNDS + 1)[1:]]
        yield {"beams": beams, "block": 0}, "the runner", [ms for ms, _ in every]


def of_engine(folder, block):
    import sidbeam
    from sidbeam.vllm import BeamSearch
    from vllm import LLM
    from vllm.sampling_params import BeamSearchParams

    entry = {"path": str(folder / "shop.sidx"), "offsets": OFFSETS, "begin": BEGIN, "end": END, "default": True}
    os.environ["SIDBEAM_CATALOGUES"] = json.dumps({"shop": entry})
    index = sidbeam.Index.open(folder / "shop.sidx")
    llm = LLM(str(folder / "model"), dtype="float32", max_model_len=512, enforce_eager=True, block_size=block,
              max_logprobs=512, logprobs_mode="processed_logprobs", kv_cache_memory_bytes=1 << 30,
              worker_extension_cls="sidbeam.vllm.Worker")

    def theirs(prompt, beams):
        params = BeamSearchParams(beam_width=beams, max_tokens=len(OFFSETS), ignore_eos=True)
        (found,) = llm.beam_search([{"prompt_token_ids": prompt}], params)
        said = np.array([sequence.tokens[len(prompt):] for sequence in found.sequences]) - OFFSETS
        assert (index.find_many(said) >= 0).all()
        return {tuple(sid) for sid in said.tolist()}

    for beams in BEAMS:
        search, case = BeamSearch(llm, "shop", beams=beams, normalization="valid"), {"beams": beams, "block": block}
        times = {"vLLM's own, with the plugin": [], "BeamSearch": [], f"BeamSearch, {TOGETHER} together": []}
        for number, prompt in enumerate(prompts(ROUNDS + 1)):
            ms, found = timed(lambda: search.search([prompt]))
            times["BeamSearch"].append(ms)
            if number <= SLOW or times["vLLM's own, with the plugin"][-1] < 1000:
                ms, said = timed(lambda: theirs(prompt, beams))
                times["vLLM's own, with the plugin"].append(ms)
                # The last SID may be another where two are equal up to rounding.
                assert len(said ^ set(found[0].sids)) <= 2, "they find others"
            ms, _ = timed(lambda: search.search(prompts(TOGETHER)))
            times[f"BeamSearch, {TOGETHER} together"].append(ms / TOGETHER)
        for name, every in times.items():
            yield case, name, every[1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("what", choices=["make", "runner", "engine"])
    parser.add_argument("--block", type=int, default=128)
    parser.add_argument("--json", default=os.devnull)
    given = parser.parse_args()
    if given.what == "make":
        return make(given.folder)
    found = of_runner(given.folder) if given.what == "runner" else of_engine(given.folder, given.block)
    for case, name, every in found:
        measurements.append_lines(given.json, [measurements.summary("vllm", case, name, "ms", every)])
        print(case, name, " ".join(f"{ms:.0f}" for ms in every), flush=True)


if __name__ == "__main__":
    main()
