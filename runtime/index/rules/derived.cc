// SPDX-License-Identifier: Apache-2.0
#include "index/rules/derived.h"

#include <algorithm>

#include "index/rules/bit_kernels.h"
#include "index/rules/bits.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

// Bit i of `out`, whose bits are 0 before: whether any number of run i has its bit. No run is empty.
void any_in_starts(const RowStarts& starts, const uint64_t* bits, int threads, const BitKernels& kernels,
                   uint64_t* out) {
  constexpr uint64_t kTaskWords = 1024;
  const uint64_t words = (starts.count() + 63) / 64;
  parallel_for(threads, static_cast<int64_t>((words + kTaskWords - 1) / kTaskWords), [&](int64_t task) {
    const uint64_t first = static_cast<uint64_t>(task) * kTaskWords;
    kernels.any_in_starts(starts, bits, first, std::min(first + kTaskWords, words), out);
  });
}

}  // namespace

DerivedBits::DerivedBits(const IndexView& index, const EdgeParents& parents, const uint64_t* rows, int threads,
                         const Allocator& allocator)
    : levels_(static_cast<size_t>(index.csr_levels)) {
  view_.rows.bits = rows;
  derive_sids(index, parents, threads, allocator);
  if (index.csr_levels < index.levels) {
    derive_above_tail(index, parents, threads, allocator);
  } else {
    derive_last_level(index, allocator);
  }
  for (int32_t l = index.csr_levels - 2; l >= 0; --l) derive_level(index, parents, l, threads, allocator);
  for (int32_t l = 0; l < index.csr_levels; ++l) derive_masks(index, l, threads, allocator);
  set_view(index, allocator);
}

void DerivedBits::derive_sids(const IndexView& index, const EdgeParents& parents, int threads,
                              const Allocator& allocator) {
  view_.sids.bits = view_.rows.bits;
  if (index.item_offsets) {
    sids_ = zero_bits(index.sids, allocator);
    any_in_starts(parents.item_starts(), view_.rows.bits, threads, bit_kernels(index.target), sids_.data());
    view_.sids.bits = sids_.data();
  }
  sid_count_ = count_bits(view_.sids.bits, index.sids);
}

// Above the tail's first level, before and between whose runs of SIDs there may be others that ended earlier.
void DerivedBits::derive_above_tail(const IndexView& index, const EdgeParents& parents, int threads,
                                    const Allocator& allocator) {
  const int32_t number = index.csr_levels - 1;
  Buffer<uint64_t>& edges = levels_[static_cast<size_t>(number)].edges;
  edges = zero_bits(index.level[number].edges, allocator);
  const uint64_t* sids = view_.sids.bits;
  Buffer<uint64_t> longer;
  if (index.variable_length) {
    longer = make_bits(index.sids, allocator);
    std::copy_n(sids, (index.sids + 63) / 64, longer.data());
    for (int32_t l = 0; l < number; ++l)
      put_bits(longer.data(), index.sids, index.level[l].end_ordinals, index.level[l].ends, false);
    sids = longer.data();
  }
  any_in_starts(parents.starts(number + 1), sids, threads, bit_kernels(index.target), edges.data());
}

// The last level's edges are the SIDs, except those that ended before.
void DerivedBits::derive_last_level(const IndexView& index, const Allocator& allocator) {
  if (!index.variable_length) return;
  const int32_t number = index.csr_levels - 1;
  const LevelView& level = index.level[number];
  Buffer<uint64_t> sids = all_bits(index.sids, allocator);
  put_bits(sids.data(), index.sids, index.end_ordinals, index.ends, false);
  put_bits(sids.data(), index.sids, level.end_ordinals, level.ends, true);
  Buffer<uint64_t>& edges = levels_[static_cast<size_t>(number)].edges;
  edges = zero_bits(level.edges, allocator);
  bit_kernels(index.target).compress(view_.sids.bits, sids.data(), (index.sids + 63) / 64, level.edges, edges.data());
}

void DerivedBits::derive_level(const IndexView& index, const EdgeParents& parents, int32_t number, int threads,
                               const Allocator& allocator) {
  if (shares_next(index, number)) return;
  const LevelView& level = index.level[number];
  const BitKernels& kernels = bit_kernels(index.target);
  Buffer<uint64_t>& edges = levels_[static_cast<size_t>(number)].edges;
  edges = zero_bits(level.edges, allocator);
  const RowStarts& starts = parents.starts(number + 1);
  if (level.ends == 0) return any_in_starts(starts, bits_of(number + 1), threads, kernels, edges.data());
  // Ends have no run: the others' bits go to their places between them.
  Buffer<uint64_t> runs = zero_bits(level.edges, allocator);
  any_in_starts(starts, bits_of(number + 1), threads, kernels, runs.data());
  kernels.expand(runs.data(), 0, level.edges, starts.nodes_with_runs(), (level.edges + 63) / 64, edges.data());
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
