// The inner products' kernels, one table per instruction set; all give the same bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/hidden/dots.h"

namespace sidbeam::runner {

struct DotKernels {
  // The chunks [from, to) of a list; `packed` is the thread's.
  void (*pairs)(const OutputLayer& layer, const PairList& list, int64_t from, int64_t to, float* packed);
  // The columns [from, to) of a list.
  void (*tiles)(const OutputLayer& layer, const TileList& list, int64_t from, int64_t to);
};

// The table of a target. Its kernels may run only on a machine that has the target.
const DotKernels& dot_kernels_of(CpuTarget target);

}  // namespace sidbeam::runner
