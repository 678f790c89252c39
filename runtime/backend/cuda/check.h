// What the CUDA runtime says, as failures of this library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sidbeam::cuda {

// Throws where a call of the CUDA runtime, or a launch, has failed; `what` was to be done.
void check(cudaError_t status, const char* what);

// Errors that a kernel leaves behind; every later call of the process gets them.
bool is_sticky(cudaError_t status);

// For a scope, lets this thread allocate, wait and ask about events while a stream is captured: in a thread's usual
// mode such calls fail, and end every capture that another thread began in global mode. Only
// what is enqueued on the caller's stream belongs to anybody's graph, and that is captured as usual.
class Relaxed {
 public:
  Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  ~Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // the other one, from the first exchange to the second
};

// What every call that reaches a device begins with: the device is current, and the thread relaxed, for a scope.
class Current {
 public:
  explicit Current(int32_t device_id);
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();

 private:
  const Relaxed relaxed_;
  int before_ = -1;  // to be restored; -1: nothing to do
};

// Throws where a stream belongs to another device. The device is current.
void check_stream(int32_t device_id, void* stream);
// Throws where a stream is being captured, since `what` cannot be.
void check_not_captured(void* stream, const char* what);
// Throws where an address is not in the memory of the device; nullptr is in any.
void check_address(int32_t device_id, const void* address, const char* name);
// Throws where an address is in the memory of a device.
void check_host(const void* address, const char* name);

}  // namespace sidbeam::cuda
