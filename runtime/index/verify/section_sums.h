// The checksums of sections, made while something else reads these.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/index.h"
#include "support/hashing.h"

namespace sidbeam {

// The checksum of a section, made piece by piece: so that what else reads the section finds it in a near cache.
struct SectionSum {
  const void* data = nullptr;
  uint64_t bytes = 0;
  Stream128 stream;
  uint64_t done = 0, fetched = 0;

  // Adds at least the first `end` bytes.
  void reach(uint64_t end) {
    while (done < end && done < bytes) add_piece();
  }
  void add_piece();
  // Fetches what comes after `end`, a little with every call: while other work is done.
  void fetch_after(uint64_t end);
  // Fetches what comes before `end`.
  void fetch(uint64_t end);
};

class SectionSums {
 public:
  explicit SectionSums(const Index& index);
  // Of the section that is this array; nullptr where there is none.
  SectionSum* find(const void* data);
  // Of the section, in the order of the header, once all of it is added.
  uint64_t finish(size_t section);

 private:
  std::vector<SectionSum> sums_;
};

// An array that is summed as far as it is read, while what comes after is fetched.
struct Summed {
  SectionSum* sum = nullptr;
  uint64_t width = 0;

  Summed() = default;
  Summed(SectionSums& sums, const UintArray& array)
      : sum(sums.find(array.data)), width(static_cast<uint64_t>(array.width)) {}
  void reach(uint64_t count) const {
    add(count);
    fetch(count);
  }
  // The same in parts, for an array so dense that fetching in little steps pays.
  void add(uint64_t count) const {
    if (sum != nullptr) sum->reach(count * width);
  }
  void fetch(uint64_t count) const {
    if (sum != nullptr) sum->fetch_after(count * width);
  }
};

}  // namespace sidbeam
