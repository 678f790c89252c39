// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/selection.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace sidbeam::cpu {
namespace {

// Up to about this number, n^2 / 16 comparisons are faster than four passes over digits.
constexpr int32_t kMostRanked = 224;

// An integer that rises as the score falls. Scores are neither NaN nor -0.
uint32_t falling(float score) {
  const auto bits = std::bit_cast<uint32_t>(score);
  return (bits & 0x80000000U) != 0 ? bits : ~bits & 0x7FFFFFFFU;
}

}  // namespace

Selection::Selection(const Kernels& kernels, const Allocator& allocator, int64_t width)
    : kernels_(&kernels),
      scores_(allocator, capacity_for(width) + 4 * kVectorSlack),
      places_(allocator, capacity_for(width) + kVectorSlack),
      sorted_scores_(allocator, width + kVectorSlack),
      sorted_places_(allocator, width + kVectorSlack),
      ranks_(allocator, std::min<int64_t>(width, kMostRanked) + 4 * kVectorSlack),
      ties_(allocator, std::min<int64_t>(width, kMostRanked)),
      order_(allocator, width) {}

void Selection::reset(int32_t width) {
  width_ = width;
  capacity_ = static_cast<int32_t>(capacity_for(width));
  count_ = waiting_ = 0;
  limit_ = capacity_;
  threshold_ = -kInfinity;
  shrinks_ = 0;
  next_raise_ = width + width / 4 + 1;
}

void Selection::append(const RowScore& row, const float* x, const uint32_t* tokens, int32_t n) {
  flush();
  for (int32_t next = 0; next >= 0 && n > 0;) {
    if (capacity_ - count_ < kBlock) shrink();
    const Appended got = kernels_->append(row, threshold_, x, tokens, next, n, room());
    count_ += got.kept;
    next = got.next;
  }
}

void Selection::append_list(const RowScore& row, const float* data, const TokenList& list, uint32_t codes) {
  flush();
  for (int32_t next = 0; next >= 0 && list.count > 0;) {
    if (capacity_ - count_ < kBlock) shrink();
    const Appended got = kernels_->append_list(row, threshold_, data, list, codes, next, room());
    count_ += got.kept;
    next = got.next;
  }
}

void Selection::append_short(const ShortList* lists, const uint32_t* tokens, int32_t n) {
  flush();
  for (int32_t next = 0; next >= 0 && n > 0;) {
    if (capacity_ - count_ < kBlock) shrink();
    const Appended got = kernels_->append_short(lists, tokens, next, n, threshold_, room());
    count_ += got.kept;
    next = got.next;
  }
}

void Selection::append_waiting() {
  for (SliceCursor next; next.row < waiting_;) {
    if (capacity_ - count_ < kBlock) shrink();
    count_ += kernels_->append_slices(slices_, waiting_, threshold_, next, room());
  }
}

void Selection::flush() {
  if (waiting_ == 0) return;
  const bool guesses = count_ == 0 && threshold_ == -kInfinity;
  if (guesses) threshold_ = kernels_->likely_threshold(slices_, waiting_, width_);
  append_waiting();
  if (guesses && count_ < width_ && threshold_ > -kInfinity) {
    threshold_ = -kInfinity;
    count_ = 0;
    append_waiting();
  }
  waiting_ = 0;
  limit_ = capacity_;
  if (count_ >= next_raise_) raise();
}

void Selection::append(const Selection& later) {
  append({0.0F, {}, false, 0}, later.scores_.data(), later.places_.data(), later.count_);
}

void Selection::shrink() {
  if (count_ <= width_) return;
  threshold_ = kernels_->keep_best(scores_.data(), places_.data(), count_, width_);
  count_ = width_;
  next_raise_ = width_ + width_ / 4 + 1;
  ++shrinks_;
}

// Raises the threshold before the room runs out, since many rows may still come. It goes near the width-th best, which
// takes fewer rounds than finding that one, and nothing is moved.
void Selection::raise() {
  threshold_ = std::max(threshold_, kernels_->near_best(scores_.data(), count_, width_));
  next_raise_ = count_ + width_ / 4 + 1;
}

// Four stable passes over bytes of the score, leaving out those in which all scores agree.
void Selection::sort_by_digits(Chosen& sorted) {
  uint32_t counts[4][256] = {};
  for (int32_t i = 0; i < count_; ++i)
    for (int digit = 0; digit < 4; ++digit) ++counts[digit][falling(scores_[i]) >> 8 * digit & 255];
  float *scores = scores_.data(), *sorted_scores = sorted_scores_.data();
  uint32_t *places = places_.data(), *sorted_places = sorted_places_.data();
  for (int digit = 0; digit < 4; ++digit) {
    uint32_t* count = counts[digit];
    if (count[falling(scores[0]) >> 8 * digit & 255] == static_cast<uint32_t>(count_)) continue;
    uint32_t sum = 0;
    for (int bucket = 0; bucket < 256; ++bucket) sum += std::exchange(count[bucket], sum);
    for (int32_t i = 0; i < count_; ++i) {
      const uint32_t to = count[falling(scores[i]) >> 8 * digit & 255]++;
      sorted_scores[to] = scores[i];
      sorted_places[to] = places[i];
    }
    std::swap(scores, sorted_scores);
    std::swap(places, sorted_places);
  }
  sorted.scores = scores;
  sorted.places = places;
  std::iota(order_.data(), order_.data() + count_, 0U);
}

// Places every candidate directly by its rank. If the ranks do not add up to those of n different places, some are
// shared; candidates that share one stay in the order of places.
void Selection::order_by_ranks() {
  uint32_t *ranks = ranks_.data(), *order = order_.data();
  kernels_->rank(scores_.data(), count_, ranks);
  const auto count = static_cast<uint32_t>(count_);
  if (std::accumulate(ranks, ranks + count, uint32_t{0}) != count * (count - 1) / 2) {
    uint32_t* shared = ties_.data();
    std::fill_n(shared, count_, 0U);
    for (int32_t i = 0; i < count_; ++i) ranks[i] += shared[ranks[i]]++;
  }
  for (uint32_t i = 0; i < count; ++i) order[ranks[i]] = i;
}

Chosen Selection::keep() {
  flush();
  shrink();
  return {scores_.data(), places_.data(), nullptr, count_};
}

Chosen Selection::choose() {
  Chosen chosen = keep();
  chosen.order = order_.data();
  if (count_ > kMostRanked) {
    sort_by_digits(chosen);
  } else {
    order_by_ranks();
  }
  return chosen;
}

int32_t Selection::finish() {
  const Chosen chosen = choose();
  for (int32_t m = 0; m < chosen.count; ++m) {
    const uint32_t number = chosen.order[m];
    sorted_scores_[m] = chosen.scores[number];
    sorted_places_[m] = chosen.places[number];
  }
  return chosen.count;
}

}  // namespace sidbeam::cpu
