// An index in a device's memory, or a filter's bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/cuda/device.h"
#include "backend/cuda/marks.h"
#include "backend/device_plugin.h"

namespace sidbeam {
namespace cuda {

// Two buffers of pinned memory that a copy uses alternately.
class Staging {
 public:
  Staging(int64_t chunk_bytes, cudaStream_t stream);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  // Waits for the copies, because the buffers and their destination must outlive them.
  ~Staging();
  void copy(uint8_t* to, const void* from, int64_t bytes);
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_;
  PinnedMemory buffers_[2];
  cudaEvent_t copied_[2] = {};
  int next_ = 0;
};

}  // namespace cuda

struct UploadHandle {
  DeviceHandle* device = nullptr;
  cuda::DeviceMemory memory;               // view, damage, sections; or bits
  cuda::DeviceMemory repeats;              // what the view has of them, if anything
  std::unique_ptr<cuda::Staging> staging;  // while the upload is under way
  cuda::Marks marks;                       // after which the memory may be freed

  const IndexView* view() const { return reinterpret_cast<const IndexView*>(memory.data()); }
};

}  // namespace sidbeam
