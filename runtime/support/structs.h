// Structs of the C ABI, which grow at their end: a caller's may be shorter or longer than this library's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sidbeam {

// Size of a struct's first version, fixed for good: specialised for each struct that has a struct_size.
template <class T>
inline constexpr size_t kFirstBytes = 0;

// Larger than any struct of this or a newer header, so that a size that was never set is detected before it is used.
inline constexpr uint32_t kMostStructBytes = 4096;

// Copies `value` into the caller's struct, except its struct_size: as much as both have, and zeros where only the
// caller's has more.
template <class T>
void write_struct(const T& value, T* out) noexcept {
  static_assert(kFirstBytes<T> >= sizeof(uint32_t) && kFirstBytes<T> <= sizeof(T), "see first_version.h");
  const uint32_t size = out->struct_size;
  std::memcpy(static_cast<void*>(out), &value, std::min<size_t>(size, sizeof(T)));
  if (size > sizeof(T)) std::memset(reinterpret_cast<char*>(out) + sizeof(T), 0, size - sizeof(T));
  out->struct_size = size;
}

}  // namespace sidbeam
