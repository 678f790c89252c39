// Turns errors of the CUDA runtime into failures of this library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sidbeam::cuda {

// Throws if a call of the CUDA runtime, or a launch, has failed; `what` names the operation.
void check(cudaError_t status, const char* what);

// Whether every later call of the process will return this error too, as after a fault in a kernel.
bool is_sticky(cudaError_t status);

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

// For a scope, makes the device current and relaxes the thread. Every call that reaches a device begins with one.
class Current {
 public:
  explicit Current(int32_t device_id);
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();

 private:
  const Relaxed relaxed_;
  int before_ = -1;  // the device to restore; -1: none
};

// Throws if a stream belongs to another device. The device must be current.
void check_stream(int32_t device_id, void* stream);
// Throws if a stream is being captured, because `what` cannot be captured.
void check_not_captured(void* stream, const char* what);
// Throws if an address is not in the memory of the device; nullptr passes.
void check_address(int32_t device_id, const void* address, const char* name);
// Throws if an address is in the memory of a device.
void check_host(const void* address, const char* name);

}  // namespace sidbeam::cuda
