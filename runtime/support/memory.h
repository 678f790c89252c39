// The caller's allocator, and flat arrays in its memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "sidbeam/runtime.h"

namespace sidbeam {

// Allocates from the caller or throws Failure(OUT_OF_MEMORY). Copied freely: it is two pointers and a context.
struct Allocator {
  void* context = nullptr;
  void* (*allocate_fn)(void*, int64_t, int64_t) = nullptr;
  void (*release_fn)(void*, void*, int64_t, int64_t) = nullptr;

  // On huge pages where the memory can have them and the system has them: page faults on small ones take a good part of
  // a build or a publish, and random reads a walk through the page table as well as a miss.
  void* allocate(int64_t bytes, int64_t alignment) const;
  void release(void* memory, int64_t bytes, int64_t alignment) const noexcept {
    release_fn(context, memory, bytes, alignment);
  }
};

// Aligned allocation of the C library.
Allocator default_allocator();
bool is_default(const Allocator& allocator);

// Gives back the whole pages within the memory; their contents are lost.
void discard_pages(void* memory, int64_t bytes);

// count * size; throws Failure(OUT_OF_MEMORY) where that does not fit an int64.
int64_t checked_bytes(int64_t count, int64_t size);

// A flat array of trivial elements that owns its memory. Sized once; uninitialised unless asked for.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Buffer() = default;
  Buffer(const Allocator& allocator, int64_t count) : allocator_(allocator), count_(count) {
    if (count > 0) data_ = static_cast<T*>(allocator_.allocate(checked_bytes(count, sizeof(T)), kAlignment));
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) allocator_.release(data_, count_ * static_cast<int64_t>(sizeof(T)), kAlignment);
  }

  static Buffer zeroed(const Allocator& allocator, int64_t count) {
    Buffer buffer(allocator, count);
    if (count > 0) std::memset(static_cast<void*>(buffer.data()), 0, static_cast<size_t>(buffer.bytes()));
    return buffer;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return count_; }
  int64_t bytes() const { return count_ * static_cast<int64_t>(sizeof(T)); }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + count_; }

 private:
  static constexpr int64_t kAlignment = 64;

  void swap(Buffer& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }

  Allocator allocator_;
  T* data_ = nullptr;
  int64_t count_ = 0;
};

}  // namespace sidbeam
