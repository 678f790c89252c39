// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/memory.h"

#include <cuda_runtime.h>

#include "support/cuda/check.h"
#include "support/error.h"

namespace sidbeam::runner::cuda {

using sidbeam::cuda::check;

Arena::~Arena() {
  if (data_ == nullptr) return;
  if (where_ == Where::kDevice) {
    cudaFree(data_);
  } else {
    cudaFreeHost(data_);
  }
}

void* Arena::take_bytes(int64_t count, int64_t size) {
  const int64_t at = taken_;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, at + kArrayAlignment - 1, &taken_))
    fail(SIDBEAM_OUT_OF_MEMORY, "out of device memory: a size overflows");
  taken_ -= taken_ % kArrayAlignment;
  return data_ == nullptr ? nullptr : data_ + at;
}

void Arena::allocate() {
  bytes_ = taken_, taken_ = 0;
  void* memory = nullptr;
  const auto size = static_cast<size_t>(bytes_ > 0 ? bytes_ : kArrayAlignment);
  check(where_ == Where::kDevice ? cudaMalloc(&memory, size) : cudaHostAlloc(&memory, size, cudaHostAllocPortable),
        where_ == Where::kDevice ? "allocate device memory" : "allocate pinned memory");
  data_ = static_cast<uint8_t*>(memory);
}

}  // namespace sidbeam::runner::cuda
