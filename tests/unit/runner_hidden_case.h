// Sessions, output layers and hidden states for tests of the step from hidden states. All numbers are small multiples
// of 1/4 where they are to be exact, so that sums are the same in any order, bits must be equal, and scores tie.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "runner_fakes.h"
#include "sidbeam/hidden.h"

namespace sidbeam::runner::hidden {

using fakes::check;
using fakes::Codes;

using Layer = std::unique_ptr<sidbeam_output_layer, handles::Releaser<sidbeam_output_layer_destroy>>;
using Hidden = std::unique_ptr<sidbeam_hidden, handles::Releaser<sidbeam_hidden_destroy>>;

// Exact for multiples of 1/4 that 16 bits hold.
inline uint16_t half_bits(float value, int32_t dtype) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (dtype == SIDBEAM_DTYPE_BF16) return static_cast<uint16_t>(bits >> 16);
  if (value == 0.0F) return 0;
  const uint32_t exponent = (bits >> 23 & 0xFF) - 127 + 15;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3FF));
}

struct Weights {
  int64_t columns = 0, width = 0;
  int32_t dtype = SIDBEAM_DTYPE_F32;
  float soft_cap = 0.0F;
  std::vector<float> values, bias;
  std::vector<uint16_t> halves;

  Layer layer(const char* target = nullptr) const {
    sidbeam_output_layer_config config = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
    config.dtype = dtype;
    config.weights = dtype == SIDBEAM_DTYPE_F32 ? static_cast<const void*>(values.data()) : halves.data();
    config.columns = columns, config.width = width, config.soft_cap = soft_cap, config.cpu_target = target;
    if (!bias.empty()) config.bias = bias.data();
    sidbeam_output_layer* made = nullptr;
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    check(sidbeam_output_layer_create(&config, &made, &error), error);
    return Layer(made);
  }
};

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int32_t below(int64_t n) { return static_cast<int32_t>(engine_() % static_cast<uint64_t>(n)); }
  float quarter() { return static_cast<float>(below(9) - 4) / 4.0F; }
  float real() { return std::uniform_real_distribution<float>(-1.0F, 1.0F)(engine_); }
  uint64_t seed() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

inline Weights make_weights(Random& random, int64_t columns, int64_t width, bool exact) {
  Weights weights;
  weights.columns = columns, weights.width = width;
  if (exact) weights.dtype = random.below(3);
  for (int64_t i = 0; i < columns * width; ++i) {
    weights.values.push_back(exact ? random.quarter() : random.real());
    if (weights.dtype != SIDBEAM_DTYPE_F32) weights.halves.push_back(half_bits(weights.values.back(), weights.dtype));
  }
  const bool has_bias = random.below(2) == 0;
  for (int64_t c = 0; has_bias && c < columns; ++c) weights.bias.push_back(exact ? random.quarter() : random.real());
  if (random.below(4) == 0) weights.soft_cap = 8.0F;
  return weights;
}

// Sessions of one kind, and the world they live in.
struct Case {
  handles::Runtime runtime = fakes::make_runtime();
  Codes codes;
  std::vector<int64_t> offsets;
  handles::Constraint constraint, alone;  // the former may be a version of a live catalogue, the latter has its items
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  int64_t columns = 0;
  bool lse_given = false, live = false;

  handles::Session session() const { return session(constraint); }
  handles::Session session(const handles::Constraint& of) const {
    sidbeam_session_config how = config;
    how.constraint = of.get();
    sidbeam_session* made = nullptr;
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    check(sidbeam_session_create(runtime.get(), &how, &made, &error), error);
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    check(sidbeam_session_start(made, &start, &error), error);
    return handles::Session(made);
  }
  int64_t rows() const { return int64_t{config.slots} * config.beams; }
  bool reads_children() const {
    return config.strategy == SIDBEAM_STRATEGY_TRIE && (lse_given || config.normalization >= SIDBEAM_NORMALIZE_VALID);
  }
};

// Codes of a level begin at an offset of its own, or share the columns of other levels; the end is column 0.
inline void make_case(Random& random, Case& c) {
  for (int32_t levels = 1 + random.below(4); levels > 0; --levels) c.codes.push_back(1 + random.below(40));
  const bool shared = random.below(2) == 0;
  int64_t next = 1 + random.below(20);
  for (const int32_t codes : c.codes) {
    c.offsets.push_back(shared ? 1 : next);
    next += codes;
  }
  c.columns = next + random.below(20) + 40;
  const int32_t strategies[] = {SIDBEAM_STRATEGY_TRIE,        SIDBEAM_STRATEGY_TRIE,       SIDBEAM_STRATEGY_TRIE,
                                SIDBEAM_STRATEGY_SORTED_TOPK, SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_STRATEGY_SORTED};
  c.config.strategy = strategies[random.below(6)];
  c.config.normalization = random.below(4);
  const bool variable = c.config.strategy != SIDBEAM_STRATEGY_HASH_FINAL && random.below(2) == 0;
  if (c.config.strategy == SIDBEAM_STRATEGY_HASH_FINAL && c.config.normalization == SIDBEAM_NORMALIZE_VALID)
    c.config.normalization = SIDBEAM_NORMALIZE_FULL;
  const int32_t tails[] = {0, SIDBEAM_KIND_COMPACT_TRIE};
  const int32_t kinds =
      SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED | tails[random.below(2)] | (variable ? 0 : SIDBEAM_KIND_HASH);
  const int32_t sids = random.below(6) == 0 ? 1 : 1 + random.below(400);
  const handles::SidRows rows = handles::random_sids(c.codes, sids, random.seed(), variable);
  c.alone = fakes::make_constraint(c.runtime.get(), c.codes, rows, variable, kinds);
  c.live = c.config.strategy == SIDBEAM_STRATEGY_TRIE && random.below(2) == 0;
  c.constraint = c.live
                     ? fakes::make_constraint(
                           handles::make_version(c.runtime.get(), c.codes, rows, variable, random.seed(), kinds).get())
                     : handles::share(c.alone);
  c.vocabulary.levels = static_cast<int32_t>(c.codes.size());
  c.vocabulary.offsets = c.offsets.data();
  c.vocabulary.end_column = 0;
  c.config.slots = 1 + random.below(3), c.config.beams = 1 + random.below(12);
  c.config.constraint = c.constraint.get(), c.config.vocabulary = &c.vocabulary;
  c.lse_given = c.config.normalization != SIDBEAM_NORMALIZE_NONE && random.below(3) == 0;
}

