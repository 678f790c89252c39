// Compiles the cells once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "runner/draft/cell.h"

#include "runner/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runner/draft/cell.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which knows the target.
#include "runner/draft/cell-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

inline constexpr CellKernels kCellKernels = {rnn_cell, gru_cell, add_cell};

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sidbeam::runner {

const CellKernels& cell_kernels_of(CpuTarget target) {
#if HWY_ARCH_X86
  return table_of(target, HWY_NAMESPACE::kCellKernels, N_AVX2::kCellKernels, N_AVX3::kCellKernels);
#else
  return table_of(target, HWY_NAMESPACE::kCellKernels, HWY_NAMESPACE::kCellKernels, HWY_NAMESPACE::kCellKernels);
#endif
}

}  // namespace sidbeam::runner
#endif
