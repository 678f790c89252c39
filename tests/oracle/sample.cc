// Draws by their definition: sums of float64 and searches from the front.
// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Mass of each element relative to the largest one that is left.
std::vector<double> masses(const std::vector<float>& row, const std::vector<bool>& which) {
  double largest = -kInfinity;
  for (size_t i = 0; i < row.size(); ++i) {
    if (which[i]) largest = std::max(largest, double{row[i]});
  }
  std::vector<double> mass(row.size(), 0);
  for (size_t i = 0; i < row.size(); ++i) {
    if (which[i]) mass[i] = std::exp(row[i] - largest);
  }
  return mass;
}

// Indices by element falling, of equal ones the earlier first.
std::vector<size_t> best_first(const std::vector<float>& row) {
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return row[a] > row[b]; });
  return order;
}

int column_of(const Catalogue& catalogue, const Rules& rules, size_t level, int code) {
  return code == catalogue.codes[level] ? rules.end_column : rules.columns[level][static_cast<size_t>(code)];
}

// The columns that P is over, in the order in which ties prefer them.
std::vector<int> columns_of_model(const Catalogue& catalogue, const Rules& rules, size_t level, size_t row_columns) {
  std::vector<int> columns;
  if (rules.normalization != Normalization::kLevel) {
    columns.resize(row_columns);
    std::iota(columns.begin(), columns.end(), 0);
    return columns;
  }
  for (int code = 0; code < catalogue.codes[level]; ++code) {
    columns.push_back(column_of(catalogue, rules, level, code));
  }
  if (catalogue.variable) columns.push_back(rules.end_column);
  return columns;
}

// What may follow a prefix; where nothing constrains, any code.
std::vector<int> followers(const Model& model, const Sid& prefix) {
  if (model.rules.strategy != Strategy::kNone) return children(model.catalogue, prefix);
  std::vector<int> codes(static_cast<size_t>(model.catalogue.codes[prefix.size()]));
  std::iota(codes.begin(), codes.end(), 0);
  return codes;
}

// The first index whose cumulative weight exceeds u of the sum; `margin` shrinks to the distance to the nearest bound
// between two.
size_t choose(const std::vector<double>& weights, double sum, double u, double& margin) {
  double cumulative = 0;
  size_t chosen = weights.size() - 1;
  for (size_t i = 0; i + 1 < weights.size(); ++i) {
    cumulative += weights[i] / sum;
    margin = std::min(margin, std::fabs(cumulative - u));
    if (cumulative > u) chosen = std::min(chosen, i);
  }
  return chosen;
}

double unit_of(uint64_t bits) { return std::ldexp(static_cast<double>(bits >> 11), -53); }

