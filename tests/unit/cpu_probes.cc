// The last level by hash set: its best codes looked up, or what exists listed and ranked; both find the same.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "../handles.h"

namespace sidbeam::testing {
namespace {

constexpr int32_t kFirst = 40, kLast = 300, kBeams = 30;
using Sids = std::set<std::pair<int32_t, int32_t>>;

struct Found {
  int32_t parent, code;
  float score;
  bool operator==(const Found&) const = default;
};

// Prefix 0 has nearly every code, so many that codes are looked up after all; prefix 1 has none.
Sids random_sids(std::mt19937_64& random) {
  Sids sids;
  for (int32_t code = 0; code < kLast; ++code)
    if (code % 16 != 0) sids.insert({0, code});
  for (int32_t first = 2; first < kFirst; ++first)
    for (int i = 0; i < 12; ++i) sids.insert({first, static_cast<int32_t>(random() % kLast)});
  return sids;
}

handles::Constraint make_constraint(sidbeam_runtime* runtime, const Sids& sids) {
  const int32_t codes[] = {kFirst, kLast};
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = 2, config.codes = codes, config.kinds = SIDBEAM_KIND_HASH;
  const auto builder = handles::made<handles::Builder>(
      [&](sidbeam_builder** out, sidbeam_error* err) { return sidbeam_builder_create(runtime, &config, out, err); });
  std::vector<int32_t> flat;
  for (const auto& [first, last] : sids) flat.insert(flat.end(), {first, last});
  handles::check([&](sidbeam_error* err) {
    return sidbeam_builder_add(builder.get(), flat.data(), nullptr, static_cast<int64_t>(sids.size()), nullptr, nullptr,
                               err);
  });
  const auto index = handles::made<handles::Index>(
      [&](sidbeam_index** out, sidbeam_error* err) { return sidbeam_builder_finish(builder.get(), out, err); });
  sidbeam_constraint_config of = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  of.index = index.get();
  return handles::made<handles::Constraint>(
      [&](sidbeam_constraint** out, sidbeam_error* err) { return sidbeam_constraint_create(&of, out, err); });
}

// A search of one request over two levels of log-probs.
struct Search {
  sidbeam_runtime* runtime;
  sidbeam_constraint* constraint;
  int32_t top_k;
  handles::Session session;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;

  Search(sidbeam_runtime* runtime_, sidbeam_constraint* constraint_, int32_t top_k_)
      : runtime(runtime_), constraint(constraint_), top_k(top_k_) {
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.slots = 1, config.beams = kBeams, config.top_k = top_k;
    config.strategy = SIDBEAM_STRATEGY_HASH_FINAL, config.normalization = SIDBEAM_NORMALIZE_NONE;
    config.constraint = constraint;
    session = handles::made<handles::Session>(
        [&](sidbeam_session** out, sidbeam_error* err) { return sidbeam_session_create(runtime, &config, out, err); });
    handles::check([&](sidbeam_error* err) { return sidbeam_session_get_beams(session.get(), &beams, err); });
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    handles::check([&](sidbeam_error* err) { return sidbeam_session_start(session.get(), &start, err); });
  }
  void step(const std::vector<float>& logits, int32_t columns) {
    const sidbeam_rows rows = sidbeam_rows_dense(logits.data(), SIDBEAM_DTYPE_F32, 1, kBeams, columns);
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.rows = &rows;
    handles::check([&](sidbeam_error* err) { return sidbeam_session_step(session.get(), &args, err); });
  }
  std::vector<Found> found() const {
    std::vector<Found> out;
    for (int32_t m = 0; m < beams.live[0]; ++m) out.push_back({beams.parents[m], beams.codes[m], beams.scores[m]});
    return out;
  }
};

// Algorithm 3 by enumeration. `before` are the beams of the first level.
std::vector<Found> enumerate(const Sids& sids, const std::vector<Found>& before, const std::vector<float>& logits,
                             int32_t top_k) {
  std::vector<Found> all;
  for (int32_t m = 0; m < static_cast<int32_t>(before.size()); ++m) {
    const Found& beam = before[static_cast<size_t>(m)];
    const float* x = logits.data() + int64_t{m} * kLast;
    std::vector<int32_t> codes;
    for (int32_t code = 0; code < kLast; ++code)
      if (x[code] > -std::numeric_limits<float>::infinity()) codes.push_back(code);
    std::stable_sort(codes.begin(), codes.end(), [&](int32_t a, int32_t b) { return x[a] > x[b]; });
    codes.resize(std::min(codes.size(), static_cast<size_t>(top_k)));
    std::sort(codes.begin(), codes.end());
    for (const int32_t code : codes)
      if (sids.contains({beam.code, code})) all.push_back({m, code, beam.score + x[code]});
  }
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
  all.resize(std::min(all.size(), static_cast<size_t>(kBeams)));
  return all;
}

// Few different integers, so that ties lie on both sides of the best top_k, and sums are exact.
std::vector<float> random_logits(std::mt19937_64& random, int32_t columns, int32_t values) {
  std::vector<float> logits(static_cast<size_t>(kBeams * columns));
  for (float& x : logits) {
    x = -static_cast<float>(random() % static_cast<uint64_t>(values));
    if (random() % 16 == 0) x = -std::numeric_limits<float>::infinity();
  }
  return logits;
}

TEST(CpuProbes, FindWhatEnumerationFinds) {
  const auto runtime = handles::made<handles::Runtime>([](sidbeam_runtime** out, sidbeam_error* err) {
    const sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
    return sidbeam_runtime_create(&config, out, err);
  });
  std::set<int32_t> parents;  // of what was found, by code
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const Sids sids = random_sids(random);
    const handles::Constraint constraint = make_constraint(runtime.get(), sids);
    for (const int32_t top_k : {1, 63, 64, 100, 200, 299, 300, 1000}) {
      Search search(runtime.get(), constraint.get(), top_k);
      search.step(random_logits(random, kFirst, 30), kFirst);
      const std::vector<Found> before = search.found();
      const std::vector<float> logits = random_logits(random, kLast, seed % 2 == 0 ? 3 : 500);
      search.step(logits, kLast);
      EXPECT_EQ(search.found(), enumerate(sids, before, logits, top_k)) << "seed " << seed << " top_k " << top_k;
      for (const Found& found : search.found()) parents.insert(before[static_cast<size_t>(found.parent)].code);
    }
  }
  EXPECT_TRUE(parents.contains(0));
  EXPECT_GT(parents.size(), 20U);
}

TEST(CpuProbes, ABadRowIsAnErrorHoweverManyAreLookedUp) {
  const auto runtime = handles::made<handles::Runtime>([](sidbeam_runtime** out, sidbeam_error* err) {
    const sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
    return sidbeam_runtime_create(&config, out, err);
  });
  std::mt19937_64 random(3);
  const handles::Constraint constraint = make_constraint(runtime.get(), random_sids(random));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const int32_t top_k : {10, 100}) {
      Search search(runtime.get(), constraint.get(), top_k);
      search.step(random_logits(random, kFirst, 30), kFirst);
      std::vector<float> logits = random_logits(random, kLast, 500);
      logits[16] = bad;  // of the best beam; of no SID
      search.step(logits, kLast);
      EXPECT_EQ(search.beams.errors[0], SIDBEAM_SLOT_BAD_ROW) << bad << " top_k " << top_k;
    }
  }
}

}  // namespace
}  // namespace sidbeam::testing
