// SPDX-License-Identifier: Apache-2.0
#include "decode/constraint_set.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "decode/device_choice.h"
#include "decode/rows.h"
#include "decode/session.h"
#include "index/read/state.h"
#include "support/codebook.h"
#include "support/error.h"
#include "support/strides.h"

namespace sidbeam {
namespace {

constexpr int64_t kMaxWords = int64_t{1} << 40;

void check_constraints(const sidbeam_constraint_set_config& config) {
  const int64_t count = config.constraint_count;
  if (count < 1 || count > std::numeric_limits<int32_t>::max())
    fail(SIDBEAM_INVALID_ARGUMENT, "config.constraint_count is %lld, expected 1..%d", static_cast<long long>(count),
         std::numeric_limits<int32_t>::max());
  if (config.constraints == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "config.constraints is NULL, expected an array");
  for (int64_t i = 0; i < count; ++i) {
    if (config.constraints[i] == nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "config.constraints[%lld] is NULL, expected a constraint",
           static_cast<long long>(i));
    if (!config.constraints[i]->view().has_trie)
      fail(SIDBEAM_MISSING_SECTION,
           "config.constraints[%lld] lacks the trie sections, expected an index built with kinds trie "
           "(SIDBEAM_KIND_TRIE)",
           static_cast<long long>(i));
  }
}

// All rows of a set have one vocabulary, so that a code must mean the same in all of its catalogues.
void check_codebooks(const sidbeam_constraint_set_config& config) {
  int64_t known = 0;
  for (int64_t i = 0; i < config.constraint_count; ++i) {
    if (config.constraints[known]->codebook().empty()) known = i;
    char what[48], whose[48];
    std::snprintf(what, sizeof what, "config.constraints[%lld]", static_cast<long long>(i));
    std::snprintf(whose, sizeof whose, "config.constraints[%lld]", static_cast<long long>(known));
    check_codebook(what, config.constraints[i]->codebook(), config.constraints[known]->codebook(), whose);
  }
}

void hold_constraints(const sidbeam_constraint_set_config& config, sidbeam_constraint_set& set) {
  for (int64_t i = 0; i < config.constraint_count; ++i) {
    set.constraints.push_back(Ref<sidbeam_constraint>::share(config.constraints[i]));
    set.views.push_back(config.constraints[i]);
    set.levels = std::max(set.levels, config.constraints[i]->view().levels);
  }
}

// Throws where some level of some constraint has codes past `columns`; `what` names that number in messages.
void check_columns(const sidbeam_constraint_set& set, const char* what, int64_t columns) {
  for (size_t i = 0; i < set.constraints.size(); ++i) {
    const IndexView& index = set.constraints[i]->view();
    for (int32_t l = 0; l < index.levels; ++l) {
      const int64_t needed = columns_needed(set.vocabulary, index, l);
      if (columns < needed)
        fail(SIDBEAM_INVALID_ARGUMENT, "%s is %lld, expected at least %lld for the codes of level %d of constraint %zu",
             what, static_cast<long long>(columns), static_cast<long long>(needed), l, i);
    }
  }
}

}  // namespace

std::unique_ptr<sidbeam_constraint_set> make_constraint_set(sidbeam_runtime* runtime,
                                                            const sidbeam_constraint_set_config& config) {
  check_constraints(config);
  check_codebooks(config);
  check_device_choice(config.device_type, config.device_id);
  auto set = std::make_unique<sidbeam_constraint_set>();
  set->runtime = Ref<sidbeam_runtime>::share(runtime);
  set->device_type = config.device_type;
  set->device_id = config.device_id;
  hold_constraints(config, *set);
  set->vocabulary = make_vocabulary(config.vocabulary, set->levels, &runtime->allocator);
  SetShape shape{set->views.data(), static_cast<int32_t>(set->views.size()), view_of(set->vocabulary), 0};
  for (const Ref<sidbeam_constraint>& constraint : set->constraints) {
    check_vocabulary(set->vocabulary, *constraint, "a constraint");
    shape.codes = std::max(shape.codes, widest_level(constraint->view()));
  }
  set->backend = backend_on(*runtime, config.device_type, config.device_id).make_set(shape, runtime->allocator);
  return set;
}

void check_count(int64_t count) {
  if (count < 0 || count > kMaxRows)
    fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected 0..%lld", static_cast<long long>(count),
         static_cast<long long>(kMaxRows));
}

void check_set_rows(const sidbeam_constraint_set& set, sidbeam_rows& rows) {
  check_rows(rows, "logits", set.device_type, set.device_id);
  if (rows.slots != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "logits.slots is %lld, expected 0", static_cast<long long>(rows.slots));
  check_columns(set, "logits.columns", rows.columns);
}

void check_words(const sidbeam_constraint_set& set, int64_t count, int64_t words_per_row) {
  if (words_per_row < 0 || words_per_row > kMaxWords)
    fail(SIDBEAM_INVALID_ARGUMENT, "words_per_row is %lld, expected 0..%lld", static_cast<long long>(words_per_row),
         static_cast<long long>(kMaxWords));
  check_stride("words_per_row", count, words_per_row);
  check_columns(set, "32 * words_per_row", 32 * words_per_row);
}

void check_normalization(int32_t normalization) {
  if (normalization < SIDBEAM_NORMALIZE_FULL || normalization > SIDBEAM_NORMALIZE_NONE)
    fail(SIDBEAM_INVALID_ARGUMENT, "normalization is %d, expected FULL (0) to NONE (3)", normalization);
}

void check_topk(int32_t normalization, int32_t k) {
  check_normalization(normalization);
  if (k < 1 || k > SIDBEAM_MAX_CODES) fail(SIDBEAM_INVALID_ARGUMENT, "k is %d, expected 1..%d", k, SIDBEAM_MAX_CODES);
}

void check_parents(const int32_t* parents, int64_t in_count, int64_t count) {
  if (parents == nullptr && in_count < count)
    fail(SIDBEAM_INVALID_ARGUMENT, "in_count is %lld, expected at least %lld, the count, without parents",
         static_cast<long long>(in_count), static_cast<long long>(count));
}

}  // namespace sidbeam
