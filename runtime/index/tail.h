// Reads the tail of a compact trie, which may be damaged. From level T = csr_levels on, nothing is stored per node.
// Instead, every SID has a row with its codes at levels T .. L - 1. Each code has a split bit, which is set if the SID
// begins an edge of that level, that is, if its codes up to there differ from those of the previous ordinal. A node is
// a run of at most kMaxRun ordinals, and its children are the runs of equal codes within it.
//
// If a SID of variable length ends early, its row holds V_l (the end) from there on. The edge of the end has its split
// bit; the entries after it have none. V_l without a split bit at level T therefore means that the SID ended above the
// tail and lies below no node of level T.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/views.h"

namespace sidbeam {

inline constexpr uint32_t kMaxRun = 64;
inline constexpr int kOrdinalBits = 40;  // enough for kMaxItems

SIDBEAM_HD inline bool is_tail_level(const IndexView& index, int level) { return level >= index.csr_levels; }

// The SIDs below a node: ordinals [lo, lo + count). A node that does not exist has count 0.
struct Run {
  uint64_t lo = 0;
  uint32_t count = 0;
};

// Packs a run into the node number of a state.
SIDBEAM_HD inline uint64_t pack_run(const Run& run) { return run.lo | uint64_t{run.count - 1} << kOrdinalBits; }
SIDBEAM_HD inline Run unpack_run(uint64_t node) {
  return {node & ((uint64_t{1} << kOrdinalBits) - 1), static_cast<uint32_t>(node >> kOrdinalBits & (kMaxRun - 1)) + 1};
}

// The two forms of an entry: the split bit is in the word of the code, or in a separate bitmap.
template <class Word>
struct SplitInWord {
  static constexpr int kSplitBit = sizeof(Word) * 8 - 1;
  const Word* words;
  SIDBEAM_HD uint32_t token(uint64_t at) const { return words[at] & ((uint32_t{1} << kSplitBit) - 1); }
  SIDBEAM_HD bool split(uint64_t at) const { return words[at] >> kSplitBit != 0; }
};
struct SplitInBitmap {
  const uint16_t* words;
  const uint64_t* splits;
  SIDBEAM_HD uint32_t token(uint64_t at) const { return words[at]; }
  SIDBEAM_HD bool split(uint64_t at) const { return (splits[at / 64] >> at % 64 & 1) != 0; }
};

// Calls read(entries) with the form that the index has, so that loops over entries need not test it.
template <class Read>
SIDBEAM_HD auto read_tail(const TailView& tail, const Read& read) {
  if (tail.tokens.width == 4) return read(SplitInWord<uint32_t>{static_cast<const uint32_t*>(tail.tokens.data)});
  const auto* words = static_cast<const uint16_t*>(tail.tokens.data);
  return tail.splits != nullptr ? read(SplitInBitmap{words, tail.splits}) : read(SplitInWord<uint16_t>{words});
}

SIDBEAM_HD inline uint64_t tail_width(const IndexView& index) {
  return static_cast<uint64_t>(index.levels - index.csr_levels);
}
// The position in the tail of an ordinal's code at a level of the tail; ordinal < sids.
SIDBEAM_HD inline uint64_t tail_entry(const IndexView& index, uint64_t ordinal, int level) {
  return ordinal * tail_width(index) + static_cast<uint64_t>(level - index.csr_levels);
}

SIDBEAM_HD inline bool is_tail_end(const IndexView& index, int level, uint32_t token) {
  return index.variable_length && token == index.level[level].codes;
}

// Whether an ordinal < sids lies below no node of level T because its SID ended above it.
SIDBEAM_HD inline bool ended_above_tail(const IndexView& index, uint64_t ordinal) {
  if (!index.variable_length) return false;
  const uint64_t at = tail_entry(index, ordinal, index.csr_levels);
  return read_tail(index.tail, [&](const auto& entries) {
    return !entries.split(at) && is_tail_end(index, index.csr_levels, entries.token(at));
  });
}

// The SIDs below a node. At level T nodes still have numbers; at deeper levels `node` is a packed run.
SIDBEAM_HD inline Run run_of(const IndexView& index, int level, uint64_t node) {
  if (level > index.csr_levels) {
    const Run run = unpack_run(node);
    if (run.lo >= index.sids) return {};
    return {run.lo, static_cast<uint32_t>(std::min<uint64_t>(run.count, index.sids - run.lo))};
  }
  const LevelView& at = index.level[level];
  if (node >= at.nodes) return {};
  const uint64_t lo = std::min(at.ordinals[node], index.sids);
  uint64_t hi = clamped(at.ordinals[node + 1], lo, std::min(lo + kMaxRun + kMaxLevels, index.sids));
  // SIDs that ended above may lie before the next node.
  while (hi > lo + 1 && ended_above_tail(index, hi - 1)) --hi;
  return {lo, static_cast<uint32_t>(std::min<uint64_t>(hi - lo, kMaxRun))};
}

struct TakesAll {
  SIDBEAM_HD bool operator()(uint32_t) const { return true; }
};

// The children of the node with this run, one after the other: where each begins and its code, as far as it is a code
// of a SID i of the run for which takes(i). A child begins wherever the code rises; the split bit says the same. In
// damaged rows this also limits their number to that of the codes.
template <class Entries, class Takes = TakesAll>
class RunChildren {
 public:
  SIDBEAM_HD RunChildren(const IndexView& index, int level, const Run& run, const Entries& entries, Takes takes = {})
      : entries_(entries),
        takes_(takes),
        at_(tail_entry(index, run.lo, level)),
        width_(tail_width(index)),
        count_(run.count),
        bound_(index.level[level].codes + (index.variable_length ? 1 : 0)) {
    seek();
  }
  SIDBEAM_HD bool is_there() const { return sid_ < count_; }
  // The child's first SID, counted from the run's first; the run's count after the last child.
  SIDBEAM_HD uint32_t sid() const { return sid_; }
  SIDBEAM_HD uint32_t token() const { return token_; }
  SIDBEAM_HD void next() {
    least_ = token_ + 1;
    ++sid_;
    at_ += width_;
    seek();
  }

