// SPDX-License-Identifier: Apache-2.0
#include "sampling.h"

#include <limits>

namespace fuzz::abi {
namespace {

constexpr int64_t kMostDraws = int64_t{1} << 52;
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kWrongTopPs[] = {0, -1, kNan, 1.5F, kInfinity}, kWrongNoise[] = {-1, kNan, kInfinity};

Array<int64_t> draw_keys(World& world, int64_t count) {
  std::vector<int64_t> keys(static_cast<size_t>(count));
  for (int64_t& key : keys) key = world.one_in(4) ? world.strange() : world.in(0, 3);
  return Array<int64_t>(std::move(keys));
}

}  // namespace

// Numbers of draws beyond a slot's width are not read, nor are they there for the last slot.
void Sampling::draw_numbers(World& world, const Sampled& sampled, int32_t fault) {
  if (sampled.count == 0 || (fault != 1 && !world.flip())) return;
  const int64_t stride = sampled.rows + (world.flip() ? 0 : world.in(0, 3));
  std::vector<int64_t> numbers(static_cast<size_t>((sampled.count - 1) * stride + sampled.widths.back()), -9);
  for (int64_t i = 0; i < sampled.count; ++i)
    for (int32_t m = 0; m < sampled.widths[static_cast<size_t>(i)]; ++m)
      numbers[static_cast<size_t>(i * stride + m)] = world.one_in(8) ? kMostDraws - 1 - m : m;
  if (fault == 1) numbers.back() = world.flip() ? -1 : kMostDraws;
  world.expected.fails_if(fault == 1, SIDBEAM_INVALID_ARGUMENT);
  draws = Array<int64_t>(std::move(numbers));
  view.draws = draws.get();
  view.draw_stride = stride == sampled.rows && world.flip() ? 0 : stride;
}

void Sampling::draw_truncation(World& world, const Sampled& sampled, int32_t fault) {
  const auto count = static_cast<size_t>(sampled.count);
  if (sampled.most_k > 0 || fault == 2 || world.flip()) {
    const int32_t lowest = sampled.most_k > 0 ? 1 : 0, highest = sampled.most_k > 0 ? sampled.most_k : 12;
    std::vector<int32_t> drawn = world.numbers(count, lowest, highest);
    if (sampled.most_k == 0 && count > 0 && world.one_in(8)) drawn[0] = std::numeric_limits<int32_t>::max();
    if (fault == 2 && count > 0) drawn.back() = world.flip() || sampled.most_k == 0 ? -1 : sampled.most_k + 1;
    world.expected.fails_if(fault == 2 && count > 0, SIDBEAM_INVALID_ARGUMENT);
    top_ks = Array<int32_t>(std::move(drawn));
    view.top_ks = top_ks.get();
  }
  if (fault != 3 && !world.one_in(3)) return;
  std::vector<float> drawn(count);
  for (float& top_p : drawn) top_p = world.one_in(8) ? 1e-40F : world.input.ConsumeFloatingPointInRange(0.001F, 1.0F);
  if (fault == 3 && count > 0) drawn.back() = kWrongTopPs[world.in(0, 4)];
  world.expected.fails_if(fault == 3 && count > 0, SIDBEAM_INVALID_ARGUMENT);
  top_ps = Array<float>(std::move(drawn));
  view.top_ps = top_ps.get();
}

void Sampling::draw_noise(World& world, const Sampled& sampled, int32_t fault) {
  const auto count = static_cast<size_t>(sampled.count);
  if (fault != 4 && world.flip()) return;
  std::vector<float> drawn(count);
  for (float& scale : drawn) scale = world.flip() ? 0 : world.input.ConsumeFloatingPointInRange(0.0F, 100.0F);
  if (fault == 4 && count > 0) drawn.back() = kWrongNoise[world.in(0, 2)];
  world.expected.fails_if(fault == 4 && count > 0, SIDBEAM_INVALID_ARGUMENT);
  noise_scales = Array<float>(std::move(drawn));
  view.noise_scales = noise_scales.get();
}

void Sampling::draw(World& world, const Sampled& sampled, int32_t fault) {
  if (sampled.mode == SIDBEAM_MODE_SEARCH) return;
  seeds = draw_keys(world, sampled.count);
  requests = draw_keys(world, sampled.count);
  view.seeds = fault == 5 ? nullptr : seeds.get();
  view.requests = fault == 6 ? nullptr : requests.get();
  world.expected.fails_if(sampled.count > 0 && (fault == 5 || fault == 6), SIDBEAM_INVALID_ARGUMENT);
  if (sampled.mode == SIDBEAM_MODE_SAMPLE) {
    draw_numbers(world, sampled, fault);
    draw_truncation(world, sampled, fault);
  } else {
    draw_noise(world, sampled, fault);
  }
  // Arrays of the other mode, and strides that are none.
  if (fault == 7 && sampled.mode == SIDBEAM_MODE_SAMPLE) view.noise_scales = kWrongNoise;
  if (fault == 7 && sampled.mode == SIDBEAM_MODE_STOCHASTIC) view.top_ps = kWrongTopPs;
  const int64_t short_of_one = sampled.rows > 1 ? sampled.rows - 1 : -1;  // 0 would stand for that of one row
  if (fault == 8) view.draw_stride = world.flip() ? -1 : world.flip() ? short_of_one : INT64_MAX;
  world.expected.fails_if(sampled.count > 0 && (fault == 7 || fault == 8), SIDBEAM_INVALID_ARGUMENT);
}

}  // namespace fuzz::abi
