// The stateless forms.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/states.h"

#include <algorithm>

#include "capi/guard.h"
#include "decode/objects.h"
#include "decode/rows.h"
#include "decode/states.h"
#include "decode/vocabulary.h"
#include "index/state.h"
#include "sidbeam/builder.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

constexpr int64_t kMaxWords = int64_t{1} << 40;

// The caller's table of constraints, checked.
struct Table {
  sidbeam_constraint* const* constraints;
  int32_t count;
  const int32_t* which;

  const IndexView& index_of(int64_t row) const { return constraints[which != nullptr ? which[row] : 0]->view(); }
  const sidbeam_runtime& runtime() const { return *constraints[0]->index->runtime; }
};

Table check_table(sidbeam_constraint* const* constraints, int32_t constraint_count, const int32_t* which,
                  int64_t rows) {
  require(constraints, "constraints");
  if (constraint_count < 1)
    fail(SIDBEAM_INVALID_ARGUMENT, "constraint_count is %d, expected at least 1", constraint_count);
  for (int32_t i = 0; i < constraint_count; ++i) {
    if (constraints[i] == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "constraints[%d] is NULL, expected a constraint", i);
    if (!constraints[i]->view().has_trie)
      fail(SIDBEAM_MISSING_SECTION,
           "constraints[%d] lacks the trie sections, expected an index built with kinds trie (SIDBEAM_KIND_TRIE)", i);
  }
  if (rows < 0) fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected at least 0", static_cast<long long>(rows));
  for (int64_t i = 0; which != nullptr && i < rows; ++i)
    if (which[i] < 0 || which[i] >= constraint_count)
      fail(SIDBEAM_INVALID_ARGUMENT, "which[%lld] is %d, expected 0..%d", static_cast<long long>(i), which[i],
           constraint_count - 1);
  return {constraints, constraint_count, which};
}

Vocabulary vocabulary_for(const Table& table, const sidbeam_vocabulary* given) {
  int32_t levels = 0;
  for (int32_t i = 0; i < table.count; ++i) levels = std::max(levels, table.constraints[i]->view().levels);
  sidbeam_vocabulary copy;
  if (given != nullptr) copy = read_struct(given, "vocabulary");
  Vocabulary vocabulary = make_vocabulary(given != nullptr ? &copy : nullptr, levels, nullptr);
  for (int32_t i = 0; i < table.count; ++i) check_vocabulary(vocabulary, table.constraints[i]->view(), "a constraint");
  return vocabulary;
}

StateRow state_row(const Table& table, const Vocabulary& vocabulary, const sidbeam_state* states, int64_t i) {
  const IndexView& index = table.index_of(i);
  return {&index, is_trie_state(index, states[i]) ? states[i] : kDeadState, vocabulary.columns};
}

// Rows of [rows, columns].
sidbeam_rows check_logits(const sidbeam_rows* logits) {
  const sidbeam_rows rows = read_struct(logits, "logits");
  check_rows(&rows, "logits");
  if (rows.slots != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "logits.slots is %lld, expected 0", static_cast<long long>(rows.slots));
  return rows;
}

// Throws where some level of some constraint has codes past `columns`, which `what` is the number of.
void check_columns(const Table& table, const Vocabulary& vocabulary, const char* what, int64_t columns) {
  for (int32_t i = 0; i < table.count; ++i) {
    const IndexView& index = table.constraints[i]->view();
    for (int32_t l = 0; l < index.levels; ++l) {
      const int64_t needed = columns_needed(vocabulary, index, l);
      if (columns < needed)
        fail(SIDBEAM_INVALID_ARGUMENT,
             "%s is %lld, expected at least %lld for the codes of level %d of constraints[%d]", what,
             static_cast<long long>(columns), static_cast<long long>(needed), l, i);
    }
  }
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_states_from_prefixes(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                            const int32_t* which, const int32_t* codes, int64_t stride,
                                            const int32_t* lengths, int64_t count, sidbeam_state* out, void* stream,
                                            sidbeam_error* err) {
  (void)stream;
  return guarded(err, [&] {
    const Table table = check_table(constraints, constraint_count, which, count);
    if (count == 0) return;
    require(lengths, "lengths");
    require(out, "out");
    for (int64_t i = 0; i < count; ++i) {
      if (lengths[i] < 0 || lengths[i] > stride)
        fail(SIDBEAM_INVALID_ARGUMENT, "lengths[%lld] is %d, expected 0..%lld", static_cast<long long>(i), lengths[i],
             static_cast<long long>(stride));
      if (lengths[i] > 0) require(codes, "codes");
    }
    for (int64_t i = 0; i < count; ++i)
      out[i] = trie_state(table.index_of(i), codes != nullptr ? codes + i * stride : nullptr, lengths[i]);
  });
}

sidbeam_status sidbeam_states_advance(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                      const int32_t* which, const sidbeam_state* in, int64_t in_count,
                                      const int64_t* parents, const int32_t* tokens, int64_t count, sidbeam_state* out,
                                      void* stream, sidbeam_error* err) {
  (void)stream;
  return guarded(err, [&] {
    const Table table = check_table(constraints, constraint_count, which, count);
    if (count == 0) return;
    require(in, "in");
    require(tokens, "tokens");
    require(out, "out");
    if (parents == nullptr && in_count < count)
      fail(SIDBEAM_INVALID_ARGUMENT, "in_count is %lld, expected at least %lld, the count, without parents",
           static_cast<long long>(in_count), static_cast<long long>(count));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t parent = parents != nullptr ? parents[i] : i;
      out[i] = parent >= 0 && parent < in_count ? advance_state(table.index_of(i), in[parent], tokens[i]) : kDeadState;
    }
  });
}

