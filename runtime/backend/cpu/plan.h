// How a slot's rows become candidates at a level: decided once, before the first of them is read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/beams.h"
#include "backend/cpu/kernels.h"
#include "backend/level_columns.h"
#include "index/views.h"

namespace sidbeam::cpu {

// How the children of beams are found. The first path is of scan.cc, the others are functions of row_scan.cc.
enum class Path : uint8_t {
  kChains,    // trie, deep levels: beams of one child each, many at once; those of several children as kNodes or kTail
  kNodes,     // trie: the list of a node, or the mask of a dense one
  kTail,      // the tail of a compact trie: runs of ordinals
  kRanges,    // sorted: the codes of a range of ordinals
  kProbes,    // the best codes of the row, looked up one by one
  kAllCodes,  // every code of the level
};

// Where the normaliser of a row comes from.
enum class Normalizer : uint8_t {
  kGiven,     // the caller; only children are read
  kAhead,     // the row in place, summed with its neighbours before their children are looked at
  kByRow,     // the row, when its turn comes: x is not the element, or the level's columns are mapped
  kChildren,  // the children (NORMALIZE_VALID)
};

struct SlotPlan {
  Path path = Path::kAllCodes;
  Normalizer normalizer = Normalizer::kGiven;
  bool in_place = false;      // x of code t is the element of column offset + t
  bool over_level = false;    // NORMALIZE_LEVEL
  bool keeps_maxima = false;  // sums keep the maxima of blocks, since dense nodes pass over blocks by them

  // What it was decided by.
  const Kernels* kernels = nullptr;
  const IndexView* index = nullptr;
  int32_t level = 0, strategy = 0, top_k = 0;
  LevelColumns columns;
  int64_t column_count = 0;
  Elements elements;  // of the first row

  bool sums_ahead() const { return normalizer == Normalizer::kAhead; }
  // Whether the normaliser meets every element that a child may have, so that a bad one cannot go unseen.
  bool reads_row() const { return normalizer == Normalizer::kAhead || normalizer == Normalizer::kByRow; }
  bool in_tail() const { return is_tail_level(*index, level); }
};

// Whether every code follows the root: what the header counted is enough to know.
inline bool follows_all(const SlotPlan& plan) {
  const LevelView& level = plan.index->level[plan.level];
  return plan.level == 0 && level.edges == level.codes;
}

// Fills in the first part of a plan by its second.
void decide(SlotPlan& plan, int32_t normalization, bool lse_given);

// Rows of so many columns whose maxima are kept at a time.
int32_t rows_with_maxima(int64_t columns);
// How many rows are summed, and their beams' children looked up, before the first of them is scanned; a workspace has
// room for the maxima of `maxima_rows`.
int32_t rows_together(const SlotPlan& plan, int32_t maxima_rows);

inline constexpr int32_t kMostTogether = kMostSummed;

// The codes of a level in a row as it lies there. The maxima of a sum over a level are those of a row that begins with
// the level's first code.
inline Slice slice_in_row(const SlotPlan& plan, const void* row) {
  const auto codes = static_cast<int64_t>(plan.index->level[plan.level].codes);
  const int32_t dtype = plan.elements.dtype;
  if (!plan.over_level) return {row, dtype, plan.column_count, plan.columns.offset, codes, nullptr, nullptr, codes};
  const auto* first = static_cast<const char*>(row) + plan.columns.offset * element_bytes(dtype);
  return {first, dtype, codes, 0, codes, nullptr, nullptr, codes};
}

}  // namespace sidbeam::cpu