inline Hidden make_hidden(const handles::Session& session, const Layer& layer, int32_t path, int64_t children = 0) {
  sidbeam_hidden_config config = SIDBEAM_HIDDEN_CONFIG_INIT;
  config.session = session.get(), config.layer = layer.get(), config.path = path, config.children = children;
  sidbeam_hidden* made = nullptr;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check(sidbeam_hidden_create(&config, &made, &error), error);
  return Hidden(made);
}

inline sidbeam_hidden_stats stats_of(const Hidden& hidden) {
  sidbeam_hidden_stats stats = SIDBEAM_HIDDEN_STATS_INIT;
  EXPECT_EQ(sidbeam_hidden_get_stats(hidden.get(), &stats, nullptr), SIDBEAM_OK);
  return stats;
}

inline sidbeam_beams beams_of(const handles::Session& session) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  EXPECT_EQ(sidbeam_session_get_beams(session.get(), &beams, nullptr), SIDBEAM_OK);
  return beams;
}

// States are of one index.
inline void expect_same_beams(const Case& c, const handles::Session& a, const handles::Session& b, const char* what,
                              bool one_index = true) {
  SCOPED_TRACE(what);
  const sidbeam_beams x = beams_of(a), y = beams_of(b);
  const auto same = [](const auto* p, const auto* q, int64_t n) {
    return std::memcmp(p, q, static_cast<size_t>(n) * sizeof *p) == 0;
  };
  EXPECT_TRUE(same(x.live, y.live, c.config.slots));
  EXPECT_TRUE(same(x.active, y.active, c.config.slots));
  EXPECT_TRUE(same(x.errors, y.errors, c.config.slots));
  EXPECT_TRUE(same(x.parents, y.parents, c.rows()));
  EXPECT_TRUE(same(x.codes, y.codes, c.rows()));
  if (one_index) {
    EXPECT_TRUE(same(x.states, y.states, c.rows()));
  }
  EXPECT_TRUE(same(x.scores, y.scores, c.rows()));
}

// Hidden states of all beams, and their logits in double.
struct States {
  std::vector<float> hidden, logits, lse;

  States(Random& random, const Case& c, const Weights& weights, bool exact, bool nan = true) {
    for (int64_t i = 0; i < c.rows() * weights.width; ++i) hidden.push_back(exact ? random.quarter() : random.real());
    if (nan && random.below(8) == 0)
      hidden[static_cast<size_t>(random.below(static_cast<int64_t>(hidden.size())))] = NAN;
    for (int64_t r = 0; r < c.rows(); ++r) {
      for (int64_t col = 0; col < weights.columns; ++col) {
        double sum = weights.bias.empty() ? 0.0 : static_cast<double>(weights.bias[static_cast<size_t>(col)]);
        for (int64_t i = 0; i < weights.width; ++i)
          sum += static_cast<double>(hidden[static_cast<size_t>(r * weights.width + i)]) *
                 static_cast<double>(weights.values[static_cast<size_t>(col * weights.width + i)]);
        logits.push_back(static_cast<float>(sum));
      }
      lse.push_back(3.0F + static_cast<float>(random.below(5)));
    }
  }
};

inline sidbeam_status step_by_hand(const Case& c, const Weights& weights, const States& states,
                                   sidbeam_session* session) {
  const sidbeam_rows rows =
      sidbeam_rows_dense(states.logits.data(), SIDBEAM_DTYPE_F32, c.config.slots, c.config.beams, weights.columns);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  args.soft_cap = weights.soft_cap;
  args.inverse_temperature = 0.5F;
  if (c.lse_given) args.lse = states.lse.data();
  return sidbeam_session_step(session, &args, nullptr);
}

inline sidbeam_status step_hidden(const Case& c, const Weights& weights, const States& states, sidbeam_hidden* hidden,
                                  sidbeam_error* error = nullptr) {
  const sidbeam_rows rows =
      sidbeam_rows_dense(states.hidden.data(), SIDBEAM_DTYPE_F32, c.config.slots, c.config.beams, weights.width);
  sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
  args.hidden = &rows;
  args.inverse_temperature = 0.5F;
  if (c.lse_given) args.lse = states.lse.data();
  return sidbeam_hidden_step(hidden, &args, error);
}

}  // namespace sidbeam::runner::hidden
