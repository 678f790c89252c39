// xBeam's selection (xGR, section 6.2): each beam's candidates in falling order, one min-heap of the best M of all; a
// beam's scan ends at its first candidate that is not above the heap's top. Kinder than the paper: a beam's valid
// columns alone are sorted, at most M of them. With reuse, arrays are made once; without, the heap per step and the
// lists per beam.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <vector>

#include "selector.h"
#include "vectorised.h"

namespace bench {
namespace {

BENCH_VECTORISED void write_scores(const RowScale& row, const float* x, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = score_of(row, x[i]);
}

using Keys = std::vector<uint64_t>;

class HeapSelector final : public Selector {
 public:
  HeapSelector(int32_t beams, int64_t width, bool reuse)
      : beams_(static_cast<size_t>(beams)), width_(width), reuse_(reuse) {
    if (reuse) make();
  }

  void begin() override {
    if (!reuse_) {
      heap_ = Keys();
      heap_.reserve(beams_);
    }
    heap_.clear();
  }

  void add(int32_t beam, const RowScale& row, const float* x, const uint8_t* mask) override {
    if (!reuse_) {
      scores_ = std::vector<float>();
      keys_ = Keys();
      make();
    }
    write_scores(row, x, width_, scores_.data());
    const auto first = static_cast<uint32_t>(beam * width_);
    merge(sort_best(mask != nullptr ? take_valid(first, mask) : take_all(first)));
  }

  int32_t finish(Candidate* best) override {
    return take_best(heap_.data(), static_cast<int64_t>(heap_.size()), static_cast<int32_t>(beams_), width_, best);
  }

 private:
  void make() {
    scores_.resize(static_cast<size_t>(width_));
    keys_.resize(static_cast<size_t>(width_));
    heap_.reserve(beams_);
  }

  size_t take_valid(uint32_t first, const uint8_t* mask) {
    size_t count = 0;
    for (size_t i = 0; i < scores_.size(); ++i) {
      keys_[count] = key_of(scores_[i], first + static_cast<uint32_t>(i));
      count += mask[i] != 0 ? 1 : 0;
    }
    return count;
  }
  size_t take_all(uint32_t first) {
    for (size_t i = 0; i < scores_.size(); ++i) keys_[i] = key_of(scores_[i], first + static_cast<uint32_t>(i));
    return keys_.size();
  }

  // The beam's best, falling; returns how many.
  size_t sort_best(size_t count) {
    const size_t kept = std::min(beams_, count);
    const auto begin = keys_.begin(), end = begin + static_cast<std::ptrdiff_t>(kept);
    if (kept < count) std::nth_element(begin, end, begin + static_cast<std::ptrdiff_t>(count), std::greater<>());
    std::sort(begin, end, std::greater<>());
    return kept;
  }

  void merge(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (heap_.size() == beams_) {
        if (keys_[i] <= heap_.front()) return;
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        heap_.pop_back();
      }
      heap_.push_back(keys_[i]);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
  }

  size_t beams_;
  int64_t width_;
  bool reuse_;
  std::vector<float> scores_;  // of one row
  Keys keys_, heap_;
};

}  // namespace

std::unique_ptr<Selector> make_heap_selector(int32_t beams, int64_t width) {
  return std::make_unique<HeapSelector>(beams, width, true);
}

std::unique_ptr<Selector> make_fresh_heap_selector(int32_t beams, int64_t width) {
  return std::make_unique<HeapSelector>(beams, width, false);
}

}  // namespace bench
