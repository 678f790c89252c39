// SPDX-License-Identifier: Apache-2.0
#include "runner/draft/checks.h"

#include <cstdio>
#include <limits>

#include "sidbeam/index.h"
#include "support/codebook.h"
#include "support/error.h"
#include "support/parallel.h"
#include "support/strides.h"

namespace sidbeam::runner {
namespace {

constexpr int32_t kMostRequests = 1 << 20;

using ll = long long;

void check_shape(const DraftShape& shape, const char* what, int32_t levels, bool variable_length,
                 const int32_t* codes) {
  if (levels != shape.levels)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s has %d levels, expected %d, those of the draft head", what, levels,
         shape.levels);
  if (variable_length)
    fail(SIDBEAM_UNSUPPORTED, "%s has SIDs of variable length, expected one length for a draft head", what);
  for (int32_t l = 0; l < levels; ++l) {
    if (codes[l] != shape.codes[l])
      fail(SIDBEAM_INVALID_ARGUMENT, "%s has %d codes at level %d, expected %d, those of the draft head", what,
           codes[l], l, shape.codes[l]);
  }
}

void check_kinds(int32_t verification, int32_t kinds) {
  if (verification == SIDBEAM_DRAFT_VERIFY_TRIE && (kinds & SIDBEAM_KIND_TRIE) == 0)
    fail(SIDBEAM_MISSING_SECTION,
         "config.index has no trie, expected one built with kinds trie (SIDBEAM_KIND_TRIE) for verification by trie");
  if (verification == SIDBEAM_DRAFT_VERIFY_HASH && (kinds & SIDBEAM_KIND_HASH) == 0)
    fail(SIDBEAM_MISSING_SECTION,
         "config.index has no hash set, expected one built with kinds hash (SIDBEAM_KIND_HASH) for verification by "
         "hash");
}

void check_columns(const DraftShape& shape, const sidbeam_rows& rows) {
  if (rows.columns != shape.hidden)
    fail(SIDBEAM_INVALID_ARGUMENT, "hidden.columns is %lld, expected %d, the draft head's hidden size",
         static_cast<ll>(rows.columns), shape.hidden);
  if (rows.rows != shape.levels + 1)
    fail(SIDBEAM_INVALID_ARGUMENT, "hidden.rows is %lld, expected %d: h_0 and one per level",
         static_cast<ll>(rows.rows), shape.levels + 1);
  check_range("hidden.dtype", rows.dtype, SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_BF16);
  if (rows.data == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "hidden.data is NULL, expected hidden states");
}

void check_place(const DraftPlace& place, const sidbeam_rows& rows) {
  if (rows.device_type == place.device_type && rows.device_id == place.device_id) return;
  const bool cpu = place.device_type == SIDBEAM_DEVICE_CPU;
  fail(SIDBEAM_NO_DEVICE, "hidden.device_type is %d and device_id %d, expected %s (%d and %d), as the decoder",
       rows.device_type, rows.device_id, cpu ? "the CPU" : "CUDA", place.device_type, place.device_id);
}

}  // namespace

void check_draft_config(const sidbeam_draft_config& config) {
  check_range("config.requests", config.requests, 0, kMostRequests);
  check_range("config.beams", config.beams, 1, SIDBEAM_MAX_BEAMS);
  check_range("config.requests * config.beams", int64_t{config.requests} * config.beams, 0,
              std::numeric_limits<int32_t>::max());
  check_range("config.verification", config.verification, SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_DRAFT_VERIFY_NONE);
  const bool by_trie = config.verification == SIDBEAM_DRAFT_VERIFY_TRIE;
  check_range(by_trie ? "config.normalization" : "config.normalization, without verification by trie,",
              config.normalization, SIDBEAM_NORMALIZE_FULL,
              by_trie ? SIDBEAM_NORMALIZE_VALID : SIDBEAM_NORMALIZE_LEVEL);
  check_range("config.top_k", config.top_k, 0, SIDBEAM_MAX_CODES);
  check_range("config.threads", config.threads, 0, kMaxThreads);
  if (config.threads > 1 && config.execute == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.execute is NULL, expected a function, since config.threads is %d",
         config.threads);
  check_range("config.device_type", config.device_type, SIDBEAM_DEVICE_CPU, SIDBEAM_DEVICE_CUDA);
  const bool cpu = config.device_type == SIDBEAM_DEVICE_CPU;
  check_range("config.device_id", config.device_id, 0, cpu ? 0 : std::numeric_limits<int32_t>::max());
}

void check_catalogue(const DraftShape& shape, const sidbeam_index* index, int32_t verification) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  check_status(sidbeam_index_get_info(index, &info, &error), error);
  check_shape(shape, "config.index", info.levels, info.variable_length != 0, info.codes);
  check_codebook("config.index", sidbeam_index_codebook(index), shape.codebook, "the draft head");
  check_kinds(verification, info.kinds);
}

void check_constraint(const DraftShape& shape, const sidbeam_constraint* constraint, int64_t i) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  check_status(sidbeam_constraint_get_info(constraint, &info, &error), error);
  char what[40];
  std::snprintf(what, sizeof what, "constraints[%lld]", static_cast<ll>(i));
  check_shape(shape, what, info.levels, info.variable_length != 0, info.codes);
  check_codebook(what, info.codebook, shape.codebook, "the draft head");
}

void check_count(const sidbeam_rows& hidden, int32_t most_requests) {
  check_range("hidden.slots", hidden.slots, 1, most_requests);
}

void check_hidden(const DraftShape& shape, const DraftPlace& place, int32_t most_requests, sidbeam_rows& rows) {
  check_columns(shape, rows);
  check_count(rows, most_requests);
  check_place(place, rows);
  resolve_strides(rows, "hidden");
}

}  // namespace sidbeam::runner
