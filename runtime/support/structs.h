// Structs of the C ABI that the library fills in. They grow at their end, so the caller's may be shorter or longer than
// this library's. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sidbeam {

// Bytes of a struct's first version. A struct that has grown since needs a specialisation with the offset of the first
// field that was added: fields that a caller's older header does not have are zero.
template <class T>
inline constexpr size_t kFirstBytes = sizeof(T);

// Copies `value` into the caller's struct, except its struct_size: as much as both have, and zeros where only the
// caller's has more.
template <class T>
void write_struct(const T& value, T* out) noexcept {
  const uint32_t size = out->struct_size;
  std::memcpy(static_cast<void*>(out), &value, std::min<size_t>(size, sizeof(T)));
  if (size > sizeof(T)) std::memset(reinterpret_cast<char*>(out) + sizeof(T), 0, size - sizeof(T));
  out->struct_size = size;
}

}  // namespace sidbeam
