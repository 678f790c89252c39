// SPDX-License-Identifier: Apache-2.0
#include "decode/vocabulary.h"

#include <algorithm>
#include <limits>

#include "support/error.h"

namespace sidbeam {
namespace {

constexpr int64_t kMaxColumn = std::numeric_limits<int64_t>::max() / 4;

// Checks the columns of a map; returns one past the largest.
int64_t check_map(const int32_t* map, int64_t codes, int level, bool& holes) {
  int32_t largest = -1;
  for (int64_t t = 0; t < codes; ++t) {
    if (map[t] < -1)
      fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.maps[%d][%lld] is %d, expected a column >= 0, or -1 for none", level,
           static_cast<long long>(t), map[t]);
    holes = holes || map[t] < 0;
    largest = std::max(largest, map[t]);
  }
  return int64_t{largest} + 1;
}

// A code without a column may have no SID.
void check_holes(const Vocabulary& vocabulary, const sidbeam_constraint& constraint, int level, const char* what) {
  const IndexView& index = constraint.view();
  const int32_t* map = vocabulary.columns[level].map;
  if (map == nullptr || !vocabulary.holes[level]) return;
  for (uint32_t code = 0; code < index.level[level].codes; ++code)
    if (map[code] < 0 && constraint.index->has_code(level, code))
      fail(SIDBEAM_INVALID_ARGUMENT,
           "vocabulary.maps[%d][%u] is -1, expected a column, since %s has SIDs with code %u at level %d", level, code,
           what, code, level);
}

void set_level(Vocabulary& vocabulary, const sidbeam_vocabulary& given, int level) {
  LevelColumns& columns = vocabulary.columns[level];
  columns.offset = given.offsets != nullptr ? given.offsets[level] : 0;
  if (columns.offset < 0 || columns.offset > kMaxColumn)
    fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.offsets[%d] is %lld, expected 0..%lld", level,
         static_cast<long long>(columns.offset), static_cast<long long>(kMaxColumn));
  if (given.maps == nullptr || given.maps[level] == nullptr) return;
  if (given.map_codes == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.map_codes is NULL, expected the lengths of vocabulary.maps");
  if (given.map_codes[level] < 1)
    fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.map_codes[%d] is %lld, expected at least 1", level,
         static_cast<long long>(given.map_codes[level]));
  columns.map = given.maps[level];
  vocabulary.map_codes[level] = given.map_codes[level];
  columns.map_columns = check_map(columns.map, vocabulary.map_codes[level], level, vocabulary.holes[level]);
}

void copy_maps(Vocabulary& vocabulary, const Allocator& allocator) {
  int64_t total = 0;
  for (int level = 0; level < vocabulary.levels; ++level) total += vocabulary.map_codes[level];
  vocabulary.maps = Buffer<int32_t>(allocator, total);
  int32_t* to = vocabulary.maps.data();
  for (int level = 0; level < vocabulary.levels; ++level) {
    if (vocabulary.columns[level].map == nullptr) continue;
    std::copy_n(vocabulary.columns[level].map, vocabulary.map_codes[level], to);
    vocabulary.columns[level].map = to;
    to += vocabulary.map_codes[level];
  }
}

}  // namespace

Vocabulary make_vocabulary(const sidbeam_vocabulary* given, int32_t levels, const Allocator* allocator) {
  Vocabulary vocabulary;
  if (given == nullptr) {
    vocabulary.levels = levels;
    return vocabulary;
  }
  if (given->levels < levels || given->levels > kMaxLevels)
    fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.levels is %d, expected %d, the levels of the index, to %d",
         given->levels, levels, kMaxLevels);
  vocabulary.levels = given->levels;
  vocabulary.end_column = given->end_column;
  if (given->end_column < -1 || given->end_column > kMaxColumn)
    fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.end_column is %lld, expected a column >= 0, or -1 for none",
         static_cast<long long>(given->end_column));
  for (int level = 0; level < vocabulary.levels; ++level) {
    set_level(vocabulary, *given, level);
    vocabulary.columns[level].end_column = vocabulary.end_column;
  }
  if (allocator != nullptr) copy_maps(vocabulary, *allocator);
  return vocabulary;
}

void check_vocabulary(const Vocabulary& vocabulary, const sidbeam_constraint& constraint, const char* what) {
  const IndexView& index = constraint.view();
  if (index.levels > vocabulary.levels)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s has %d levels, expected at most %d, those of the vocabulary", what, index.levels,
         vocabulary.levels);
  for (int level = 0; level < index.levels; ++level)
    if (vocabulary.columns[level].map != nullptr && vocabulary.map_codes[level] < index.level[level].codes)
      fail(SIDBEAM_INVALID_ARGUMENT,
           "vocabulary.map_codes[%d] is %lld, expected at least %u, the codes of that level of %s", level,
           static_cast<long long>(vocabulary.map_codes[level]), index.level[level].codes, what);
  if (index.variable_length && vocabulary.end_column < 0)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "vocabulary.end_column is -1, expected a column, since %s has SIDs of different lengths", what);
  for (int level = 0; level < index.levels; ++level) check_holes(vocabulary, constraint, level, what);
}

bool has_column(const Vocabulary& vocabulary, int32_t level, int32_t code) {
  if (level < 0 || level >= vocabulary.levels || code < 0) return false;
  return code < (vocabulary.columns[level].map != nullptr ? vocabulary.map_codes[level] : int64_t{SIDBEAM_MAX_CODES});
}

int64_t columns_needed(const Vocabulary& vocabulary, const IndexView& index, int32_t level) {
  return vocabulary.columns[level].needed(index.level[level].codes, index.variable_length);
}

VocabularyView view_of(const Vocabulary& vocabulary) {
  return {vocabulary.columns, vocabulary.map_codes, vocabulary.levels};
}

}  // namespace sidbeam
