// Transitions weighted by distance, items that share a prefix, popularity. samples/train/walks.py has the same.
// SPDX-License-Identifier: Apache-2.0
#include "transitions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace recommend {
namespace {

// The best of a few settings on the targets of valid.jsonl, with a fifth of the users held out.
constexpr size_t kRecent = 5;         // items of a history that count
constexpr double kDecay = 0.7;        // weight of an item against the one after it
constexpr double kTransitions = 1.0;  // items that were taken near it
constexpr double kNeighbours = 0.3;   // items that share all codes but the last with it
constexpr double kPopularity = 0.5;   // any item, by how often it is taken
constexpr double kUnseen = 0.1;       // an item that nobody took counts as taken this often
constexpr double kBackwards = 0.5;    // weight of a transition in the other direction
constexpr double kAnyCode = 0.05;     // part of the rest that all codes share alike, whatever the prefix

struct Range {
  size_t first, last;
};

// SIDs that begin with the first `level` codes of `prefix`.
Range with_prefix(const Dataset& data, const int32_t* prefix, int32_t level) {
  const auto compare = [&](const Sid& sid) {
    for (int32_t l = 0; l < level; l++)
      if (const int32_t code = sid[static_cast<size_t>(l)]; code != prefix[l]) return code < prefix[l] ? -1 : 1;
    return 0;
  };
  const auto first =
      std::partition_point(data.sids.begin(), data.sids.end(), [&](const Sid& sid) { return compare(sid) < 0; });
  const auto last = std::partition_point(first, data.sids.end(), [&](const Sid& sid) { return compare(sid) == 0; });
  return {static_cast<size_t>(first - data.sids.begin()), static_cast<size_t>(last - data.sids.begin())};
}

void scale_to_one(std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  for (double& value : values) value /= sum;
}

// Histories of a user overlap from query to query, so a user's pair counts once. An item taken twice running follows
// itself.
void count_transitions(const Dataset& data, Transitions& model) {
  std::set<std::tuple<std::string, int32_t, int32_t>> seen;
  std::vector<std::map<int32_t, double>> near(data.sids.size());
  for (const Query& query : data.train) {
    const std::vector<int32_t>& h = query.history;
    for (size_t i = 0; i < h.size(); i++) {
      if (seen.emplace(query.user, h[i], -1).second) model.taken[static_cast<size_t>(h[i])] += 1;
      for (size_t j = i + 1; j < h.size(); j++) {
        const bool same = h[i] == h[j];
        if ((same && j > i + 1) || !seen.emplace(query.user, h[i], h[j]).second) continue;
        near[static_cast<size_t>(h[i])][h[j]] += 1 / static_cast<double>(j - i);
        if (!same) near[static_cast<size_t>(h[j])][h[i]] += kBackwards / static_cast<double>(j - i);
        model.counted++;
      }
    }
  }
  for (size_t i = 0; i < near.size(); i++) {
    double sum = 1;  // an item that was seen once is not certain
    for (const auto& [sid, count] : near[i]) sum += count;
    for (const auto& [sid, count] : near[i]) model.next[i].push_back({sid, count / sum});
  }
}

}  // namespace

Transitions learn(const Dataset& data) {
  Transitions model{};
  model.data = &data;
  model.columns = *std::max_element(data.codes.begin(), data.codes.end());
  model.next.resize(data.sids.size());
  model.taken.assign(data.sids.size(), 0.0);
  count_transitions(data, model);
  for (const double taken : model.taken) model.popularity.push_back(taken + kUnseen);
  scale_to_one(model.popularity);
  return model;
}

Weights weigh(const Transitions& model, const std::vector<int32_t>& history) {
  std::vector<double> weights(model.popularity);
  for (double& weight : weights) weight *= kPopularity;
  double strength = 1;
  for (size_t back = 1; back <= std::min(kRecent, history.size()); back++, strength *= kDecay) {
    const auto item = static_cast<size_t>(history[history.size() - back]);
    for (const auto& [sid, share] : model.next[item])
      weights[static_cast<size_t>(sid)] += strength * kTransitions * share;
    const Range near = with_prefix(*model.data, model.data->sids[item].data(), model.data->levels - 1);
    double sum = 0;
    for (size_t i = near.first; i < near.last; i++) sum += model.popularity[i];
    for (size_t i = near.first; i < near.last; i++) weights[i] += strength * kNeighbours * model.popularity[i] / sum;
  }
  scale_to_one(weights);
  std::vector<std::vector<double>> code(model.data->codes.size(),
                                        std::vector<double>(static_cast<size_t>(model.columns), 0.0));
  for (size_t i = 0; i < weights.size(); i++)
    for (size_t l = 0; l < code.size(); l++) code[l][static_cast<size_t>(model.data->sids[i][l])] += weights[i];
  return {std::move(weights), std::move(code)};
}

double masses(const Transitions& model, const Weights& weights, const int32_t* prefix, int32_t level,
              std::vector<double>& row) {
  const Range range = with_prefix(*model.data, prefix, level);
  row.assign(static_cast<size_t>(model.columns), 0.0);
  double mass = 0;
  for (size_t i = range.first; i < range.last; i++) {
    row[static_cast<size_t>(model.data->sids[i][static_cast<size_t>(level)])] += weights.sid[i];
    mass += weights.sid[i];
  }
  return mass;
}

void logits(const Transitions& model, Smoothing smoothing, const Weights& weights, const int32_t* prefix, int32_t level,
            float* row) {
  std::vector<double> below;
  const double mass = masses(model, weights, prefix, level, below);
  double known = 1;                      // trust in the prefix
  if (smoothing == Smoothing::kCodes) {  // Witten and Bell
    const Range range = with_prefix(*model.data, prefix, level);
    double taken = 0;
    for (size_t i = range.first; i < range.last; i++) taken += model.taken[i];
    const auto codes = static_cast<double>(std::count_if(below.begin(), below.end(), [](double p) { return p > 0; }));
    known = codes > 0 ? taken / (taken + codes) : 0;
  }
  const auto columns = static_cast<size_t>(model.columns);
  for (size_t t = 0; t < columns; t++) {
    const double anywhere =
        (1 - kAnyCode) * weights.code[static_cast<size_t>(level)][t] + kAnyCode / static_cast<double>(model.columns);
    row[t] = static_cast<float>(std::log((mass > 0 ? known * below[t] / mass : 0) + (1 - known) * anywhere));
  }
}

}  // namespace recommend
