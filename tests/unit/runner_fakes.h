// What the runner's tests run without a model: catalogues, a forward pass whose logits are a hash of what a row is
// asked, and the same search by a session of its own, driven by hand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../random_version.h"
#include "runner/models/forward.h"
#include "runner/models/output.h"
#include "runner/schedule/lane.h"

namespace sidbeam::runner::fakes {

using Codes = std::vector<int32_t>;

using handles::check, handles::make_constraint, handles::make_runtime;

struct Randomly {
  std::mt19937_64 engine;

  int32_t below(int32_t n) { return static_cast<int32_t>(engine() % static_cast<uint64_t>(n)); }
  bool one_in(int32_t n) { return below(n) == 0; }
  float number() { return static_cast<float>(below(20001) - 10000) * 1e-4F; }
};

// Elements are multiples of 1/4, so that there are ties. It depends on the prompt, the tokens of the row's path and the
// column's token alone.
inline float logit(const Codes& prompt, const Codes& path, int64_t token) {
  uint64_t hash = 1469598103934665603U;
  const auto mix = [&hash](int64_t value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 1099511628211U;
    hash ^= hash >> 29;
  };
  for (const int32_t t : prompt) mix(t);
  mix(-7);
  for (const int32_t t : path) mix(t);
  mix(token);
  hash *= 0x9E3779B97F4A7C15U;
  return static_cast<float>(hash >> 59) * 0.25f - 4.0f;
}

// Everything that the lanes and the session by hand have in common.
struct World {
  handles::Runtime runtime = make_runtime();
  Codes codes;
  handles::Constraint constraint;
  int32_t beams = 4;
  int32_t strategy = SIDBEAM_STRATEGY_TRIE, normalization = SIDBEAM_NORMALIZE_FULL, mode = SIDBEAM_MODE_SEARCH;
  float inverse_temperature = 0.0F, soft_cap = 0.0F;
  bool variable = false;
  bool damaged = false;          // the index is, so that its beams may be anything
  std::vector<int64_t> offsets;  // of the vocabulary
  int64_t tokens = 0;            // of the model; the last one is the end
  std::unique_ptr<OutputColumns> output;

  int32_t levels() const { return static_cast<int32_t>(codes.size()); }

  void finish() {
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    offsets.clear();
    tokens = 3;  // tokens that stand for no code
    for (const int32_t count : codes) {
      offsets.push_back(tokens);
      tokens += count;
    }
    ++tokens;
    vocabulary.levels = levels();
    vocabulary.offsets = offsets.data();
    vocabulary.end_column = tokens - 1;
    OutputConfig config;
    config.levels = levels();
    config.codes = codes.data();
    config.variable_length = variable;
    config.normalization = normalization;
    config.vocabulary = &vocabulary;
    output = std::make_unique<OutputColumns>(default_allocator(), config, tokens);
  }

  float element(const Codes& prompt, const Codes& path, int32_t level, int64_t column) const {
    const int64_t token = output->full() ? column : output->tokens(level)[column];
    return token < 0 ? -std::numeric_limits<float>::infinity() : logit(prompt, path, token);
  }
};

// Checks what it is given, and writes logit().
class FakeForward final : public Forward {
 public:
  // Called at the end of each pass, with its level.
  using OnPass = std::function<void(int32_t level, float* logits)>;

  FakeForward(const World& world, int32_t requests, OnPass on_pass = {})
      : world_(world), requests_(requests), on_pass_(std::move(on_pass)) {}

  void prefill(const Prompt* prompts, int32_t count) override {
    ASSERT_TRUE(count >= 1 && count <= requests_);
    prompts_.clear();
    for (int32_t i = 0; i < count; ++i)
      prompts_.emplace_back(prompts[i].tokens, prompts[i].tokens + prompts[i].positions * prompts[i].group);
    kv_.assign(static_cast<size_t>(count), Codes(static_cast<size_t>(world_.levels() * world_.beams), -1));
    paths_.assign(static_cast<size_t>(count), {0, {}});
    for (int32_t i = 0; i < count; ++i) paths_[static_cast<size_t>(i)].first = i;
    write(0);
  }

