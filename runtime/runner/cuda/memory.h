// Memory that is taken at creation: of the device, and pinned. The device must be current.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace sidbeam::runner::cuda {

inline constexpr int64_t kArrayAlignment = 256;
constexpr int64_t aligned_up(int64_t bytes) {
  return (bytes + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
}

// One allocation, of which arrays are taken one after the other: first counted, then placed.
class Arena {
 public:
  enum class Where { kDevice, kPinned };
  explicit Arena(Where where) : where_(where) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Before allocate() counts and returns nullptr; afterwards, called in the same order, gives the arrays. Throws
  // OUT_OF_MEMORY where a size overflows.
  template <class T>
  T* take(int64_t count) {
    return static_cast<T*>(take_bytes(count, static_cast<int64_t>(sizeof(T))));
  }
  void* take_bytes(int64_t count, int64_t size);
  // Throws OUT_OF_MEMORY.
  void allocate();
  int64_t bytes() const { return bytes_; }

 private:
  Where where_;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0, taken_ = 0;
};

}  // namespace sidbeam::runner::cuda
