// Compiles the products once per instruction set, and shares them among threads. SPDX-License-Identifier: Apache-2.0
#include "runner/math/product.h"

#include "runner/math/product_kernels.h"

#include "runner/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runner/math/product.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which knows the target.
#include "runner/math/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

inline constexpr ProductKernels kProductKernels = {cpu::HWY_NAMESPACE::kWidth, multiply_part};

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sidbeam::runner {

const ProductKernels& product_kernels_of(CpuTarget target) {
#if HWY_ARCH_X86
  return table_of(target, HWY_NAMESPACE::kProductKernels, N_AVX2::kProductKernels, N_AVX3::kProductKernels);
#else
  return table_of(target, HWY_NAMESPACE::kProductKernels, HWY_NAMESPACE::kProductKernels,
                  HWY_NAMESPACE::kProductKernels);
#endif
}

// Fewer multiplications are not worth a thread: some microseconds.
constexpr int64_t kLeastWork = 1 << 18;
// With so many rows per thread rows are shared out, so that no thread reads another's; with fewer the panels.
constexpr int64_t kManyRows = 96;

void multiply(const Workers& workers, ConstRows x, const Matrix& weights, Rows y, Start start, const float* bias) {
  if (x.count == 0 || weights.outputs == 0) return;
  const ProductKernels& kernels = product_kernels_of(workers.target);
  if (workers.width() > 1 && x.count >= workers.width() * kManyRows) {
    workers.split(x.count, kManyRows, [&](int64_t from, int64_t to) {
      kernels.multiply({x.rows(from, to), &weights, y.rows(from, to), start, bias, 0, weights.panels()});
    });
    return;
  }
  workers.split(weights.panels(), kLeastWork / (x.count * weights.inputs * kPanel) + 1, [&](int64_t from, int64_t to) {
    kernels.multiply({x, &weights, y, start, bias, from, to});
  });
}

}  // namespace sidbeam::runner
#endif
