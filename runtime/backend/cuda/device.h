// A device and its memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <mutex>
#include <utility>

#include "sidbeam/runtime.h"

namespace sidbeam {

struct DeviceHandle {
  DeviceHandle(int32_t device_id, const sidbeam_device_allocator* given);
  DeviceHandle(const DeviceHandle&) = delete;
  DeviceHandle& operator=(const DeviceHandle&) = delete;
  ~DeviceHandle();

  int32_t id;
  int32_t major = 0;                     // of the compute capability
  CUcontext context = nullptr;           // the primary one
  sidbeam_device_allocator allocator{};  // functions null: CUDA's own
  cudaStream_t work = nullptr;           // for uploads and creations; the host waits for this stream
  // Memory is freed on this stream, after the work that used it, so that nothing has to wait.
  cudaStream_t release = nullptr;
  // For what calls need while they run. It keeps its memory, where CUDA's own pool gives it back at the next wait, and
  // maps it anew for the next call. nullptr: there is an allocator, or the device has no pools.
  cudaMemPool_t workspaces = nullptr;
  // Kernels' first launches; see kernels.h.
  std::once_flag session_kernels, sampling_kernels, set_kernels, take_kernel;

 private:
  void make();
  void destroy();
};

namespace cuda {

// Waits for the device's own stream at the end of a scope, so that what was enqueued there finds its memory, also where
// the scope fails.
class WaitsForWork {
 public:
  explicit WaitsForWork(const DeviceHandle& device) : work_(device.work) {}
  WaitsForWork(const WaitsForWork&) = delete;
  WaitsForWork& operator=(const WaitsForWork&) = delete;
  ~WaitsForWork() { cudaStreamSynchronize(work_); }

 private:
  cudaStream_t work_;
};

// Device memory with one owner. The device must be current when it is allocated and freed.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  // Usable immediately in the order of `stream`; freed in the order of `release`. From a pool, where there is no
  // allocator (nullptr: the device's own).
  DeviceMemory(const DeviceHandle& device, int64_t bytes, cudaStream_t stream, cudaStream_t release,
               cudaMemPool_t pool = nullptr);
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();
  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  const DeviceHandle* device_ = nullptr;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
  cudaStream_t release_ = nullptr;
};

// Pinned host memory.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(int64_t bytes);
  PinnedMemory(PinnedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PinnedMemory();
  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Places arrays one after the other, each at a multiple of 256.
class Layout {
 public:
  template <class T>
  int64_t add(int64_t count) {
    return add_bytes(count, static_cast<int64_t>(sizeof(T)));
  }
  int64_t add_bytes(int64_t count, int64_t size);
  int64_t bytes() const { return end_; }

 private:
  int64_t end_ = 0;
};

}  // namespace cuda
}  // namespace sidbeam
