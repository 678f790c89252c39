// SPDX-License-Identifier: Apache-2.0
#include "backend/sampling.h"

#include <cmath>

#include "backend/philox.h"
#include "support/error.h"
#include "support/strides.h"

namespace sidbeam {
namespace {

void require_array(const void* array, const char* name) {
  if (array == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "sampling.%s is NULL, expected an array: equal seeds and requests draw alike", name);
}

void refuse_array(const void* array, const char* name, int32_t mode) {
  if (array != nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "sampling.%s is given, expected NULL in mode %s", name,
         mode == SIDBEAM_MODE_STOCHASTIC ? "STOCHASTIC" : "SAMPLE");
}

int64_t stride_of(const SamplingCall& call, const sidbeam_sampling& sampling) {
  return sampling.draw_stride > 0 ? sampling.draw_stride : call.rows;
}

void check_draws(const int64_t* draws, int64_t i, int32_t width) {
  for (int32_t m = 0; m < width; ++m)
    if (draws[m] < 0 || draws[m] >= kMostDraws)
      fail(SIDBEAM_INVALID_ARGUMENT, "sampling.draws[%lld][%d] is %lld, expected 0..%lld", static_cast<long long>(i), m,
           static_cast<long long>(draws[m]), static_cast<long long>(kMostDraws - 1));
}

int32_t checked_top_k(const SamplingCall& call, const sidbeam_sampling& sampling, int64_t i) {
  const int32_t top_k = sampling.top_ks != nullptr ? sampling.top_ks[i] : 0;
  if (call.most_k > 0 && (top_k < 1 || top_k > call.most_k))
    fail(SIDBEAM_INVALID_ARGUMENT,
         "sampling.top_ks[%lld] is %d, expected 1..%d with strategy sorted_topk, which looks up no more codes",
         static_cast<long long>(i), top_k, call.most_k);
  if (top_k < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "sampling.top_ks[%lld] is %d, expected at least 1, or 0 for none",
         static_cast<long long>(i), top_k);
  return top_k;
}

float checked_top_p(const sidbeam_sampling& sampling, int64_t i) {
  const float top_p = sampling.top_ps != nullptr ? sampling.top_ps[i] : 1.0F;
  if (!(top_p > 0.0F && top_p <= 1.0F))
    fail(SIDBEAM_INVALID_ARGUMENT, "sampling.top_ps[%lld] is %g, expected a number above 0 and at most 1",
         static_cast<long long>(i), static_cast<double>(top_p));
  return top_p;
}

float checked_noise(const sidbeam_sampling& sampling, int64_t i) {
  const float scale = sampling.noise_scales != nullptr ? sampling.noise_scales[i] : 1.0F;
  if (!(std::isfinite(scale) && scale >= 0.0F))
    fail(SIDBEAM_INVALID_ARGUMENT, "sampling.noise_scales[%lld] is %g, expected a finite number of at least 0",
         static_cast<long long>(i), static_cast<double>(scale));
  return scale;
}

}  // namespace

void check_sampling(const SamplingCall& call, const sidbeam_sampling& sampling) {
  if (call.count == 0) return;
  require_array(sampling.seeds, "seeds");
  require_array(sampling.requests, "requests");
  if (call.mode == SIDBEAM_MODE_STOCHASTIC) {
    refuse_array(sampling.draws, "draws", call.mode);
    refuse_array(sampling.top_ks, "top_ks", call.mode);
    refuse_array(sampling.top_ps, "top_ps", call.mode);
  } else {
    refuse_array(sampling.noise_scales, "noise_scales", call.mode);
  }
  if (sampling.draw_stride != 0 && (sampling.draw_stride < call.rows || sampling.draw_stride > kMostDraws))
    fail(SIDBEAM_INVALID_ARGUMENT, "sampling.draw_stride is %lld, expected 0 or at least %d",
         static_cast<long long>(sampling.draw_stride), call.rows);
  check_stride("sampling.draw_stride", call.count, sampling.draw_stride);
}

SlotSampling sampling_of(const SamplingCall& call, const sidbeam_sampling& sampling, int64_t i, int32_t width) {
  SlotSampling result;
  result.seed = static_cast<uint64_t>(sampling.seeds[i]);
  result.request = sampling.requests[i];
  result.truncation = {checked_top_k(call, sampling, i), checked_top_p(sampling, i)};
  result.noise_scale = checked_noise(sampling, i);
  if (sampling.draws == nullptr) return result;
  result.draws = sampling.draws + i * stride_of(call, sampling);
  check_draws(result.draws, i, width);
  return result;
}

}  // namespace sidbeam
