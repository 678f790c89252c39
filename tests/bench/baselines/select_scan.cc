// Mask in place, then a scan that keeps what is above the M-th best so far: the best that we could write for masked
// rows. Blocks without such a score cost a vector comparison; kept keys are cut back to M when four times as many have
// come together. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>

#include "pages.h"
#include "selector.h"
#include "vectorised.h"

namespace bench {
namespace {

constexpr int64_t kBlock = 256;

// Scores of a block as integers that rise with them, and the largest. (A maximum of floats is not vectorised, for the
// sake of NaN.)
BENCH_VECTORISED uint32_t write_block(const RowScale& row, const float* x, int64_t n, uint32_t* out) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = ordered(score_of(row, x[i]));
    largest = out[i] > largest ? out[i] : largest;
  }
  return largest;
}

BENCH_VECTORISED uint32_t write_masked_block(const RowScale& row, const float* x, const uint8_t* mask, int64_t n,
                                             uint32_t* out) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = mask[i] != 0 ? ordered(score_of(row, x[i])) : 0;
    largest = out[i] > largest ? out[i] : largest;
  }
  return largest;
}

class ScanSelector final : public Selector {
 public:
  ScanSelector(int32_t beams, int64_t width)
      : beams_(beams), width_(width), capacity_(int64_t{4} * beams + kBlock), keys_(capacity_ + kBlock) {}

  void begin() override {
    count_ = 0;
    threshold_ = 0;
  }

  void add(int32_t beam, const RowScale& row, const float* x, const uint8_t* mask) override {
    alignas(64) uint32_t block[kBlock];
    for (int64_t first = 0; first < width_; first += kBlock) {
      const int64_t n = std::min(kBlock, width_ - first);
      const uint32_t largest = mask == nullptr ? write_block(row, x + first, n, block)
                                               : write_masked_block(row, x + first, mask + first, n, block);
      if (largest > threshold_) keep(block, n, static_cast<uint32_t>(beam * width_ + first));
    }
  }

  int32_t finish(Candidate* best) override { return take_best(keys_.data(), count_, beams_, width_, best); }

 private:
  // Scores equal to the threshold come later than the M that are already there, so they lose.
  void keep(const uint32_t* block, int64_t n, uint32_t place) {
    for (int64_t i = 0; i < n; ++i) {
      keys_[count_] = uint64_t{block[i]} << 32 | ~(place + static_cast<uint32_t>(i));
      count_ += block[i] > threshold_ ? 1 : 0;
    }
    if (count_ < capacity_) return;
    std::nth_element(keys_.data(), keys_.data() + beams_ - 1, keys_.data() + count_, std::greater<>());
    count_ = beams_;
    threshold_ = static_cast<uint32_t>(keys_[beams_ - 1] >> 32);
  }

  int32_t beams_;
  int64_t width_, capacity_, count_ = 0;
  uint32_t threshold_ = 0;  // as ordered(): 0 is below every score
  Pages<uint64_t> keys_;
};

}  // namespace

std::unique_ptr<Selector> make_scan_selector(int32_t beams, int64_t width) {
  return std::make_unique<ScanSelector>(beams, width);
}

}  // namespace bench
