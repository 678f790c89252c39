// SPDX-License-Identifier: Apache-2.0
#include "index/rules/derived.h"

#include <algorithm>

#include "index/read/find.h"
#include "index/rules/bit_kernels.h"
#include "index/rules/bits.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

constexpr uint64_t kTaskWords = 1024;

// Calls write(w) for each word of `count` bits, on several threads.
template <class Write>
void for_each_word(uint64_t count, int threads, const Write& write) {
  const uint64_t words = (count + 63) / 64;
  parallel_for(threads, static_cast<int64_t>((words + kTaskWords - 1) / kTaskWords), [&](int64_t task) {
    const uint64_t first = static_cast<uint64_t>(task) * kTaskWords, last = std::min(first + kTaskWords, words);
    for (uint64_t w = first; w < last; ++w) write(w);
  });
}

// Bit i of `out`: whether any number of run i, [pointers[i], pointers[i + 1]), has its bit.
void any_in_runs(const UintArray& pointers, uint64_t runs, uint64_t numbers, const uint64_t* bits, int threads,
                 uint64_t* out) {
  with_type(pointers, [&](const auto* begins) {
    for_each_word(runs, threads, [&](uint64_t w) {
      const uint64_t first = w * 64, last = std::min(first + 64, runs);
      uint64_t word = 0, begin = std::min<uint64_t>(begins[first], numbers);
      for (uint64_t i = first; i < last; ++i) {
        const uint64_t end = clamped(begins[i + 1], begin, numbers);
        word |= static_cast<uint64_t>(any_of(bits, begin, end)) << (i - first);
        begin = end;
      }
      out[w] = word;
    });
  });
}

// The same of runs that are not empty, by where they start.
void any_in_starts(const RowStarts& starts, const uint64_t* bits, int threads, const BitKernels& kernels,
                   uint64_t* out) {
  const uint64_t words = (starts.count() + 63) / 64;
  parallel_for(threads, static_cast<int64_t>((words + kTaskWords - 1) / kTaskWords), [&](int64_t task) {
    const uint64_t first = static_cast<uint64_t>(task) * kTaskWords;
    kernels.any_in_starts(starts, bits, first, std::min(first + kTaskWords, words), out);
  });
}

// Writes the bits of SIDs to those of the last level's edges, which have the full-length SIDs and the level's own ends
// in their order.
void skip_earlier_ends(const IndexView& index, const uint64_t* sids, uint64_t* out) {
  const LevelView& last = index.level[index.levels - 1];
  uint64_t edge = 0, own = 0, any = 0;
  for (uint64_t ordinal = 0; ordinal < index.sids && edge < last.edges; ++ordinal) {
    if (any < index.ends && index.end_ordinals[any] == ordinal) {
      ++any;
      while (own < last.ends && last.end_ordinals[own] < ordinal) ++own;
      if (own == last.ends || last.end_ordinals[own] != ordinal) continue;
    }
    put_bit(out, edge++, has_bit(sids, ordinal));
  }
}

}  // namespace

DerivedBits::DerivedBits(const IndexView& index, const EdgeParents& parents, const uint64_t* rows, int threads,
                         const Allocator& allocator)
    : levels_(static_cast<size_t>(index.csr_levels)) {
  view_.rows.bits = rows;
  derive_sids(index, threads, allocator);
  derive_last_level(index, parents, threads, allocator);
  for (int32_t l = index.csr_levels - 2; l >= 0; --l) derive_level(index, parents, l, threads, allocator);
  for (int32_t l = 0; l < index.csr_levels; ++l) derive_masks(index, l, threads, allocator);
  set_view(index, allocator);
}

void DerivedBits::derive_sids(const IndexView& index, int threads, const Allocator& allocator) {
  view_.sids.bits = view_.rows.bits;
  if (index.item_offsets) {
    sids_ = make_bits(index.sids, allocator);
    any_in_runs(index.item_offsets, index.sids, index.items, view_.rows.bits, threads, sids_.data());
    view_.sids.bits = sids_.data();
  }
  sid_count_ = count_bits(view_.sids.bits, index.sids);
}

