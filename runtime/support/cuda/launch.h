// Launching, in one form that the emulator can stand in for. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sidbeam::cuda {

// Shared memory that every device gives a block without a special request.
inline constexpr size_t kSharedBytes = 48 * 1024;

struct LaunchShape {
  int64_t blocks = 0;
  int threads = 0;
  size_t shared_bytes = 0;
  // May begin while the previous kernel on the stream drains; wait_for_kernel() waits for that kernel's writes, if
  // ask_waits() says so.
  bool overlaps = false;
  unsigned rows = 1;  // of blocks
};

// Whether kernels were compiled for devices that let them overlap (programmatic dependent launch: compute capability
// 9.0), so that wait_for_kernel() waits. What the driver made of PTX for older ones does not, whatever it runs on.
template <class... Kernels>
cudaError_t ask_waits(bool& out, Kernels*... kernels) {
  constexpr int kLeast = 90;
  cudaFuncAttributes made{};
  cudaError_t error = cudaSuccess;
  const auto waits = [&](auto* kernel) {
    error = cudaFuncGetAttributes(&made, kernel);
    return error == cudaSuccess && made.ptxVersion >= kLeast && made.binaryVersion >= kLeast;
  };
  out = (waits(kernels) && ...);
  return error;
}

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                   Arguments&&... arguments) {
  if (shape.blocks == 0) return cudaSuccess;
  if (shape.blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks), shape.rows);
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = shape.overlaps ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Arguments&&>(arguments)...);
}

// Lets an overlapping kernel begin. It sees the writes of this kernel only after wait_for_kernel().
__device__ inline void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
__device__ inline void wait_for_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

}  // namespace sidbeam::cuda
