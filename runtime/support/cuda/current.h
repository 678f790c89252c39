// Makes a device's context current for a scope.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace sidbeam::cuda {

// The primary context of a device, which is CUDA's runtime's, too. It is not released: the runtime keeps it as long as
// the process.
CUcontext primary_context(int32_t device_id);

// For a scope, makes a context current. The thread gets back what it had before: another device's, one that the caller
// made with the driver's interface, or none. (cudaSetDevice() would leave it with a primary context in each case.)
class CurrentContext {
 public:
  explicit CurrentContext(CUcontext context);
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext();

 private:
  CUcontext before_ = nullptr;
  bool replaced_ = false;
};

// For a scope, lets this thread allocate, wait and query events while a stream is being captured. In a thread's usual
// mode such calls fail, and invalidate every capture that another thread began in global mode. Relaxing is safe because
// only work on the caller's stream belongs in a graph, and that is captured as usual.
class Relaxed {
 public:
  Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  ~Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // the other one, from the first exchange to the second
};

}  // namespace sidbeam::cuda
