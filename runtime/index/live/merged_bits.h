// What a filter leaves of the merged rows of an overlay: an entry is allowed if the base or the delta allows the child.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/rules/subset.h"
#include "support/memory.h"

namespace sidbeam {

class MergedBits {
 public:
  // What the filter leaves of the base, which has the overlay, and of the delta: bits, no lists.
  MergedBits(const IndexView& index, const RulesView& of_base, const RulesView& of_delta, int threads,
             const Allocator& allocator);

  const LevelRules* levels() const { return rules_.data(); }  // [levels]
  int64_t bytes() const;

 private:
  struct LevelBits {
    Buffer<uint64_t> edges, masks;
    Buffer<uint32_t> mask_counts;
  };
  std::vector<LevelBits> levels_;
  Buffer<LevelRules> rules_;
};

}  // namespace sidbeam
