/* SPDX-License-Identifier: Apache-2.0 */
#include "tiny_head.h"

enum { HEAD_ELEMENTS = HEAD_CODES * HEAD_HIDDEN * 2 };

/* Twelfths between -1 and 1, in no order that a row repeats. */
#define N(i) ((float)(((i)*37 + (i) / 7 * 11) % 25 - 12) / 12.0F)
#define N4(i) N(i), N((i) + 1), N((i) + 2), N((i) + 3)
#define N16(i) N4(i), N4((i) + 4), N4((i) + 8), N4((i) + 12)
#define N32(i) N16(i), N16((i) + 16)

const float tiny_states[3 * (HEAD_LEVELS + 1) * HEAD_HIDDEN] = {N32(3), N16(90)};
static const float numbers[5][HEAD_LEVELS][HEAD_ELEMENTS] = {
    {{N32(0)}, {N32(40)}, {N32(81)}}, {{N4(7)}, {N4(19)}, {N4(31)}}, {{N16(5)}, {N16(23)}, {0}},
    {{N16(11)}, {N16(29)}, {0}},      {{N4(13)}, {N4(37)}, {0}},
};
static const int32_t head_codes[HEAD_LEVELS] = {HEAD_CODES, HEAD_CODES, HEAD_CODES};

static const void* const heads[] = {numbers[0][0], numbers[0][1], numbers[0][2]};
static const void* const biases[] = {numbers[1][0], numbers[1][1], numbers[1][2]};
static const void* const embeddings[] = {numbers[2][0], numbers[2][1]};
static const void* const inputs[] = {numbers[3][0], numbers[3][1]};
static const void* const recurrents[] = {numbers[2][1], numbers[3][0]};
static const void* const gate_biases[] = {numbers[4][0], numbers[4][1]};

sidbeam_draft_weights tiny_weights(void) {
  sidbeam_draft_weights weights = SIDBEAM_DRAFT_WEIGHTS_INIT;
  weights.levels = HEAD_LEVELS;
  weights.hidden = HEAD_HIDDEN;
  weights.codes = head_codes;
  weights.head_weights = heads;
  weights.head_biases = biases;
  weights.embeddings = embeddings;
  weights.input_weights = inputs;
  weights.input_biases = gate_biases;
  weights.recurrent_weights = recurrents;
  weights.recurrent_biases = gate_biases;
  weights.codebook = "books";
  return weights;
}

const char* write_head(const sidbeam_draft_weights* weights) {
  const char* path = temporary_path("head.sdraft");
  CHECK_OK(sidbeam_draft_head_write(path, weights, &err));
  return path;
}

sidbeam_draft_head* make_tiny_head(void) {
  const sidbeam_draft_weights weights = tiny_weights();
  sidbeam_draft_head* head = NULL;
  CHECK_OK(sidbeam_draft_head_open(write_head(&weights), NULL, &head, &err));
  return head;
}

sidbeam_rows tiny_hidden(int64_t requests) {
  return sidbeam_rows_dense(tiny_states, SIDBEAM_DTYPE_F32, requests, HEAD_LEVELS + 1, HEAD_HIDDEN);
}

sidbeam_draft_config draft_config(sidbeam_draft_head* head, sidbeam_index* index) {
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.beams = 4;
  config.head = head;
  config.index = index;
  return config;
}

sidbeam_draft_decoder* make_draft_decoder(sidbeam_runtime* runtime, const sidbeam_draft_config* config) {
  sidbeam_draft_decoder* decoder = NULL;
  CHECK_OK(sidbeam_draft_decoder_create(runtime, config, &decoder, &err));
  return decoder;
}

sidbeam_draft_result draft(sidbeam_draft_decoder* decoder, int64_t requests) {
  const sidbeam_rows hidden = tiny_hidden(requests);
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  args.hidden = &hidden;
  CHECK_OK(sidbeam_draft_decoder_run(decoder, &args, &result, &err));
  return result;
}
