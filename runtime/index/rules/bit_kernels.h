// The loops over words of bits that deriving a filter consists of, for each way to move bits to the places of others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/rules/row_starts.h"
#include "support/cpu_target.h"

namespace sidbeam {

struct BitKernels {
  // Bit i of `out`: whether any number of run i has its bit, for the runs that end in words [first, last) of `starts`.
  // No run is empty; numbers before the first start are of none. All bits of `out` are 0 before. Others may write the
  // bits of other runs meanwhile.
  void (*any_in_starts)(const RowStarts& starts, const uint64_t* bits, uint64_t first, uint64_t last, uint64_t* out);
  // Moves bits [begin, begin + count) to the places of those that `places` has, in order, in `out`, whose [words] are 0
  // before. Returns how many of them are set.
  uint64_t (*expand)(const uint64_t* bits, uint64_t begin, uint64_t count, const uint64_t* places, uint64_t words,
                     uint64_t* out);
  // Moves those of [words] of bits that `places` has together, in order, to the low end of `out`, whose bits are 0
  // before; the first `most` of them.
  void (*compress)(const uint64_t* bits, const uint64_t* places, uint64_t words, uint64_t most, uint64_t* out);
};

// The best of a target, which the machine has.
const BitKernels& bit_kernels(CpuTarget target);

}  // namespace sidbeam
