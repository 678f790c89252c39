// Rows of logits of many kinds.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "world.h"

#include <sidbeam/sidbeam.h>

namespace differential {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::array<float, 4> kSoftCaps{0, 30, 1.5f, 50};
constexpr std::array<float, 7> kTemperatures{1, 0, 0.5f, 2, 0.7f, 1e-3f, 1e6f};

bool per_mille(uint64_t hash, int64_t rate) { return static_cast<int64_t>(hash % 1000) < rate; }

// Nearly normal: the sum of four uniform numbers, scaled to deviation 1.
double gaussian(uint64_t hash) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>(hash >> (16 * i) & 0xffff) / 65536.0 - 0.5;
  return sum * std::sqrt(3.0);
}

// hash is the element's, row the row's.
double draw_element(int64_t distribution, uint64_t hash, uint64_t row) {
  switch (distribution) {
    case 0:
      return gaussian(hash);
    case 1:
      return 10 * gaussian(hash);
    case 2:
      return static_cast<double>(hash % 9) - 4;  // many ties
    case 3:
      return static_cast<double>(hash % 17) / 4 - 2;  // fewer
    case 4:
      return gaussian(row);  // all equal
    case 5:
      return -static_cast<double>(hash % 2);
    case 6:
      return gaussian(hash) + (row % 2 != 0 ? 6e4 : -6e4);  // far from 0
    case 7:
      return (hash % 2 != 0 ? 1 : -1) * (row % 3 == 0 ? 3e38 : 1e30) * static_cast<double>(hash % 5);
    case 8:
      return hash % 3 == 0 ? -1e9 : 2 * gaussian(hash);  // masked the way of other engines
    default:
      return hash % 11 == 0 ? 30 : gaussian(hash) - 30;  // peaks
  }
}

float fitting(const Case& c, double value) {
  const double largest = c.dtype == SIDBEAM_DTYPE_F16 ? 65504 : c.dtype == SIDBEAM_DTYPE_BF16 ? 3.3e38 : 3.4e38;
  if (c.promised != 0) value = -std::fabs(value);
  return static_cast<float>(std::clamp(value, -largest, largest));
}

std::optional<float> draw_lse(const World& world, uint64_t row_hash, const RawRow& row) {
  const Case& c = world.c;
  if (c.given_lse == 0) return std::nullopt;
  const uint64_t hash = mix(row_hash, kDrawRow, 7);
  if (c.given_lse == 3 && hash % 3 == 0) {
    constexpr float kOdd[] = {kNan, kInfinity, -kInfinity};
    return kOdd[hash / 3 % 3];
  }
  if (c.given_lse == 2) return static_cast<float>(hash % 5) - (c.promised != 0 ? 0.0f : 2.0f);
  double sum = 0;
  float largest = -kInfinity;
  const oracle::Row plain = decoded(world, row);
  for (float element : plain.elements) {
    const float x = oracle::transformed(element, world.rules.soft_cap, world.rules.inverse_temperature);
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  if (!std::isfinite(largest)) return 1.5f;
  for (float element : plain.elements) {
    const float x = oracle::transformed(element, world.rules.soft_cap, world.rules.inverse_temperature);
    if (std::isfinite(x)) sum += std::exp(double{x} - double{largest});
  }
  return static_cast<float>(double{largest} + std::log(sum) + (c.promised != 0 ? 0.25 : 0.0));
}

}  // namespace

RawRow make_row(const World& world, const RowKey& key, int64_t columns) {
  const Case& c = world.c;
  const auto dtype = static_cast<oracle::Dtype>(c.dtype);
  const uint64_t row_hash = mix(world.seed(), kDrawRow, key.step, key.slot, key.beam);
  const bool masked = per_mille(mix(row_hash, 1), c.mask_rows);
  RawRow row;
  row.elements.resize(static_cast<size_t>(columns));
  for (size_t i = 0; i < row.elements.size(); ++i) {
    const uint64_t hash = mix(row_hash, kDrawElement, i);
    float value = fitting(c, draw_element(c.distribution, hash, row_hash));
    if (masked || per_mille(hash >> 20, c.mask)) value = -kInfinity;
    row.elements[i] = oracle::encode(dtype, value);
  }
  if (per_mille(mix(row_hash, 2), c.bad_rows)) {
    constexpr float kBad[] = {kNan, -kNan, kInfinity};
    row.elements[mix(row_hash, 3) % row.elements.size()] = oracle::encode(dtype, kBad[mix(row_hash, 4) % 3]);
  }
  row.lse = draw_lse(world, row_hash, row);
  return row;
}

oracle::Row decoded(const World& world, const RawRow& row) {
  oracle::Row result;
  for (uint32_t bits : row.elements)
    result.elements.push_back(oracle::decode(static_cast<oracle::Dtype>(world.c.dtype), bits));
  result.lse = row.lse;
  return result;
}

float soft_cap_of(const Case& c) { return kSoftCaps.at(static_cast<size_t>(c.soft_cap)); }

float inverse_temperature_of(const Case& c) { return kTemperatures.at(static_cast<size_t>(c.temperature)); }

Settings draw_settings(const Case& c, uint64_t hash, bool may_lift) {
  Settings drawn;
  if (c.temperature != 0) drawn.inverse_temperature = kTemperatures.at(mix(hash, 1) % kTemperatures.size());
  if (c.soft_cap != 0) drawn.soft_cap = kSoftCaps.at(mix(hash, 2) % kSoftCaps.size());
  if (c.soft_cap != 0 && may_lift && mix(hash, 3) % 4 == 0) drawn.soft_cap = kInfinity;
  return drawn;
}

Settings followed(const Settings& step, const Settings& start) {
  Settings result = start;
  if (step.inverse_temperature != 0) result.inverse_temperature = step.inverse_temperature;
  if (step.soft_cap != 0) result.soft_cap = step.soft_cap;
  if (std::isinf(result.soft_cap)) result.soft_cap = 0;
  return result;
}

Settings said(const Settings& wanted, const Settings& start) {
  const Settings given = followed({}, start);
  Settings result;
  if (wanted.inverse_temperature != given.inverse_temperature)
    result.inverse_temperature = wanted.inverse_temperature == 0 ? 1 : wanted.inverse_temperature;
  if (wanted.soft_cap != given.soft_cap) result.soft_cap = wanted.soft_cap == 0 ? kInfinity : wanted.soft_cap;
  return result;
}

oracle::Rules rules_under(const World& world, const Settings& settings) {
  oracle::Rules rules = world.rules;
  rules.inverse_temperature = settings.inverse_temperature;
  rules.soft_cap = settings.soft_cap;
  return rules;
}

}  // namespace differential
