// SPDX-License-Identifier: Apache-2.0
#include "device_place.h"

#include <iostream>

#include "library.h"

namespace gpu {

using differential::call;
using differential::expect;

void expect_cuda(cudaError_t status, const char* what) {
  expect(status == cudaSuccess, "cannot ", what, ": ", cudaGetErrorString(status));
}

std::shared_ptr<void> device_memory(size_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  expect_cuda(cudaMallocAsync(&memory, bytes, stream), "allocate device memory");
  return {memory, [stream](void* address) { cudaFreeAsync(address, stream); }};
}

DevicePlace::DevicePlace(int32_t device, Steps steps, bool default_stream) : device_(device), steps_(steps) {
  if (!default_stream) expect_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
}

DevicePlace::~DevicePlace() {
  cudaDeviceSynchronize();
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

void DevicePlace::prepare(sidbeam_index* index) const {
  sidbeam_upload_config config = SIDBEAM_UPLOAD_CONFIG_INIT;
  config.device_id = device_;
  config.chunk_bytes = 4096;  // so that even small indexes take several chunks
  call("sidbeam_index_upload", sidbeam_index_upload, index, static_cast<const sidbeam_upload_config*>(&config));
}

std::shared_ptr<void> DevicePlace::copy(void* here, size_t bytes) const {
  std::shared_ptr<void> there = device_memory(bytes, stream_);
  expect_cuda(cudaMemcpyAsync(there.get(), here, bytes, cudaMemcpyHostToDevice, stream_), "copy to the device");
  return there;
}

void DevicePlace::fetch(void* here, const void* there, size_t bytes) const {
  expect_cuda(cudaMemcpyAsync(here, there, bytes, cudaMemcpyDeviceToHost, stream_), "copy from the device");
  wait();
}

void DevicePlace::wait() const { expect_cuda(cudaStreamSynchronize(stream_), "wait for the stream"); }

void DevicePlace::step(sidbeam_session* session, const sidbeam_step_args* args) const {
  if (steps_ == Steps::kEager) {
    Place::step(session, args);
    return;
  }
  const Graph graph(stream_, [&] { Place::step(session, args); });
  graph.launch();
  wait();  // a graph may not go while it runs
}

void Graph::end_capture() {
  expect_cuda(cudaStreamEndCapture(stream_, &graph_), "end a capture");
  const cudaError_t status = cudaGraphInstantiate(&exec_, graph_, 0);
  if (status != cudaSuccess) destroy();
  expect_cuda(status, "make a graph");
}

void Graph::drop_capture() {
  cudaStreamEndCapture(stream_, &graph_);  // an error where the capture is invalid, which the caller reports
  cudaGetLastError();
  destroy();
}

Graph::~Graph() { destroy(); }

void Graph::destroy() {
  if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
  if (graph_ != nullptr) cudaGraphDestroy(graph_);
}

bool has_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return true;
  std::cout << "skipped: no CUDA device: " << (status == cudaSuccess ? "none is there" : cudaGetErrorString(status))
            << '\n';
  return false;
}

}  // namespace gpu
