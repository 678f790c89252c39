// The stateless forms over a list of constraints that the call brings.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/states.h"

#include "capi/guard.h"
#include "capi/stateless.h"
#include "decode/table.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

ConstraintList check_list(sidbeam_constraint* const* constraints, int32_t constraint_count, int64_t count) {
  require(constraints, "constraints");
  const ConstraintList list = check_constraints(constraints, constraint_count);
  check_count(count);
  return list;
}

Vocabulary read_vocabulary(const ConstraintList& list, const sidbeam_vocabulary* given) {
  sidbeam_vocabulary copy;
  if (given != nullptr) copy = read_struct(given, "vocabulary");
  return vocabulary_for(list, given != nullptr ? &copy : nullptr, nullptr);
}

}  // namespace

extern "C" {

// The streams of these calls are not read: work on the CPU is done when a call returns.

sidbeam_status sidbeam_states_from_prefixes(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                            const int32_t* which, const int32_t* codes, int64_t stride,
                                            const int32_t* lengths, int64_t count, sidbeam_state* out, void* /*stream*/,
                                            sidbeam_error* err) {
  return guarded(err, [&] {
    const ConstraintList list = check_list(constraints, constraint_count, count);
    if (count == 0) return;
    require(lengths, "lengths");
    require(out, "out");
    check_prefix_stride("stride", count, stride);
    prefix_states(list, which, codes, stride, lengths, count, out);
  });
}

sidbeam_status sidbeam_states_advance(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                      const int32_t* which, const sidbeam_state* in, int64_t in_count,
                                      const int64_t* parents, const int32_t* tokens, int64_t count, sidbeam_state* out,
                                      void* /*stream*/, sidbeam_error* err) {
  return guarded(err, [&] {
    const ConstraintList list = check_list(constraints, constraint_count, count);
    if (count == 0) return;
    require(in, "in");
    require(tokens, "tokens");
    require(out, "out");
    check_parents(parents, in_count, count);
    advance_states(list, which, in, in_count, parents, tokens, count, out);
  });
}

sidbeam_status sidbeam_rows_mask(sidbeam_constraint* const* constraints, int32_t constraint_count, const int32_t* which,
                                 const sidbeam_vocabulary* vocabulary, const sidbeam_state* states,
                                 const sidbeam_rows* logits, void* /*stream*/, sidbeam_error* err) {
  return guarded(err, [&] {
    const sidbeam_rows rows = read_rows(logits, SIDBEAM_CPU, 0);
    const ConstraintList list = check_list(constraints, constraint_count, rows.rows);
    const Vocabulary columns = read_vocabulary(list, vocabulary);
    check_row_columns(list, columns, rows);
    if (rows.rows > 0) require(states, "states");
    mask_rows(list, columns, which, states, rows);
  });
}

sidbeam_status sidbeam_rows_bitmask(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                    const int32_t* which, const sidbeam_vocabulary* vocabulary,
                                    const sidbeam_state* states, int64_t count, uint32_t* words, int64_t words_per_row,
                                    void* /*stream*/, sidbeam_error* err) {
  return guarded(err, [&] {
    const ConstraintList list = check_list(constraints, constraint_count, count);
    const Vocabulary columns = read_vocabulary(list, vocabulary);
    check_words(list, columns, count, words_per_row);
    if (count == 0) return;
    require(states, "states");
    require(words, "words");
    bitmask_rows(list, columns, which, states, count, words, words_per_row);
  });
}

sidbeam_status sidbeam_rows_topk(sidbeam_constraint* const* constraints, int32_t constraint_count, const int32_t* which,
                                 const sidbeam_vocabulary* vocabulary, const sidbeam_state* states,
                                 const sidbeam_rows* logits, int32_t normalization, int32_t k, int32_t* tokens,
                                 float* log_probs, sidbeam_state* next, void* /*stream*/, sidbeam_error* err) {
  return guarded(err, [&] {
    const sidbeam_rows rows = read_rows(logits, SIDBEAM_CPU, 0);
    const ConstraintList list = check_list(constraints, constraint_count, rows.rows);
    const Vocabulary columns = read_vocabulary(list, vocabulary);
    check_row_columns(list, columns, rows);
    check_topk(normalization, k);
    if (rows.rows == 0) return;
    require(states, "states");
    require(tokens, "tokens");
    require(log_probs, "log_probs");
    topk_rows(list, columns, which, states, rows, normalization, k, tokens, log_probs, next);
  });
}

}  // extern "C"
