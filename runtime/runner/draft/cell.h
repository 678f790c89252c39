// What a transition does to states after its products. The bits of a row depend on that row alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/math/view.h"
#include "support/cpu_target.h"

namespace sidbeam::runner {

// One beam. n is the hidden size; `move` and `recurrent` have a row per gate.
struct CellRow {
  const float* move;       // W_i e + b_i of the code, or e itself
  const float* recurrent;  // W_r s + b_r
  const float* state;      // s, of the parent
  float* out;              // s of the next level; may not overlap the others
  int64_t n;
};

// NaN stays NaN on every target.
struct CellKernels {
  void (*rnn)(const CellRow& row);
  void (*gru)(const CellRow& row);
  void (*add)(const CellRow& row);
};
const CellKernels& cell_kernels_of(CpuTarget target);

}  // namespace sidbeam::runner