// What an exponential clock of rate x would show when it rings, as a logarithm.
double ring(const DrawKey& key, double log_x) {
  const uint64_t bits = random_bits(key, RandomUse::kResample, 0);
  return std::log(-std::log(std::ldexp(static_cast<double>(bits >> 12) + 0.5, -52))) - log_x;
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t even = 0xD2511F53ULL * counter[0], odd = 0xCD9E8D57ULL * counter[2];
    const auto high = [](uint64_t product) { return static_cast<uint32_t>(product >> 32); };
    counter = {high(odd) ^ counter[1] ^ key[0], static_cast<uint32_t>(odd), high(even) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(even)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

uint64_t random_bits(const DrawKey& key, RandomUse use, int level) {
  const auto request = static_cast<uint64_t>(key.request), seed = static_cast<uint64_t>(key.seed);
  // The last two words are draw (52 bits), use (4) and level (8), from the low end: draw's upper 20 bits, use, level.
  const uint64_t upper = static_cast<uint64_t>(key.draw) / 4294967296 * 4096 + static_cast<uint64_t>(use) * 256 +
                         static_cast<uint64_t>(level);
  const auto words = philox({static_cast<uint32_t>(request), static_cast<uint32_t>(request >> 32),
                             static_cast<uint32_t>(key.draw), static_cast<uint32_t>(upper)},
                            {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return words[0] + (uint64_t{words[1]} << 32);
}

Kept truncated(const std::vector<float>& row, const Truncation& truncation) {
  Kept kept;
  kept.which.resize(row.size());
  const std::vector<size_t> order = best_first(row);
  const size_t most = truncation.top_k > 0 ? static_cast<size_t>(truncation.top_k) : row.size();
  for (size_t rank = 0; rank < std::min(most, row.size()); ++rank) {
    kept.which[order[rank]] = row[order[rank]] > -kInfinity;
  }
  if (truncation.top_p >= 1) return kept;
  const std::vector<double> mass = masses(row, kept.which);
  const double total = std::accumulate(mass.begin(), mass.end(), 0.0);
  double before = 0;  // mass of the better ones
  for (const size_t i : order) {
    if (!kept.which[i]) break;
    if (before > 0) kept.margin = std::min(kept.margin, std::fabs(before / total - truncation.top_p));
    if (before >= truncation.top_p * total) kept.which[i] = false;
    before += mass[i];
  }
  return kept;
}

Level make_level(const Model& model, const Sid& prefix) {
  const Catalogue& catalogue = model.catalogue;
  const Rules& rules = model.rules;
  const std::vector<float> elements = model.row_of(prefix);
  const std::vector<int> columns = columns_of_model(catalogue, rules, prefix.size(), elements.size());
  std::vector<float> row;
  for (const int column : columns) {
    row.push_back(transformed(elements[static_cast<size_t>(column)], rules.soft_cap, rules.inverse_temperature));
  }
  const Kept kept = truncated(row, model.truncation);
  const std::vector<double> mass = masses(row, kept.which);
  const double total = std::accumulate(mass.begin(), mass.end(), 0.0);
  Level level;
  level.margin = kept.margin;
  for (const int code : followers(model, prefix)) {
    const bool by_code = rules.normalization == Normalization::kLevel;  // codes may share a column
    const int at = by_code ? code : column_of(catalogue, rules, prefix.size(), code);
    const double p = mass[static_cast<size_t>(at)] / total;
    if (!(p > 0)) continue;
    level.codes.push_back(code);
    level.p.push_back(p);
    level.mass += p;
  }
  return level;
}

size_t choose_code(const Level& level, const DrawKey& key, int l, double& margin) {
  return choose(level.p, level.mass, unit_of(random_bits(key, RandomUse::kCode, l)), margin);
}

Sampler make_sampler(const Model& model) {
  const Catalogue& catalogue = model.catalogue;
  Sampler sampler{catalogue, {}};
  for (const Sid& sid : catalogue.sids) {
    for (size_t length = 0; length <= sid.size() && length < catalogue.codes.size(); ++length) {
      const Sid prefix(sid.begin(), sid.begin() + static_cast<std::ptrdiff_t>(length));
      if (sampler.levels.count(prefix) == 0) sampler.levels[prefix] = make_level(model, prefix);
    }
  }
  return sampler;
}

Drawn draw(const Sampler& sampler, const DrawKey& key) {
  Drawn drawn;
  const size_t levels = sampler.catalogue.codes.size();
  for (size_t l = 0; l < levels; ++l) {
    const Level& level = sampler.levels.at(drawn.prefix);
    drawn.margin = std::min(drawn.margin, level.margin);
    if (level.codes.empty()) return drawn;
    const size_t i = choose_code(level, key, static_cast<int>(l), drawn.margin);
    drawn.log_p += std::log(level.p[i]);
    drawn.log_x += std::log(level.mass);
    if (level.codes[i] == sampler.catalogue.codes[l]) break;
    drawn.prefix.push_back(level.codes[i]);
  }
  drawn.ordinal = ordinal_of(sampler.catalogue, drawn.prefix);
  return drawn;
}

DiscResult disc_result(const Sampler& sampler, const DrawKey& request, int64_t j, int rounds) {
  DiscResult result;
  double first = kInfinity, second = kInfinity;
  for (int k = 0; k < 2 * rounds; ++k) {
    DrawKey of_draw = request;
    of_draw.draw = 2 * rounds * j + k;
    const Drawn drawn = draw(sampler, of_draw);
    result.margin = std::min(result.margin, drawn.margin);
    result.used = k + 1;
    if (drawn.ordinal < 0) continue;
    if (k < rounds) {
      const double u = unit_of(random_bits(of_draw, RandomUse::kAccept, 0)), x = std::exp(drawn.log_x);
      result.margin = std::min(result.margin, std::fabs(u - x));
      if (u >= x) continue;
      result.winner = drawn;
      result.draw = of_draw.draw;
      result.accepted = true;
      return result;
    }
    const double rings = ring(of_draw, drawn.log_x);
    second = std::min(second, std::max(first, rings));
    if (rings >= first) continue;
    first = rings;
    result.winner = drawn;
    result.draw = of_draw.draw;
  }
  if (second < kInfinity) result.margin = std::min(result.margin, second - first);
  return result;
}

}  // namespace oracle
