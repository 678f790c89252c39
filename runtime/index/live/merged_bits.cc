// SPDX-License-Identifier: Apache-2.0
#include "index/live/merged_bits.h"

#include <algorithm>

#include "index/live/base_children.h"
#include "index/read/find.h"
#include "index/rules/bits.h"
#include "index/rules/ruled_state.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

// Bits [at, end) that are 0 so far, set one after the other. More than these are dropped: lists of a damaged base may
// have other tokens in common with the delta than a search in them finds.
class BitWriter {
 public:
  BitWriter(uint64_t* words, uint64_t at, uint64_t end) : words_(words), at_(at), end_(end) {}
  void put(bool value) { put_word(value ? 1 : 0, 1); }
  // The bits [begin, begin + count) of others, which have a word more than they fill.
  void copy(const uint64_t* from, uint64_t begin, uint64_t count) {
    for (; count > 64; begin += 64, count -= 64) put_word(bits_from(from, begin), 64);
    if (count > 0) put_word(bits_from(from, begin) & (~uint64_t{0} >> (64 - count)), count);
  }

 private:
  void put_word(uint64_t bits, uint64_t count) {
    if (count > end_ - at_) {
      count = end_ - at_;
      if (count == 0) return;
      bits &= ~uint64_t{0} >> (64 - count);
    }
    words_[at_ / 64] |= bits << at_ % 64;
    if (at_ % 64 + count > 64) words_[at_ / 64 + 1] |= bits >> (64 - at_ % 64);
    at_ += count;
  }
  uint64_t* words_;
  uint64_t at_, end_;
};

struct LevelMerge {
  const IndexView& base;
  const RulesView& of_base;
  const RulesView& of_delta;
  int32_t number;

  const OverlayLevel& overlay() const { return base.overlay->level[number]; }
  const LevelView& own() const { return base.overlay->delta->level[number]; }
  // `place` of a joined node, `node` of the delta.
  void merge_row(uint64_t place, uint64_t node, uint64_t* edges) const;
  uint32_t merge_mask(uint64_t place, uint64_t node, const uint64_t* edges, uint64_t* mask) const;
};

// Bits of the base's children, in the order of their list; in the tail they are made in `run`.
const uint64_t* bits_of_children(const LevelMerge& level, const BaseChildren& children, uint64_t node, uint64_t* run,
                                 uint64_t& begin) {
  begin = children.row.begin;
  if (!is_tail_level(level.base, level.number)) return level.of_base.level[level.number].edges.bits;
  begin = run[0] = run[1] = 0;
  uint32_t allowed[kMaxRun], at = 0;
  const Run sids = run_of(level.base, level.number, node);
  const uint32_t count = allowed_in_tail(level.base, level.of_base, level.number, sids, allowed);
  for (uint32_t i = 0; i < children.count && at < count; ++i) {
    if (children.tokens()[i] != allowed[at]) continue;
    run[0] |= uint64_t{1} << i;
    ++at;
  }
  return run;
}

void LevelMerge::merge_row(uint64_t place, uint64_t node, uint64_t* edges) const {
  const Row row = row_of(own(), node);
  if (row.count == 0) return;
  fetch_children_ahead(base, number, overlay().base, static_cast<int64_t>(place),
                       static_cast<int64_t>(overlay().rows.nodes));
  const uint64_t in_base = overlay().base[place];
  const BaseChildren children(base, number, in_base);
  uint64_t run[2], begin = 0, at = 0;
  const uint64_t* bits = bits_of_children(*this, children, in_base, run, begin);
  const Row merged = row_of(overlay().rows, place);
  BitWriter out(edges, merged.begin, merged.begin + merged.count);
  for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge) {
    const uint64_t token = own().tokens[edge];
    const uint64_t next =
        first_where_near(at, children.count, [&](uint64_t i) { return children.tokens()[i] >= token; });
    out.copy(bits, begin + at, next - at);
    at = next;
    const bool both = at < children.count && children.tokens()[at] == token;
    out.put(has_bit(of_delta.level[number].edges.bits, edge) || (both && has_bit(bits, begin + at)));
    at += both ? 1 : 0;
  }
  out.copy(bits, begin + at, children.count - at);
}

// From the base's mask, where the node has one there too. Returns the number of bits that are set.
uint32_t LevelMerge::merge_mask(uint64_t place, uint64_t node, const uint64_t* edges, uint64_t* mask) const {
  const LevelView& rows = overlay().rows;
  const int64_t dense = BaseChildren(base, number, overlay().base[place]).dense;
  const auto set = [&](uint64_t token, bool allowed) {
    const uint64_t code = std::min<uint64_t>(token, rows.codes);  // of a damaged base it may be too large
    mask[code / 64] |= uint64_t{allowed} << code % 64;
  };
  if (dense >= 0) {
    std::copy_n(of_base.level[number].masks + static_cast<uint64_t>(dense) * rows.mask_words(), rows.mask_words(),
                mask);
    const Row row = row_of(own(), node);
    for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge)
      set(own().tokens[edge], has_bit(of_delta.level[number].edges.bits, edge));
  } else {
    const Row row = row_of(rows, place);
    for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge) set(rows.tokens[edge], has_bit(edges, edge));
  }
  return static_cast<uint32_t>(count_bits(mask, rows.mask_words() * 64));
}

}  // namespace

MergedBits::MergedBits(const IndexView& index, const RulesView& of_base, const RulesView& of_delta, int threads,
                       const Allocator& allocator)
    : levels_(static_cast<size_t>(index.levels)), rules_(allocator, index.levels) {
  parallel_for(threads, index.levels, [&](int64_t l) {
    const LevelMerge merge{index, of_base, of_delta, static_cast<int32_t>(l)};
    const LevelView& rows = merge.overlay().rows;
    LevelBits& own = levels_[static_cast<size_t>(l)];
    own.edges = zero_bits(rows.edges, allocator);
    own.masks = Buffer<uint64_t>::zeroed(allocator, static_cast<int64_t>(rows.dense_nodes * rows.mask_words()));
    own.mask_counts = Buffer<uint32_t>(allocator, static_cast<int64_t>(rows.dense_nodes));
    uint64_t place = 0;
    int64_t dense = 0;
    for (uint64_t w = 0; place < rows.nodes; ++w)
      for (uint64_t word = merge.overlay().joined[w]; word != 0; word &= word - 1, ++place) {
        const uint64_t node = w * 64 + bits_set((word & (0 - word)) - 1);
        merge.merge_row(place, node, own.edges.data());
        if (!has_bit(rows.dense_bits, place)) continue;
        uint64_t* mask = own.masks.data() + static_cast<uint64_t>(dense) * rows.mask_words();
        own.mask_counts[dense++] = merge.merge_mask(place, node, own.edges.data(), mask);
      }
    rules_[l] = {};
    rules_[l].edges.bits = own.edges.data();
    rules_[l].masks = dense > 0 ? own.masks.data() : nullptr;
    rules_[l].mask_counts = dense > 0 ? own.mask_counts.data() : nullptr;
  });
}

int64_t MergedBits::bytes() const {
  int64_t bytes = rules_.bytes();
  for (const LevelBits& level : levels_) bytes += level.edges.bytes() + level.masks.bytes() + level.mask_counts.bytes();
  return bytes;
}

}  // namespace sidbeam
