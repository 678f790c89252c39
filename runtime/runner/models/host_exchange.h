// Arrays of sessions on the CPU. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runner/models/exchange.h"
#include "support/memory.h"

namespace sidbeam::runner {

class HostExchange final : public Exchange {
 public:
  explicit HostExchange(const Allocator& allocator) : allocator_(allocator) {}
  void wait() override {}
  int64_t memory_bytes() const override { return bytes_; }

 private:
  Exchanged<void> take_bytes(int64_t count, int64_t size) override;
  void send_bytes(void*, const void*, int64_t) override {}
  void fetch_bytes(void*, const void*, int64_t) override {}

  Allocator allocator_;
  std::vector<Buffer<uint8_t>> arrays_;
  int64_t bytes_ = 0;
};

}  // namespace sidbeam::runner
