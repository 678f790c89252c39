// The best candidates of a request, in bounded memory.
//
// A candidate is a score and a place (beam << 20 | token). Candidates come in the order of places, so once `width` are
// held a later one must beat the worst of them strictly, and appending needs no more than a comparison with a
// threshold. When twice `width` are held they are cut back to the best, ties to the first, and the threshold rises:
// exact with all scores equal, and amortised where every candidate beats those before. (Three times: fewer cuts, but,
// simulated for M = 70, two fifths more blocks to look at.) Since the order of places is kept throughout, scores alone are compared and no
// key is ever made. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cpu/kernels.h"
#include "support/memory.h"

namespace sidbeam::cpu {

inline uint32_t place_of(int32_t beam, uint32_t token) { return static_cast<uint32_t>(beam) << kTokenBits | token; }
inline int32_t beam_of(uint32_t place) { return static_cast<int32_t>(place >> kTokenBits); }
inline uint32_t token_of(uint32_t place) { return place & ((1U << kTokenBits) - 1); }

class Selection {
 public:
  // Room for the best `width` of anything.
  static int64_t capacity_for(int64_t width) { return width * 2 + kBlock; }

  Selection() = default;
  Selection(const Kernels& kernels, const Allocator& allocator, int64_t width);

  void reset(int32_t width);
  // A score that every further candidate must beat; -inf until `width` candidates are held for sure.
  float threshold() const { return threshold_; }
  int32_t count() const { return count_; }
  // Cuts since reset.
  int64_t shrinks() const { return shrinks_; }

  void push(float score, uint32_t place) {
    if (!(score > threshold_)) return;
    if (count_ == capacity_) shrink();
    scores_[count_] = score;
    places_[count_] = place;
    count_ += score > threshold_ ? 1 : 0;
  }
  // See Kernels::append and append_slice.
  void append(const RowScore& row, const float* x, const uint32_t* tokens, int32_t n);
  void append_slice(const RowScore& row, const Slice& slice);
  // Candidates of later beams than all that are held.
  void append(const Selection& later);
  // Leaves the best; returns how many. Calls visit(rank, score, place) for each of them, once and in any order, where
  // rank is its place in the order score falling, place rising.
  template <class Visit>
  int32_t finish(const Visit& visit);
  // The same, into scores() and places().
  int32_t finish();
  const float* scores() const { return sorted_scores_.data(); }
  const uint32_t* places() const { return sorted_places_.data(); }

  int64_t memory_bytes() const {
    return scores_.bytes() + places_.bytes() + sorted_scores_.bytes() + sorted_places_.bytes() + ranks_.bytes() +
           ties_.bytes();
  }

 private:
  Room room() { return {scores_.data() + count_, places_.data() + count_, capacity_ - count_}; }
  // Candidates in memory, in order of places or sorted; the rank of each, or nullptr where it is its number.
  struct Ranked {
    const float* scores;
    const uint32_t* places;
    const uint32_t* ranks;
  };

  void shrink();
  Ranked ranked();
  void sort_by_digits(Ranked& sorted);

  const Kernels* kernels_ = nullptr;
  Buffer<float> scores_;     // [capacity + slack]
  Buffer<uint32_t> places_;  // [capacity + slack]
  Buffer<float> sorted_scores_;
  Buffer<uint32_t> sorted_places_, ranks_, ties_;
  int32_t capacity_ = 0, width_ = 0, count_ = 0;
  float threshold_ = 0.0F;
  int64_t shrinks_ = 0;
};

template <class Visit>
int32_t Selection::finish(const Visit& visit) {
  shrink();
  const Ranked best = ranked();
  const int32_t n = count_;
  if (best.ranks != nullptr) {
    for (int32_t i = 0; i < n; ++i) visit(static_cast<int32_t>(best.ranks[i]), best.scores[i], best.places[i]);
  } else {
    for (int32_t i = 0; i < n; ++i) visit(i, best.scores[i], best.places[i]);
  }
  return n;
}

}  // namespace sidbeam::cpu
