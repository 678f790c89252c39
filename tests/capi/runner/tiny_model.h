/* A Llama of two layers with made-up weights, written as a checkpoint, whole or damaged.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_TINY_MODEL_H
#define SIDBEAM_TESTS_CAPI_TINY_MODEL_H

#include <sidbeam/runner.h>

#include "fixtures.h"

enum {
  TINY_HIDDEN = 16,
  TINY_HEADS = 4,
  TINY_KV_HEADS = 2,
  TINY_HEAD_DIM = 4,
  TINY_LAYERS = 2,
  TINY_TOKENS = 24,
  TINY_POSITIONS = 64
};

/* Its config.json with other numbers, in quotes. */
#define TINY_CONFIG(layers, positions)                                                                                \
  "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": 16,\n"                     \
  " \"intermediate_size\": 24, \"num_hidden_layers\": " layers                                                        \
  ", \"num_attention_heads\": 4, \"num_key_value_heads\": 2,\n"                                                       \
  " \"head_dim\": 4, \"vocab_size\": 24, \"hidden_act\": \"silu\", \"rms_norm_eps\": 1e-05, \"rope_theta\": 10000.0," \
  " \"max_position_embeddings\": " positions                                                                          \
  ", \"tie_word_embeddings\": true, \"attention_bias\": false, \"mlp_bias\": false}\n"

/* What is to be wrong with it; a zeroed one is whole. */
typedef struct tiny_damage {
  const char* without;    /* a tensor that is left out */
  const char* transposed; /* a tensor whose shape is turned round, or, of a vector, one element short */
  const char* config;     /* a config.json instead of its own */
  int64_t cut;            /* bytes missing at the end of model.safetensors */
} tiny_damage;

/* The folder, in which config.json and model.safetensors are written anew; static storage. `damage` NULL: whole. */
const char* write_tiny_model(const char* name, const tiny_damage* damage);
/* Opens a whole one on the CPU. */
sidbeam_model* make_tiny_model(void);
/* Opens the same weights under another config.json. */
sidbeam_model* make_tiny_variant(const char* config);

#endif
