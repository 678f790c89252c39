// How a slot's rows become candidates at a level. This is decided once, before the first row is read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/beams.h"
#include "backend/cpu/kernels.h"
#include "backend/level_columns.h"
#include "backend/truncation.h"
#include "index/overlay.h"
#include "index/rules/subset.h"
#include "index/views.h"

namespace sidbeam::cpu {

// How the children of beams are found. The first path is in scan.cc; the others are functions of row_scan.cc.
enum class Path : uint8_t {
  kChains,    // trie, deep levels: beams with one child each, many at once; other beams as in kNodes or kTail
  kNodes,     // trie: the list of a node, or the mask of a dense node
  kTail,      // the tail of a compact trie: runs of ordinals
  kRanges,    // sorted: the codes of a range of ordinals
  kProbes,    // the best codes of the row, looked up one by one
  kAllCodes,  // every code of the level
};

// Where the normaliser of a row comes from.
enum class Normalizer : uint8_t {
  kGiven,     // the caller; only children are read
  kAhead,     // the row in place, summed with its neighbours before their children are scanned
  kByRow,     // the row, when it is scanned: x is not the element, or the level's columns are mapped
  kChildren,  // the children (NORMALIZE_VALID)
  kKept,      // what truncation keeps of the row
};

struct SlotPlan {
  Path path = Path::kAllCodes;
  Normalizer normalizer = Normalizer::kGiven;
  bool in_place = false;        // x of code t is the element of column offset + t
  bool over_level = false;      // NORMALIZE_LEVEL
  bool children_alone = false;  // the row holds the elements of the children, one after another
  bool keeps_maxima = false;    // sums keep the maxima of blocks, by which dense nodes skip blocks

  // What the decision is based on.
  const Kernels* kernels = nullptr;
  const IndexView* index = nullptr;
  const RulesView* rules = nullptr;  // nullptr: every item is allowed
  int32_t level = 0, strategy = 0, top_k = 0;
  int32_t number_bits = kNumberBits;  // of places
  Truncation truncation;
  LevelColumns columns;
  int64_t column_count = 0;
  Elements elements;  // of the first row

  bool sums_ahead() const { return normalizer == Normalizer::kAhead; }
  // Whether computing the normaliser reads every element that a child may have, so that no bad element goes unnoticed.
  bool reads_row() const { return normalizer == Normalizer::kAhead || normalizer == Normalizer::kByRow; }
  bool in_tail() const { return is_tail_level(*index, level); }
};

// Whether a node of the plan's level is one of the delta (index/overlay.h), whose row is elsewhere.
inline bool is_added(const SlotPlan& plan, uint64_t node) { return in_delta(*plan.index, plan.level, node); }

// Whether a node has a row, as those of the tail have not.
inline bool has_row(const SlotPlan& plan, uint64_t node) { return !plan.in_tail() || is_added(plan, node); }

inline NodePlace node_place(const SlotPlan& plan, uint64_t node) {
  return sidbeam::node_place(*plan.index, plan.level, node);
}

inline NodeRow find_row(const SlotPlan& plan, uint64_t node) {
  const NodePlace place = node_place(plan, node);
  return node_row(*place.level, place.node);
}

// Whether every code follows the root, which the counts of the header show.
inline bool follows_all(const SlotPlan& plan) {
  const LevelView& level = plan.index->level[plan.level];
  return plan.level == 0 && level.edges == level.codes;
}

// Fills in the decisions of a plan from what they are based on.
void decide(SlotPlan& plan, int32_t normalization, bool lse_given);

// How many rows of `columns` columns keep their maxima at a time.
int32_t rows_with_maxima(int64_t columns);
// How many rows are summed, and their beams' children looked up, before the first of them is scanned. A workspace has
// room for the maxima of `maxima_rows` rows.
int32_t rows_together(const SlotPlan& plan, int32_t maxima_rows);

inline constexpr int32_t kMostTogether = kMostSummed;

// The codes of a level in place in a row. With NORMALIZE_LEVEL the slice's row begins at the level's first code, as the
// maxima of its sum do.
inline Slice slice_in_row(const SlotPlan& plan, const void* row) {
  const auto codes = static_cast<int64_t>(plan.index->level[plan.level].codes);
  const int32_t dtype = plan.elements.dtype;
  if (!plan.over_level) return {row, dtype, plan.column_count, plan.columns.offset, codes, nullptr, nullptr, codes};
  const auto* first = static_cast<const char*>(row) + plan.columns.offset * element_bytes(dtype);
  return {first, dtype, codes, 0, codes, nullptr, nullptr, codes};
}

}  // namespace sidbeam::cpu
