// The best candidates of a request, in bounded memory.
//
// A candidate is a score and a place (beam << 20 | token). Candidates come in the order of places, so once `width` are
// held a later one must beat the worst of them strictly, and appending needs no more than a comparison with a
// threshold. When twice `width` are held they are cut back to the best, ties to the first, and the threshold rises:
// exact with all scores equal, and amortised where every candidate beats those before. (Three times means fewer cuts
// but, simulated for M = 70, two fifths more blocks to look at.) The order of places is kept throughout, so scores
// alone are compared and no key is ever made.
//
// Slices wait until there are several. From the first ones a threshold is guessed that lets slightly more than `width`
// candidates through; where fewer come the guess was wrong, and they are looked at again. (Simulated for M = 70, a
// fifth of 2048 codes valid, sixteen rows: 198 blocks are looked at instead of 344; the final threshold would leave
// 156. A guess from eight rows leaves 225, and the costlier best codes of parts of eight rows do no better.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "backend/cpu/kernels.h"
#include "support/memory.h"

namespace sidbeam::cpu {

class Selection {
 public:
  // Room for the best `width` of anything.
  static int64_t capacity_for(int64_t width) { return width * 2 + kBlock; }

  Selection() = default;
  Selection(const Kernels& kernels, const Allocator& allocator, int64_t width);

  void reset(int32_t width);
  // A score that every further candidate must beat; -inf until `width` candidates are certain. Like count(), it does
  // not know the slices that wait.
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
  // Takes note of a slice, whose row may be read until flush() or any other call that appends.
  void append_slice(const RowScore& row, const Slice& slice) {
    if (waiting_ == kMostSlices) flush();
    slices_[waiting_++] = {row, slice};
    limit_ = 0;
  }
  // Appends the slices noted.
  void flush();
  // Room for n candidates that are taken whatever their scores; none where a threshold holds or they are too many. The
  // caller puts only scores above -inf there.
  Room room_for(int32_t n) {
    flush();
    const bool takes_all = threshold_ == -std::numeric_limits<float>::infinity() && n <= capacity_ - count_;
    return takes_all ? room() : Room{};
  }
  void take(int32_t n) { count_ += n; }
  // Candidates of beams after all of those that are held.
  void append(const Selection& later);
  // Leaves the best, in the order score falling, place rising. Valid until the next reset.
  Chosen choose();
  // The same, into scores() and places(); returns how many.
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
  int32_t next_raise_ = 0;  // how many are held when the threshold is raised next
  RowSlice slices_[kMostSlices];
  float threshold_ = 0.0F;
  int64_t shrinks_ = 0;
};

}  // namespace sidbeam::cpu
