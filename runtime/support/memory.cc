// SPDX-License-Identifier: Apache-2.0
#include "support/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "support/error.h"

namespace sidbeam {
namespace {

void* allocate_aligned(void*, int64_t bytes, int64_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, static_cast<size_t>(alignment), static_cast<size_t>(bytes)) == 0 ? memory : nullptr;
}

void release_aligned(void*, void* memory, int64_t, int64_t) { std::free(memory); }

// Advice about the multiples of `unit` within the memory, whose failure changes nothing.
void advise(void* memory, int64_t bytes, uintptr_t unit, int advice) {
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + unit - 1) & ~(unit - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(bytes)) & ~(unit - 1);
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

void* Allocator::allocate(int64_t bytes, int64_t alignment) const {
  void* memory = allocate_fn(context, bytes, alignment);
  if (memory == nullptr) fail(SIDBEAM_OUT_OF_MEMORY, "out of memory: %lld bytes", static_cast<long long>(bytes));
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  advise(memory, bytes, kHugePage, MADV_HUGEPAGE);
  return memory;
}

Allocator default_allocator() { return {nullptr, allocate_aligned, release_aligned}; }

bool is_default(const Allocator& allocator) { return allocator.allocate_fn == allocate_aligned; }

void discard_pages(void* memory, int64_t bytes) {
  advise(memory, bytes, static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)), MADV_DONTNEED);
}

int64_t checked_bytes(int64_t count, int64_t size) {
  int64_t bytes = 0;
  if (count < 0 || __builtin_mul_overflow(count, size, &bytes) || bytes > std::numeric_limits<int64_t>::max() / 2)
    fail(SIDBEAM_OUT_OF_MEMORY, "out of memory: %lld elements of %lld bytes", static_cast<long long>(count),
         static_cast<long long>(size));
  return bytes;
}

}  // namespace sidbeam
