// What copies to a device have in common: their chunks and their rate, and arrays that are copied together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "backend/device.h"
#include "sidbeam/index.h"

namespace sidbeam {

inline constexpr int64_t kDefaultChunk = int64_t{8} << 20;

// What is copied at a time of an upload of so many bytes.
inline int64_t chunk_of(const sidbeam_upload_config& config, int64_t bytes) {
  return std::min(config.chunk_bytes > 0 ? config.chunk_bytes : kDefaultChunk, bytes);
}

// Keeps copies below a rate by sleeping between chunks.
class Throttle {
 public:
  explicit Throttle(int64_t bytes_per_second) : rate_(static_cast<double>(bytes_per_second)) {}
  void passed(int64_t bytes) {
    if (rate_ <= 0) return;
    bytes_ += static_cast<double>(bytes);
    std::this_thread::sleep_until(begin_ + std::chrono::duration<double>(bytes_ / rate_));
  }

 private:
  using Clock = std::chrono::steady_clock;
  double rate_, bytes_ = 0;
  std::chrono::time_point<Clock> begin_ = Clock::now();
};

// Each once, whatever number of views has it.
class UploadParts {
 public:
  // Leaves the first `bytes` of the upload free.
  explicit UploadParts(int64_t bytes = 0) : bytes_(bytes) {}
  void add(const void* from, int64_t bytes) {
    if (bytes == 0 || find(from) != nullptr) return;
    parts_.push_back({from, bytes_, bytes});
    bytes_ += (bytes + kUploadAlignment - 1) / kUploadAlignment * kUploadAlignment;
  }
  int64_t bytes() const { return bytes_; }
  // In the chunks, and at the rate, of `config`.
  void copy_to(Upload& upload, const sidbeam_upload_config& config) const {
    const int64_t chunk = chunk_of(config, bytes_);
    Throttle throttle(config.bytes_per_second);
    for (const Part& part : parts_)
      for (int64_t at = 0; at < part.bytes; at += chunk) {
        const int64_t n = std::min(chunk, part.bytes - at);
        upload.copy(part.at + at, static_cast<const uint8_t*>(part.from) + at, n);
        throttle.passed(n);
      }
  }
  // Where an array is in an upload at `base`; nullptr if it is none of these.
  template <class T>
  const T* there(const T* from, const uint8_t* base) const {
    const Part* part = find(from);
    return part != nullptr ? reinterpret_cast<const T*>(base + part->at) : nullptr;
  }

 private:
  struct Part {
    const void* from;
    int64_t at, bytes;
  };
  const Part* find(const void* from) const {
    const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& each) { return each.from == from; });
    return part != parts_.end() ? &*part : nullptr;
  }

  std::vector<Part> parts_;
  int64_t bytes_;
};

}  // namespace sidbeam
