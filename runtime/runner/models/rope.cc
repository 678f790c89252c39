// SPDX-License-Identifier: Apache-2.0
#include "runner/models/rope.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/portable_math.h"

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

// Between which numbers of a head's pairs the blend goes: those that turn beta_fast and beta_slow times.
struct Ramp {
  float from = 0.0F, to = 0.0F;
};
Ramp yarn_ramp(const Rope& rope, int32_t head_dim) {
  constexpr double kPi = 3.14159265358979323846;
  const auto pair_of = [&](double turns) {
    return head_dim * portable_log(rope.original / (turns * 2 * kPi)) / (2 * portable_log(rope.theta));
  };
  double from = pair_of(rope.beta_fast), to = pair_of(rope.beta_slow);
  if (rope.truncate) from = std::floor(from), to = std::ceil(to);
  from = std::max(from, 0.0), to = std::min(to, head_dim - 1.0);
  if (from == to) to += 0.001;
  return {static_cast<float>(from), static_cast<float>(to)};
}

float yarn_frequency(const Rope& rope, const Ramp& ramp, size_t pair, float frequency) {
  const float kept = 1.0F - std::clamp((static_cast<float>(pair) - ramp.from) / (ramp.to - ramp.from), 0.0F, 1.0F);
  return frequency / static_cast<float>(rope.factor) * (1.0F - kept) + frequency * kept;
}

}  // namespace

RopeTable make_model_rope(const Allocator& allocator, const ModelConfig& config, int64_t positions) {
  const Rope& rope = config.rope;
  std::vector<float> frequencies(static_cast<size_t>(config.head_dim / 2));
  rope_frequencies(rope.theta, config.head_dim, frequencies.data());
  const Ramp ramp = rope.scaling == Rope::Scaling::kYarn ? yarn_ramp(rope, config.head_dim) : Ramp();
  for (size_t pair = 0; pair < frequencies.size(); ++pair) {
    float& frequency = frequencies[pair];
    if (rope.scaling == Rope::Scaling::kLinear) frequency /= static_cast<float>(rope.factor);
    if (rope.scaling == Rope::Scaling::kLlama3) frequency = llama3_frequency(rope, frequency);
    if (rope.scaling == Rope::Scaling::kYarn) frequency = yarn_frequency(rope, ramp, pair, frequency);
  }
  return make_rope_table(allocator, positions, frequencies, static_cast<float>(rope.attention));
}

}  // namespace sidbeam::runner
