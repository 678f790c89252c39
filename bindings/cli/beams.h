// What a search found for a request, as JSON and as a table: decode and run say it alike.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_BEAMS_H
#define SIDBEAM_CLI_BEAMS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi.h"
#include "items.h"
#include "json.h"

namespace cli {

struct Beam {
  std::vector<int32_t> sid;
  int64_t ordinal;
  float score;
  std::vector<std::string> items;
};

// Of a request that a draft model ran ahead of.
struct Speculation {
  int32_t rounds, accepted_levels;
};

// What the rules of a request leave.
struct Allowed {
  int64_t items, unknown_excluded, unknown_allowed;  // unknown: ids of --exclude and --allow that name no item
};

struct Found {
  int64_t number;  // of the request
  bool bad_row;
  std::vector<Beam> beams;
  std::optional<Speculation> speculation = {};
  std::optional<bool> came_short = {};  // whether a cap left items out, where there is one
  std::optional<Allowed> allowed = {};  // where there are rules
};

// Fills in the beams' items that the constraint allows, all if it is nullptr; distinct: each with the best of the beams
// that have it.
void find_items(const sidbeam_index* index, const sidbeam_constraint* constraint, int32_t id_type, bool distinct,
                const Cap& cap, Found& found);
// What a constraint with rules leaves.
Allowed allowed_of(const sidbeam_constraint* constraint);
Json found_json(const Found& found);
std::string found_table(const Found& found);
// All requests, each as one of the above says it.
std::string document(const std::vector<std::string>& requests, bool json);

}  // namespace cli

#endif
