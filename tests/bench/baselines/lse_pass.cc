// SPDX-License-Identifier: Apache-2.0
#include "lse_pass.h"

#include <vector>

#include "normalizer.h"

namespace bench {
namespace {

class LsePass final : public Method {
 public:
  explicit LsePass(const Shape& shape)
      : shape_(shape),
        sums_(static_cast<size_t>(shape.beams) + sidbeam::cpu::kVectorSlack),
        out_(static_cast<size_t>(shape.slots) * static_cast<size_t>(shape.beams) + sidbeam::cpu::kVectorSlack) {}

  void start() override {}

  void step(int32_t level, const Rows& rows) override {
    const int32_t live = level == 0 ? 1 : shape_.beams;
    if (shape_.lse != nullptr) return;
    Normalizer* out = out_.data();
    const int64_t columns = columns_summed(rows, shape_);
    for (int32_t slot = 0; slot < shape_.slots; ++slot, out += live) {
      for (int32_t m = 0; m < live; ++m)
        kernels().sum_row(elements_of(rows, shape_, slot, m), columns, nullptr, sums_[static_cast<size_t>(m)]);
      kernels().log_sums(sums_.data(), live, columns, out);
    }
  }

  BeamsView beams() const override { return {}; }

 private:
  Shape shape_;
  std::vector<sidbeam::cpu::RowSum> sums_;  // of a slot
  std::vector<Normalizer> out_;             // of the last step
};

}  // namespace

std::unique_ptr<Method> make_lse_pass(const Shape& shape) { return std::make_unique<LsePass>(shape); }

}  // namespace bench
