// Arrays that are to be copied to a device together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/device.h"

namespace sidbeam {

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
  // Calls passed(bytes) after each copy of at most `chunk`.
  template <class Passed>
  void copy_to(Upload& upload, int64_t chunk, const Passed& passed) const {
    for (const Part& part : parts_)
      for (int64_t at = 0; at < part.bytes; at += chunk) {
        const int64_t n = std::min(chunk, part.bytes - at);
        upload.copy(part.at + at, static_cast<const uint8_t*>(part.from) + at, n);
        passed(n);
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
