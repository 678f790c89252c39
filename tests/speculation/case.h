// A random case of strict speculation: a catalogue, a target and a draft, and how they are searched.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "../differential/place.h"
#include "../handles.h"

namespace speculation {

using Prefix = std::vector<int32_t>;

// How the draft's logits come from the target's.
enum class Draft { kSame, kNear, kOther, kInverted, kConstant, kGarbage };
inline constexpr int kDrafts = 6;

// A model: the logits row of a prefix depends on nothing else.
struct Model {
  uint64_t seed = 0;
  Draft kind = Draft::kSame;
  bool bad_rows = false;         // some hold NaN
  bool coarse = false;           // few different values, so that scores tie
  std::vector<int64_t> offsets;  // [L] column of each level's first code
  int64_t end_column = -1, columns = 0;

  std::vector<float> row_of(const Prefix& prefix) const;
};

// What a session's slots make of their logits; [S], or empty: 1 and none.
struct Scaling {
  std::vector<float> inverse_temperatures, soft_caps;
};

// What is done with an item: nothing, the filter leaves it out, or the request's list does.
enum class Rule : uint8_t { kAllowed, kFiltered, kListed };

struct Case {
  std::vector<int32_t> codes;  // V_l
  bool variable = false;
  std::vector<Prefix> sids, other_sids;  // the latter of a second index, which may have fewer levels
  std::vector<Rule> rules, other_rules;  // of their items, item i under SID i; or empty: none
  bool allow_list = false;               // the request's list names what it may show
  bool live = false;                     // the indexes are versions of live catalogues, of strategy TRIE
  int32_t other_levels = 0;
  int32_t slots = 1, beams = 1, width = 1, draft_levels = 1;  // S, K, N, gamma
  int32_t strategy = 0, normalization = 0, mode = 0;
  bool given_lse = false;      // steps of the target bring it, so that no sum depends on who adds it up
  std::vector<Prefix> starts;  // [S]
  std::vector<bool> other;     // [S] the slot follows the second index
  std::vector<int64_t> seeds, requests;
  std::vector<float> noise_scales;  // [S], or empty: 1
  // [S, L] of the target, 1 .. K; or empty: K. The draft's are N - K more.
  std::vector<int32_t> widths;
  Scaling target_scaling, draft_scaling;
  Model target, draft;

  int32_t levels() const { return static_cast<int32_t>(codes.size()); }
};
Case random_case(uint64_t seed, int32_t mode);
// The same without rules on plain indexes of the allowed items alone.
Case without_rules(const Case& c);
// One of a draft that is the target, so that every level is accepted.
Case accepted_case(uint64_t seed, int32_t mode);

// The library's objects of a case, and where its sessions are.
struct World {
  const differential::Place* place = nullptr;
  handles::Runtime runtime;
  handles::Constraint constraint, other;
};
// The place must outlive the world.
World make_world(const Case& c, const differential::Place& place);
World make_world(const Case& c);  // on the CPU
handles::Session make_session(const World& world, const Case& c, const Model& model, int32_t beams);
// Slots are `wider` than the case's widths per level, where it has them.
void start(const World& world, const Case& c, const Scaling& scaling, sidbeam_session* session, int32_t wider = 0);

// Everything that a session shows.
struct Result {
  std::vector<int32_t> live, errors, level, sids;
  std::vector<int64_t> ordinals;
  std::vector<uint32_t> scores, log_masses, perturbed, log_inclusions, thresholds;  // bits

  bool operator==(const Result&) const = default;
};
Result result_of(const World& world, const Case& c, sidbeam_session* session);

// Plain search by the target alone.
Result plain(const Case& c, const World& world);
// Speculation, with the models seeing prefixes through the lists of ancestors and the mask alone.
Result speculative(const Case& c, const World& world, sidbeam_speculation_stats& stats);

}  // namespace speculation
