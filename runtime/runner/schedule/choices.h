// Rows by which a lane tells a session of NORMALIZE_NONE which candidates to take: the log-probability of each of them
// in the column of its code (LaneSession::choice_column), and -inf in all others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/schedule/lane_session.h"
#include "support/memory.h"

namespace sidbeam::runner {

class Choices {
 public:
  // `most` candidates at a time.
  Choices(const Allocator& allocator, int64_t rows, int64_t columns, int64_t most);
  int64_t memory_bytes() const { return elements_.bytes() + taken_.bytes(); }

  void clear();
  void take(int64_t row, int64_t column, float log_prob);
  LevelRows rows(int64_t count) { return {elements_.data(), count, columns_}; }

 private:
  int64_t columns_;
  Buffer<float> elements_;  // [rows, columns]
  Buffer<int64_t> taken_;   // elements that are not -inf
  int64_t count_ = 0;
};

}  // namespace sidbeam::runner
