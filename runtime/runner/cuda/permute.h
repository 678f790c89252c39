// The permutation of the unshared KV in place: the host's side of its kernel. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sidbeam::runner::cuda {

inline constexpr int kPermuteThreads = 256;

// A block holds words_of_block words of each beam of a level in shared memory, where every order of parents is safe; a
// row of row_words has blocks_of_row of them.
struct PermuteView {
  void *keys = nullptr, *values = nullptr;
  const int32_t* parents = nullptr;          // [requests, beams]; others than beams of the request keep what they have
  int64_t requests = 0, request_stride = 0;  // in rows
  int64_t row_words = 0;
  int32_t depth = 0, beams = 0;
  int32_t words_of_block = 1, blocks_of_row = 0;
};
cudaError_t launch_permute(const PermuteView& view, int32_t word_bytes, cudaStream_t stream);

}  // namespace sidbeam::runner::cuda
