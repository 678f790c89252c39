// SPDX-License-Identifier: Apache-2.0
#include "decode/table.h"

#include <algorithm>

#include "decode/rows.h"
#include "decode/states.h"
#include "index/state.h"
#include "sidbeam/builder.h"
#include "support/error.h"

namespace sidbeam {
namespace {

constexpr int64_t kMaxWords = int64_t{1} << 40;

void require(const void* pointer, const char* name) {
  if (pointer == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "%s is NULL, expected an array", name);
}

void check_which(const ConstraintList& list, const int32_t* which, int64_t rows) {
  for (int64_t i = 0; which != nullptr && i < rows; ++i)
    if (which[i] < 0 || which[i] >= list.count)
      fail(SIDBEAM_INVALID_ARGUMENT, "which[%lld] is %d, expected 0..%d", static_cast<long long>(i), which[i],
           list.count - 1);
}

const IndexView& index_of(const ConstraintList& list, const int32_t* which, int64_t row) {
  return list.view(which != nullptr ? which[row] : 0);
}

StateRow state_row(const IndexView& index, const Vocabulary& vocabulary, int64_t state) {
  return {&index, is_trie_state(index, state) ? state : kDeadState, vocabulary.columns};
}

// Throws where some level of some constraint has codes past `columns`, which `what` is the number of.
void check_columns(const ConstraintList& list, const Vocabulary& vocabulary, const char* what, int64_t columns) {
  for (int32_t i = 0; i < list.count; ++i) {
    const IndexView& index = list.view(i);
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

ConstraintList check_constraints(sidbeam_constraint* const* constraints, int32_t count) {
  require(constraints, "constraints");
  if (count < 1) fail(SIDBEAM_INVALID_ARGUMENT, "constraint_count is %d, expected at least 1", count);
  for (int32_t i = 0; i < count; ++i) {
    if (constraints[i] == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "constraints[%d] is NULL, expected a constraint", i);
    if (!constraints[i]->view().has_trie)
      fail(SIDBEAM_MISSING_SECTION,
           "constraints[%d] lacks the trie sections, expected an index built with kinds trie (SIDBEAM_KIND_TRIE)", i);
  }
  return {constraints, count};
}

Vocabulary vocabulary_for(const ConstraintList& list, const sidbeam_vocabulary* given, const Allocator* allocator) {
  int32_t levels = 0;
  for (int32_t i = 0; i < list.count; ++i) levels = std::max(levels, list.view(i).levels);
  Vocabulary vocabulary = make_vocabulary(given, levels, allocator);
  for (int32_t i = 0; i < list.count; ++i) check_vocabulary(vocabulary, list.view(i), "a constraint");
  return vocabulary;
}

void check_count(int64_t count) {
  if (count < 0 || count > kMaxRows)
    fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected 0..%lld", static_cast<long long>(count),
         static_cast<long long>(kMaxRows));
}

void check_row_columns(const ConstraintList& list, const Vocabulary& vocabulary, const sidbeam_rows& rows) {
  check_columns(list, vocabulary, "logits.columns", rows.columns);
}

void check_words(const ConstraintList& list, const Vocabulary& vocabulary, int64_t count, int64_t words_per_row) {
  if (words_per_row < 0 || words_per_row > kMaxWords)
    fail(SIDBEAM_INVALID_ARGUMENT, "words_per_row is %lld, expected 0..%lld", static_cast<long long>(words_per_row),
         static_cast<long long>(kMaxWords));
  check_stride("", "words_per_row", count, words_per_row);
  check_columns(list, vocabulary, "32 * words_per_row", 32 * words_per_row);
}

void check_topk(int32_t normalization, int32_t k) {
  if (normalization < SIDBEAM_NORMALIZE_FULL || normalization > SIDBEAM_NORMALIZE_NONE)
    fail(SIDBEAM_INVALID_ARGUMENT, "normalization is %d, expected FULL (0) to NONE (3)", normalization);
  if (k < 1 || k > SIDBEAM_MAX_CODES) fail(SIDBEAM_INVALID_ARGUMENT, "k is %d, expected 1..%d", k, SIDBEAM_MAX_CODES);
}

void check_parents(const int64_t* parents, int64_t in_count, int64_t count) {
  if (parents == nullptr && in_count < count)
    fail(SIDBEAM_INVALID_ARGUMENT, "in_count is %lld, expected at least %lld, the count, without parents",
         static_cast<long long>(in_count), static_cast<long long>(count));
}

void prefix_states(const ConstraintList& list, const int32_t* which, const int32_t* codes, int64_t stride,
                   const int32_t* lengths, int64_t count, int64_t* out) {
  check_which(list, which, count);
  for (int64_t i = 0; i < count; ++i) {
    if (lengths[i] < 0 || lengths[i] > stride)
      fail(SIDBEAM_INVALID_ARGUMENT, "lengths[%lld] is %d, expected 0..%lld", static_cast<long long>(i), lengths[i],
           static_cast<long long>(stride));
    if (lengths[i] > 0) require(codes, "codes");
  }
  for (int64_t i = 0; i < count; ++i)
    out[i] = trie_state(index_of(list, which, i), codes != nullptr ? codes + i * stride : nullptr, lengths[i]);
}

void advance_states(const ConstraintList& list, const int32_t* which, const int64_t* in, int64_t in_count,
                    const int64_t* parents, const int32_t* tokens, int64_t count, int64_t* out) {
  check_which(list, which, count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t parent = parents != nullptr ? parents[i] : i;
    out[i] =
        parent >= 0 && parent < in_count ? advance_state(index_of(list, which, i), in[parent], tokens[i]) : kDeadState;
  }
}

void mask_rows(const ConstraintList& list, const Vocabulary& vocabulary, const int32_t* which, const int64_t* states,
               const sidbeam_rows& rows) {
  check_which(list, which, rows.rows);
  for (int64_t i = 0; i < rows.rows; ++i)
    list.runtime().cpu->mask_row(state_row(index_of(list, which, i), vocabulary, states[i]), rows, i);
}

void bitmask_rows(const ConstraintList& list, const Vocabulary& vocabulary, const int32_t* which, const int64_t* states,
                  int64_t count, uint32_t* words, int64_t words_per_row) {
  check_which(list, which, count);
  for (int64_t i = 0; i < count; ++i)
    list.runtime().cpu->bitmask_row(state_row(index_of(list, which, i), vocabulary, states[i]),
                                    words + i * words_per_row, words_per_row);
}

void topk_rows(const ConstraintList& list, const Vocabulary& vocabulary, const int32_t* which, const int64_t* states,
               const sidbeam_rows& rows, int32_t normalization, int32_t k, int32_t* tokens, float* log_probs,
               int64_t* next) {
  check_which(list, which, rows.rows);
  StepLimits limits{0, 0, 0, 0};
  for (int32_t i = 0; i < list.count; ++i) limits.codes = std::max(limits.codes, widest_level(list.view(i)));
  const Allocator& allocator = list.runtime().allocator;
  Buffer<StateRow> state_rows(allocator, rows.rows);
  for (int64_t i = 0; i < rows.rows; ++i) state_rows[i] = state_row(index_of(list, which, i), vocabulary, states[i]);
  list.runtime().cpu->topk_rows(state_rows.data(), rows, {normalization, 1.0F, 0.0F}, k, limits, allocator, tokens,
                                log_probs, next);
}

}  // namespace sidbeam

using namespace sidbeam;

sidbeam_table::sidbeam_table(sidbeam_runtime* of, const sidbeam_table_config& config)
    : runtime(Ref<sidbeam_runtime>::share(of)) {
  const ConstraintList given = check_constraints(config.constraints, config.constraint_count);
  vocabulary = vocabulary_for(given, config.vocabulary, &of->allocator);
  if (config.device_type < SIDBEAM_CPU || config.device_type > SIDBEAM_CUDA)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.device_type is %d, expected CPU (0) or CUDA (1)", config.device_type);
  if (config.device_type == SIDBEAM_CPU && config.device_id != 0)
    fail(SIDBEAM_NO_DEVICE, "config.device_id is %d, expected 0 for the CPU", config.device_id);
  constraints.assign(given.constraints, given.constraints + given.count);
  if (config.device_type == SIDBEAM_CUDA) bring_to(config.device_id);
  // Last, so that a failure above has nothing to let go of.
  for (sidbeam_constraint* constraint : constraints) constraint->retain();
}

void sidbeam_table::bring_to(int32_t device_id) {
  device = runtime->devices.open(device_id);
  sidbeam_upload_config config = SIDBEAM_UPLOAD_CONFIG_INIT;
  config.device_id = device_id;
  config.kinds = SIDBEAM_KIND_TRIE;
  std::vector<UploadHandle*> handles;
  for (const sidbeam_constraint* constraint : constraints) {
    sidbeam_index& index = *constraint->index;
    uploads.push_back(index.uploads.bring(index.runtime->devices, index.index, config));
    handles.push_back(uploads.back()->handle());
  }
  const DeviceVocabulary columns = device_vocabulary(vocabulary);
  call_plugin(device->plugin().table_create, device->handle(), handles.data(), static_cast<int32_t>(handles.size()),
              &columns, &handle);
}

sidbeam_table::~sidbeam_table() {
  if (handle != nullptr) device->let_go(&DevicePlugin::table_destroy, handle);
  for (sidbeam_constraint* constraint : constraints) constraint->release();
}
