// The log-sum-exp of a row for every baseline: the library's own kernel, so that no baseline is slower, or different in
// a last bit, because of a worse one. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

#include "backend/cpu/kernels.h"
#include "backend/partial_sum.h"
#include "method.h"

namespace bench {

using Normalizer = sidbeam::LogSum;  // its log-sum-exp is ref + rest

// Of the instruction set that BENCH_TARGET names, as those of the library's runtimes, or the best.
inline const sidbeam::cpu::Kernels& kernels() {
  static const sidbeam::cpu::Kernels& chosen = []() -> const sidbeam::cpu::Kernels& {
    sidbeam::CpuTarget target;
    if (!sidbeam::find_cpu_target(std::getenv("BENCH_TARGET"), target)) std::abort();
    return sidbeam::cpu::kernels_of(target);
  }();
  return chosen;
}

// The columns that the shape's normalisation reads, and those of row (slot, beam).
inline int64_t columns_summed(const Rows& rows, const Shape& shape) {
  return shape.normalization == SIDBEAM_NORMALIZE_LEVEL ? shape.codes : rows.columns;
}
inline sidbeam::cpu::Elements elements_of(const Rows& rows, const Shape& shape, int64_t slot, int64_t beam) {
  const int64_t first = shape.normalization == SIDBEAM_NORMALIZE_LEVEL ? shape.offset : 0;
  const char* data = static_cast<const char*>(rows.row(slot, beam)) + first * (rows.row_bytes() / rows.columns);
  return {data, rows.dtype, 1.0F, 0.0F, data + rows.row_bytes()};
}

// Of a row by itself, unless the caller gave it.
inline Normalizer normalizer_of(const Rows& rows, const Shape& shape, int64_t slot, int64_t beam) {
  if (shape.lse != nullptr) return {shape.lse[rows.number(slot, beam)], 0.0F};
  sidbeam::PartialSum sum;
  kernels().sum_exp(elements_of(rows, shape, slot, beam), columns_summed(rows, shape), nullptr, sum);
  return sidbeam::log_of(sum);
}

}  // namespace bench
