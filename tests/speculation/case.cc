// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

namespace speculation {
namespace {

uint64_t mixed(uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

struct Random {
  std::mt19937_64 engine;

  int32_t in(int32_t lowest, int32_t highest) {
    return std::uniform_int_distribution<int32_t>(lowest, highest)(engine);
  }
  bool one_in(int32_t n) { return in(1, n) == 1; }
};

float logit(uint64_t bits, bool coarse) {
  const auto value = static_cast<float>(bits >> 40) * 0x1p-24F;
  return coarse ? static_cast<float>(static_cast<int>(value * 4)) : 6 * value;
}

std::vector<Prefix> random_sids(Random& random, const Case& c, int32_t levels) {
  std::set<Prefix> sids;
  const int32_t wanted = random.one_in(4) ? random.in(1, 4) : random.in(5, 120);
  for (int32_t i = 0; i < wanted; ++i) {
    Prefix sid;
    const int32_t length = c.variable ? random.in(1, levels) : levels;
    for (int32_t l = 0; l < length; ++l) sid.push_back(random.in(0, c.codes[static_cast<size_t>(l)] - 1));
    sids.insert(sid);
  }
  return {sids.begin(), sids.end()};
}

void lay_out(Random& random, const Case& c, Model& model) {
  int64_t column = random.in(0, 3);
  for (const int32_t codes : c.codes) {
    model.offsets.push_back(column);
    column += random.one_in(3) ? codes : codes + random.in(0, 2);
  }
  model.end_column = column++;
  model.columns = column + random.in(0, 2);
}

void choose_search(Random& random, Case& c, int32_t mode) {
  c.mode = mode;
  const bool fixed_only = !c.variable && mode == SIDBEAM_MODE_SEARCH;
  const int32_t strategies[] = {SIDBEAM_STRATEGY_TRIE, SIDBEAM_STRATEGY_SORTED, SIDBEAM_STRATEGY_SORTED_TOPK,
                                SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_STRATEGY_NONE};
  c.strategy = random.one_in(2) ? SIDBEAM_STRATEGY_TRIE
                                : strategies[random.in(0, fixed_only                    ? 4
                                                          : mode == SIDBEAM_MODE_SEARCH ? 2
                                                                                        : 1)];
  const bool knows_valid = c.strategy != SIDBEAM_STRATEGY_HASH_FINAL && c.strategy != SIDBEAM_STRATEGY_NONE;
  c.normalization = random.in(0, knows_valid ? 2 : 1);
}

// Temperatures and soft-caps that differ from slot to slot, or none.
Scaling random_scaling(Random& random, int32_t slots) {
  Scaling scaling;
  if (random.one_in(3)) return scaling;
  for (int32_t s = 0; s < slots; ++s) {
    scaling.inverse_temperatures.push_back(random.one_in(3) ? 0 : 0.25F * static_cast<float>(random.in(1, 12)));
    scaling.soft_caps.push_back(random.one_in(2) ? 0 : 0.5F * static_cast<float>(random.in(1, 12)));
  }
  return scaling;
}

std::vector<Rule> random_rules(Random& random, size_t items) {
  const int32_t left = random.in(0, 8);
  std::vector<Rule> rules;
  for (size_t i = 0; i < items; ++i)
    rules.push_back(random.in(0, 7) < left ? Rule::kAllowed : random.one_in(2) ? Rule::kFiltered : Rule::kListed);
  return rules;
}

std::vector<Prefix> allowed_of(const std::vector<Prefix>& sids, const std::vector<Rule>& rules) {
  std::vector<Prefix> allowed;
  for (size_t i = 0; i < sids.size(); ++i)
    if (rules.empty() || rules[i] == Rule::kAllowed) allowed.push_back(sids[i]);
  return allowed;
}

}  // namespace

std::vector<float> Model::row_of(const Prefix& prefix) const {
  uint64_t hash = mixed(seed);
  for (const int32_t code : prefix) hash = mixed(hash ^ mixed(static_cast<uint64_t>(code) + 1));
  std::vector<float> row(static_cast<size_t>(columns));
  // Columns are counted from the level's first, so that target and draft agree wherever their codes are.
  const int64_t first = prefix.size() < offsets.size() ? offsets[prefix.size()] : 0;
  for (int64_t column = 0; column < columns; ++column) {
    const int64_t code = column == end_column ? -1 : column - first;
    const uint64_t bits = mixed(hash ^ mixed(static_cast<uint64_t>(code)));
    float value = logit(bits, coarse);
    if (kind == Draft::kNear) value += logit(mixed(bits), false) / 8;
    if (kind == Draft::kOther) value = logit(mixed(bits + 1), false);
    if (kind == Draft::kInverted) value = -value;
    if (kind == Draft::kConstant) value = 1;
    if (kind == Draft::kGarbage) value = bits % 3 == 0 ? -1e30F : static_cast<float>(bits % 1000) * 1e20F;
    if (bits % 31 == 0 && kind != Draft::kConstant) value = -std::numeric_limits<float>::infinity();
    row[static_cast<size_t>(column)] = value;
  }
  if (bad_rows && hash % 7 == 0) row[hash / 7 % row.size()] = std::numeric_limits<float>::quiet_NaN();
  return row;
}

// In mode STOCHASTIC none rises.
std::vector<int32_t> random_widths(Random& random, const Case& c) {
  std::vector<int32_t> widths;
  for (int32_t s = 0; s < c.slots; ++s) {
    for (int32_t l = 0; l < c.levels(); ++l) widths.push_back(random.one_in(4) ? c.beams : random.in(1, c.beams));
    if (c.mode == SIDBEAM_MODE_STOCHASTIC) std::sort(widths.end() - c.levels(), widths.end(), std::greater<>());
  }
  return widths;
}

Case random_case(uint64_t seed, int32_t mode) {
  Random random{std::mt19937_64(seed)};
  Case c;
  const int32_t levels = random.in(1, 8);
  for (int32_t l = 0; l < levels; ++l) c.codes.push_back(random.one_in(8) ? random.in(1, 2) : random.in(2, 9));
  c.variable = random.one_in(3);
  c.sids = random_sids(random, c, levels);
  c.other_levels = random.in(1, levels);
  c.other_sids = random_sids(random, c, c.other_levels);
  choose_search(random, c, mode);
  c.slots = random.in(1, 3);
  c.beams = random.one_in(4) ? random.in(10, 30) : random.in(1, 9);  // often more than the first level has codes
  c.width = c.beams + (random.one_in(3) ? 0 : random.in(1, 20));
  c.draft_levels = random.in(1, levels);
  for (int32_t s = 0; s < c.slots; ++s) {
    c.other.push_back(random.one_in(4));
    const std::vector<Prefix>& sids = c.other.back() ? c.other_sids : c.sids;
    Prefix start = sids[static_cast<size_t>(random.in(0, static_cast<int32_t>(sids.size()) - 1))];
    start.resize(random.one_in(3) ? static_cast<size_t>(random.in(0, static_cast<int32_t>(start.size()))) : 0);
    c.starts.push_back(start);
    c.seeds.push_back(random.in(0, 1 << 20));
    c.requests.push_back(random.in(0, 1 << 20));
  }
  c.target.seed = c.draft.seed = random.engine();
  c.target.coarse = c.draft.coarse = random.one_in(2);
  c.target.bad_rows = random.one_in(8);
  c.draft.bad_rows = random.one_in(8);
  c.draft.kind = static_cast<Draft>(random.in(0, kDrafts - 1));
  lay_out(random, c, c.target);
  lay_out(random, c, c.draft);
  c.given_lse = random.one_in(4);
  for (int32_t s = 0; s < c.slots; ++s) c.noise_scales.push_back(random.one_in(3) ? 0.5F : 1.0F);
  if (random.one_in(2)) c.widths = random_widths(random, c);
  c.target_scaling = random_scaling(random, c.slots);
  c.draft_scaling = random.one_in(3) ? c.target_scaling : random_scaling(random, c.slots);
  if (c.strategy == SIDBEAM_STRATEGY_TRIE && random.one_in(2)) {
    c.allow_list = random.one_in(3);
    c.rules = random_rules(random, c.sids.size());
    c.other_rules = random_rules(random, c.other_sids.size());
  }
  c.live = c.strategy == SIDBEAM_STRATEGY_TRIE && random.one_in(2);
  return c;
}

Case without_rules(const Case& c) {
  Case alone = c;
  alone.sids = allowed_of(c.sids, c.rules);
  alone.other_sids = allowed_of(c.other_sids, c.other_rules);
  alone.rules.clear();
  alone.other_rules.clear();
  alone.live = false;
  return alone;
}

Case accepted_case(uint64_t seed, int32_t mode) {
  Case c = random_case(seed, mode);
  c.draft = c.target;
  c.draft_scaling = c.target_scaling;
  c.slots = 1;
  c.width = c.beams;  // more beams may crowd some of the target's out
  c.variable = false;
  for (Prefix& sid : c.sids) sid.resize(c.codes.size(), 0);
  c.starts.resize(1);
  c.starts[0].clear();
  c.other.clear();
  c.other_sids.clear();
  if (!c.widths.empty()) c.widths.resize(c.codes.size());
  c.target.bad_rows = c.draft.bad_rows = c.given_lse = false;
  return c;
}

}  // namespace speculation
