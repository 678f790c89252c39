// The best candidates of a request, in bounded memory.
//
// A candidate is a score and a place (beam << 20 | token). Candidates come in the order of places, so once `width` are
// held a later one must beat the worst of them strictly, and appending needs no more than a comparison with a
// threshold. When the workspace is full it is cut back to the best `width`, by the full key, and the threshold rises:
// exact with all scores equal, and amortised where every candidate beats those before. SPDX-License-Identifier:
// Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cpu/kernels.h"
#include "support/memory.h"

namespace sidbeam::cpu {

inline constexpr int kTokenBits = 20;  // of a place; beams have the other 12

inline uint32_t place_of(int32_t beam, uint32_t token) { return static_cast<uint32_t>(beam) << kTokenBits | token; }
inline int32_t beam_of(uint32_t place) { return static_cast<int32_t>(place >> kTokenBits); }
inline uint32_t token_of(uint32_t place) { return place & ((1U << kTokenBits) - 1); }

class Selection {
 public:
  // Room for the best `width` of anything: max(4 * width, width + 1024) keys.
  static int64_t capacity_for(int64_t width) { return width * 4 > width + kPiece ? width * 4 : width + kPiece; }

  Selection() = default;
  Selection(const Allocator& allocator, int64_t width);

  void reset(int32_t width);
  // A score that every further candidate must beat; -inf until `width` candidates are held for sure.
  float threshold() const { return threshold_; }
  int32_t count() const { return count_; }

  void push(float score, uint32_t place);
  // See Kernels::append and append_masked.
  void append(const Kernels& kernels, const RowScore& row, const float* x, const uint32_t* tokens, uint32_t first_token,
              int64_t n);
  void append_masked(const Kernels& kernels, const RowScore& row, const float* x, const uint64_t* mask, int64_t n);

  // The best min(width, count), best first, into scores() and places(); returns their number.
  int32_t finish();
  const float* scores() const { return scores_.data(); }
  const uint32_t* places() const { return places_.data(); }

  int64_t shrinks() const { return shrinks_; }
  int64_t memory_bytes() const { return scores_.bytes() + places_.bytes() + keys_.bytes(); }

 private:
  static constexpr int32_t kPiece = 1024;  // candidates appended between two looks at the room

  void make_room(int32_t n) {
    if (count_ + n > capacity_) shrink();
  }
  void shrink();
  void keys_from_candidates();
  void candidates_from_keys(int32_t n);

  Buffer<float> scores_;     // [capacity + slack]
  Buffer<uint32_t> places_;  // [capacity + slack]
  Buffer<uint64_t> keys_;    // [capacity]
  int32_t capacity_ = 0, width_ = 0, count_ = 0;
  float threshold_ = 0.0F;
  int64_t shrinks_ = 0;
};

}  // namespace sidbeam::cpu