  void decode(const DecodeRows& beams) override {
    ASSERT_TRUE(beams.rows >= 1 && beams.depth >= 1 && beams.depth < world_.levels());
    paths_.clear();
    std::set<std::pair<int32_t, int32_t>> written;
    for (int32_t r = 0; r < beams.rows; ++r) {
      const int32_t request = beams.requests[r], slot = beams.slots[r];
      ASSERT_TRUE(r == 0 || request >= beams.requests[r - 1]) << "rows are not in order";
      ASSERT_TRUE(request >= 0 && request < static_cast<int32_t>(prompts_.size()));
      ASSERT_TRUE(slot >= unshared_slot(world_.beams, beams.depth, 0) &&
                  slot < unshared_slot(world_.beams, beams.depth + 1, 0));
      ASSERT_TRUE(written.emplace(request, slot).second) << "two rows write a slot";
      const int64_t code = beams.tokens[r] - world_.offsets[static_cast<size_t>(beams.depth - 1)];
      ASSERT_TRUE(code >= 0 && code < world_.codes[static_cast<size_t>(beams.depth - 1)]) << "an ended beam is fed";
      kv_[static_cast<size_t>(request)][static_cast<size_t>(slot)] = beams.tokens[r];
    }
    for (int32_t r = 0; r < beams.rows; ++r) {
      const int32_t* ancestors = beams.ancestors + int64_t{r} * beams.depth;
      ASSERT_EQ(ancestors[beams.depth - 1], beams.slots[r]);
      Codes path;
      for (int32_t d = 0; d < beams.depth; ++d)
        path.push_back(kv_[static_cast<size_t>(beams.requests[r])][static_cast<size_t>(ancestors[d])]);
      paths_.emplace_back(beams.requests[r], std::move(path));
    }
    write(beams.depth);
  }

  float* logits(int32_t level) override {
    EXPECT_EQ(level, level_);
    return logits_.data();
  }
  int64_t columns(int32_t level) const override { return world_.output->columns(level); }
  int64_t memory_bytes() const override { return 1000; }
  int64_t rows() const { return static_cast<int64_t>(paths_.size()); }

 private:
  void write(int32_t level) {
    level_ = level;
    logits_.clear();
    for (const auto& [request, path] : paths_) {
      for (int64_t column = 0; column < columns(level); ++column)
        logits_.push_back(world_.element(prompts_[static_cast<size_t>(request)], path, level, column));
    }
    if (on_pass_) on_pass_(level, logits_.data());
  }

  const World& world_;
  int32_t requests_;
  OnPass on_pass_;
  int32_t level_ = -1;
  std::vector<Codes> prompts_;
  std::vector<Codes> kv_;                         // [requests][slots] tokens
  std::vector<std::pair<int32_t, Codes>> paths_;  // of the rows of the last pass
  std::vector<float> logits_;
};

// What a request brought, copied.
struct Found {
  sidbeam_status status = -1;
  std::string message;
  std::vector<int32_t> sids;
  std::vector<float> scores;
  std::vector<int64_t> ordinals;

