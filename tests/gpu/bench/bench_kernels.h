// Kernels of the benchmark itself. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gpu {

// Nearly N(0, 3), from a hash: `count` elements of f32 or, with `narrow`, of bf16.
cudaError_t fill_logits(void* data, int64_t count, bool narrow, uint64_t seed, cudaStream_t stream);

// The ceiling: reads bytes [first, first + bytes) of each of `rows` rows, as 16-byte words, and adds them up.
struct Stretch {
  const void* data = nullptr;
  int64_t rows = 0, row_bytes = 0, first = 0, bytes = 0;
};
cudaError_t read_all(const Stretch& stretch, int processors, uint32_t* out, cudaStream_t stream);

}  // namespace gpu
