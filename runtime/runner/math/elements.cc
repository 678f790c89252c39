// Compiles the elements of products once per instruction set, and shares them among threads.
// SPDX-License-Identifier: Apache-2.0
#include "runner/math/elements.h"

#include "runner/math/element_kernels.h"

#include "runner/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runner/math/elements.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which knows the target.
#include "runner/math/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

inline constexpr ElementKernels kElementKernels = {multiply_elements_part};

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sidbeam::runner {
namespace {

const ElementKernels& element_kernels_of(CpuTarget target) {
#if HWY_ARCH_X86
  return table_of(target, HWY_NAMESPACE::kElementKernels, N_AVX2::kElementKernels, N_AVX3::kElementKernels);
#else
  return table_of(target, HWY_NAMESPACE::kElementKernels, HWY_NAMESPACE::kElementKernels,
                  HWY_NAMESPACE::kElementKernels);
#endif
}

constexpr int64_t kLeastMultiplications = 1 << 16;  // fewer are not worth a thread

}  // namespace

void multiply_elements(const Workers& workers, const ProductElements& elements) {
  const ElementKernels& kernels = element_kernels_of(workers.target);
  workers.split(elements.count, kLeastMultiplications / (elements.x.columns + 1) + 1,
                [&](int64_t from, int64_t to) { kernels.multiply(elements, from, to); });
}

}  // namespace sidbeam::runner
#endif
