// Compiles the inner products once per instruction set, and shares them among threads.
// SPDX-License-Identifier: Apache-2.0
#include "runner/hidden/dots.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runner/hidden/dot_kernels.h"

#include "runner/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runner/hidden/dots.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which knows the target.
#include "runner/hidden/chunk_products-inl.h"
#include "runner/hidden/dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

inline constexpr DotKernels kDotKernels = {multiply_pairs_part, multiply_tiles_part};

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sidbeam::runner {

const DotKernels& dot_kernels_of(CpuTarget target) {
#if HWY_ARCH_X86
  return table_of(target, HWY_NAMESPACE::kDotKernels, N_AVX2::kDotKernels, N_AVX3::kDotKernels);
#else
  return table_of(target, HWY_NAMESPACE::kDotKernels, HWY_NAMESPACE::kDotKernels, HWY_NAMESPACE::kDotKernels);
#endif
}

// Fewer multiplications are not worth a thread: some microseconds.
constexpr int64_t kLeastWork = 1 << 18;

void multiply_pairs(const Workers& workers, const OutputLayer& layer, const PairList& list) {
  if (list.column_count == 0) return;
  const DotKernels& kernels = dot_kernels_of(workers.target);
  const int64_t chunks = list.chunks();
  const int64_t threads =
      std::clamp<int64_t>(list.count() * layer.width / kLeastWork, 1, std::min(workers.width(), chunks));
  workers.split(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* packed = list.chunk_shift > 0 ? list.packed + i * kChunkWeights : nullptr;
      kernels.pairs(layer, list, chunks * i / threads, chunks * (i + 1) / threads, packed);
    }
  });
}

void multiply_tiles(const Workers& workers, const OutputLayer& layer, const TileList& list) {
  if (list.row_count == 0) return;
  const DotKernels& kernels = dot_kernels_of(workers.target);
  workers.split(list.column_count, kLeastWork / (layer.width * list.row_count) + 1,
                [&](int64_t from, int64_t to) { kernels.tiles(layer, list, from, to); });
}

}  // namespace sidbeam::runner
#endif
