// The model: transitions weighted by distance, items that share a prefix, popularity.
// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace recommend {
namespace {

// The best of a few settings on the targets of valid.jsonl, with a fifth of the users held out.
constexpr size_t kRecent = 5;         // items of a history that count
constexpr float kDecay = 0.7f;        // weight of an item against the one after it
constexpr float kTransitions = 1.0f;  // items that were taken near it
constexpr float kNeighbours = 0.3f;   // items that share all codes but the last with it
constexpr float kPopularity = 0.5f;   // any item, by how often it is taken
constexpr float kUnseen = 0.1f;       // an item that nobody took counts as taken this often
constexpr float kBackwards = 0.5f;    // weight of a transition in the other direction
constexpr float kAnyCode = 0.05f;     // part of the rest that all codes share alike, whatever the prefix

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

void scale_to_one(std::vector<float>& values) {
  float sum = 0;
  for (const float value : values) sum += value;
  for (float& value : values) value /= sum;
}

// Histories of a user overlap from query to query, so a user's pair counts once.
void count_transitions(const Dataset& data, Model& model) {
  std::set<std::tuple<std::string, int32_t, int32_t>> seen;
  std::vector<std::map<int32_t, float>> near(data.sids.size());
  for (const Query& query : data.train) {
    const std::vector<int32_t>& h = query.history;
    for (size_t i = 0; i < h.size(); i++) {
      if (seen.emplace(query.user, h[i], -1).second) model.taken[static_cast<size_t>(h[i])] += 1;
      for (size_t j = i + 1; j < h.size(); j++) {
        if (h[i] == h[j] || !seen.emplace(query.user, h[i], h[j]).second) continue;
        near[static_cast<size_t>(h[i])][h[j]] += 1 / static_cast<float>(j - i);
        near[static_cast<size_t>(h[j])][h[i]] += kBackwards / static_cast<float>(j - i);
        model.transitions++;
      }
    }
  }
  for (size_t i = 0; i < near.size(); i++) {
    float sum = 1;  // an item that was seen once is not certain
    for (const auto& [sid, count] : near[i]) sum += count;
    for (const auto& [sid, count] : near[i]) model.next[i].push_back({sid, count / sum});
  }
}

}  // namespace

Model learn(const Dataset& data) {
  Model model{};
  model.data = &data;
  model.columns = *std::max_element(data.codes.begin(), data.codes.end());
  model.next.resize(data.sids.size());
  model.taken.assign(data.sids.size(), 0.0f);
  count_transitions(data, model);
  for (const float taken : model.taken) model.popularity.push_back(taken + kUnseen);
  scale_to_one(model.popularity);
  return model;
}

Weights weigh(const Model& model, const std::vector<int32_t>& history) {
  std::vector<float> weights(model.popularity);
  for (float& weight : weights) weight *= kPopularity;
  float strength = 1;
  for (size_t back = 1; back <= std::min(kRecent, history.size()); back++, strength *= kDecay) {
    const auto item = static_cast<size_t>(history[history.size() - back]);
    for (const auto& [sid, share] : model.next[item])
      weights[static_cast<size_t>(sid)] += strength * kTransitions * share;
    const Range near = with_prefix(*model.data, model.data->sids[item].data(), model.data->levels - 1);
    float sum = 0;
    for (size_t i = near.first; i < near.last; i++) sum += model.popularity[i];
    for (size_t i = near.first; i < near.last; i++) weights[i] += strength * kNeighbours * model.popularity[i] / sum;
  }
  scale_to_one(weights);
  std::vector<std::vector<float>> code(model.data->codes.size(),
                                       std::vector<float>(static_cast<size_t>(model.columns), 0.0f));
  for (size_t i = 0; i < weights.size(); i++)
    for (size_t l = 0; l < code.size(); l++) code[l][static_cast<size_t>(model.data->sids[i][l])] += weights[i];
  return {std::move(weights), std::move(code)};
}

void logits(const Model& model, const Weights& weights, const int32_t* prefix, int32_t level, float* row) {
  const Range range = with_prefix(*model.data, prefix, level);
  const auto l = static_cast<size_t>(level);
  const auto columns = static_cast<size_t>(model.columns);
  std::fill_n(row, columns, 0.0f);
  float mass = 0, taken = 0;
  for (size_t i = range.first; i < range.last; i++) {
    row[static_cast<size_t>(model.data->sids[i][l])] += weights.sid[i];
    mass += weights.sid[i];
    taken += model.taken[i];
  }
  const float codes = static_cast<float>(std::count_if(row, row + columns, [](float value) { return value > 0; }));
  const float known = codes > 0 ? taken / (taken + codes) : 0;  // Witten and Bell
  for (size_t t = 0; t < columns; t++) {
    const float anywhere = (1 - kAnyCode) * weights.code[l][t] + kAnyCode / static_cast<float>(columns);
    row[t] = std::log((mass > 0 ? known * row[t] / mass : 0) + (1 - known) * anywhere);
  }
}

}  // namespace recommend
