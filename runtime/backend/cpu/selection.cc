// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/selection.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

namespace sidbeam::cpu {
namespace {

// Higher keys are better: higher score, then lower place. Scores are neither NaN nor -0.
uint64_t key_of(float score, uint32_t place) {
  const auto bits = std::bit_cast<uint32_t>(score);
  const uint32_t ordered = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return uint64_t{ordered} << 32 | static_cast<uint32_t>(~place);
}

float score_of(uint64_t key) {
  const auto ordered = static_cast<uint32_t>(key >> 32);
  return std::bit_cast<float>((ordered & 0x80000000U) != 0 ? ordered & 0x7FFFFFFFU : ~ordered);
}

uint32_t place_of_key(uint64_t key) { return ~static_cast<uint32_t>(key); }

}  // namespace

Selection::Selection(const Allocator& allocator, int64_t width)
    : scores_(allocator, capacity_for(width) + kVectorSlack),
      places_(allocator, capacity_for(width) + kVectorSlack),
      keys_(allocator, capacity_for(width)),
      capacity_(static_cast<int32_t>(capacity_for(width))) {}

void Selection::reset(int32_t width) {
  width_ = width;
  count_ = 0;
  threshold_ = -std::numeric_limits<float>::infinity();
}

void Selection::push(float score, uint32_t place) {
  if (!(score > threshold_)) return;
  make_room(1);
  scores_[count_] = score;
  places_[count_] = place;
  ++count_;
}

void Selection::append(const Kernels& kernels, const RowScore& row, const float* x, const uint32_t* tokens,
                       uint32_t first_token, int64_t n) {
  for (int64_t i = 0; i < n; i += kPiece) {
    const auto piece = static_cast<int32_t>(std::min<int64_t>(kPiece, n - i));
    make_room(piece);
    count_ +=
        kernels.append(row, threshold_, x + i, tokens != nullptr ? tokens + i : nullptr,
                       first_token + static_cast<uint32_t>(i), piece, scores_.data() + count_, places_.data() + count_);
  }
}

void Selection::append_masked(const Kernels& kernels, const RowScore& row, const float* x, const uint64_t* mask,
                              int64_t n) {
  for (int64_t i = 0; i < n; i += kPiece) {
    const auto piece = static_cast<int32_t>(std::min<int64_t>(kPiece, n - i));
    make_room(piece);
    count_ += kernels.append_masked(row, threshold_, x + i, mask + i / 64, static_cast<uint32_t>(i), piece,
                                    scores_.data() + count_, places_.data() + count_);
  }
}

void Selection::keys_from_candidates() {
  for (int32_t i = 0; i < count_; ++i) keys_[i] = key_of(scores_[i], places_[i]);
}

void Selection::candidates_from_keys(int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    scores_[i] = score_of(keys_[i]);
    places_[i] = place_of_key(keys_[i]);
  }
  count_ = n;
}

void Selection::shrink() {
  if (count_ <= width_) return;
  keys_from_candidates();
  std::nth_element(keys_.begin(), keys_.begin() + (width_ - 1), keys_.begin() + count_, std::greater<>());
  candidates_from_keys(width_);
  threshold_ = scores_[width_ - 1];
  ++shrinks_;
}

int32_t Selection::finish() {
  shrink();
  keys_from_candidates();
  std::sort(keys_.begin(), keys_.begin() + count_, std::greater<>());
  candidates_from_keys(count_);
  return count_;
}

}  // namespace sidbeam::cpu
