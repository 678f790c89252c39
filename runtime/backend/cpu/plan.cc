// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/plan.h"

#include <algorithm>

#include "index/tail.h"

namespace sidbeam::cpu {
namespace {

Normalizer normalizer_of(const SlotPlan& plan, int32_t normalization, bool lse_given) {
  if (plan.truncation.any()) return Normalizer::kKept;
  if (sums_rows(normalization, lse_given)) {
    const bool lies_there = !plan.elements.transformed() && (!plan.over_level || plan.columns.map == nullptr);
    return lies_there ? Normalizer::kAhead : Normalizer::kByRow;
  }
  return normalization == SIDBEAM_NORMALIZE_VALID && !lse_given ? Normalizer::kChildren : Normalizer::kGiven;
}

// Only children are scored directly if x is the element itself and the normaliser does not depend on the children. If
// all nodes are dense, the search for only children is skipped: it would find none.
Path path_of_trie(const SlotPlan& plan) {
  const LevelView& level = plan.index->level[plan.level];
  const bool all_dense = !plan.in_tail() && level.dense_nodes == level.nodes;
  if (plan.in_place && !plan.children_alone && plan.normalizer != Normalizer::kChildren && !all_dense)
    return Path::kChains;
  return plan.in_tail() ? Path::kTail : Path::kNodes;
}

Path path_of(const SlotPlan& plan) {
  if (plan.strategy == SIDBEAM_STRATEGY_TRIE) return path_of_trie(plan);
  if (probes_codes(plan.strategy, *plan.index, plan.level)) return Path::kProbes;
  if (plan.strategy != SIDBEAM_STRATEGY_SORTED) return Path::kAllCodes;
  return follows_all(plan) && plan.reads_row() ? Path::kAllCodes : Path::kRanges;
}

}  // namespace

void decide(SlotPlan& plan, int32_t normalization, bool lse_given) {
  plan.over_level = normalization == SIDBEAM_NORMALIZE_LEVEL;
  plan.in_place = plan.columns.map == nullptr && !plan.elements.transformed();
  plan.normalizer = normalizer_of(plan, normalization, lse_given);
  plan.path = path_of(plan);
  plan.keeps_maxima =
      plan.strategy != SIDBEAM_STRATEGY_TRIE || plan.level == 0 || plan.index->level[plan.level].dense_nodes > 0;
}

// Rows whose maxima are kept: enough to make the scan of maxima a long loop, few enough that all rows are still in the
// second-level cache.
int32_t rows_with_maxima(int64_t columns) {
  constexpr int64_t kColumns = 65536;
  return static_cast<int32_t>(std::clamp<int64_t>(kColumns / std::max<int64_t>(columns, 1), 1, kMostSlices));
}

// Without maxima, elements of each row are read again, so there are as many rows as stay in the cache, and at least a
// vector of them. If beams have several children, there are no more than that, because the rows that follow may be
// skipped once these are scanned. (Summing all rows at once was slower where half of them need not be read.)
int32_t rows_together(const SlotPlan& plan, int32_t maxima_rows) {
  constexpr int64_t kColumns = 1 << 18;
  if (!plan.sums_ahead()) return kMostTogether;
  const int64_t columns = std::max<int64_t>(plan.column_count, 1);
  const LevelView& level = plan.index->level[plan.level];
  if (plan.keeps_maxima) return std::min(maxima_rows, rows_with_maxima(columns));
  if (level.edges >= 2 * level.nodes) return kVectorSlack;
  return static_cast<int32_t>(std::clamp<int64_t>(kColumns / columns, kVectorSlack, kMostTogether));
}

}  // namespace sidbeam::cpu
