// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/device.h"

#include <mutex>

#include "runner/cuda/attention.h"
#include "runner/cuda/draft.h"
#include "runner/cuda/hidden.h"
#include "runner/cuda/rows.h"
#include "support/cuda/check.h"
#include "support/error.h"

namespace sidbeam::runner::cuda {
namespace {

using sidbeam::cuda::check;

constexpr int32_t kMostDevices = 64;

struct Slot {
  std::once_flag once;
  Device device;
};
Slot slots[kMostDevices];

// A stream of the plugin's own with a little memory, for first launches.
struct Bench {
  cudaStream_t stream = nullptr;
  void* memory = nullptr;

  explicit Bench(size_t bytes) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
    const cudaError_t status = cudaMallocAsync(&memory, bytes, stream);
    if (status != cudaSuccess) end();
    check(status, "allocate device memory");
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() { end(); }

 private:
  void end() {
    if (memory != nullptr) cudaFreeAsync(memory, stream);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    memory = nullptr, stream = nullptr;
  }
};

void make(Device& device, int32_t id) {
  sidbeam::cuda::check_device(id);
  device.id = id;
  device.context = sidbeam::cuda::primary_context(id);
  check(cudaDeviceGetAttribute(&device.processors, cudaDevAttrMultiProcessorCount, id), "ask for the multiprocessors");
  // CUDA loads a kernel at its first launch, which in a capture is an error or a stall.
  const Current current(device);
  const Bench bench(sizeof(SharedPart));
  check(cudaMemsetAsync(bench.memory, 0, sizeof(SharedPart), bench.stream), "clear device memory");
  check(warm_attention(static_cast<const SharedPart*>(bench.memory), bench.stream), "launch attention");
  check(warm_rows(bench.stream), "launch a forward pass");
  check(warm_hidden(bench.stream), "launch a step from hidden states");
  check(warm_draft(bench.stream), "launch a draft head");
}

}  // namespace

const Device& device_of(int32_t id) {
  if (id < 0 || id >= kMostDevices) fail(SIDBEAM_NO_DEVICE, "device_id is %d, expected 0..%d", id, kMostDevices - 1);
  Slot& slot = slots[id];
  std::call_once(slot.once, [&] { make(slot.device, id); });
  return slot.device;
}

}  // namespace sidbeam::runner::cuda
