// SPDX-License-Identifier: Apache-2.0
#include "models.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

namespace sampling {
namespace {

constexpr size_t kColumns = 6, kSids = 8;

// In [0, 1), the same on every machine.
double unit(std::mt19937_64& random) { return std::ldexp(static_cast<double>(random() >> 11), -53); }

// The column of a valid code, or the end, after a prefix of `level` codes.
size_t column_of(const oracle::Catalogue& catalogue, const oracle::Rules& rules, size_t level, int code) {
  const bool ends = code == catalogue.codes[level];
  return static_cast<size_t>(ends ? rules.end_column : rules.columns[level][static_cast<size_t>(code)]);
}

oracle::Catalogue random_catalogue(std::mt19937_64& random, bool variable) {
  std::vector<oracle::Pair> pairs;
  oracle::Catalogue catalogue;
  while (catalogue.sids.size() < kSids) {
    oracle::Sid sid;
    const size_t length = variable ? 1 + random() % 3 : 3;
    for (size_t l = 0; l < length; ++l) sid.push_back(static_cast<int>(random() % 4));
    pairs.push_back({sid, static_cast<int64_t>(pairs.size()), 0});
    catalogue = oracle::make_catalogue({4, 4, 4}, variable, pairs);
  }
  return catalogue;
}

}  // namespace

oracle::Model random_model(uint64_t seed, bool variable) {
  std::mt19937_64 random(seed);
  oracle::Model model;
  model.catalogue = random_catalogue(random, variable);
  model.rules.columns = {{1, 2, 3, 4}, {4, 3, 2, 1}, {0, 1, 2, 5}};
  model.rules.end_column = variable ? 5 : -1;
  if (variable) model.rules.columns[2] = {0, 1, 2, 3};
  const oracle::Catalogue catalogue = model.catalogue;
  const oracle::Rules rules = model.rules;
  model.row_of = [seed, catalogue, rules](const oracle::Sid& prefix) {
    uint64_t own = seed;
    for (const int code : prefix) own = own * 31 + static_cast<uint64_t>(code) + 1;
    std::mt19937_64 elements(own);
    std::vector<float> row;
    for (size_t c = 0; c < kColumns; ++c) row.push_back(static_cast<float>(3 * unit(elements) - 1.5));
    // Two more than the others, so that the catalogue keeps a share of P.
    for (const int code : oracle::children(catalogue, prefix))
      row[column_of(catalogue, rules, prefix.size(), code)] += 2;
    return row;
  };
  return model;
}

oracle::Model two_levels() {
  oracle::Model model;
  const std::vector<oracle::Pair> pairs = {{{0, 0}, 1}, {{0, 1}, 2}, {{1, 0}, 3}, {{1, 1}, 4}, {{1, 3}, 5}};
  model.catalogue = oracle::make_catalogue({4, 4}, false, pairs);
  model.rules.columns = {{0, 1, 2, 3}, {0, 1, 2, 3}};
  model.row_of = [](const oracle::Sid& prefix) -> std::vector<float> {
    if (prefix.empty()) return {0, 0, -2, -3};
    if (prefix[0] == 0) return {0, 0, -0.5F, -2};
    return {0, -0.2F, -1.5F, -4};
  };
  return model;
}

oracle::Model flat_model(uint64_t seed, bool variable) {
  oracle::Model model = random_model(seed, variable);
  model.row_of = [](const oracle::Sid&) { return std::vector<float>(kColumns, 0.5F); };
  return model;
}

oracle::Model dyadic_model(uint64_t seed) {
  constexpr int kCodes = 16, kLevels = 3;
  std::mt19937_64 random(seed);
  const bool variable = random() % 2 == 0;
  std::vector<oracle::Pair> pairs(20 + random() % 400);
  for (size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].id = static_cast<int64_t>(i);
    for (size_t length = variable ? 1 + random() % kLevels : kLevels; length > 0; --length)
      pairs[i].sid.push_back(static_cast<int>(random() % kCodes));
  }
  oracle::Model model;
  model.catalogue = oracle::make_catalogue(std::vector<int>(kLevels, kCodes), variable, pairs);
  constexpr float kInverseTemperatures[] = {1, 0.5F, 2};
  model.rules.inverse_temperature = kInverseTemperatures[random() % 3];
  const bool over_level = random() % 2 == 0;
  model.rules.normalization = over_level ? oracle::Normalization::kLevel : oracle::Normalization::kFull;
  std::vector<int> columns(kCodes);
  std::iota(columns.begin(), columns.end(), 0);
  model.rules.columns.assign(kLevels, columns);
  model.rules.end_column = variable ? kCodes : -1;
  if (random() % 4 == 0) model.truncation.top_k = 64;  // more than there are columns: all are kept
  model.row_of = [seed, catalogue = model.catalogue, over_level](const oracle::Sid& prefix) {
    uint64_t own = seed;
    for (const int code : prefix) own = own * 31 + static_cast<uint64_t>(code) + 1;
    std::mt19937_64 elements(own);
    std::vector<int> valid = oracle::children(catalogue, prefix), others;
    for (int code = 0; code < (over_level ? kCodes : 24); ++code)
      if (std::find(valid.begin(), valid.end(), code) == valid.end() && code != kCodes) others.push_back(code);
    std::shuffle(valid.begin(), valid.end(), elements);
    valid.resize(size_t{1} << elements() % std::bit_width(valid.size()));
    // None, or as many as there are valid ones, so that their number stays a power of two.
    std::shuffle(others.begin(), others.end(), elements);
    others.resize(others.size() >= valid.size() && elements() % 2 == 0 ? valid.size() : 0);
    const float best = static_cast<float>(elements() % 256) / 8 - 16;
    std::vector<float> row;
    for (int column = 0; column < 24; ++column) row.push_back(elements() % 2 == 0 ? -HUGE_VALF : best - 4096);
    for (const std::vector<int>& likely : {valid, others})
      for (const int column : likely) row[static_cast<size_t>(column)] = best;
    return row;
  };
  return model;
}

oracle::Model tilted(const oracle::Model& model) {
  oracle::Model result = model;
  result.row_of = [model](const oracle::Sid& prefix) {
    std::vector<float> row = model.row_of(prefix);
    const int code = oracle::children(model.catalogue, prefix).front();
    row[column_of(model.catalogue, model.rules, prefix.size(), code)] += std::log(1.01F);
    return row;
  };
  return result;
}

oracle::Model deadly_model(uint64_t seed, bool variable) {
  const oracle::Model model = random_model(seed, variable);
  const auto element = [model](const std::vector<float>& row, size_t level, int code) {
    return row[column_of(model.catalogue, model.rules, level, code)];
  };
  const std::vector<float> root = model.row_of({});
  int best = model.catalogue.sids[0][0];
  for (const int code : oracle::children(model.catalogue, {}))
    if (element(root, 0, code) > element(root, 0, best)) best = code;
  oracle::Model result = truncated(model, 2, 1);
  result.row_of = [model, best](const oracle::Sid& prefix) {
    std::vector<float> row = model.row_of(prefix);
    if (prefix != oracle::Sid{best}) return row;
    for (const int code : oracle::children(model.catalogue, prefix))
      row[column_of(model.catalogue, model.rules, 1, code)] -= 9;
    return row;
  };
  return result;
}

oracle::Model truncated(const oracle::Model& model, int top_k, float top_p) {
  oracle::Model result = model;
  result.truncation = {top_k, double{top_p}};
  return result;
}

}  // namespace sampling
