// SPDX-License-Identifier: Apache-2.0
#include "index/verify/sid_pairs.h"

#include <algorithm>

#include "support/hashing.h"

namespace sidbeam {

SidPairs::SidPairs(const IndexView& index)
    : index_(index),
      kernels_(bulk_kernels(index.target)),
      codes_(index.hash.keys != nullptr ? size_t{kSidStride} * static_cast<size_t>(index.levels) : 0),
      done_(index.hash.keys != nullptr ? 0 : index.sids) {}

void SidPairs::add_block() {
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(index_.sids - done_, kSids));
  const auto levels = static_cast<uint32_t>(index_.levels);
  uint64_t keys[kSids] = {};
  for (uint32_t l = levels; l-- > 0;) {
    uint32_t* codes = codes_.data() + l * kSidStride;
    const UintArray& column = index_.level[l].column;
    if (column.width == 2) {
      kernels_.widen(static_cast<const uint16_t*>(column.data) + done_, count, codes);
    } else {
      std::copy_n(static_cast<const uint32_t*>(column.data) + done_, count, codes);
    }
    const uint64_t radix = uint64_t{index_.level[l].codes} + (index_.variable_length ? 1 : 0);
    if (!index_.hash.hashed) kernels_.add_digits(codes, radix, count, keys);
  }
  if (index_.hash.hashed)
    xxh3_64_of_rows(index_.target, codes_.data(), levels, kSidStride, count, index_.hash.seed, keys);
  sum_ +=
      kernels_.sum_pairs(keys, index_.hash.hashed ? ~uint64_t{0} >> 1 : ~uint64_t{0}, index_.hash.mix, done_, count);
  done_ += count;
}

}  // namespace sidbeam
