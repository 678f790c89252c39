// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runner/models/cpu_model.h"

namespace sidbeam::runner {

CpuOutput::CpuOutput(const Allocator& allocator, const OutputConfig& config, const Tensor& head, Dtype dtype,
                     const Matrix* packed)
    : Output(allocator, config, head.outputs), packed_(packed) {
  if (columns().full()) return;
  for (int32_t level = 0; level < columns().levels(); ++level) {
    if (columns().like(level) != level) continue;
    const std::span<const int32_t> tokens(columns().tokens(level), static_cast<size_t>(columns().columns(level)));
    matrices_[level] = pack_matrix(allocator, head, dtype, tokens);
    Buffer<int32_t> holes(allocator, std::count(tokens.begin(), tokens.end(), -1));
    int64_t n = 0;
    for (size_t column = 0; column < tokens.size(); ++column)
      if (tokens[column] == -1) holes[n++] = static_cast<int32_t>(column);
    holes_[level] = std::move(holes);
  }
}

int64_t CpuOutput::memory_bytes() const {
  int64_t bytes = columns().memory_bytes();
  for (int32_t level = 0; level < columns().levels(); ++level)
    bytes += matrices_[level].memory_bytes() + holes_[level].bytes();
  return bytes;
}

}  // namespace sidbeam::runner
