// Subsets of an index as a step reads them: of the edges of a level, of the SIDs, of the item rows. A filter gives
// bits; a request's own lists take numbers away from them or, where it has an allow list, are all that is left. Plain
// pointers into memory of a filter and of a constraint; safe on an index with damaged contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/trie.h"
#include "index/views.h"

namespace sidbeam {

// Numbers that rise, and where each bucket of them begins, so that a search looks at few.
struct NumberList {
  UintArray numbers;                // [count], 4 or 8 bytes
  const uint32_t* first = nullptr;  // [buckets + 1] the first number of each bucket; a bucket is number >> shift
  uint64_t count = 0, buckets = 0;
  int32_t shift = 0;

  // The place of the first number >= `least`.
  SIDBEAM_HD uint64_t lower_bound(uint64_t least) const {
    const uint64_t bucket = least >> shift;
    if (bucket >= buckets) return count;
    uint64_t lo = first[bucket], hi = first[bucket + 1];
    while (lo < hi) {
      const uint64_t middle = lo + (hi - lo) / 2;
      if (numbers[middle] < least) {
        lo = middle + 1;
      } else {
        hi = middle;
      }
    }
    return lo;
  }
  // Calls visit(number) for each in [begin, end), rising.
  template <class Visit>
  SIDBEAM_HD void for_each_in(uint64_t begin, uint64_t end, const Visit& visit) const {
    if (count == 0) return;
    for (uint64_t at = lower_bound(begin); at < count && numbers[at] < end; ++at) visit(numbers[at]);
  }
  SIDBEAM_HD bool any_in(uint64_t begin, uint64_t end) const {
    if (count == 0) return false;
    const uint64_t at = lower_bound(begin);
    return at < count && numbers[at] < end;
  }
};

// `bits` has a word more than its numbers fill, so that 64 of them can be read from any one on.
struct Subset {
  const uint64_t* bits = nullptr;  // nullptr: all numbers
  NumberList listed;
};

// The 64 bits from bit `begin` on.
SIDBEAM_HD inline uint64_t bits_from(const uint64_t* words, uint64_t begin) {
  const uint64_t word = begin / 64, shift = begin % 64;
  return words[word] >> shift | words[word + 1] << 1 << (63 - shift);
}

// What rules leave of the edges of a level.
struct LevelRules {
  Subset edges;
  // Of dense nodes, where there are bits: the codes of children that have theirs, and how many.
  const uint64_t* masks = nullptr;        // [dense_nodes, mask_words()]
  const uint32_t* mask_counts = nullptr;  // [dense_nodes]
};

// What rules leave of an index. An edge is allowed if a SID below it is, a SID if one of its item rows is.
struct RulesView {
  bool only_listed = false;           // an allow list: what is not listed is not allowed. Else what is listed is not
  uint64_t sids_left = 0;             // SIDs that are allowed
  const LevelRules* level = nullptr;  // [csr_levels]; of a delta and of merged rows [levels]
  Subset sids;                        // read in the tail of a compact trie
  Subset rows;
  // Of a snapshot with a delta, which follows rules by itself; all the others are the base's.
  const RulesView* delta = nullptr;
  // What is left of the entries of merged rows, level by level, without sids or rows. Lists of entries are for devices;
  // the CPU asks where an entry leads.
  const RulesView* merged = nullptr;

  // Whether number i of a subset is allowed.
  SIDBEAM_HD bool allows(const Subset& subset, uint64_t i) const {
    if (!only_listed && subset.bits != nullptr && (subset.bits[i / 64] >> i % 64 & 1) == 0) return false;
    if (!only_listed && subset.listed.count == 0) return true;
    const uint64_t at = subset.listed.lower_bound(i);
    return (at < subset.listed.count && subset.listed.numbers[at] == i) == only_listed;
  }
  // Which of the numbers [begin, begin + count) are allowed, as bits; count is 1 to 64.
  SIDBEAM_HD uint64_t allowed_of(const Subset& subset, uint64_t begin, uint32_t count) const {
    const NumberList& list = subset.listed;
    const uint64_t all = ~uint64_t{0} >> (64 - count);
    uint64_t listed = 0;
    if (list.count > 0)  // not for_each_in(): nvcc keeps what its function refers to in local memory
      for (uint64_t at = list.lower_bound(begin); at < list.count && list.numbers[at] < begin + count; ++at)
        listed |= uint64_t{1} << (list.numbers[at] - begin);
    if (only_listed) return listed;
    return (subset.bits != nullptr ? bits_from(subset.bits, begin) : ~uint64_t{0}) & ~listed & all;
  }
  // The same of a row's edges, of which there may be more: words [ceil(count / 64)], bits past the last 0.
  SIDBEAM_HD void put_allowed(const Subset& edges, const Row& row, uint64_t* words) const {
    const bool none = only_listed, all = edges.bits == nullptr;
    for (uint32_t i = 0; i < row.count; i += 64)
      words[i / 64] = none ? 0 : all ? ~uint64_t{0} : bits_from(edges.bits, row.begin + i);
    if (row.count % 64 != 0) words[row.count / 64] &= ~uint64_t{0} >> (64 - row.count % 64);
    edges.listed.for_each_in(row.begin, row.begin + row.count, [&](uint64_t edge) {
      const uint64_t i = edge - row.begin, bit = uint64_t{1} << i % 64;
      words[i / 64] = only_listed ? words[i / 64] | bit : words[i / 64] & ~bit;
    });
  }
};

// Whether a level and the next have the same rules, since every node of the next has one edge, with the same number.
inline bool shares_next(const IndexView& index, int32_t level) {
  return !index.variable_length && level + 1 < index.csr_levels &&
         index.level[level + 1].nodes == index.level[level + 1].edges;
}

// Calls visit(i) for every edge number i of a row whose edge is allowed, rising.
template <class Visit>
SIDBEAM_HD void for_each_allowed(const RulesView& rules, const Subset& edges, const Row& row, const Visit& visit) {
  for (uint32_t first = 0; first < row.count; first += 64) {
    uint64_t word = rules.allowed_of(edges, row.begin + first, std::min<uint32_t>(row.count - first, 64));
    for (; word != 0; word &= word - 1) visit(row.begin + first + bits_set((word & (0 - word)) - 1));
  }
}

}  // namespace sidbeam
