// Requests to versions of a live catalogue and to plain indexes, through the ABI, and what comes of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "decode/objects.h"
#include "index/read/items.h"
#include "index/read/lookup.h"
#include "index_catalogues.h"
#include "sidbeam/sidbeam.h"

namespace sidbeam::testing {

template <class Call>
void expect_ok(const Call& call) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  if (call(&error) != SIDBEAM_OK) throw std::runtime_error(error.message);
}

struct Runtime {
  sidbeam_runtime* handle = nullptr;
  Runtime() {
    expect_ok([&](sidbeam_error* error) { return sidbeam_runtime_create(nullptr, &handle, error); });
  }
  ~Runtime() { sidbeam_runtime_release(handle); }
};

inline std::string id_text(const IndexView& index, uint64_t row) {
  return index.id_type == IdType::kString ? std::string(item_name(index, row)) : std::to_string(item_id(index, row));
}

// Ids as a list of the ABI.
class IdList {
 public:
  IdList(const IndexView& index, const std::vector<Pair>& pairs) {
    for (const Pair& pair : pairs) {
      numbers_.push_back(pair.id);
      names_ += pair.name;
      offsets_.push_back(static_cast<int64_t>(names_.size()));
    }
    if (index.id_type == IdType::kString) {
      list_.names = names_.data();
      list_.offsets = offsets_.data();
    } else {
      list_.numbers = numbers_.data();
    }
    list_.count = static_cast<int64_t>(pairs.size());
  }
  const sidbeam_item_list* get() const { return &list_; }

 private:
  std::vector<int64_t> numbers_, offsets_ = {0};
  std::string names_;
  sidbeam_item_list list_ = SIDBEAM_ITEM_LIST_INIT;
};

// What a request asks for.
struct Request {
  std::vector<Pair> excluded, allowed, in_filter;
  bool excludes = false, allows = false, filters = false;
  int32_t beams = 1, mode = SIDBEAM_MODE_SEARCH, normalization = SIDBEAM_NORMALIZE_FULL, distinct = 0;
  int64_t seed = 0;
  bool gives_lse = false;
  std::string text;           // of a filter, instead of in_filter
  const char* cap = nullptr;  // an attribute, of whose values one item may be listed each
};

inline std::vector<Pair> some_of(const std::vector<Pair>& pairs, std::mt19937_64& random) {
  std::vector<Pair> out;
  const uint64_t of_ten = random() % 11;
  for (const Pair& pair : pairs)
    if (random() % 10 < of_ten) out.push_back(pair);
  return out;
}

inline Request random_request(const std::vector<Pair>& live, std::mt19937_64& random) {
  Request out;
  out.excludes = random() % 3 == 0;
  out.allows = random() % 4 == 0;
  out.filters = random() % 3 == 0;
  if (out.excludes) out.excluded = some_of(live, random);
  if (out.allows) out.allowed = some_of(live, random);
  if (out.filters) out.in_filter = some_of(live, random);
  out.beams = static_cast<int32_t>(1 + random() % 40);
  out.mode = static_cast<int32_t>(random() % 3);
  out.normalization = static_cast<int32_t>(random() % 4);
  out.distinct = static_cast<int32_t>(random() % 2);
  out.seed = static_cast<int64_t>(random() % 1000);
  out.gives_lse = out.normalization != SIDBEAM_NORMALIZE_NONE && random() % 3 == 0;
  return out;
}

// What came of it.
struct Outcome {
  std::vector<int32_t> codes, parents, live, sids;
  std::vector<float> scores;
  std::vector<std::vector<std::string>> items;  // by beam, each beam's by id
  int64_t allowed_sids = 0, allowed_items = 0;
  bool ordinals_agree = true;  // with the SIDs of the beams
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// The constraint of a request.
struct ConstraintOf {
  sidbeam_filter* filter = nullptr;
  sidbeam_constraint* constraint = nullptr;

