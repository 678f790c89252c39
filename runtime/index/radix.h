// A stable, parallel radix sort of (key, row) records.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/progress.h"
#include "support/memory.h"

namespace sidbeam {

struct Record {
  uint64_t key, row;
};

inline constexpr int kDigitBits = 11;
inline constexpr int64_t kRadixBytesPerThread = (int64_t{1} << kDigitBits) * (64 + 8 + 8);

// Passes over the records that a sort by the lowest `bits` makes at most.
inline int radix_passes(int bits) { return (bits + kDigitBits - 1) / kDigitBits; }

// Sorts by the lowest `bits` of the key, the others being zero. `spare` has the size of `records` and is swapped with
// it when the result lies there. Advances `progress` by records.size() for each pass, made or skipped.
void radix_sort(Buffer<Record>& records, Buffer<Record>& spare, int bits, int threads, const Allocator& allocator,
                Progress& progress);

}  // namespace sidbeam
