// Catalogues of a few random SIDs, for the small models' tokens. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>

#include "device_place.h"
#include "library.h"

namespace gpu {

inline constexpr int32_t kCodes[] = {20, 16, 12}, kBeams = 6;
inline constexpr int64_t kOffsets[] = {3, 20, 30}, kEnd = 49;

inline differential::Constraint make_constraint(sidbeam_runtime* runtime, int32_t sids, uint64_t seed, bool variable,
                                                bool upload, const differential::ItemRules& rules = {}) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = 3;
  config.codes = kCodes;
  config.variable_length = variable ? 1 : 0;
  sidbeam_builder* made = nullptr;
  differential::call("builder", sidbeam_builder_create, runtime, static_cast<const sidbeam_builder_config*>(&config),
                     &made);
  const differential::Builder builder(made);
  std::mt19937_64 random(seed);
  std::vector<int32_t> rows, lengths;
  for (int32_t i = 0; i < sids; ++i) {
    for (const int32_t codes : kCodes) rows.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(codes)));
    lengths.push_back(variable ? 1 + static_cast<int32_t>(random() % 3) : 3);
  }
  differential::call("add", sidbeam_builder_add, made, static_cast<const int32_t*>(rows.data()),
                     static_cast<const int32_t*>(lengths.data()), int64_t{sids}, static_cast<const int64_t*>(nullptr),
                     static_cast<const int64_t*>(nullptr));
  sidbeam_index* index = nullptr;
  differential::call("finish", sidbeam_builder_finish, made, &index);
  const differential::Index held(index);
  if (upload) DevicePlace(0).prepare(index);
  return differential::constrain(index, rules, seed);
}

// A filter of two thirds of the items, and a fifth of all excluded.
inline differential::ItemRules some_rules(int32_t items) {
  differential::ItemRules rules;
  rules.filter.emplace();
  rules.excluded.emplace();
  rules.excluded->by_row = true;
  for (int32_t row = 0; row < items; ++row) {
    rules.filter->push_back(row % 3 != 0);
    if (row % 5 == 1) rules.excluded->entries.push_back(row);
  }
  return rules;
}

}  // namespace gpu
