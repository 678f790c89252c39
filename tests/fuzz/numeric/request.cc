// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "subjects.h"

namespace fuzz::numeric {
namespace {

using differential::RawRow;
using differential::World;

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max(), kLeast = std::numeric_limits<float>::denorm_min();
constexpr float kHard[] = {3e38F,   -3e38F, kLargest, -kLargest, kLeast,    -kLeast, 1e-40F, -1e-40F,  0.0F,   -0.0F,
                           -1e-38F, 1e30F,  -1e30F,   -1e9F,     kInfinity, kNan,    -kNan,  65504.0F, 88.75F, -104.0F};
constexpr float kTemperatures[] = {1, 0, 0.5F, 2, 0.7F, 1e-3F, 1e6F, 1e-40F, kLeast, 3e38F};
constexpr float kSoftCaps[] = {0, 0, 30, 1.5F, 50, 1e-40F, 3e38F};

// A value of a row: mostly one of few, so that they tie; above all 0, a log-probability that does not change a score;
// often -inf, as in masks. All values of an `even` request are like that: its beams score alike, and a bad row matters
// or not.
float draw_value(FuzzedDataProvider& input, bool even) {
  constexpr float kEven[] = {0, 0, 0, -0.0F, -1, -kInfinity, kNan};
  if (even) return kEven[input.ConsumeIntegralInRange<size_t>(0, std::size(kEven) - 1)];
  const int kind = input.ConsumeIntegralInRange(0, 7);
  if (kind < 2) return 0;
  if (kind < 4) return static_cast<float>(input.ConsumeIntegralInRange(-16, 16)) / 4;
  if (kind == 4) return -kInfinity;
  if (kind == 5) return std::bit_cast<float>(input.ConsumeIntegral<uint32_t>());
  return kHard[input.ConsumeIntegralInRange<size_t>(0, std::size(kHard) - 1)];
}

float promised(const World& world, float value) { return world.c.promised != 0 ? -std::fabs(value) : value; }

// Elements are picked from a few values by hashing; one of them may be put somewhere by hand.
RawRow draw_row(FuzzedDataProvider& input, const World& world, bool even) {
  const auto dtype = static_cast<oracle::Dtype>(world.c.dtype);
  RawRow row;
  row.elements.resize(static_cast<size_t>(world.columns));
  std::vector<uint32_t> palette(input.ConsumeIntegralInRange<size_t>(1, 6));
  for (uint32_t& bits : palette) bits = oracle::encode(dtype, promised(world, draw_value(input, even)));
  const auto seed = input.ConsumeIntegral<uint8_t>();
  for (size_t c = 0; c < row.elements.size(); ++c)
    row.elements[c] = palette[differential::mix(seed, c) % palette.size()];
  const size_t special = input.ConsumeIntegralInRange<size_t>(0, 2 * row.elements.size());
  if (special < row.elements.size())
    row.elements[special] = oracle::encode(dtype, promised(world, draw_value(input, even)));
  if (world.c.given_lse == 0) return row;
  const float lse = draw_value(input, even);
  row.lse = world.c.promised != 0 && !(lse >= 0) ? std::fabs(lse) : lse;
  return row;
}

void draw_rules(FuzzedDataProvider& input, const Subject& subject, World& world) {
  constexpr oracle::Strategy kStrategies[] = {oracle::Strategy::kExact, oracle::Strategy::kExact,
                                              oracle::Strategy::kSortedTopk, oracle::Strategy::kHashFinal,
                                              oracle::Strategy::kNone};
  const bool free_levels = !subject.catalogue.variable && (subject.kinds & SIDBEAM_KIND_HASH) != 0;
  world.c.strategy = input.ConsumeIntegralInRange(0, 7);
  if (world.c.strategy > (free_levels ? SIDBEAM_STRATEGY_NONE : SIDBEAM_STRATEGY_SORTED_TOPK))
    world.c.strategy = SIDBEAM_STRATEGY_TRIE;
  world.c.normalization = input.ConsumeIntegralInRange(0, 3);
  if (world.c.strategy >= SIDBEAM_STRATEGY_HASH_FINAL && world.c.normalization == SIDBEAM_NORMALIZE_VALID)
    world.c.normalization = SIDBEAM_NORMALIZE_LEVEL;
  world.c.given_lse =
      world.c.normalization != SIDBEAM_NORMALIZE_NONE && input.ConsumeIntegralInRange(0, 2) == 1 ? 1 : 0;
  const bool may_promise = world.c.normalization == SIDBEAM_NORMALIZE_NONE || world.c.given_lse != 0;
  world.c.promised = may_promise && input.ConsumeIntegralInRange(0, 3) != 0 ? 1 : 0;
  world.c.top_k = input.ConsumeIntegralInRange(0, 5);
  world.rules.strategy = kStrategies[world.c.strategy];
  world.rules.normalization = static_cast<oracle::Normalization>(world.c.normalization);
  world.rules.top_k = static_cast<int>(world.c.top_k > 0 ? world.c.top_k : world.c.beams);
  world.rules.inverse_temperature =
      kTemperatures[input.ConsumeIntegralInRange<size_t>(0, std::size(kTemperatures) - 1)];
  world.rules.soft_cap = kSoftCaps[input.ConsumeIntegralInRange<size_t>(0, std::size(kSoftCaps) - 1)];
}

// Levels share columns or do not, at any offset; some columns belong to no code.
void draw_columns(FuzzedDataProvider& input, const oracle::Catalogue& catalogue, World& world) {
  world.c.offsets = 1;
  world.c.variable = catalogue.variable ? 1 : 0;
  for (const int codes : catalogue.codes) {
    world.offsets.push_back(input.ConsumeIntegralInRange(0, 19));
    world.rules.columns.emplace_back();
    for (int t = 0; t < codes; ++t) world.rules.columns.back().push_back(static_cast<int>(world.offsets.back()) + t);
    world.columns = std::max(world.columns, world.offsets.back() + codes);
  }
  world.end_column = input.ConsumeBool() ? world.columns : input.ConsumeIntegralInRange(0, 9);
  world.rules.end_column = static_cast<int>(world.end_column);
  world.columns = std::max(world.columns, world.end_column + 1) + input.ConsumeIntegralInRange(0, 40);
}

// Another mode, for a part of the requests; the oracle's steps are those of a search.
void draw_mode(FuzzedDataProvider& input, Request& request) {
  if (request.world.rules.strategy != oracle::Strategy::kExact || input.ConsumeIntegralInRange(0, 2) != 1) return;
  constexpr float kTopPs[] = {1, 0.5F, 0.9F, 1e-40F, kLeast, 0.999F}, kNoise[] = {1, 0, 0.5F, kLeast, 100};
  request.world.c.mode = input.ConsumeBool() ? SIDBEAM_MODE_SAMPLE : SIDBEAM_MODE_STOCHASTIC;
  request.seed = input.ConsumeIntegral<int64_t>();
  request.truncation_k = input.ConsumeIntegralInRange(0, 5);
  request.truncation_p = kTopPs[input.ConsumeIntegralInRange<size_t>(0, std::size(kTopPs) - 1)];
  request.noise = kNoise[input.ConsumeIntegralInRange<size_t>(0, std::size(kNoise) - 1)];
}

}  // namespace

Request draw_request(FuzzedDataProvider& input) {
  Request request;
  request.subject = input.ConsumeIntegralInRange<size_t>(0, subjects().size() - 1);
  const Subject& subject = subjects()[request.subject];
  World& world = request.world;
  world.c.beams = input.ConsumeIntegralInRange(0, 7) == 1 ? input.ConsumeIntegralInRange(1, 70)
                                                          : input.ConsumeIntegralInRange(1, 8);
  world.c.dtype = input.ConsumeIntegralInRange(0, 2);
  draw_rules(input, subject, world);
  draw_columns(input, subject.catalogue, world);
  request.width = static_cast<int32_t>(input.ConsumeIntegralInRange<int64_t>(1, world.c.beams));
  if (input.ConsumeIntegralInRange(0, 3) == 1) {
    const auto& sids = subject.catalogue.sids;
    const oracle::Sid& sid = sids[input.ConsumeIntegralInRange<size_t>(0, sids.size() - 1)];
    request.prefix.assign(sid.begin(),
                          sid.begin() + input.ConsumeIntegralInRange<int>(0, static_cast<int>(sid.size()) - 1));
  }
  const bool even = input.ConsumeIntegralInRange(0, 3) == 1;
  const int steps = input.ConsumeIntegralInRange(1, subject.catalogue.levels());
  for (int step = 0; step < steps; ++step) {
    std::vector<RawRow> rows;
    for (int beams = input.ConsumeIntegralInRange(1, 4); beams > 0; --beams)
      rows.push_back(draw_row(input, world, even));
    request.rows.push_back(std::move(rows));
  }
  draw_mode(input, request);
  return request;
}

bool Request::oracle_can_tell() const {
  if (world.c.mode != SIDBEAM_MODE_SEARCH) return false;
  const float cap = world.rules.soft_cap;
  return cap == 0 || (cap > 1e-3F && cap < 1e4F);
}

}  // namespace fuzz::numeric
