// Times on a device. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_place.h"

namespace gpu {

// An event and the time since another.
class Event {
 public:
  Event() { expect_cuda(cudaEventCreate(&event_), "make an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) const { expect_cuda(cudaEventRecord(event_, stream), "record an event"); }
  double us_since(const Event& begin) const {
    expect_cuda(cudaEventSynchronize(event_), "wait for an event");
    float ms = 0;
    expect_cuda(cudaEventElapsedTime(&ms, begin.event_, event_), "read a time");
    return static_cast<double>(ms) * 1000;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace gpu
