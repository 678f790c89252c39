// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/log_probs.h"

#include <algorithm>
#include <cmath>

#include "runner/math/rows.h"

namespace sidbeam::runner {

LogProbs::LogProbs(const LaneConfig& config)
    : output_(*config.output),
      normalization_(config.normalization),
      factor_(config.inverse_temperature > 0.0F ? config.inverse_temperature : 1.0F),
      soft_cap_(config.soft_cap > 0.0F && config.soft_cap < kInfinity ? config.soft_cap : 0.0F),
      target_(config.target) {}

bool LogProbs::of(int32_t level, bool variable_length, float* row, const int32_t* codes, int64_t count,
                  float* out) const {
  if (soft_cap_ > 0.0F) soft_cap({target_, nullptr}, soft_cap_, Rows(row, 1, output_.columns(level)));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = output_.column(level, codes[i]);
    out[i] = at >= 0 ? row[at] : -kInfinity;
  }
  double sum = 0.0;
  if (normalization_ == SIDBEAM_NORMALIZE_VALID)
    sum = log_sum_exp(target_, factor_, out, count);
  else if (normalization_ == SIDBEAM_NORMALIZE_LEVEL && !variable_length)  // without the end, column 0
    sum = log_sum_exp(target_, factor_, row + 1, output_.columns(level) - 1);
  else
    sum = log_sum_exp(target_, factor_, row, output_.columns(level));
  if (!std::isfinite(sum)) {
    std::fill_n(out, count, -kInfinity);
    return sum < 0.0;  // -inf: there is nothing to choose
  }
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(factor_) * static_cast<double>(out[i]);
    out[i] = static_cast<float>(std::min(0.0, x - sum));
  }
  return true;
}

}  // namespace sidbeam::runner
