// torch.log_softmax, masked_fill, add and topk as PyTorch's CPU kernels do them (aten/src/ATen/native/TopKImpl.h:
// pairs, partial_sort where k * 64 <= n, else nth_element and sort), in one thread. Kinder than PyTorch: the
// log-sum-exp is ours, and adding the beam's score and masking are one pass. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "pages.h"
#include "selector.h"
#include "vectorised.h"

namespace bench {
namespace {

BENCH_VECTORISED void write_log_probs(const RowScale& row, const float* x, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) {
    const float log_prob = (x[i] - row.ref) - row.rest;
    out[i] = log_prob < 0.0F ? log_prob : 0.0F;
  }
}

BENCH_VECTORISED void write_masked(float score, const float* log_probs, const uint8_t* mask, int64_t n, float* out) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < n; ++i) out[i] = mask[i] != 0 ? score + log_probs[i] : kNone;
}

BENCH_VECTORISED void write_sums(float score, const float* log_probs, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = score + log_probs[i];
}

using Pair = std::pair<float, int64_t>;

class TorchSelector final : public Selector {
 public:
  TorchSelector(int32_t beams, int64_t width)
      : beams_(beams), width_(width), log_probs_(beams * width), scores_(beams * width) {}

  void begin() override { rows_ = 0; }

  void add(int32_t beam, const RowScale& row, const float* x, const uint8_t* mask) override {
    rows_ = beam + 1;
    float* log_probs = log_probs_.data() + beam * width_;
    float* scores = scores_.data() + beam * width_;
    write_log_probs(row, x, width_, log_probs);
    if (mask != nullptr) {
      write_masked(row.score, log_probs, mask, width_, scores);
    } else {
      write_sums(row.score, log_probs, width_, scores);
    }
  }

  int32_t finish(Candidate* best) override {
    const int64_t n = rows_ * width_, k = std::min<int64_t>(beams_, n);
    queue_.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) queue_.data()[i] = {scores_[i], i};
    const auto greater = [](const Pair& a, const Pair& b) { return a.first > b.first; };
    const auto kth = queue_.begin() + k;
    if (k * 64 <= n) {
      std::partial_sort(queue_.begin(), kth, queue_.end(), greater);
    } else {
      std::nth_element(queue_.begin(), kth - 1, queue_.end(), greater);
      std::sort(queue_.begin(), kth - 1, greater);
    }
    int32_t count = 0;
    for (auto pair = queue_.begin(); pair != kth; ++pair) {
      if (pair->first == -std::numeric_limits<float>::infinity()) break;
      best[count++] = {pair->first, static_cast<int32_t>(pair->second / width_), pair->second % width_};
    }
    return count;
  }

 private:
  int32_t beams_;
  int64_t width_, rows_ = 0;
  Pages<float> log_probs_, scores_;  // [M, width]
  std::vector<Pair> queue_;
};

}  // namespace

std::unique_ptr<Selector> make_torch_selector(int32_t beams, int64_t width) {
  return std::make_unique<TorchSelector>(beams, width);
}

}  // namespace bench
