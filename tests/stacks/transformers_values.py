"""Values of the fields of GenerationConfig and the arguments of generate(), for tests of what becomes of each.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import transformers
from transformers.generation import CompileConfig

# What changes the beams, as a function of the best first token.
CHANGES = {
    "repetition_penalty": lambda token: 1.3,
    "encoder_repetition_penalty": lambda token: 1.5,
    "no_repeat_ngram_size": lambda token: 1,
    "encoder_no_repeat_ngram_size": lambda token: 1,
    "bad_words_ids": lambda token: [[token]],
    "suppress_tokens": lambda token: [token],
    "begin_suppress_tokens": lambda token: [token],
    "sequence_bias": lambda token: [[[token], -3.0]],
    "guidance_scale": lambda token: 1.5,
    "renormalize_logits": lambda token: True,
    "length_penalty": lambda token: 2.0,
    "watermarking_config": lambda token: transformers.WatermarkingConfig(bias=6.0),
}

# What the dict then has, of models without and with an encoder.
OUTPUTS = {
    "output_scores": {"scores"},
    "output_logits": {"logits"},
    "output_hidden_states": {"hidden_states", "decoder_hidden_states", "encoder_hidden_states"},
    "output_attentions": {"attentions", "decoder_attentions", "encoder_attentions", "cross_attentions"},
}

WITHOUT_EFFECT = {
    "early_stopping": [True, "never"],
    "cache_config": [{"backend": "quanto"}],
    "max_cache_len": [2],
    "temperature": [0.3],
    "top_k": [1],
    "top_p": [0.1],
    "min_p": [0.9],
    "top_h": [0.1],
    "typical_p": [0.1],
    "epsilon_cutoff": [0.5],
    "eta_cutoff": [0.5],
    "eos_token_id": [260, [3, 4]],
    "num_assistant_tokens": [3],
    "num_assistant_tokens_schedule": ["heuristic"],
    "assistant_confidence_threshold": [0.9],
    "max_matching_ngram_size": [2],
    "assistant_lookbehind": [1],
    "target_lookbehind": [1],
    "assistant_ensemble_weight": [0.5],
    "speculation_type": ["dflash"],
    "compile_config": [CompileConfig()],
    "disable_compile": [True],
    "continuous_batching_config": [object()],
    "_from_model_config": [True],
    "transformers_version": ["4.1.0"],
    "synced_gpus": [True, False],
    "tokenizer": [object()],
    "assistant_tokenizer": [object()],
    "trust_remote_code": [True],
}

REFUSED = {
    "max_time": 5.0,
    "do_sample": True,
    "use_mtp": True,
    "cache_implementation": "static",
    "is_assistant": True,
    "prompt_lookup_num_tokens": 3,
    "assistant_early_exit": 1,
    "low_memory": True,
    "penalty_alpha": 0.6,
    "dola_layers": "low",
    "diversity_penalty": 0.5,
    "num_beam_groups": 2,
    "constraints": [object()],
    "force_words_ids": [[5]],
    "stopping_criteria": [transformers.MaxTimeCriteria(60.0)],
    "assistant_model": object(),
    "streamer": transformers.TextStreamer(None),
}
REFUSED_BY_GENERATE = {"stop_strings": "x", "token_healing": True}  # before a loop is called
