// The kernels of rows.h, one table per instruction set; all give the same bits. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/math/rows.h"

namespace sidbeam::runner {

struct RowKernels {
  void (*rms_norm)(ConstRows x, const float* gain, float epsilon, int64_t heads, Rows out);
  // out = f(x), or, gated, f(x) times the second half of x's columns.
  void (*activate)(Activation activation, ConstRows x, bool gated, Rows out);
  void (*soft_cap)(float cap, Rows x);
  double (*log_sum_exp)(float factor, const float* x, int64_t n);
  void (*add)(ConstRows x, Rows y);
  void (*scale)(float factor, Rows y);
  void (*rotate)(const RopeTable& table, const int32_t* positions, Rows x);
  void (*embed)(const Table& table, const int32_t* tokens, int64_t group, Rows out);
};

}  // namespace sidbeam::runner
