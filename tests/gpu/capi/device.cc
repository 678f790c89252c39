// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <thread>

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "tests/gpu/capi: %s\n", cudaGetErrorString(status));
  std::abort();
}

}  // namespace

extern "C" {

void* device_memory(size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes));
  return memory;
}

void* on_device(const void* data, size_t bytes) {
  void* memory = device_memory(bytes);
  check(cudaMemcpy(memory, data, bytes, cudaMemcpyHostToDevice));
  return memory;
}

void read_device(void* out, const void* from, size_t bytes) {
  wait_device();
  check(cudaMemcpy(out, from, bytes, cudaMemcpyDeviceToHost));
}

void release_device(void* memory) { check(cudaFree(memory)); }
void use_device(int device) { check(cudaSetDevice(device)); }
void wait_device() { check(cudaDeviceSynchronize()); }

void* make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
void release_stream(void* stream) { check(cudaStreamDestroy(static_cast<cudaStream_t>(stream))); }
void begin_capture(void* stream) {
  check(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal));
}
void begin_capture_elsewhere(void* stream) {
  std::thread([stream] {
    check(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeGlobal));
  }).join();
}
int capture_is_valid(void* stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status));
  return status == cudaStreamCaptureStatusActive;
}
void abandon_capture(void* stream) {
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph) != cudaErrorStreamCaptureInvalidated)
    std::abort();
  cudaGetLastError();
}
int thread_is_relaxed() {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal, again = mode;
  check(cudaThreadExchangeStreamCaptureMode(&mode));
  again = mode;
  check(cudaThreadExchangeStreamCaptureMode(&again));
  return mode == cudaStreamCaptureModeRelaxed;
}
void* end_capture(void* stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  check(cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph));
  check(cudaGraphInstantiate(&exec, graph, 0));
  check(cudaGraphDestroy(graph));
  return exec;
}
void replay(void* graph, void* stream) {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
}
void release_graph(void* graph) { check(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph))); }

int64_t live_allocations() {
  wait_device();
  return emulator_live_allocations();
}
int64_t live_allocations_now() { return emulator_live_allocations(); }
void fail_allocation(int64_t n) { emulator_fail_allocation(n); }
void fail_launch(int64_t n) { emulator_fail_launch(n); }
void unload_kernels() { emulator_unload_kernels(); }
void set_devices(int count) { emulator_set_devices(count); }
void set_driver(int version) { emulator_set_driver(version); }
void set_capability(int major) { emulator_set_capability(major); }
void set_illegal_access(int seen) { emulator_set_sticky_error(seen != 0 ? cudaErrorIllegalAddress : cudaSuccess); }

}  // extern "C"