  ConstraintOf(sidbeam_index* index, const Request& request) {
    const IndexView& view = index->index.view;
    sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
    const IdList excluded(view, request.excluded), allowed(view, request.allowed), in_filter(view, request.in_filter);
    config.index = index;
    if (request.excludes) config.excluded = excluded.get();
    if (request.allows) config.allowed = allowed.get();
    expect_ok([&](sidbeam_error* error) {
      if (!request.filters) return static_cast<sidbeam_status>(SIDBEAM_OK);
      if (request.text.empty()) return sidbeam_filter_from_items(index, in_filter.get(), nullptr, &filter, error);
      return sidbeam_filter_parse(index, request.text.data(), std::ssize(request.text), &filter, error);
    });
    config.filter = filter;
    expect_ok([&](sidbeam_error* error) { return sidbeam_constraint_create(&config, &constraint, error); });
  }
  ConstraintOf(const ConstraintOf&) = delete;
  ConstraintOf& operator=(const ConstraintOf&) = delete;
  ~ConstraintOf() {
    sidbeam_constraint_release(constraint);
    sidbeam_filter_release(filter);
  }
};

class Search {
 public:
  Search(sidbeam_runtime* runtime, sidbeam_index* index, const Request& request)
      : index_(index), request_(request), constraint_(index, request) {
    sidbeam_session_config search = SIDBEAM_SESSION_CONFIG_INIT;
    vocabulary_.levels = index->index.view.levels;
    vocabulary_.end_column = columns() - 1;
    search.vocabulary = &vocabulary_;
    search.beams = request.beams;
    search.constraint = constraint_.constraint;
    search.mode = request.mode;
    search.normalization = request.normalization;
    expect_ok([&](sidbeam_error* error) { return sidbeam_session_create(runtime, &search, &session_, error); });
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  ~Search() { sidbeam_session_destroy(session_); }

  int64_t columns() const { return int64_t{widest_level(index_->index.view)} + 3; }

  // The same logits for the same seed.
  Outcome run(uint64_t logits_seed) {
    Outcome out;
    std::mt19937_64 random(logits_seed);
    start();
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    expect_ok([&](sidbeam_error* error) { return sidbeam_session_get_beams(session_, &beams, error); });
    const int64_t m = request_.beams;
    std::vector<float> logits(static_cast<size_t>(m * columns())), lse(static_cast<size_t>(m));
    while (beams.active[0] > 0) {
      for (float& x : logits) x = static_cast<float>(random() % 16) / 4.0F - 4.0F;
      for (float& x : lse) x = static_cast<float>(random() % 4);
      sidbeam_rows rows = sidbeam_rows_dense(logits.data(), SIDBEAM_DTYPE_F32, 1, m, columns());
      sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
      step.rows = &rows;
      if (request_.gives_lse) step.lse = lse.data();
      expect_ok([&](sidbeam_error* error) { return sidbeam_session_step(session_, &step, error); });
      out.codes.insert(out.codes.end(), beams.codes, beams.codes + m);
      out.parents.insert(out.parents.end(), beams.parents, beams.parents + m);
      out.scores.insert(out.scores.end(), beams.scores, beams.scores + m);
      out.live.push_back(beams.live[0]);
    }
    list_items(out);
    sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
    expect_ok([&](sidbeam_error* error) { return sidbeam_constraint_get_info(constraint_.constraint, &info, error); });
    out.allowed_sids = info.allowed_sids;
    out.allowed_items = info.allowed_items;
    return out;
  }

 private:
  void start() {
    sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
    sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
    const int64_t request = 7;
    sampling.seeds = &request_.seed;
    sampling.requests = &request;
    if (request_.mode != SIDBEAM_MODE_SEARCH) args.sampling = &sampling;
    expect_ok([&](sidbeam_error* error) { return sidbeam_session_start(session_, &args, error); });
  }

  void list_items(Outcome& out) {
    const int64_t m = request_.beams, levels = index_->index.view.levels, limit = 100000;
    std::vector<int64_t> rows(limit), offsets(static_cast<size_t>(m + 1)), ordinals(static_cast<size_t>(m));
    out.sids.resize(static_cast<size_t>(m * levels));
    sidbeam_items items = SIDBEAM_ITEMS_INIT;
    items.limit = limit;
    items.item_rows = rows.data();
    items.offsets = offsets.data();
    items.sids = out.sids.data();
    items.ordinals = ordinals.data();
    items.distinct = request_.distinct;
    items.cap_attribute = request_.cap;
    items.cap = request_.cap != nullptr ? 1 : 0;
    expect_ok([&](sidbeam_error* error) { return sidbeam_session_get_items(session_, nullptr, 0, &items, error); });
    for (size_t i = 0; i < static_cast<size_t>(m); ++i) {
      std::vector<std::string>& of_beam = out.items.emplace_back();
      for (int64_t k = offsets[i]; k < offsets[i + 1]; ++k)
        of_beam.push_back(id_text(index_->index.view, static_cast<uint64_t>(rows[static_cast<size_t>(k)])));
      std::sort(of_beam.begin(), of_beam.end());
      if (ordinals[i] < 0) continue;
      std::vector<int32_t> codes(static_cast<size_t>(levels), -1);
      sid_of(index_->index.view, static_cast<uint64_t>(ordinals[i]), codes.data());
      out.ordinals_agree &= std::equal(codes.begin(), codes.end(), out.sids.begin() + static_cast<int64_t>(i) * levels);
    }
  }

  sidbeam_index* index_;
  const Request& request_;
  sidbeam_vocabulary vocabulary_ = SIDBEAM_VOCABULARY_INIT;
  ConstraintOf constraint_;
  sidbeam_session* session_ = nullptr;
};

}  // namespace sidbeam::testing
