// The log-sum-exp of a row for every baseline: the library's own kernel, so that no baseline is slow, or different in a
// last bit, for a lesser one. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/partial_sum.h"
#include "method.h"

namespace bench {

using Normalizer = sidbeam::cpu::LogSum;  // its log-sum-exp is ref + rest

inline const sidbeam::cpu::Kernels& kernels() {
  static const sidbeam::cpu::Kernels& best = *sidbeam::cpu::find_kernels(nullptr);
  return best;
}

// Of row (slot, beam), over the columns that the shape's normalisation reads.
inline void sum_exp(const Rows& rows, const Shape& shape, int64_t slot, int64_t beam, sidbeam::cpu::PartialSum& sum) {
  const bool level = shape.normalization == SIDBEAM_NORMALIZE_LEVEL;
  const int64_t first = level ? shape.offset : 0, count = level ? shape.codes : shape.columns;
  const char* data = static_cast<const char*>(rows.row(slot, beam)) + first * (rows.row_bytes() / rows.columns);
  kernels().sum_exp({data, rows.dtype, 1.0F, 0.0F, data + rows.row_bytes()}, count, nullptr, sum);
}

// The same, unless the caller gave it.
inline Normalizer normalizer_of(const Rows& rows, const Shape& shape, int64_t slot, int64_t beam) {
  if (shape.lse != nullptr) return {shape.lse[rows.number(slot, beam)], 0.0F};
  sidbeam::cpu::PartialSum sum;
  sum_exp(rows, shape, slot, beam, sum);
  return sidbeam::cpu::log_of(sum);
}

}  // namespace bench
