// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <algorithm>

namespace fuzz::abi {
namespace {

constexpr size_t kCanary = 64;
constexpr uint8_t kCanaryByte = 0x5C, kFilling = 0xA5;

bool all_are(const uint8_t* from, size_t count, uint8_t value) {
  return std::all_of(from, from + count, [value](uint8_t byte) { return byte == value; });
}

}  // namespace

// operator new gives a multiple of 16, so that the data lie at an odd multiple of the alignment.
Guarded::Guarded(size_t bytes, size_t alignment)
    : bytes_(bytes), before_(kCanary + alignment), block_(new uint8_t[before_ + bytes + kCanary]) {
  std::memset(block_.get(), kCanaryByte, before_ + bytes + kCanary);
  std::memset(data(), kFilling, bytes);
}

bool Guarded::intact() const {
  return all_are(block_.get(), before_, kCanaryByte) && all_are(data() + bytes_, kCanary, kCanaryByte);
}

}  // namespace fuzz::abi
