// Compiles the kernels once per instruction set, and chooses among them. SPDX-License-Identifier: Apache-2.0
#include "runner/attention/kernels.h"

#include "runner/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runner/attention/kernels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which knows the target.
#include "runner/attention/ancestors-inl.h"
#include "runner/attention/shared-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

inline constexpr AttentionKernels kAttentionKernels = {pack, attend_shared, attend_ancestors, finish};

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sidbeam::runner {

const AttentionKernels& attention_kernels_of(CpuTarget target) {
#if HWY_ARCH_X86
  return table_of(target, HWY_NAMESPACE::kAttentionKernels, N_AVX2::kAttentionKernels, N_AVX3::kAttentionKernels);
#else
  return table_of(target, HWY_NAMESPACE::kAttentionKernels, HWY_NAMESPACE::kAttentionKernels,
                  HWY_NAMESPACE::kAttentionKernels);
#endif
}

}  // namespace sidbeam::runner
#endif
