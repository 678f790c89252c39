// The output layer of a pass on the CPU. SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "runner/math/element_cost.h"
#include "runner/math/elements.h"
#include "runner/models/cpu_forward.h"

namespace sidbeam::runner {

float* CpuForward::logits(int32_t level) {
  write_logits(level, 0, {logits_.data(), rows_, columns(level)});
  return logits_.data();
}

float* CpuForward::tree_logits(const int32_t* depths) {
  const OutputColumns& all = output_->columns();
  const int64_t stride = all.most_columns();
  for (int64_t from = 0, to = 0; from < rows_; from = to) {
    for (to = from + 1; to < rows_ && all.like(depths[to]) == all.like(depths[from]);) ++to;
    write_logits(depths[from], from, {logits_.data() + from * stride, to - from, columns(depths[from]), stride});
  }
  return logits_.data();
}

// Of rows from `first_row` on.
void CpuForward::write_logits(int32_t level, int64_t first_row, Rows out) {
  multiply(workers_, ConstRows(final_states()).rows(first_row, first_row + out.count), output_->matrix(level), out);
  write_holes(level, out);
}

void CpuForward::write_holes(int32_t level, Rows out) {
  for (const int32_t column : output_->holes(level))
    for (int64_t row = 0; row < out.count; ++row) out[row][column] = -std::numeric_limits<float>::infinity();
}

float* CpuForward::some_logits(int32_t level, const LogitElements& elements) {
  const Rows out(logits_.data(), rows_, columns(level));
  multiply_elements(workers_, {final_states(), view_of(model_.weights().output_table()),
                               output_->columns().tokens(level), out, elements.rows, elements.columns, elements.count});
  write_holes(level, out);
  return logits_.data();
}

// The packed rows of the output layer have to be those of the table, in its own type.
bool CpuForward::has_elements() const {
  const bool same = output_->matrix(0).dtype == model_.weights().output_table().dtype;
  return same && !output_->columns().full();
}

int32_t CpuForward::element_cost() const {
  const OutputColumns& all = output_->columns();
  const std::span<const int32_t> tokens(all.tokens(0), static_cast<size_t>(all.columns(0)));
  return measure_element_cost(workers_.target, view_of(model_.weights().output_table()), tokens,
                              int64_t{limits_.requests} * limits_.beams);
}

}  // namespace sidbeam::runner
