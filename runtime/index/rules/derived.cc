// SPDX-License-Identifier: Apache-2.0
#include "index/rules/derived.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "index/read/find.h"
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

// The moves of a word's bits, by powers of two, that bring those of `mask` together at its low end. (Hacker's Delight,
// 7-4. The instructions for both ways are slow on processors before Zen 3, and these no more than a fifth of what
// deriving a filter costs.)
struct BitMoves {
  uint64_t mask, moves[6];

  explicit BitMoves(uint64_t bits) : mask(bits) {
    uint64_t zeros = ~bits << 1;
    for (int step = 0; step < 6; ++step) {
      uint64_t parity = zeros;
      for (int shift = 1; shift < 64; shift *= 2) parity ^= parity << shift;
      moves[step] = parity & bits;
      bits = (bits ^ moves[step]) | moves[step] >> (1 << step);
      zeros &= ~parity;
    }
  }
  uint64_t compress(uint64_t bits) const {
    bits &= mask;
    for (int step = 0; step < 6; ++step) {
      const uint64_t moved = bits & moves[step];
      bits = (bits ^ moved) | moved >> (1 << step);
    }
    return bits;
  }
  uint64_t expand(uint64_t bits) const {
    for (int step = 5; step >= 0; --step) bits = (bits & ~moves[step]) | (bits << (1 << step) & moves[step]);
    return bits & mask;
  }
};

uint64_t expanded(uint64_t bits, uint64_t mask) {
  return mask == ~uint64_t{0} || bits == 0 ? bits : BitMoves(mask).expand(bits);
}

// Bits written one after another by several threads, each from some place on; all of them are 0 before.
class BitWriter {
 public:
  BitWriter(uint64_t* out, uint64_t at) : out_(out), at_(at), first_(at / 64) {}
  ~BitWriter() {
    if (at_ % 64 != 0) share(at_ / 64, pending_);
  }
  BitWriter(const BitWriter&) = delete;
  BitWriter& operator=(const BitWriter&) = delete;
  // Adds the low n <= 64 bits; the others are 0.
  void append(uint64_t bits, uint64_t n) {
    const uint64_t shift = at_ % 64, word = at_ / 64;
    at_ += n;
    pending_ |= bits << shift;
    if (shift + n < 64) return;
    if (word == first_) {
      share(word, pending_);
    } else {
      out_[word] = pending_;
    }
    pending_ = shift + n > 64 ? bits >> (64 - shift) : 0;
  }

 private:
  // The first and the last word may be another thread's too.
  void share(uint64_t word, uint64_t bits) { std::atomic_ref(out_[word]).fetch_or(bits, std::memory_order_relaxed); }

  uint64_t* out_;
  uint64_t at_, first_, pending_ = 0;
};

// any_in_runs() of runs that are not empty, a word of numbers at a time: adding ones to the numbers of each run but its
// last carries into that one where any of them has its bit.
void any_in_starts(const RowStarts& starts, const uint64_t* bits, int threads, uint64_t* out) {
  const uint64_t words = (starts.count() + 63) / 64;
  parallel_for(threads, static_cast<int64_t>((words + kTaskWords - 1) / kTaskWords), [&](int64_t task) {
    const uint64_t first = static_cast<uint64_t>(task) * kTaskWords, last = std::min(first + kTaskWords, words);
    const NumberRun run = starts.find(first * 64);
    BitWriter writer(out, run.before);
    uint64_t open = static_cast<uint64_t>(any_of(bits, run.begin, first * 64));  // what the run has before this word
    for (uint64_t w = first; w < last; ++w) {
      const uint64_t next = w + 1 < words ? starts.word(w + 1) : 1;
      uint64_t ends = starts.word(w) >> 1 | next << 63;
      if (w + 1 == words && starts.count() % 64 != 0) {
        const uint64_t there = ~uint64_t{0} >> (64 - starts.count() % 64);
        ends = (ends & there >> 1) | (there ^ there >> 1);
      }
      const uint64_t own = bits[w] | open, any = (((own & ~ends) + ~ends) | own) & ends;
      if (ends == ~uint64_t{0}) {
        writer.append(any, 64);
      } else {
        writer.append(BitMoves(ends).compress(any), bits_set(ends));
      }
      const int after = 64 - std::countl_zero(ends);  // numbers of a run that ends in a later word
      open = static_cast<uint64_t>(after < 64 && (own >> after) != 0);
    }
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
  if (!index.variable_length) return any_in_starts(parents.starts(number + 1), view_.sids.bits, threads, edges.data());
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
    return any_in_starts(parents.starts(number + 1), bits_of(number + 1), threads, edges.data());
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
  parallel_for(threads, static_cast<int64_t>(dense), [&](int64_t d) {
    const Row row = row_of(level, nodes[d]);
    const uint64_t* all = mask_of(level, d);
    uint64_t* mask = own.masks.data() + static_cast<uint64_t>(d) * words;
    uint64_t child = 0, count = 0;
    for (uint64_t w = 0; w < words && child < row.count; ++w) {
      const uint64_t children = std::min<uint64_t>(bits_set(all[w]), row.count - child);
      if (children == 0) continue;
      mask[w] = expanded(bits_from(edges, row.begin + child) & (~uint64_t{0} >> (64 - children)), all[w]);
      count += bits_set(mask[w]);
      child += children;
    }
    own.mask_counts[d] = static_cast<uint32_t>(count);
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
