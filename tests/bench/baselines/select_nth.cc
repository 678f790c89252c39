// Mask in place, then std::nth_element over one 64-bit key per column. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>

#include "pages.h"
#include "selector.h"
#include "vectorised.h"

namespace bench {
namespace {

BENCH_VECTORISED void write_keys(const RowScale& row, uint32_t place, const float* x, int64_t n, uint64_t* keys) {
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of(score_of(row, x[i]), place + static_cast<uint32_t>(i));
}

BENCH_VECTORISED void write_masked_keys(const RowScale& row, uint32_t place, const float* x, const uint8_t* mask,
                                        int64_t n, uint64_t* keys) {
  for (int64_t i = 0; i < n; ++i) {
    const float score = mask[i] != 0 ? score_of(row, x[i]) : -std::numeric_limits<float>::infinity();
    keys[i] = key_of(score, place + static_cast<uint32_t>(i));
  }
}

class NthSelector final : public Selector {
 public:
  NthSelector(int32_t beams, int64_t width) : beams_(beams), width_(width), keys_(beams * width) {}

  void begin() override { rows_ = 0; }

  void add(int32_t beam, const RowScale& row, const float* x, const uint8_t* mask) override {
    rows_ = beam + 1;
    uint64_t* keys = keys_.data() + beam * width_;
    const auto place = static_cast<uint32_t>(beam * width_);
    if (mask != nullptr) {
      write_masked_keys(row, place, x, mask, width_, keys);
    } else {
      write_keys(row, place, x, width_, keys);
    }
  }

  int32_t finish(Candidate* best) override { return take_best(keys_.data(), rows_ * width_, beams_, width_, best); }

 private:
  int32_t beams_;
  int64_t width_, rows_ = 0;
  Pages<uint64_t> keys_;  // [M, width]
};

}  // namespace

int32_t take_best(uint64_t* keys, int64_t count, int32_t most, int64_t width, Candidate* best) {
  const int64_t kept = std::min<int64_t>(most, count);
  if (kept < count) std::nth_element(keys, keys + kept, keys + count, std::greater<>());
  std::sort(keys, keys + kept, std::greater<>());
  int32_t taken = 0;
  for (; taken < kept; ++taken) {
    const float score = score_of(keys[taken]);
    if (score == -std::numeric_limits<float>::infinity()) break;
    const int64_t place = place_of(keys[taken]);
    best[taken] = {score, static_cast<int32_t>(place / width), place % width};
  }
  return taken;
}

std::unique_ptr<Selector> make_nth_selector(int32_t beams, int64_t width) {
  return std::make_unique<NthSelector>(beams, width);
}

}  // namespace bench
