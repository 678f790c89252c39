// The best candidates of a slot, in bounded memory.
//
// A candidate is a score and a place (score.h). Candidates arrive in the order of places. Once `width` are
// held, a later one must therefore strictly beat the worst of them, and appending is one comparison with a threshold.
// When twice `width` are held, they are cut back to the best (the first ones among equals) and the threshold rises.
// This is exact even if all scores are equal, and its cost is amortised even if every candidate beats those before it.
// (Cutting at three times `width` means fewer cuts but, simulated for M = 70, two fifths more blocks to scan.) The
// order of places is kept throughout, so only scores are compared and no keys are needed.
//
// Slices wait until there are several. The threshold for the first batch is a guess that should let slightly more than
// `width` candidates through; if fewer come, the guess was wrong and the batch is scanned again. (Simulated for M = 70,
// a fifth of 2048 codes valid, sixteen rows: 198 blocks are scanned instead of 344; with the final threshold it would
// be 156. A guess from eight rows leaves 225, and the costlier best codes of parts of eight rows do no better.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "backend/cpu/kernels.h"
#include "support/memory.h"

namespace sidbeam::cpu {

class Selection {
 public:
  // The room needed to select the best `width`.
  static int64_t capacity_for(int64_t width) { return width * 2 + kBlock; }

  Selection() = default;
  Selection(const Kernels& kernels, const Allocator& allocator, int64_t width);

  void reset(int32_t width);
  // The score that every further candidate must beat; -inf until `width` candidates are certain. Like count(), it
  // ignores waiting slices.
  float threshold() const { return threshold_; }
  int32_t count() const { return count_; }
  // Cuts since reset.
  int64_t shrinks() const { return shrinks_; }

  void push(float score, uint32_t place) {
    if (!(score > threshold_)) return;
    if (count_ >= limit_) make_room();
    scores_[count_] = score;
    places_[count_] = place;
    count_ += score > threshold_ ? 1 : 0;
  }
  // See Kernels::append.
  void append(const RowScore& row, const float* x, const uint32_t* tokens, int32_t n);
  // See Kernels::append_list.
  void append_list(const RowScore& row, const float* data, const TokenList& list, uint32_t codes);
  // See Kernels::append_short.
  void append_short(const ShortList* lists, const uint32_t* tokens, int32_t n);
  // Queues a slice. Its row may be read until flush() or any other call that appends.
  void append_slice(const RowScore& row, const Slice& slice) {
    if (waiting_ == kMostSlices) flush();
    slices_[waiting_++] = {row, slice};
    limit_ = 0;
  }
  // Appends the queued slices.
  void flush();
  // Room for n candidates that are accepted whatever their scores; none if there is a threshold or they do not fit. The
  // caller writes only scores above -inf.
  Room room_for(int32_t n) {
    flush();
    const bool takes_all = threshold_ == -std::numeric_limits<float>::infinity() && n <= capacity_ - count_;
    return takes_all ? room() : Room{};
  }
  void take(int32_t n) { count_ += n; }
  // Appends candidates of beams that come after all beams held.
  void append(const Selection& later);
  // Returns the best, in the order of their places and without a ranking. Valid until the next reset, as choose()'s.
  Chosen keep();
  // Returns the best, by falling score, then by rising place.
  Chosen choose();
  // The same, into scores() and places(); returns their number.
  int32_t finish();
  const float* scores() const { return sorted_scores_.data(); }
  const uint32_t* places() const { return sorted_places_.data(); }

  int64_t memory_bytes() const {
    return scores_.bytes() + places_.bytes() + sorted_scores_.bytes() + sorted_places_.bytes() + ranks_.bytes() +
           ties_.bytes() + order_.bytes();
  }

 private:
  void append_waiting();
  void raise();
  void make_room() {
    flush();
    if (count_ == capacity_) shrink();
  }
  Room room() { return {scores_.data() + count_, places_.data() + count_, capacity_ - count_}; }
  void shrink();
  void order_by_ranks();
  void sort_by_digits(Chosen& sorted);

  const Kernels* kernels_ = nullptr;
  Buffer<float> scores_;     // [capacity + slack]
  Buffer<uint32_t> places_;  // [capacity + slack]
  Buffer<float> sorted_scores_;
  Buffer<uint32_t> sorted_places_, ranks_, ties_, order_;
  int32_t capacity_ = 0, width_ = 0, count_ = 0;
  int32_t limit_ = 0;  // where push() makes room: capacity_, or 0 while slices wait
  int32_t waiting_ = 0;
  int32_t next_raise_ = 0;  // number held when the threshold is raised next
  RowSlice slices_[kMostSlices];
  float threshold_ = 0.0F;
  int64_t shrinks_ = 0;
};

}  // namespace sidbeam::cpu
