// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/choices.h"

#include <algorithm>
#include <limits>

namespace sidbeam::runner {

constexpr float kNotTaken = -std::numeric_limits<float>::infinity();

Choices::Choices(const Allocator& allocator, int64_t rows, int64_t columns, int64_t most)
    : columns_(columns), elements_(allocator, checked_bytes(rows, columns)), taken_(allocator, most) {
  std::fill(elements_.begin(), elements_.end(), kNotTaken);
}

void Choices::clear() {
  for (int64_t i = 0; i < count_; ++i) elements_[taken_[i]] = kNotTaken;
  count_ = 0;
}

void Choices::take(int64_t row, int64_t column, float log_prob) {
  const int64_t at = row * columns_ + column;
  taken_[count_++] = at;
  elements_[at] = log_prob;
}

}  // namespace sidbeam::runner
