// An allocator that trusts nobody: alignments are exact and no better, memory is filled before and after its life, what
// is released must be what was given, and requests are refused at random.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/sidbeam.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace fuzz::abi {

class CheckedAllocator {
 public:
  CheckedAllocator() = default;
  CheckedAllocator(const CheckedAllocator&) = delete;

  sidbeam_allocator table();
  // From now on one in `one_in` requests is refused, chosen by the seed; 0: none.
  void refuse(uint32_t one_in, uint32_t seed);
  uint64_t refused() const;
  // Blocks that have not come back.
  size_t held() const;

 private:
  struct Given {
    uint8_t* base;
    int64_t bytes, alignment;
  };
  void* give(int64_t bytes, int64_t alignment);
  void take_back(void* memory, int64_t bytes, int64_t alignment);

  mutable std::mutex mutex_;
  std::unordered_map<void*, Given> given_;
  uint64_t refused_ = 0;
  uint32_t one_in_ = 0, noise_ = 0;
};

}  // namespace fuzz::abi
