// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/sum_ahead.h"

#include "backend/partial_sum.h"

namespace sidbeam::cpu {
namespace {

// Of levels of variable length: the end is a column by itself.
void sum_with_end(const SlotPlan& plan, const RowsToSum& sums, LogSum* logs) {
  const auto at = [&](int32_t i, int64_t column) { return reinterpret_cast<const void*>(sums.address(i, column)); };
  for (int32_t i = 0; i < sums.count; ++i) {
    Elements codes = plan.elements, end = plan.elements;
    codes.data = at(i, sums.first_column);
    if (codes.data == nullptr) continue;
    codes.next = at(i + 1, sums.first_column);
    end.data = at(i, plan.columns.end_column);
    float* maxima = sums.maxima != nullptr ? sums.maxima + i * sums.maxima_stride : nullptr;
    logs[i] = log_of(merge(sum_of(*plan.kernels, codes, sums.columns, maxima), sum_of(*plan.kernels, end, 1)));
  }
}

}  // namespace

const float* sum_ahead(const SlotPlan& plan, RowsToSum sums, RowWorkspace& workspace, LogSum* logs) {
  const bool full = !plan.over_level;
  sums.columns = full ? plan.column_count : plan.index->level[plan.level].codes;
  sums.first_column = full ? 0 : plan.columns.offset;
  sums.maxima = plan.keeps_maxima ? workspace.maxima_of(sums.columns) : nullptr;
  sums.maxima_stride = workspace.maxima_room;
  sums.copied_column = plan.columns.offset;
  sums.copied_codes = plan.index->level[plan.level].codes;
  if (!full && has_end(*plan.index, plan.columns)) {
    sum_with_end(plan, sums, logs);
  } else {
    plan.kernels->log_sum_exp(sums, logs);
  }
  return sums.maxima;
}

}  // namespace sidbeam::cpu