 private:
  SIDBEAM_HD void seek() {
    for (; sid_ < count_; ++sid_, at_ += width_) {
      token_ = entries_.token(at_);
      if (token_ >= least_ && token_ < bound_ && takes_(sid_)) return;
    }
  }
  Entries entries_;
  Takes takes_;
  uint64_t at_, width_;
  uint32_t count_, bound_, sid_ = 0, token_ = 0, least_ = 0;
};

// Writes the codes that may follow in the node with this run, in ascending order, with the end (V_l) last, as far as
// they are codes of a SID i of the run for which takes(i). Returns their number, which is at most kMaxRun and at most
// V_l + 1.
template <class Takes = TakesAll>
SIDBEAM_HD inline uint32_t tail_children(const IndexView& index, int level, const Run& run, uint32_t* tokens,
                                         const Takes& takes = {}) {
  return read_tail(index.tail, [&](const auto& entries) {
    uint32_t count = 0;
    for (RunChildren child(index, level, run, entries, takes); child.is_there(); child.next())
      tokens[count++] = child.token();
    return count;
  });
}

// The SIDs below the child that `token` leads to from the node with this run; count 0 if there is no such child.
SIDBEAM_HD inline Run tail_child(const IndexView& index, int level, const Run& run, uint32_t token) {
  const uint64_t first = tail_entry(index, run.lo, level), width = tail_width(index);
  return read_tail(index.tail, [&](const auto& entries) {
    const auto token_of = [&](uint32_t i) { return entries.token(first + i * width); };
    uint32_t lo = 0, hi = run.count;
    while (lo < hi) {
      const uint32_t middle = lo + (hi - lo) / 2;
      if (token_of(middle) < token) {
        lo = middle + 1;
      } else {
        hi = middle;
      }
    }
    for (hi = lo; hi < run.count && token_of(hi) == token; ++hi) {
    }
    return Run{run.lo + lo, hi - lo};
  });
}

// Whether `run` is the run of a node of level `level` > T, reached through the end if `ended` is set.
SIDBEAM_HD inline bool is_run(const IndexView& index, int level, const Run& run, bool ended) {
  if (run.lo >= index.sids || run.count > index.sids - run.lo) return false;
  const uint64_t first = tail_entry(index, run.lo, level - 1), width = tail_width(index);
  return read_tail(index.tail, [&](const auto& entries) {
    // A SID that ended above begins no edge and lies below no edge.
    const auto begins = [&](uint64_t at) {
      return entries.split(at) || is_tail_end(index, level - 1, entries.token(at));
    };
    if (!entries.split(first) || ended != is_tail_end(index, level - 1, entries.token(first))) return false;
    for (uint32_t i = 1; i < run.count; ++i) {
      if (begins(first + i * width)) return false;
    }
    return run.lo + run.count == index.sids || begins(first + run.count * width);
  });
}

}  // namespace sidbeam
