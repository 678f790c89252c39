// Made-up catalogues, for tests and benchmarks in C++. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "handles.h"

namespace handles {

inline void check(sidbeam_status status, const sidbeam_error& error) {
  if (status != SIDBEAM_OK) throw std::runtime_error(error.message);
}

// Steps on the caller's thread.
inline Runtime make_runtime() {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = 1;
  sidbeam_runtime* runtime = nullptr;
  check(sidbeam_runtime_create(&config, &runtime, &error), error);
  return Runtime(runtime);
}

inline Constraint share(const Constraint& constraint) {
  sidbeam_constraint_retain(constraint.get());
  return Constraint(constraint.get());
}

// Rows of as many codes as there are levels, of which SIDs are the first `lengths`.
struct SidRows {
  std::vector<int32_t> codes, lengths;
};

inline Builder make_builder(sidbeam_runtime* runtime, const std::vector<int32_t>& codes, const SidRows& rows,
                            bool variable, int32_t kinds = SIDBEAM_KIND_TRIE, const int64_t* ids = nullptr) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = static_cast<int32_t>(codes.size());
  config.codes = codes.data();
  config.variable_length = variable ? 1 : 0;
  config.kinds = kinds;
  sidbeam_builder* builder = nullptr;
  check(sidbeam_builder_create(runtime, &config, &builder, &error), error);
  Builder owned(builder);
  const auto sids = static_cast<int64_t>(rows.lengths.size());
  check(sidbeam_builder_add(builder, rows.codes.data(), rows.lengths.data(), sids, ids, nullptr, &error), error);
  return owned;
}

inline Constraint make_constraint(sidbeam_index* index) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = index;
  sidbeam_constraint* constraint = nullptr;
  check(sidbeam_constraint_create(&config, &constraint, &error), error);
  return Constraint(constraint);
}

inline Constraint make_constraint(sidbeam_runtime* runtime, const std::vector<int32_t>& codes, const SidRows& rows,
                                  bool variable, int32_t kinds = SIDBEAM_KIND_TRIE) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_index* index = nullptr;
  check(sidbeam_builder_finish(make_builder(runtime, codes, rows, variable, kinds).get(), &index, &error), error);
  return make_constraint(Index(index).get());
}

inline SidRows random_sids(const std::vector<int32_t>& codes, int64_t sids, uint64_t seed, bool variable) {
  std::mt19937_64 random(seed);
  SidRows rows;
  for (int64_t i = 0; i < sids; ++i) {
    for (const int32_t count : codes)
      rows.codes.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(count)));
    rows.lengths.push_back(static_cast<int32_t>(variable ? 1 + random() % codes.size() : codes.size()));
  }
  return rows;
}

// Up to `sids` random SIDs.
inline Constraint make_constraint(sidbeam_runtime* runtime, const std::vector<int32_t>& codes, int64_t sids,
                                  uint64_t seed, bool variable = false, int32_t kinds = SIDBEAM_KIND_TRIE) {
  return make_constraint(runtime, codes, random_sids(codes, sids, seed, variable), variable, kinds);
}

}  // namespace handles
