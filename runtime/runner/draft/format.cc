// SPDX-License-Identifier: Apache-2.0
#include "runner/draft/format.h"

#include <cmath>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sidbeam::runner {

using format::WeightKind;

std::vector<WeightSpec> weights_of(const DraftShape& shape) {
  std::vector<WeightSpec> specs;
  for (int32_t l = 0; l < shape.levels; ++l) {
    specs.push_back({WeightKind::HeadWeight, l, shape.codes[l], shape.head_columns(), false});
    specs.push_back({WeightKind::HeadBias, l, 1, shape.codes[l], true});
  }
  for (int32_t l = 0; l + 1 < shape.levels && shape.transition != SIDBEAM_DRAFT_TRANSITION_NONE; ++l) {
    specs.push_back({WeightKind::Embedding, l, shape.codes[l], shape.embedding, false});
    if (!shape.is_recurrent()) continue;
    specs.push_back({WeightKind::InputWeight, l, shape.gates(), shape.embedding, false});
    specs.push_back({WeightKind::InputBias, l, 1, shape.gates(), true});
    specs.push_back({WeightKind::RecurrentWeight, l, shape.gates(), shape.hidden, false});
    specs.push_back({WeightKind::RecurrentBias, l, 1, shape.gates(), true});
  }
  return specs;
}

int64_t first_unfit_weight(format::WeightKind kind, const Tensor& weights) {
  int64_t at = first_unfit(weights, weights.dtype);
  if (at < 0 || kind != format::WeightKind::HeadBias) return at;
  for (; at < weights.outputs * weights.inputs; ++at) {
    float bias;
    widen(weights, at, 1, &bias);
    if (std::isnan(bias) || bias == HUGE_VALF) return at;
  }
  return -1;
}

const char* weight_name(WeightKind kind) {
  static constexpr const char* kNames[] = {"none",         "head_weight", "head_bias",        "embedding",
                                           "input_weight", "input_bias",  "recurrent_weight", "recurrent_bias"};
  return kind <= WeightKind::MAX ? kNames[static_cast<int>(kind)] : "weight of an unknown kind";
}

uint64_t weight_checksum(const void* data, uint64_t bytes) { return XXH3_64bits(data, bytes); }

uint64_t aligned(uint64_t offset) { return (offset + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment; }

}  // namespace sidbeam::runner
