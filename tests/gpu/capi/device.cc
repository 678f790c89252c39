// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <optional>
#include <vector>

extern "C" {
#include "../../capi/harness.h"
}

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "tests/gpu/capi: %s\n", cudaGetErrorString(status));
  std::abort();
}

void begin(void* stream) {
  check(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeGlobal));
}
// nullptr: it was not valid.
cudaGraph_t end(void* stream) {
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph) != cudaSuccess) cudaGetLastError();
  return graph;
}

// A thread between the beginning and the end of a capture.
class Elsewhere {
 public:
  explicit Elsewhere(void* stream)
      : graph_(std::async(std::launch::async, [this, stream] {
          begin(stream);
          begun_.set_value();
          ended_.get_future().wait();
          return end(stream);
        })) {
    begun_.get_future().wait();
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
  ~Elsewhere() {
    ended_.set_value();
    if (const cudaGraph_t graph = graph_.get()) check(cudaGraphDestroy(graph));
  }

 private:
  std::promise<void> begun_, ended_;
  std::future<cudaGraph_t> graph_;
};

std::optional<Elsewhere> elsewhere;
std::vector<void*> captured;  // by this thread

void end_captures() {
  elsewhere.reset();
  for (void* stream : captured)
    if (const cudaGraph_t graph = end(stream)) check(cudaGraphDestroy(graph));
  captured.clear();
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

void write_device(void* to, const void* data, size_t bytes) {
  wait_device();
  check(cudaMemcpy(to, data, bytes, cudaMemcpyHostToDevice));
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
void* make_blocking_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  return stream;
}
void begin_capture(void* stream) {
  after_test = end_captures;
  begin(stream);
  captured.push_back(stream);
}
void begin_capture_elsewhere(void* stream) {
  after_test = end_captures;
  elsewhere.emplace(stream);
}
void end_capture_elsewhere() { elsewhere.reset(); }
int capture_is_valid(void* stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status));
  return status == cudaStreamCaptureStatusActive;
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
  captured.erase(std::remove(captured.begin(), captured.end(), stream), captured.end());
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
int64_t pending_work() { return emulator_pending(); }
void fail_allocation(int64_t n) { emulator_fail_allocation(n); }
void fail_launch(int64_t n) { emulator_fail_launch(n); }
void fail_wait(int64_t n) { emulator_fail_wait(n); }
void unload_kernels() { emulator_unload_kernels(); }
void set_devices(int count) { emulator_set_devices(count); }
void set_driver(int version) { emulator_set_driver(version); }
void set_capability(int major) { emulator_set_capability(major); }
void set_illegal_access(int seen) { emulator_set_sticky_error(seen != 0 ? cudaErrorIllegalAddress : cudaSuccess); }
void set_order(int seed) { emulator_set_seed(static_cast<uint64_t>(seed)); }
void set_kernels(int ptx_version, int binary_version) { emulator_set_kernels(ptx_version, binary_version); }
int64_t overlapping_launches() { return emulator_overlapping_launches(); }
void set_pools(int supported) { emulator_set_pools(supported); }
int64_t mapped_bytes() { return emulator_mapped_bytes(); }
void* make_context(int device) { return emulator_make_context(device); }
void use_context(void* context) { emulator_use_context(static_cast<CUcontext>(context)); }
void* current_context() { return emulator_context(); }
int primary_contexts() { return emulator_primary_contexts(); }

}  // extern "C"