void DerivedBits::derive_last_level(const IndexView& index, const EdgeParents& parents, int threads,
                                    const Allocator& allocator) {
  const int32_t number = index.csr_levels - 1;
  const LevelView& level = index.level[number];
  const bool has_tail = index.csr_levels < index.levels;
  if (!has_tail && !index.variable_length) return;
  Buffer<uint64_t>& edges = levels_[static_cast<size_t>(number)].edges;
  edges = make_bits(level.edges, allocator);
  std::fill(edges.begin(), edges.end(), uint64_t{0});
  if (!has_tail) return skip_earlier_ends(index, view_.sids.bits, edges.data());
  if (!index.variable_length)
    return any_in_starts(parents.starts(number + 1), view_.sids.bits, threads, bit_kernels(index.target), edges.data());
  for_each_word(level.edges, threads, [&](uint64_t w) {
    uint64_t word = 0;
    for (uint64_t i = w * 64; i < std::min(w * 64 + 64, level.edges); ++i) {
      const Run run = run_of(index, index.csr_levels, i);
      word |= static_cast<uint64_t>(any_of(view_.sids.bits, run.lo, run.lo + run.count)) << i % 64;
    }
    edges[static_cast<int64_t>(w)] = word;
  });
}

void DerivedBits::derive_level(const IndexView& index, const EdgeParents& parents, int32_t number, int threads,
                               const Allocator& allocator) {
  if (shares_next(index, number)) return;
  const LevelView &level = index.level[number], &next = index.level[number + 1];
  Buffer<uint64_t>& edges = levels_[static_cast<size_t>(number)].edges;
  edges = make_bits(level.edges, allocator);
  if (!index.variable_length) {
    std::fill(edges.begin(), edges.end(), uint64_t{0});
    return any_in_starts(parents.starts(number + 1), bits_of(number + 1), threads, bit_kernels(index.target),
                         edges.data());
  }
  any_in_runs(next.row_pointers, level.edges, next.edges, bits_of(number + 1), threads, edges.data());
  for (uint64_t i = 0; i < level.ends; ++i) {
    const uint64_t edge = level.end_edges[i], ordinal = level.end_ordinals[i];
    if (edge < level.edges && ordinal < index.sids) put_bit(edges.data(), edge, has_bit(view_.sids.bits, ordinal));
  }
}

void DerivedBits::derive_masks(const IndexView& index, int32_t number, int threads, const Allocator& allocator) {
  const LevelView& level = index.level[number];
  if (level.dense_nodes == 0) return;
  LevelBits& own = levels_[static_cast<size_t>(number)];
  const uint64_t words = level.mask_words();
  own.masks = Buffer<uint64_t>::zeroed(allocator, static_cast<int64_t>(level.dense_nodes * words));
  own.mask_counts = Buffer<uint32_t>::zeroed(allocator, static_cast<int64_t>(level.dense_nodes));
  Buffer<uint64_t> nodes = Buffer<uint64_t>::zeroed(allocator, static_cast<int64_t>(level.dense_nodes));
  uint64_t dense = 0;
  for (uint64_t w = 0; w < (level.nodes + 63) / 64; ++w)
    for (uint64_t word = level.dense_bits[w]; word != 0 && dense < level.dense_nodes; word &= word - 1)
      nodes[static_cast<int64_t>(dense++)] = w * 64 + bits_set((word & (0 - word)) - 1);
  const uint64_t* edges = bits_of(number);
  const BitKernels& kernels = bit_kernels(index.target);
  parallel_for(threads, static_cast<int64_t>(dense), [&](int64_t d) {
    const Row row = row_of(level, nodes[d]);
    own.mask_counts[d] = static_cast<uint32_t>(kernels.expand(edges, row.begin, row.count, mask_of(level, d), words,
                                                              own.masks.data() + static_cast<uint64_t>(d) * words));
  });
}

const uint64_t* DerivedBits::bits_of(int32_t number) const {
  for (auto l = static_cast<size_t>(number); l < levels_.size(); ++l)
    if (levels_[l].edges.size() > 0) return levels_[l].edges.data();
  return view_.sids.bits;
}

void DerivedBits::set_view(const IndexView& index, const Allocator& allocator) {
  level_rules_ = Buffer<LevelRules>(allocator, index.csr_levels);
  for (int32_t l = 0; l < index.csr_levels; ++l) {
    const LevelBits& own = levels_[static_cast<size_t>(l)];
    level_rules_[l] = {};
    level_rules_[l].edges.bits = bits_of(l);
    if (own.masks.size() == 0) continue;
    level_rules_[l].masks = own.masks.data();
    level_rules_[l].mask_counts = own.mask_counts.data();
  }
  view_.level = level_rules_.data();
  view_.sids_left = sid_count_;
}

int64_t DerivedBits::bytes() const {
  int64_t bytes = sids_.bytes() + level_rules_.bytes();
  for (const LevelBits& level : levels_) bytes += level.edges.bytes() + level.masks.bytes() + level.mask_counts.bytes();
  return bytes;
}

}  // namespace sidbeam
