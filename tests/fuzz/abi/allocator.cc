// SPDX-License-Identifier: Apache-2.0
#include "allocator.h"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../specimens.h"

namespace fuzz::abi {

sidbeam_allocator CheckedAllocator::table() {
  sidbeam_allocator table = SIDBEAM_ALLOCATOR_INIT;
  table.context = this;
  table.allocate = [](void* self, int64_t bytes, int64_t alignment) {
    return static_cast<CheckedAllocator*>(self)->give(bytes, alignment);
  };
  table.release = [](void* self, void* memory, int64_t bytes, int64_t alignment) {
    static_cast<CheckedAllocator*>(self)->take_back(memory, bytes, alignment);
  };
  return table;
}

void CheckedAllocator::refuse(uint32_t one_in, uint32_t seed) {
  const std::lock_guard lock(mutex_);
  one_in_ = one_in;
  noise_ = seed;
}

uint64_t CheckedAllocator::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

size_t CheckedAllocator::held() const {
  const std::lock_guard lock(mutex_);
  return given_.size();
}

// At an odd multiple of the alignment, so that a caller who needs a larger one is found. The memory before it is
// poisoned; AddressSanitizer guards what follows.
void* CheckedAllocator::give(int64_t bytes, int64_t alignment) {
  FUZZ_CHECK(bytes > 0);
  FUZZ_CHECK(alignment > 0 && alignment <= 4096 && (alignment & (alignment - 1)) == 0);
  const std::lock_guard lock(mutex_);
  noise_ = noise_ * 1664525u + 1013904223u;
  if (one_in_ != 0 && (noise_ >> 8) % one_in_ == 0) {
    ++refused_;
    return nullptr;
  }
  const auto before = static_cast<size_t>(std::max<int64_t>(alignment, 16));
  void* base = nullptr;
  FUZZ_CHECK(posix_memalign(&base, 2 * before, before + static_cast<size_t>(bytes)) == 0);
  auto* memory = static_cast<uint8_t*>(base) + before;
  ASAN_POISON_MEMORY_REGION(base, before);
  std::memset(memory, 0xCD, static_cast<size_t>(bytes));
  given_[memory] = {static_cast<uint8_t*>(base), bytes, alignment};
  return memory;
}

void CheckedAllocator::take_back(void* memory, int64_t bytes, int64_t alignment) {
  const std::lock_guard lock(mutex_);
  const auto found = given_.find(memory);
  FUZZ_CHECK(found != given_.end());
  FUZZ_CHECK(found->second.bytes == bytes && found->second.alignment == alignment);
  ASAN_UNPOISON_MEMORY_REGION(found->second.base, static_cast<size_t>(std::max<int64_t>(alignment, 16)));
  std::memset(memory, 0xDD, static_cast<size_t>(bytes));
  std::free(found->second.base);
  given_.erase(found);
}

}  // namespace fuzz::abi
