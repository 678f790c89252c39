// The contents of a case: catalogues, vocabulary and logits, worked out by hashing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "case.h"
#include "item_rules.h"
#include "live.h"
#include "oracle.h"

namespace differential {

struct World {
  Case c;
  std::vector<std::vector<oracle::Pair>> pairs;  // of each catalogue; empty of older versions
  std::vector<Story> stories;                    // of each live catalogue; empty without such
  std::vector<oracle::Catalogue> wholes;         // of all pairs
  std::vector<AllowedPart> parts;                // what rules leave of each; empty without rules and live catalogues
  std::vector<oracle::Catalogue> catalogues;     // of these, or the wholes
  std::vector<int64_t> offsets;                  // [levels]
  std::vector<std::vector<int32_t>> maps;        // [levels], empty where the level has none
  int64_t end_column = -1;
  int64_t columns = 0;  // of the narrowest row
  oracle::Rules rules;  // of every step; temperature and soft-cap of slots and steps take precedence
  uint64_t seed() const { return static_cast<uint64_t>(c.seed); }
  // The library's number of a SID or an item row, which counts those that rules forbid or that have gone; -1 stays -1.
  int64_t ordinal_of(size_t catalogue, int64_t allowed) const {
    return parts.empty() || allowed < 0 ? allowed : parts[catalogue].ordinals[static_cast<size_t>(allowed)];
  }
  int64_t row_of(size_t catalogue, int64_t allowed) const {
    return parts.empty() ? allowed : parts[catalogue].rows[static_cast<size_t>(allowed)];
  }
  // The catalogue of which this one is an older version, or itself.
  size_t newest_of(size_t catalogue) const {
    while (!stories.empty() && stories[catalogue].is_older) --catalogue;
    return catalogue;
  }
  // The pairs that rules allow, without priorities.
  std::vector<oracle::Pair> allowed_pairs(size_t catalogue) const;
};
World make_world(const Case& c);

// A row of logits as the caller holds it: elements in the dtype's own bits, and the log-sum-exp if one is given.
struct RawRow {
  std::vector<uint32_t> elements;
  std::optional<float> lse;
};
// The row of a beam in the step with this number. Equal keys give equal rows.
struct RowKey {
  uint64_t step = 0, slot = 0, beam = 0;
};
RawRow make_row(const World& world, const RowKey& key, int64_t columns);
oracle::Row decoded(const World& world, const RawRow& row);

float soft_cap_of(const Case& c);
float inverse_temperature_of(const Case& c);

// The temperature and soft-cap that a slot's start or a step sets; 0: none set.
struct Settings {
  float inverse_temperature = 0, soft_cap = 0;
  bool operator==(const Settings&) const = default;
};
// Any settings that the case allows; `may_lift`: or the soft-cap that means none, whatever the slot has.
Settings draw_settings(const Case& c, uint64_t hash, bool may_lift);
// The settings that a step follows; a soft-cap of 0 is none.
Settings followed(const Settings& step, const Settings& start);
// The settings that a step needs to follow `wanted` after such a start.
Settings said(const Settings& wanted, const Settings& start);
oracle::Rules rules_under(const World& world, const Settings& settings);

}  // namespace differential