sidbeam_status sidbeam_rows_mask(sidbeam_constraint* const* constraints, int32_t constraint_count, const int32_t* which,
                                 const sidbeam_vocabulary* vocabulary, const sidbeam_state* states,
                                 const sidbeam_rows* logits, void* stream, sidbeam_error* err) {
  (void)stream;
  return guarded(err, [&] {
    const sidbeam_rows rows = check_logits(logits);
    const Table table = check_table(constraints, constraint_count, which, rows.rows);
    const Vocabulary columns = vocabulary_for(table, vocabulary);
    check_columns(table, columns, "logits.columns", rows.columns);
    if (rows.rows > 0) require(states, "states");
    for (int64_t i = 0; i < rows.rows; ++i)
      table.runtime().cpu->mask_row(state_row(table, columns, states, i), rows, i);
  });
}

sidbeam_status sidbeam_rows_bitmask(sidbeam_constraint* const* constraints, int32_t constraint_count,
                                    const int32_t* which, const sidbeam_vocabulary* vocabulary,
                                    const sidbeam_state* states, int64_t count, uint32_t* words, int64_t words_per_row,
                                    void* stream, sidbeam_error* err) {
  (void)stream;
  return guarded(err, [&] {
    const Table table = check_table(constraints, constraint_count, which, count);
    const Vocabulary columns = vocabulary_for(table, vocabulary);
    if (words_per_row < 0 || words_per_row > kMaxWords)
      fail(SIDBEAM_INVALID_ARGUMENT, "words_per_row is %lld, expected 0..%lld", static_cast<long long>(words_per_row),
           static_cast<long long>(kMaxWords));
    check_columns(table, columns, "32 * words_per_row", 32 * words_per_row);
    if (count == 0) return;
    require(states, "states");
    require(words, "words");
    for (int64_t i = 0; i < count; ++i)
      table.runtime().cpu->bitmask_row(state_row(table, columns, states, i), words + i * words_per_row, words_per_row);
  });
}

sidbeam_status sidbeam_rows_topk(sidbeam_constraint* const* constraints, int32_t constraint_count, const int32_t* which,
                                 const sidbeam_vocabulary* vocabulary, const sidbeam_state* states,
                                 const sidbeam_rows* logits, int32_t normalization, int32_t k, int32_t* tokens,
                                 float* log_probs, sidbeam_state* next, void* stream, sidbeam_error* err) {
  (void)stream;
  return guarded(err, [&] {
    const sidbeam_rows rows = check_logits(logits);
    const Table table = check_table(constraints, constraint_count, which, rows.rows);
    const Vocabulary columns = vocabulary_for(table, vocabulary);
    check_columns(table, columns, "logits.columns", rows.columns);
    if (normalization < SIDBEAM_NORMALIZE_FULL || normalization > SIDBEAM_NORMALIZE_NONE)
      fail(SIDBEAM_INVALID_ARGUMENT, "normalization is %d, expected FULL (0) to NONE (3)", normalization);
    if (k < 1 || k > SIDBEAM_MAX_CODES) fail(SIDBEAM_INVALID_ARGUMENT, "k is %d, expected 1..%d", k, SIDBEAM_MAX_CODES);
    if (rows.rows == 0) return;
    require(states, "states");
    require(tokens, "tokens");
    require(log_probs, "log_probs");
    StepLimits limits{0, 0, 0, 0};
    for (int32_t i = 0; i < constraint_count; ++i)
      limits.codes = std::max(limits.codes, widest_level(constraints[i]->view()));
    const Allocator& allocator = table.runtime().allocator;
    Buffer<StateRow> state_rows(allocator, rows.rows);
    for (int64_t i = 0; i < rows.rows; ++i) state_rows[i] = state_row(table, columns, states, i);
    table.runtime().cpu->topk_rows(state_rows.data(), rows, {normalization, 1.0F, 0.0F}, k, limits, allocator, tokens,
                                   log_probs, next);
  });
}

}  // extern "C"
