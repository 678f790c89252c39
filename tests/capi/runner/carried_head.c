/* SPDX-License-Identifier: Apache-2.0 */
#include "carried_head.h"

enum { LEVELS = 3, CODES = 4, GATES = 3 * TINY_HIDDEN, MOST = GATES * TINY_HIDDEN };

static const int32_t codes[LEVELS] = {CODES, CODES, CODES};
static const int32_t placeholders[LEVELS] = {20, 21, 22};
static float numbers[7][LEVELS][MOST];
static const void* lists[7][LEVELS];

sidbeam_draft_weights carried_weights(void) {
  sidbeam_draft_weights weights = SIDBEAM_DRAFT_WEIGHTS_INIT;
  for (int list = 0; list < 7; ++list) {
    for (int level = 0; level < LEVELS; ++level) {
      for (int i = 0; i < MOST; ++i) /* twelfths between -1 and 1 */
        numbers[list][level][i] = (float)((i * 37 + i / 7 * 11 + list * 5 + level * 3) % 25 - 12) / 12.0F;
      lists[list][level] = numbers[list][level];
    }
  }
  weights.levels = LEVELS;
  weights.hidden = TINY_HIDDEN;
  weights.transition = SIDBEAM_DRAFT_TRANSITION_GRU;
  weights.codes = codes;
  weights.head_weights = lists[0];
  weights.head_biases = lists[1];
  weights.embeddings = lists[2];
  weights.input_weights = lists[3];
  weights.input_biases = lists[4];
  weights.recurrent_weights = lists[5];
  weights.recurrent_biases = lists[6];
  return weights;
}

sidbeam_draft_head* open_weights(const sidbeam_draft_weights* weights) {
  const char* path = temporary_path("carried.sdraft");
  sidbeam_draft_head* head = NULL;
  CHECK_OK(sidbeam_draft_head_write(path, weights, &err));
  CHECK_OK(sidbeam_draft_head_open(path, NULL, &head, &err));
  return head;
}

void carry(sidbeam_runner_config* config, sidbeam_draft_head* head) {
  config->head = head;
  config->placeholders = placeholders;
  config->placeholder_count = LEVELS;
}
