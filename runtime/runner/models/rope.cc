// SPDX-License-Identifier: Apache-2.0
#include "runner/models/rope.h"

#include <vector>

namespace sidbeam::runner {
namespace {

constexpr float kTwoPi = 6.28318530717958647692F;

// Long waves are stretched by the factor, short ones kept, those between blended; in f32, as transformers does.
float llama3_frequency(const Rope& rope, float frequency) {
  const auto factor = static_cast<float>(rope.factor), low = static_cast<float>(rope.low_freq);
  const float wave = kTwoPi / frequency;
  if (wave > static_cast<float>(rope.original / rope.low_freq)) return frequency / factor;
  if (wave < static_cast<float>(rope.original / rope.high_freq)) return frequency;
  const float smooth =
      (static_cast<float>(rope.original) / wave - low) / static_cast<float>(rope.high_freq - rope.low_freq);
  return (1.0F - smooth) * frequency / factor + smooth * frequency;
}

}  // namespace

RopeTable make_model_rope(const Allocator& allocator, const ModelConfig& config, int64_t positions) {
  const auto half = static_cast<size_t>(config.head_dim / 2);
  std::vector<float> frequencies(half);
  rope_frequencies(config.rope.theta, config.head_dim, frequencies.data());
  for (float& frequency : frequencies) {
    if (config.rope.scaling == Rope::Scaling::kLinear) frequency /= static_cast<float>(config.rope.factor);
    if (config.rope.scaling == Rope::Scaling::kLlama3) frequency = llama3_frequency(config.rope, frequency);
  }
  return make_rope_table(allocator, positions, frequencies);
}

}  // namespace sidbeam::runner
