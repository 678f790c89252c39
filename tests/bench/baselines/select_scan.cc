// Mask in place, then a scan that keeps what is above the M-th best so far. It is the best that we could write for
// masked rows, and in no paper; it shows what a mask costs if everything else is as fast as ours. A block whose mask is
// empty, or whose largest element cannot beat the M-th best, costs a vector comparison; kept keys are cut back to M
// when there are four times as many. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "pages.h"
#include "selector.h"
#include "vectorised.h"

namespace bench {
namespace {

constexpr int64_t kBlock = 128;  // 64: 32 branches per row of 2048; 256: too many columns to look at for one candidate

BENCH_VECTORISED bool any_set(const uint8_t* mask, int64_t n) {
  uint8_t any = 0;
  for (int64_t i = 0; i < n; ++i) any = static_cast<uint8_t>(any | mask[i]);
  return any != 0;
}

// Not the maximum of the block: because of NaN the compiler does not vectorise that.
BENCH_VECTORISED bool any_above(const float* x, int64_t n, float bound) {
  uint32_t any = 0;
  for (int64_t i = 0; i < n; ++i) any |= x[i] > bound ? 1U : 0U;
  return any != 0;
}

class ScanSelector final : public Selector {
 public:
  ScanSelector(int32_t beams, int64_t width)
      : beams_(beams), width_(width), capacity_(int64_t{4} * beams + kBlock), keys_(capacity_ + kBlock) {}

  void begin() override {
    count_ = 0;
    threshold_ = -std::numeric_limits<float>::infinity();
  }

  void add(int32_t beam, const RowScale& row, const float* x, const uint8_t* mask) override {
    float bound = bound_of(row);
    for (int64_t first = 0; first < width_; first += kBlock) {
      const int64_t n = std::min(kBlock, width_ - first);
      if (mask != nullptr && !any_set(mask + first, n)) continue;
      if (!any_above(x + first, n, bound)) continue;
      keep(row, x + first, mask != nullptr ? mask + first : nullptr, n, static_cast<uint32_t>(beam * width_ + first));
      if (count_ < capacity_) continue;
      cut_back();
      bound = bound_of(row);
    }
  }

  int32_t finish(Candidate* best) override { return take_best(keys_.data(), count_, beams_, width_, best); }

 private:
  // Elements at or below it score no more than the threshold, rounding and all.
  float bound_of(const RowScale& row) const {
    const float bound = ((threshold_ - row.score) + row.rest) + row.ref;
    return bound - 1e-5F * (std::fabs(threshold_) + std::fabs(row.score) + std::fabs(row.ref) + 1.0F);
  }

  // Scores equal to the threshold come later than the M that are already there, so they lose.
  void keep(const RowScale& row, const float* x, const uint8_t* mask, int64_t n, uint32_t place) {
    for (int64_t i = 0; i < n; ++i) {
      if (mask != nullptr && mask[i] == 0) continue;
      const float score = score_of(row, x[i]);
      keys_[count_] = key_of(score, place + static_cast<uint32_t>(i));
      count_ += score > threshold_ ? 1 : 0;
    }
  }

  void cut_back() {
    std::nth_element(keys_.data(), keys_.data() + beams_ - 1, keys_.data() + count_, std::greater<>());
    count_ = beams_;
    threshold_ = score_of(keys_[beams_ - 1]);
  }

  int32_t beams_;
  int64_t width_, capacity_, count_ = 0;
  float threshold_ = 0;
  Pages<uint64_t> keys_;
};

}  // namespace

std::unique_ptr<Selector> make_scan_selector(int32_t beams, int64_t width) {
  return std::make_unique<ScanSelector>(beams, width);
}

}  // namespace bench
