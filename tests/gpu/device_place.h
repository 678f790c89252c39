// The differential test's place on a CUDA device, real or emulated. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "place.h"

namespace gpu {

// Throws Mismatch where a call of CUDA did not succeed.
void expect_cuda(cudaError_t status, const char* what);

// Memory of the current device, freed in the order of the stream.
std::shared_ptr<void> device_memory(size_t bytes, cudaStream_t stream);

enum class Steps { kEager, kCaptured };

// With a stream of its own, or the default one.
class DevicePlace : public differential::Place {
 public:
  explicit DevicePlace(int32_t device, Steps steps = Steps::kEager, bool default_stream = false);
  ~DevicePlace() override;
  DevicePlace(const DevicePlace&) = delete;
  DevicePlace& operator=(const DevicePlace&) = delete;

  int32_t device_type() const override { return SIDBEAM_DEVICE_CUDA; }
  int32_t device_id() const override { return device_; }
  void* stream() const override { return stream_; }
  void prepare(sidbeam_index* index) const override;
  std::shared_ptr<void> copy(void* here, size_t bytes) const override;
  void fetch(void* here, const void* there, size_t bytes) const override;
  void wait() const override;
  // Captured: as a graph of one step, which is launched and thrown away.
  void step(sidbeam_session* session, const sidbeam_step_args* args) const override;

 private:
  int32_t device_;
  Steps steps_;
  cudaStream_t stream_ = nullptr;
};

// Work that was captured, to be launched any number of times.
class Graph {
 public:
  template <class Enqueue>
  Graph(cudaStream_t stream, const Enqueue& enqueue) : stream_(stream) {
    expect_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), "begin a capture");
    try {
      enqueue();
    } catch (...) {
      drop_capture();
      throw;
    }
    end_capture();
  }
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch() const { expect_cuda(cudaGraphLaunch(exec_, stream_), "launch a graph"); }

 private:
  void end_capture();
  // Leaves the stream as it was before.
  void drop_capture();
  void destroy();
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

// Whether there is a device to test on; says why where there is none.
bool has_device();

}  // namespace gpu
