// The caller's memory: inputs in blocks of exactly their size, outputs between canaries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "../specimens.h"

namespace fuzz::abi {

// A copy of an input, or NULL. AddressSanitizer sees each read outside it, and the end of its life each write to it.
template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(std::vector<T> values) : values_(std::move(values)), block_(new T[values_.size()]) {
    if (!values_.empty()) std::memcpy(block_.get(), values_.data(), bytes());
  }
  Array(Array&&) = default;
  Array& operator=(Array&&) = default;
  ~Array() {
    FUZZ_CHECK(block_ == nullptr || values_.empty() || std::memcmp(block_.get(), values_.data(), bytes()) == 0);
  }

  const T* get() const { return block_.get(); }
  const std::vector<T>& values() const { return values_; }
  const T& operator[](size_t i) const { return values_[i]; }
  bool given() const { return block_ != nullptr; }

 private:
  size_t bytes() const { return values_.size() * sizeof(T); }
  std::vector<T> values_;
  std::unique_ptr<T[]> block_;
};

// Bytes that a call may write, between canaries. Aligned to `alignment` and no better.
class Guarded {
 public:
  Guarded(size_t bytes, size_t alignment);
  Guarded(const Guarded&) = delete;
  uint8_t* data() const { return block_.get() + before_; }
  size_t bytes() const { return bytes_; }
  // No byte before or after it was written.
  bool intact() const;
  // Nor, since keep(), any byte of it.
  void keep() { kept_.assign(data(), data() + bytes_); }
  bool untouched() const { return std::equal(kept_.begin(), kept_.end(), data()); }

 private:
  size_t bytes_, before_;
  std::unique_ptr<uint8_t[]> block_;
  std::vector<uint8_t> kept_;
};

}  // namespace fuzz::abi
