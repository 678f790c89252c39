// Computes checksums of sections while other code reads the sections.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/index.h"
#include "support/hashing.h"

namespace sidbeam {

// The checksum of a section, computed piece by piece, so that whatever reads the piece next finds it in a near cache.
struct SectionSum {
  Stream128 stream;
  const void* data = nullptr;
  uint64_t bytes = 0;
  uint64_t done = 0, fetched = 0;

  // Adds at least the first `end` bytes.
  void reach(uint64_t end) {
    while (done < end && done < bytes) add_piece();
  }
  void add_piece();
  // Prefetches data after `end`, a little per call, so that it overlaps with other work.
  void fetch_after(uint64_t end);
  // Prefetches up to `end`.
  void fetch(uint64_t end);
};

class SectionSums {
 public:
  explicit SectionSums(const Index& index);
  // The sum of the section that stores this array; nullptr if there is none.
  SectionSum* find(const void* data);
  // Adds the rest of a section, given its position in the header, and returns its checksum.
  uint64_t finish(size_t section);
  // The XXH3-128 of a section that is finished.
  Hash128 digest(size_t section) const { return sums_[section].stream.value(); }

 private:
  std::vector<SectionSum> sums_;
};

// An array whose checksum follows the reader, while the data after it is prefetched.
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
  // The two parts of reach(), for arrays that gain from prefetching in smaller steps.
  void add(uint64_t count) const {
    if (sum != nullptr) sum->reach(count * width);
  }
  void fetch(uint64_t count) const {
    if (sum != nullptr) sum->fetch_after(count * width);
  }
};

}  // namespace sidbeam
