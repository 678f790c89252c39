#!/usr/bin/env python3
"""Writes the small random models of tests/unit/runner_models.cc and what transformers computes with them, in f32.

    python tests/unit/models/make.py [NAME ...]      # all, or those; needs torch and transformers

Each folder is a checkpoint (config.json, model.safetensors) and golden.safetensors, all F32:
    prompt_<i>   [positions, group] token ids, -1: none; the begin tokens are not among them
    begin        [begin] tokens that follow every prompt, or begin the decoder of a T5
    codes        [sequences, levels - 1] tokens that follow every prompt
    prefill      [prompts, vocabulary] logits after the prompt
    decode       [prompts, levels - 1, sequences, vocabulary] logits after so many of a sequence's codes
    keys, values [layers, positions, kv_heads, head_dim] of the first positions of prompt 2; of a T5 of the cross
                 attention to all of them
buckets.safetensors: per setting of T5's bias the first distance, 0 .. 4096, of each bucket; 9999: never.
SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import (LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, MT5Config,
                          MT5ForConditionalGeneration, Phi3Config, Phi3ForCausalLM, Qwen2Config, Qwen2ForCausalLM,
                          Qwen3Config, Qwen3ForCausalLM, T5Config, T5ForConditionalGeneration, UMT5Config,
                          UMT5ForConditionalGeneration)
from transformers.models.t5.modeling_t5 import T5Attention

HERE = pathlib.Path(__file__).parent
VOCABULARY, SEQUENCES, LEVELS, SHARED = 50, 3, 4, 30

DECODER = dict(vocab_size=VOCABULARY, hidden_size=40, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4,
               num_key_value_heads=2, max_position_embeddings=256)
T5 = dict(vocab_size=VOCABULARY, d_model=36, d_kv=8, d_ff=52, num_layers=2, num_decoder_layers=2, num_heads=3,
          relative_attention_num_buckets=8, relative_attention_max_distance=20, pad_token_id=0,
          decoder_start_token_id=0, eos_token_id=1)
LLAMA3 = dict(rope_type="llama3", rope_theta=500.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64)
PLAIN = dict(rope_type="default", rope_theta=1000.0)
YARN = dict(rope_type="yarn", rope_theta=500.0, factor=4.0, original_max_position_embeddings=32, beta_fast=8.0)
SMALL = dict(vocab_size=VOCABULARY, hidden_size=24, intermediate_size=32, num_hidden_layers=1, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256)
SMALL_T5 = T5 | dict(d_model=24, d_ff=28)

MODELS = {
    # name: (class, config, stored as, begin tokens)
    "t5_relu": (T5ForConditionalGeneration, T5Config(**T5, feed_forward_proj="relu"), torch.float32, [0]),
    "t5_gated": (T5ForConditionalGeneration,
                 T5Config(**T5 | dict(num_decoder_layers=1), feed_forward_proj="gated-gelu",
                          tie_word_embeddings=False), torch.bfloat16, [0, 7]),
    "llama": (LlamaForCausalLM,
              LlamaConfig(**DECODER, attention_bias=True, mlp_bias=True, rms_norm_eps=1e-5, rope_parameters=LLAMA3,
                          tie_word_embeddings=False), torch.float32, []),
    "llama_linear": (LlamaForCausalLM,
                     LlamaConfig(**DECODER | dict(num_key_value_heads=4, num_hidden_layers=1, head_dim=6),
                                 rope_parameters=dict(rope_type="linear", rope_theta=1000.0, factor=2.5),
                                 tie_word_embeddings=True), torch.float16, [3]),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(**DECODER, rope_parameters=PLAIN, tie_word_embeddings=True),
              torch.bfloat16, [3, 4]),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(**DECODER, head_dim=14, rope_parameters=PLAIN, tie_word_embeddings=False),
              torch.float16, []),
    # Longer than any prompt here, its window changes nothing.
    "mistral": (MistralForCausalLM,
                MistralConfig(**SMALL, sliding_window=64, hidden_act="quick_gelu", rope_parameters=PLAIN),
                torch.float64, [5]),
    "phi3": (Phi3ForCausalLM, Phi3Config(**SMALL | dict(num_hidden_layers=2), hidden_act="tanh", rope_parameters=PLAIN,
                                         pad_token_id=0), torch.bfloat16, []),
    "yarn": (Qwen2ForCausalLM, Qwen2Config(**SMALL, hidden_act="mish", rope_parameters=YARN, tie_word_embeddings=True),
             torch.float16, [3]),
    "mt5": (MT5ForConditionalGeneration, MT5Config(**SMALL_T5 | dict(num_layers=1, num_decoder_layers=1)),
            torch.bfloat16, [0]),
    "umt5": (UMT5ForConditionalGeneration, UMT5Config(**SMALL_T5), torch.float16, [0, 7]),
}
TIED = ("t5_relu", "llama_linear", "qwen2", "yarn", "umt5")


def randomize(model, generator):
    """Weights of such a size that every part of the model shows in the logits."""
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if "norm" in name:
            parameter.data = 1 + 0.2 * noise
        elif parameter.dim() == 1 or "relative_attention_bias" in name:
            parameter.data = 0.5 * noise
        elif "embed" in name or "shared" in name:
            parameter.data = 0.5 * noise
        else:
            parameter.data = 1.2 * noise / parameter.shape[1] ** 0.5
    model.tie_weights()


def untie(model, generator):
    """An output layer of its own, which in transformers 5 a T5 has where its checkpoint does."""
    head = model.lm_head.weight
    model.lm_head.weight = torch.nn.Parameter(torch.randn(head.shape, generator=generator) / head.shape[1] ** 0.5)


def make_prompts(generator):
    plain = [torch.randint(2, VOCABULARY, (length, 1), generator=generator) for length in (1, 9, 40)]
    grouped = torch.randint(2, VOCABULARY, (12, 3), generator=generator)
    grouped[2, 1] = grouped[5, 0] = grouped[5, 2] = -1
    return plain + [grouped]


def embed(model, prompt):
    table = model.get_input_embeddings().weight
    return (table[prompt.clamp(min=0)] * (prompt >= 0).unsqueeze(-1)).sum(1).unsqueeze(0)


def logits_of(model, prompt, following):
    """[1 + len(following) - begin, vocabulary]: after the begin tokens, and after each code."""
    embedded = embed(model, prompt)
    ids = torch.tensor([following])
    if model.config.is_encoder_decoder:
        return model(inputs_embeds=embedded, decoder_input_ids=ids).logits[0]
    if following:
        embedded = torch.cat([embedded, model.get_input_embeddings().weight[ids]], 1)
    return model(inputs_embeds=embedded).logits[0]


def shared_kv(model, prompt):
    """Keys and values of a prompt as a host would compute them."""
    if model.config.is_encoder_decoder:
        start = torch.tensor([[0]])
        cache = model(inputs_embeds=embed(model, prompt), decoder_input_ids=start).past_key_values.cross_attention_cache
    else:
        cache = model(inputs_embeds=embed(model, prompt[:SHARED])).past_key_values
    return [torch.stack([part[0].transpose(0, 1) for part in parts]).contiguous()
            for parts in ([layer.keys for layer in cache.layers], [layer.values for layer in cache.layers])]


def make(name, kind, config, dtype, begin, generator):
    config._attn_implementation = "eager"
    model = kind(config).eval().float()
    randomize(model, generator)
    if name in ("t5_gated", "mt5"):
        untie(model, generator)
    model.to(dtype).save_pretrained(HERE / name)
    (HERE / name / "generation_config.json").unlink(missing_ok=True)
    model = kind.from_pretrained(HERE / name, dtype=torch.float32, attn_implementation="eager").eval()
    assert (model.lm_head.weight is model.get_input_embeddings().weight) == (name in TIED), name
    prompts = make_prompts(generator)
    codes = torch.randint(2, VOCABULARY, (SEQUENCES, LEVELS - 1), generator=generator)
    codes[1, 0] = codes[0, 0]
    golden = {f"prompt_{i}": prompt.float().contiguous() for i, prompt in enumerate(prompts)}
    golden["begin"], golden["codes"] = torch.tensor(begin).float(), codes.float()
    rows = [[logits_of(model, prompt, begin + sequence.tolist())[-LEVELS:] for sequence in codes] for prompt in prompts]
    golden["prefill"] = torch.stack([row[0][0] for row in rows])
    golden["decode"] = torch.stack([torch.stack(row)[:, 1:].transpose(0, 1) for row in rows]).contiguous()
    golden["keys"], golden["values"] = shared_kv(model, prompts[2])
    save_file(golden, HERE / name / "golden.safetensors")
    path = HERE / name / "config.json"
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in fields.items() if k != "transformers_version"}, indent=1) + "\n")


def make_buckets():
    tables = {}
    for buckets, most in ((32, 128), (8, 20), (16, 64), (64, 256), (20, 100)):
        for both in (False, True):
            distances = torch.arange(0, 4097)
            got = T5Attention._relative_position_bucket(-distances, both, buckets, most)
            above = T5Attention._relative_position_bucket(distances, both, buckets, most)
            half = buckets // 2 if both else 0
            assert (above[1:] == (got[1:] + half if both else 0)).all() and (got.diff() >= 0).all()
            first = [int(distances[got == b][0]) if (got == b).any() else 9999 for b in range(buckets - half)]
            tables[f"{buckets} {most} {int(both)}"] = torch.tensor(first).float()
    save_file(tables, HERE / "buckets.safetensors")


def main():
    torch.set_num_threads(1)
    wanted = sys.argv[1:] or MODELS
    with torch.no_grad():
        for seed, (name, model) in enumerate(MODELS.items()):
            if name in wanted:
                make(name, *model, torch.Generator().manual_seed(seed))
    if not sys.argv[1:]:
        make_buckets()


if __name__ == "__main__":
    main()
