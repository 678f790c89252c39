// SPDX-License-Identifier: Apache-2.0
#include "lse_pass.h"

#include <algorithm>
#include <vector>

#include "normalizer.h"

namespace bench {
namespace {

class LsePass final : public Method {
 public:
  explicit LsePass(const Shape& shape)
      : shape_(shape),
        rows_(static_cast<size_t>(shape.beams) + 1),
        out_(static_cast<size_t>(shape.slots) * static_cast<size_t>(shape.beams)) {}

  void start() override {}

  void step(int32_t level, const Rows& rows) override {
    const int64_t live = level == 0 ? 1 : shape_.beams;
    if (shape_.lse != nullptr) return;
    for (int64_t slot = 0; slot < shape_.slots; ++slot) {
      for (int64_t m = 0; m < live; ++m) rows_[static_cast<size_t>(m)] = rows.row(slot, m);
      rows_[static_cast<size_t>(live)] = nullptr;
      for (int64_t m = 0; m < live; m += sidbeam::cpu::kMostSummed) sum(rows, m, live, out_.data() + slot * live + m);
    }
  }

  BeamsView beams() const override { return {}; }

 private:
  void sum(const Rows& rows, int64_t first, int64_t end, Normalizer* out) const {
    const auto count = static_cast<int32_t>(std::min<int64_t>(end - first, sidbeam::cpu::kMostSummed));
    const int64_t first_column = shape_.normalization == SIDBEAM_NORMALIZE_LEVEL ? shape_.offset : 0;
    kernels().log_sum_exp(
        {{nullptr, rows.dtype}, &rows_[static_cast<size_t>(first)], count, first_column, columns_summed(rows, shape_)},
        out);
  }

  Shape shape_;
  std::vector<const void*> rows_;  // of a slot
  std::vector<Normalizer> out_;    // of the last step
};

}  // namespace

std::unique_ptr<Method> make_lse_pass(const Shape& shape) { return std::make_unique<LsePass>(shape); }

}  // namespace bench