  bool operator==(const Found& other) const {
    return status == other.status && sids == other.sids && bits() == other.bits() && ordinals == other.ordinals;
  }
  std::vector<uint32_t> bits() const {
    std::vector<uint32_t> all;
    for (const float score : scores) all.push_back(std::bit_cast<uint32_t>(score));
    return all;
  }
};

template <class Result>  // Outcome or sidbeam_result
Found copy(const Result& result, int32_t levels) {
  Found found;
  found.status = result.status;
  found.message = result.message;
  if (result.live > 0) {
    found.sids.assign(result.sids, result.sids + result.live * levels);
    found.scores.assign(result.scores, result.scores + result.live);
    found.ordinals.assign(result.ordinals, result.ordinals + result.live);
  }
  return found;
}

// Whose random numbers a request of mode STOCHASTIC draws with.
struct Keys {
  int64_t seed = 0, request = 0;
};

// Most beams of a request: at every level, or at each.
struct Widths {
  Widths(int32_t width) : of_levels{width} {}
  Widths(Codes widths) : of_levels(std::move(widths)) {}
  Codes of_levels;
};

// Of each level, or none, which is all at every level. In mode STOCHASTIC they do not rise.
inline Codes random_widths(std::mt19937_64& random, const World& world, int32_t beams) {
  Codes widths;
  if (random() % 2 == 0) return widths;
  const auto count = 1 + random() % static_cast<uint64_t>(world.levels());
  for (uint64_t l = 0; l < count; ++l)
    widths.push_back(1 + static_cast<int32_t>(random() % static_cast<uint64_t>(beams)));
  if (world.mode == SIDBEAM_MODE_STOCHASTIC) std::sort(widths.begin(), widths.end(), std::greater<>());
  return widths;
}

// The search of one request in a session of its own, with a logits row for every beam.
inline Found search_by_hand(const World& world, sidbeam_constraint* constraint, const Codes& prompt,
                            const Widths& widths, const Keys& keys = {}) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.beams = world.beams;
  config.strategy = world.strategy;
  config.normalization = world.normalization;
  config.mode = world.mode;
  config.constraint = constraint;
  config.vocabulary = &world.output->vocabulary();
  sidbeam_session* session = nullptr;
  check(sidbeam_session_create(world.runtime.get(), &config, &session, &error), error);
  const handles::Session owned(session);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.widths = widths.of_levels.data();
  start.width_levels = static_cast<int32_t>(widths.of_levels.size());
  start.count = 1;
  start.inverse_temperatures = &world.inverse_temperature;
  start.soft_caps = &world.soft_cap;
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = &keys.seed;
  sampling.requests = &keys.request;
  if (world.mode != SIDBEAM_MODE_SEARCH) start.sampling = &sampling;
  check(sidbeam_session_start(session, &start, &error), error);
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  check(sidbeam_session_get_beams(session, &beams, &error), error);
  std::vector<Codes> paths(static_cast<size_t>(world.beams));  // tokens
  for (int32_t level = 0; level < world.levels() && beams.active[0] > 0; ++level) {
    const int64_t columns = world.output->columns(level);
    std::vector<float> logits;
    for (const Codes& path : paths)
      for (int64_t column = 0; column < columns; ++column) logits.push_back(world.element(prompt, path, level, column));
    const sidbeam_rows rows = sidbeam_rows_dense(logits.data(), SIDBEAM_DTYPE_F32, 1, world.beams, columns);
    sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
    step.rows = &rows;
    check(sidbeam_session_step(session, &step, &error), error);
    std::vector<Codes> next(paths.size());
    for (int32_t beam = 0; beam < beams.live[0]; ++beam) {
      Codes& path = next[static_cast<size_t>(beam)];
      path = paths[static_cast<size_t>(beams.parents[beam])];
      const int32_t code = beams.codes[beam];
      if (code >= 0 && code < world.codes[static_cast<size_t>(level)])
        path.push_back(static_cast<int32_t>(world.offsets[static_cast<size_t>(level)] + code));
    }
    paths = next;
  }
  std::vector<int64_t> ordinals(static_cast<size_t>(world.beams));
  std::vector<int32_t> sids(static_cast<size_t>(world.beams * world.levels()));
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals.data();
  items.sids = sids.data();
  check(sidbeam_session_get_items(session, nullptr, 1, &items, &error), error);
  return copy(Outcome{SIDBEAM_OK, "", beams.live[0], items.sids, beams.scores, items.ordinals}, world.levels());
}

// What requests name, and an index of its items alone where it is a version of a live catalogue.
struct Catalogue {
  handles::Index version;  // null: no version
  handles::Constraint constraint, alone;
};
inline Catalogue make_catalogue(const World& world, int32_t sids, uint64_t seed, int32_t kinds, bool live) {
  Catalogue made;
  const handles::SidRows rows = handles::random_sids(world.codes, sids, seed, world.variable);
  made.constraint = make_constraint(world.runtime.get(), world.codes, rows, world.variable, kinds);
  if (!live) return made;
  made.alone = std::move(made.constraint);
  made.version = handles::make_version(world.runtime.get(), world.codes, rows, world.variable, seed, kinds);
  made.constraint = make_constraint(made.version.get());
  return made;
}

// Of a version what its items alone give; only ordinals are its own.
inline Found search_by_hand(const World& world, const Catalogue& catalogue, const Codes& prompt, const Widths& widths,
                            const Keys& keys = {}) {
  if (catalogue.version == nullptr) return search_by_hand(world, catalogue.constraint.get(), prompt, widths, keys);
  Found found = search_by_hand(world, catalogue.alone.get(), prompt, widths, keys);
  found.ordinals = handles::ordinals_in(catalogue.version.get(), found.sids, world.levels());
  return found;
}

inline std::unique_ptr<Lane> make_fake_lane(const World& world, int32_t requests, FakeForward::OnPass on_pass = {},
                                            const Allocator& allocator = default_allocator(),
                                            int32_t (*adjust)(void*, const sidbeam_level*) = nullptr,
                                            void* adjust_context = nullptr) {
  LaneConfig config;
  config.runtime = world.runtime.get();
  config.constraint = world.constraint.get();
  config.output = world.output.get();
  config.requests = requests;
  config.beams = world.beams;
  config.strategy = world.strategy;
  config.normalization = world.normalization;
  config.adjust = adjust;
  config.adjust_context = adjust_context;
  return make_lane(allocator, config, std::make_unique<FakeForward>(world, requests, std::move(on_pass)));
}

}  // namespace sidbeam::runner::fakes
