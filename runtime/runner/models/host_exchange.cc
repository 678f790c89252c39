// SPDX-License-Identifier: Apache-2.0
#include "runner/models/host_exchange.h"

#include "runner/models/forward.h"

namespace sidbeam::runner {

Exchanged<void> HostExchange::take_bytes(int64_t count, int64_t size) {
  arrays_.push_back(Buffer<uint8_t>::zeroed(allocator_, checked_bytes(count, size)));
  bytes_ += arrays_.back().bytes();
  return {arrays_.back().data(), arrays_.back().data()};
}

std::unique_ptr<Exchange> TreeForward::make_exchange(const Allocator& allocator) {
  return std::make_unique<HostExchange>(allocator);
}

}  // namespace sidbeam::runner
