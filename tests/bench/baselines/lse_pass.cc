// SPDX-License-Identifier: Apache-2.0
#include "lse_pass.h"

#include <vector>

#include "normalizer.h"

namespace bench {
namespace {

class LsePass final : public Method {
 public:
  explicit LsePass(const Shape& shape)
      : shape_(shape), out_(static_cast<size_t>(shape.slots) * static_cast<size_t>(shape.beams)) {}

  void start() override {}

  void step(int32_t level, const Rows& rows) override {
    const int32_t live = level == 0 ? 1 : shape_.beams;
    if (shape_.lse != nullptr) return;
    Normalizer* out = out_.data();
    sidbeam::cpu::PartialSum sums[2];  // a row's end is waited for during the next one
    int64_t row = 0;
    for (int32_t slot = 0; slot < shape_.slots; ++slot) {
      for (int32_t m = 0; m < live; ++m, ++row) {
        sum_exp(rows, shape_, slot, m, sums[row % 2]);
        if (row > 0) *out++ = sidbeam::cpu::log_of(sums[(row - 1) % 2]);
      }
    }
    if (row > 0) *out = sidbeam::cpu::log_of(sums[(row - 1) % 2]);
  }

  BeamsView beams() const override { return {}; }

 private:
  Shape shape_;
  std::vector<Normalizer> out_;  // of the last step
};

}  // namespace

std::unique_ptr<Method> make_lse_pass(const Shape& shape) { return std::make_unique<LsePass>(shape); }

}  // namespace bench
