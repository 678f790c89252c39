// Arrays of sessions on a CUDA device, beside a forward pass there. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/cuda_forward.h"
#include "runner/models/exchange.h"

namespace sidbeam::runner {

class CudaExchange final : public Exchange {
 public:
  // Copies are enqueued on the pass's stream; the pass outlives it.
  explicit CudaExchange(const CudaForward& forward)
      : device_(forward.device()), forward_(forward.handle()), arrays_(device_, forward.device_id()) {}
  CudaExchange(const CudaExchange&) = delete;
  CudaExchange& operator=(const CudaExchange&) = delete;
  // What was enqueued still uses the arrays.
  ~CudaExchange() override { device_.wait(forward_, nullptr); }
  void wait() override;
  int64_t memory_bytes() const override { return arrays_.bytes(); }

 private:
  Exchanged<void> take_bytes(int64_t count, int64_t size) override;
  void send_bytes(void* there, const void* here, int64_t bytes) override;
  void fetch_bytes(void* here, const void* there, int64_t bytes) override;

  const ForwardDevice& device_;
  DeviceForward* forward_;
  DeviceArrays arrays_;
};

}  // namespace sidbeam::runner
