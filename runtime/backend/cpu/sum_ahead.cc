// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/sum_ahead.h"

#include <algorithm>

#include "backend/partial_sum.h"

namespace sidbeam::cpu {
namespace {

// Of levels of variable length, of which the end is a column by itself.
void sum_with_end(const SlotScan& slot, const RowsToSum& sums, LogSum* logs) {
  const auto at = [&](int32_t i, int64_t column) { return reinterpret_cast<const void*>(sums.address(i, column)); };
  for (int32_t i = 0; i < sums.count; ++i) {
    Elements codes = slot.elements, end = slot.elements;
    codes.data = at(i, sums.first_column);
    if (codes.data == nullptr) continue;
    codes.next = at(i + 1, sums.first_column);
    end.data = at(i, slot.columns.end_column);
    float* maxima = sums.maxima != nullptr ? sums.maxima + i * sums.maxima_stride : nullptr;
    logs[i] = log_of(merge(sum_of(*slot.kernels, codes, sums.columns, maxima), sum_of(*slot.kernels, end, 1)));
  }
}

}  // namespace

// Of rows whose maxima are kept: enough that a look at them is a long loop, few enough that all are still in the
// second-level cache.
int32_t rows_with_maxima(int64_t columns) {
  constexpr int64_t kColumns = 65536;
  return static_cast<int32_t>(std::clamp<int64_t>(kColumns / std::max<int64_t>(columns, 1), 1, kMostSlices));
}

// An element of each is read again where there are no maxima: as many as leave it in the cache, and a vector of them. No
// more than that where beams have several children: once these are scanned, the rows that follow may be skipped. (All 70
// of 512 columns at once: 8.5 us instead of 6.1 where half of them need not be read.)
int32_t rows_together(const SlotScan& slot, const RowWorkspace& workspace) {
  constexpr int64_t kColumns = 1 << 18;
  if (!slot.sums_ahead) return kMostTogether;
  const int64_t columns = std::max<int64_t>(slot.column_count, 1);
  const LevelView& level = slot.index->level[slot.level];
  if (slot.wants_maxima) return std::min(workspace.maxima_rows, rows_with_maxima(columns));
  if (level.edges >= 2 * level.nodes) return kVectorSlack;
  return static_cast<int32_t>(std::clamp<int64_t>(kColumns / columns, kVectorSlack, kMostTogether));
}

const float* sum_ahead(const SlotScan& slot, RowsToSum sums, RowWorkspace& workspace, LogSum* logs) {
  const bool full = slot.normalization == SIDBEAM_NORMALIZE_FULL;
  sums.columns = full ? slot.column_count : slot.index->level[slot.level].codes;
  sums.first_column = full ? 0 : slot.columns.offset;
  sums.maxima = slot.wants_maxima ? workspace.maxima_of(sums.columns) : nullptr;
  sums.maxima_stride = workspace.maxima_room;
  if (!full && slot.index->variable_length && slot.columns.end_column >= 0) {
    sum_with_end(slot, sums, logs);
  } else {
    slot.kernels->log_sum_exp(sums, logs);
  }
  return sums.maxima;
}

}  // namespace sidbeam::cpu
