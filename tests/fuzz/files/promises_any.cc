// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "../../capi/exercise.h"
#include "promises.h"

namespace fuzz {
namespace {

constexpr int32_t kUnwritten = -77;
constexpr size_t kLevels = SIDBEAM_MAX_LEVELS;

void check_sid(const sidbeam_index* index, const sidbeam_index_info& info, int64_t ordinal) {
  std::vector<int32_t> codes(kLevels, kUnwritten);
  int32_t length = kUnwritten;
  const sidbeam_status status = sidbeam_index_sid(index, ordinal, codes.data(), &length, nullptr);
  if (ordinal < 0 || ordinal >= info.sids) {
    FUZZ_CHECK(status == SIDBEAM_INVALID_ARGUMENT && length == kUnwritten);
    return;
  }
  if (status != SIDBEAM_OK) return FUZZ_CHECK(status == SIDBEAM_CORRUPT);
  FUZZ_CHECK(length >= 0 && length <= info.levels);
  for (int32_t l = 0; l < length; ++l) {
    const int32_t code = codes[static_cast<size_t>(l)];
    FUZZ_CHECK(code >= 0 && code < info.codes[l]);
  }
}

void check_lookups(const sidbeam_index* index, const sidbeam_index_info& info, Random& random) {
  for (int64_t ordinal = -1; ordinal <= std::min<int64_t>(info.sids, 256); ++ordinal) check_sid(index, info, ordinal);
  for (int i = 0; i < 24; ++i) {
    const auto near = static_cast<int64_t>(random.below(static_cast<uint64_t>(info.sids) + 2)) - 1;
    check_sid(index, info, random.one_in(8) ? static_cast<int64_t>(random.next()) : near);
    int64_t lo = 0, hi = 0, row = static_cast<int64_t>(random.below(static_cast<uint64_t>(info.items) + 2)) - 1;
    if (random.one_in(8)) row = static_cast<int64_t>(random.next());
    const bool inside = row >= 0 && row < info.items;
    const sidbeam_status status = sidbeam_index_item_ordinal(index, row, &lo, nullptr);
    FUZZ_CHECK(inside ? status != SIDBEAM_OK || (lo >= 0 && lo < info.sids) : status == SIDBEAM_INVALID_ARGUMENT);
    if (sidbeam_index_item_rows(index, near, &lo, &hi, nullptr) == SIDBEAM_OK)
      FUZZ_CHECK(lo >= 0 && lo <= hi && hi <= info.items);
  }
}

void check_prefixes(const sidbeam_index* index, const sidbeam_index_info& info, Random& random) {
  int32_t prefix[kLevels], codes[32];
  for (int i = 0; i < 24; ++i) {
    const auto length = static_cast<int32_t>(random.below(static_cast<uint64_t>(info.levels)));
    for (int32_t l = 0; l < length; ++l)
      prefix[l] = static_cast<int32_t>(random.below(std::min<uint64_t>(static_cast<uint64_t>(info.codes[l]), 8)));
    int64_t lo = 0, hi = 0, count = 0;
    int32_t end = 0;
    if (sidbeam_index_ordinals(index, prefix, length, &lo, &hi, nullptr) == SIDBEAM_OK)
      FUZZ_CHECK(lo >= 0 && lo <= hi && hi <= info.sids);
    std::fill(std::begin(codes), std::end(codes), kUnwritten);
    if (sidbeam_index_children(index, prefix, length, 32, codes, &count, &end, nullptr) != SIDBEAM_OK) continue;
    FUZZ_CHECK(count >= 0 && (end == 0 || end == 1));
    for (int64_t t = 0; t < std::min<int64_t>(count, 32); ++t)
      FUZZ_CHECK(codes[t] >= 0 && codes[t] < info.codes[length]);
  }
}

sidbeam_state strange_state(const sidbeam_index_info& info, Random& random) {
  switch (random.below(4)) {
    case 0:
      return static_cast<sidbeam_state>(random.next());
    case 1:
      return static_cast<sidbeam_state>(random.below(static_cast<uint64_t>(info.sids) + 3)) - 1;
    case 2:  // what a level and a node near its end could look like
      return static_cast<sidbeam_state>((random.below(66) << (40 + random.below(20))) + random.skewed(12));
    default:
      return static_cast<sidbeam_state>(uint64_t{1} << random.below(64));
  }
}

void check_strange_states(sidbeam_constraint* constraint, const sidbeam_index_info& info, Random& random) {
  constexpr int64_t kRows = 8;
  constexpr int32_t kMost = 3;
  const int64_t columns = *std::max_element(info.codes, info.codes + info.levels) + 1;
  if (columns > 4096) return;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = info.levels;
  vocabulary.end_column = columns - 1;
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  config.constraints = &constraint;
  config.constraint_count = 1;
  config.vocabulary = &vocabulary;
  sidbeam_constraint_set* made = nullptr;
  const sidbeam_status status = sidbeam_constraint_set_create(runtime(), &config, &made, nullptr);
  if (status != SIDBEAM_OK) return FUZZ_CHECK(status == SIDBEAM_MISSING_SECTION);
  const Handle<sidbeam_constraint_set> set(made);
  std::vector<float> row(static_cast<size_t>(kRows * columns), -1.0f);
  std::vector<uint32_t> words(static_cast<size_t>(kRows * (columns / 32 + 1)));
  sidbeam_state states[kRows], next[kRows], best[kRows * kMost];
  int32_t codes[kRows], found[kRows * kMost];
  float log_probs[kRows * kMost];
  for (int64_t i = 0; i < kRows; ++i) {
    states[i] = strange_state(info, random);
    codes[i] = static_cast<int32_t>(random.one_in(4) ? random.next() : random.below(8));
  }
  const sidbeam_rows rows = sidbeam_rows_dense(row.data(), SIDBEAM_DTYPE_F32, 0, kRows, columns);
  const auto fine = [](sidbeam_status called) { FUZZ_CHECK(called == SIDBEAM_OK); };
  fine(sidbeam_constraint_set_advance(made, nullptr, states, kRows, nullptr, codes, kRows, next, nullptr, nullptr));
  fine(sidbeam_constraint_set_bitmask(made, nullptr, states, kRows, columns / 32 + 1, words.data(), nullptr, nullptr));
  std::fill(std::begin(found), std::end(found), kUnwritten);
  fine(sidbeam_constraint_set_topk(made, nullptr, states, &rows, SIDBEAM_NORMALIZE_LEVEL, kMost, found, log_probs, best,
                                   nullptr, nullptr));
  for (const int32_t code : found) FUZZ_CHECK(code >= -1 && code < columns);
  fine(sidbeam_constraint_set_mask(made, nullptr, states, &rows, row.data(), nullptr, nullptr));
}

}  // namespace

void check_any(sidbeam_index* index, Random& random) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  FUZZ_CHECK(sidbeam_index_get_info(index, &info, nullptr) == SIDBEAM_OK);
  check_lookups(index, info, random);
  check_prefixes(index, info, random);
  check_strange_states(constraint_of(index).get(), info, random);
  FUZZ_CHECK(exercise_index(runtime(), index, static_cast<uint32_t>(random.next())) == 0);
}

}  // namespace fuzz
