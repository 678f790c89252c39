// Selection against a full sort under the backend's own log-sum-exp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "checks.h"

namespace differential {
namespace {

struct Scored {
  float score;
  int parent, code;
  bool operator<(const Scored& other) const {
    return std::tuple{-score, parent, code} < std::tuple{-other.score, other.parent, other.code};
  }
};

// What one row gives, asked for by itself: log-probabilities [rows, k] of its best valid codes.
struct Asked {
  std::vector<int32_t> codes;
  std::vector<float> log_probs;
};

Asked ask(const Way& way, const World& world, const ConstraintSet& set, const std::vector<RawRow>& rows,
          const std::vector<sidbeam_state>& states, int k) {
  const Place& place = *way.place;
  World without = world;
  without.c.given_lse = 0;
  const auto count = static_cast<int64_t>(rows.size());
  Feed feed = plain_feed(without, rows, count, 1);
  feed.rows.slots = 0;
  const Delivery there(place, feed);
  const size_t size = rows.size() * static_cast<size_t>(k);
  const Array<sidbeam_state> state(place, states);
  Array<int32_t> codes(place, size, -9);
  Array<float> log_probs(place, size, -9.0F);
  call("sidbeam_constraint_set_topk", sidbeam_constraint_set_topk, set.get(), static_cast<const int32_t*>(nullptr),
       static_cast<const sidbeam_state*>(state.data()), &there.rows, static_cast<int32_t>(world.c.normalization), k,
       codes.data(), log_probs.data(), static_cast<sidbeam_state*>(nullptr), place.stream());
  return {codes.fetch(), log_probs.fetch()};
}

// Candidates of all beams before a step.
std::vector<Scored> all_candidates(const Way& way, const World& world, const ConstraintSet& set, const Snapshot& before,
                                   const std::vector<RawRow>& rows, int k) {
  std::vector<RawRow> asked;
  std::vector<sidbeam_state> states;
  std::vector<int> beams;
  std::vector<Scored> all;
  for (size_t m = 0; m < static_cast<size_t>(before.live); ++m) {
    if (rows[m].elements.empty()) {  // ended
      all.push_back({before.scores[m], static_cast<int>(m), -1});
      continue;
    }
    asked.push_back(rows[m]);
    states.push_back(before.states[m]);
    beams.push_back(static_cast<int>(m));
  }
  if (asked.empty()) return all;
  const Asked answer = ask(way, world, set, asked, states, k);
  for (size_t i = 0; i < asked.size(); ++i) {
    for (size_t j = i * static_cast<size_t>(k); j < (i + 1) * static_cast<size_t>(k) && answer.codes[j] >= 0; ++j) {
      const auto parent = static_cast<size_t>(beams[i]);
      const float score = before.scores[parent] + answer.log_probs[j] + 0.0F;
      if (std::isfinite(score)) all.push_back({score, beams[i], answer.codes[j]});
    }
  }
  return all;
}

}  // namespace

void check_sorted(const Way& way, const World& world, const Loaded& loaded, const Life& life, Coverage* coverage) {
  const Case& c = world.c;
  const bool plain = std::all_of(life.settings.begin(), life.settings.end(), [](const Settings& step) {
    return step.soft_cap == 0 && (step.inverse_temperature == 0 || step.inverse_temperature == 1);
  });
  if (!plain || c.given_lse != 0 || c.strategy != SIDBEAM_STRATEGY_TRIE) return;  // as topk takes logits rows
  const Vocabulary vocabulary(world);
  const ConstraintSet set = make_set(way.runtime.get(), *way.place, {loaded.constraint.get()}, &vocabulary.view);
  const oracle::Catalogue& catalogue = world.catalogues[life.catalogue];
  const int most_codes = *std::max_element(catalogue.codes.begin(), catalogue.codes.end());
  const int k = std::min(most_codes, static_cast<int>(catalogue.sids.size())) + 1;  // the end may follow too
  for (size_t step = 0; step < life.rows.size(); ++step) {
    const Snapshot &before = life.after[step], &after = life.after[step + 1];
    std::vector<Scored> all = all_candidates(way, world, set, before, life.rows[step], k);
    std::sort(all.begin(), all.end());
    const size_t live = std::min(all.size(), static_cast<size_t>(life.widths[static_cast<size_t>(before.level)]));
    expect(after.live == static_cast<int>(live), "step ", step, ": live is ", after.live, ", a full sort leaves ",
           live);
    for (size_t m = 0; m < live; ++m) {
      expect(after.parents[m] == all[m].parent && after.codes[m] == all[m].code &&
                 std::bit_cast<uint32_t>(after.scores[m]) == std::bit_cast<uint32_t>(all[m].score),
             "step ", step, ": beam ", m, " is (parent ", after.parents[m], ", code ", after.codes[m], ", score ",
             after.scores[m], "), a full sort gives (", all[m].parent, ", ", all[m].code, ", ", all[m].score, ")");
    }
    ++(*coverage)["steps compared with a full sort"];
  }
}

}  // namespace differential
