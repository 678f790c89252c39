// Logits rows as log-probabilities of codes, for rounds that draw: a session keeps those that it does not choose to
// itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "runner/models/output.h"
#include "runner/schedule/lane.h"

namespace sidbeam::runner {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

class LogProbs {
 public:
  explicit LogProbs(const LaneConfig& config);

  // out[i] = log-probability of codes[i] at a level, by config.normalization, over [count] codes, which are the valid
  // ones; -inf for a code without a token. Of SIDs of variable length the last may be V_l, the end. `row` is changed.
  // Returns false, with all of them -inf, where an element that was read is NaN or +inf.
  bool of(int32_t level, bool variable_length, float* row, const int32_t* codes, int64_t count, float* out) const;

 private:
  const OutputColumns& output_;
  const int32_t normalization_;
  const float factor_, soft_cap_;
  const CpuTarget target_;
};

}  // namespace sidbeam::runner
