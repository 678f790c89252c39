// The stateless forms over a table that was made before.
// SPDX-License-Identifier: Apache-2.0
#include "decode/table.h"

#include <algorithm>

#include "capi/guard.h"
#include "capi/stateless.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

uint32_t widest_code_count(const sidbeam_table& table) {
  uint32_t widest = 0;
  for (const sidbeam_constraint* constraint : table.constraints)
    widest = std::max(widest, widest_level(constraint->view()));
  return widest;
}

sidbeam_rows check_table_rows(const sidbeam_table& table, const sidbeam_rows* logits) {
  const sidbeam_rows rows =
      table.device ? read_rows(logits, SIDBEAM_CUDA, table.device->id()) : read_rows(logits, SIDBEAM_CPU, 0);
  check_row_columns(table.list(), table.vocabulary, rows);
  return rows;
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_table_create(sidbeam_runtime* runtime, const sidbeam_table_config* config, sidbeam_table** out,
                                    sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(out, "out");
    sidbeam_table_config copy = read_struct(config, "config");
    sidbeam_vocabulary vocabulary;
    if (copy.vocabulary != nullptr) {
      vocabulary = read_struct(copy.vocabulary, "config.vocabulary");
      copy.vocabulary = &vocabulary;
    }
    *out = new sidbeam_table(runtime, copy);
  });
}

void sidbeam_table_destroy(sidbeam_table* table) { delete table; }

sidbeam_status sidbeam_table_prefixes(const sidbeam_table* table, const int32_t* which, const int32_t* codes,
                                      int64_t stride, const int32_t* lengths, int64_t count, sidbeam_state* out,
                                      void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    require(table, "table");
    check_count(count);
    if (count == 0) return;
    require(lengths, "lengths");
    require(out, "out");
    check_prefix_stride("stride", count, stride);
    if (table->device)
      return call_plugin(table->device->plugin().table_prefixes, table->handle, which, codes, stride, lengths, count,
                         out, stream);
    prefix_states(table->list(), which, codes, stride, lengths, count, out);
  });
}

sidbeam_status sidbeam_table_advance(const sidbeam_table* table, const int32_t* which, const sidbeam_state* in,
                                     int64_t in_count, const int64_t* parents, const int32_t* tokens, int64_t count,
                                     sidbeam_state* out, void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    require(table, "table");
    check_count(count);
    if (count == 0) return;
    require(in, "in");
    require(tokens, "tokens");
    require(out, "out");
    check_parents(parents, in_count, count);
    if (table->device)
      return call_plugin(table->device->plugin().table_advance, table->handle, which, in, in_count, parents, tokens,
                         count, out, stream);
    advance_states(table->list(), which, in, in_count, parents, tokens, count, out);
  });
}

sidbeam_status sidbeam_table_mask(const sidbeam_table* table, const int32_t* which, const sidbeam_state* states,
                                  const sidbeam_rows* logits, void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    require(table, "table");
    const sidbeam_rows rows = check_table_rows(*table, logits);
    if (rows.rows == 0) return;
    require(states, "states");
    if (table->device)
      return call_plugin(table->device->plugin().table_mask, table->handle, which, states, &rows, stream);
    mask_rows(table->list(), table->vocabulary, which, states, rows);
  });
}

sidbeam_status sidbeam_table_bitmask(const sidbeam_table* table, const int32_t* which, const sidbeam_state* states,
                                     int64_t count, uint32_t* words, int64_t words_per_row, void* stream,
                                     sidbeam_error* err) {
  return guarded(err, [&] {
    require(table, "table");
    check_count(count);
    check_words(table->list(), table->vocabulary, count, words_per_row);
    if (count == 0) return;
    require(states, "states");
    require(words, "words");
    if (table->device)
      return call_plugin(table->device->plugin().table_bitmask, table->handle, which, states, count, words,
                         words_per_row, stream);
    bitmask_rows(table->list(), table->vocabulary, which, states, count, words, words_per_row);
  });
}

sidbeam_status sidbeam_table_topk(const sidbeam_table* table, const int32_t* which, const sidbeam_state* states,
                                  const sidbeam_rows* logits, int32_t normalization, int32_t k, int32_t* tokens,
                                  float* log_probs, sidbeam_state* next, void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    require(table, "table");
    const sidbeam_rows rows = check_table_rows(*table, logits);
    check_topk(normalization, k);
    if (rows.rows == 0) return;
    require(states, "states");
    require(tokens, "tokens");
    require(log_probs, "log_probs");
    if (table->device)
      return call_plugin(table->device->plugin().table_topk, table->handle, which, states, &rows, normalization, k,
                         widest_code_count(*table), tokens, log_probs, next, stream);
    topk_rows(table->list(), table->vocabulary, which, states, rows, normalization, k, tokens, log_probs, next);
  });
}

}  // extern "C"
