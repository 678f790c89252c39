// Makes an overlay (index/overlay.h) of a base and a delta.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/overlay.h"
#include "index/read/repeats.h"
#include "support/memory.h"

namespace sidbeam {

// The numbers that a snapshot's SIDs and item rows have from then on.
struct OverlayNumbers {
  uint64_t sids = 0, items = 0;  // of base and delta together
  const uint64_t* ordinals;      // [delta.sids]
  const uint64_t* rows;          // [delta.items]
};

struct LevelJoin;  // overlay.cc
struct JoinedPiece;

class Overlay {
 public:
  // The delta is a plain trie of the base's levels, codes and lengths. Both must stay.
  Overlay(const IndexView& base, const IndexView& delta, int threads, const Allocator& allocator);

  // [delta.sids] the base's ordinal of a SID of the delta, or kNoNode; until set_numbers().
  const uint64_t* base_ordinals() const { return base_ordinals_.data(); }
  // To be called once, before the view is used.
  void set_numbers(const OverlayNumbers& numbers, const Allocator& allocator);

  const OverlayView& view() const { return view_; }
  int64_t bytes() const;

 private:
  struct LevelRows {
    Buffer<uint64_t> nodes, base;  // of the joined nodes: the delta's and the base's
    Buffer<uint64_t> joined;
    Buffer<uint32_t> ranks;
    UintBuffer row_pointers;
    Buffer<uint8_t> tokens;
    Buffer<uint64_t> dense_bits, masks;
    Buffer<uint32_t> dense_ranks;
  };
  void set_joined(int32_t number, uint64_t delta_nodes, const Allocator& allocator);
  void merge_rows(const LevelJoin& join, const std::vector<JoinedPiece>& pieces, const uint32_t* counts, int threads,
                  const Allocator& allocator);
  void join_next(int32_t number, const std::vector<JoinedPiece>& pieces, const Allocator& allocator);
  void note_leaves(int32_t number);

  const IndexView& base_;
  const IndexView& delta_;
  std::vector<LevelRows> rows_;
  std::vector<OverlayLevel> levels_;
  Buffer<uint64_t> base_ordinals_;
  UintBuffer ordinals_, row_numbers_, delta_ordinals_, delta_rows_, shared_, shared_delta_;
  OverlayView view_;
};

}  // namespace sidbeam
