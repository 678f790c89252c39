// The attention primitive against float64, and that a row's bits are its own. SPDX-License-Identifier: Apache-2.0
#include "runner/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <vector>

#include "attention_cases.h"
#include "sidbeam/base.h"

namespace sidbeam::runner {
namespace {

TEST(Attention, IsThatOfFloat64) {
  Random random(16);
  const HeadShape shapes[] = {{1, 1, 1}, {2, 1, 3}, {6, 6, 64}, {4, 2, 100}, {8, 2, 128}, {2, 2, 256}, {6, 3, 17}};
  for (const HeadShape& shape : shapes) {
    for (const auto& [rows, length, depth] : {std::tuple<int64_t, int64_t, int32_t>{1, 0, 1},
                                              {1, 1, 0},
                                              {7, 15, 3},
                                              {25, 33, 2},
                                              {13, 256, 1},
                                              {5, 300, 4}}) {
      SCOPED_TRACE(::testing::Message() << shape.heads << "/" << shape.kv_heads << " heads of " << shape.head_dim
                                        << ", " << rows << " rows, " << length << " keys, depth " << depth);
      Case c = draw_case(random, {shape, rows, length, depth});
      check(c);
      add_biases(random, c);
      check(c);
    }
  }
}

TEST(Attention, PrefillIsCausalOrSeesAll) {
  Random random(17);
  for (const auto& [length, offset] : {std::pair<int64_t, int64_t>{1, 0}, {40, 0}, {300, 0}, {60, 17}, {290, 270}}) {
    for (const bool causal : {true, false}) {
      SCOPED_TRACE(::testing::Message() << length << " keys from " << offset << " on, " << (causal ? "causal" : "all"));
      Case c = draw_case(random, {{4, 2, 20}, length - offset, length, 0});
      c.causal = causal;
      c.first_position = offset;
      check(c);
      c.reach = length;
      c.relative_bias = draw(random, c.shape.heads * (2 * c.reach + 1), 2.0F);
      check(c);
    }
  }
}

TEST(Attention, LongListsOfAncestors) {
  Random random(18);
  Case c = draw_case(random, {{2, 1, 24}, 3, 20, 700});
  add_biases(random, c);
  check(c);
}

TEST(Attention, HugeScores) {
  Random random(19);
  for (const float magnitude : {30.0F, 100.0F}) {  // scores of 1e3 and 1e4
    Case c = draw_case(random, {{4, 2, 64}, 9, 520, 3}, magnitude);
    check(c);
    c.length = 0;
    check(c);
  }
}

TEST(Attention, EqualScoresGiveTheMean) {
  Random random(20);
  Case c = draw_case(random, {{2, 2, 32}, 8, 272, 0});
  std::fill(c.queries.begin(), c.queries.end(), 0.0F);
  check(c);
  for (float& value : c.values) value = 3.0F;
  for (const float value : run(c, {best_cpu_target(), nullptr}).output) EXPECT_NEAR(value, 3.0F, 1e-6);
}

TEST(Attention, RowsThatAttendToNothingAreZero) {
  Random random(21);
  Case c = draw_case(random, {{2, 1, 20}, 30, 0, 3});
  std::fill(c.ancestors.begin(), c.ancestors.end(), -1);
  c.ancestors[4] = 5;  // of row 1
  check(c);
  const Result result = run(c, {best_cpu_target(), nullptr});
  EXPECT_EQ(result.output[0], 0.0F);
  EXPECT_NE(result.output[40], 0.0F);
  EXPECT_EQ(result.log_sum_exp[0], -kInfinity);
}

TEST(Attention, BiasOfMinusInfinityMasks) {
  Random random(22);
  Case c = draw_case(random, {{2, 2, 16}, 5, 300, 2});
  add_biases(random, c);
  for (size_t i = 0; i < c.shared_bias.size(); ++i) {
    if (i % 3 != 0 || i < 270) c.shared_bias[i] = -kInfinity;  // a whole block of head 0
  }
  check(c);
  std::fill(c.shared_bias.begin(), c.shared_bias.end(), -kInfinity);
  std::fill(c.ancestor_bias.begin(), c.ancestor_bias.end(), -kInfinity);
  check(c);
}

TEST(Attention, ARowsBitsAreItsOwn) {
  Random random(23);
  Case c = draw_case(random, {{4, 2, 40}, 61, 310, 3});
  add_biases(random, c);
  for (const bool causal : {false, true}) {
    c.causal = causal;
    c.first_position = 249;
    const Result all = run(c, {best_cpu_target(), nullptr});
    for (int64_t first = 0; first < c.rows;) {
      const int64_t count = std::min<int64_t>(1 + static_cast<int64_t>(random() % 9), c.rows - first);
      Case part = c;
      part.rows = count;
      part.first_position = c.first_position + first;
      const auto from = c.queries.begin() + first * c.row();
      part.queries.assign(from, from + count * c.row());
      part.ancestors.assign(c.ancestors.begin() + first * c.depth, c.ancestors.begin() + (first + count) * c.depth);
      const Result some = run(part, {best_cpu_target(), nullptr});
      const auto same = all.output.begin() + first * c.row();
      EXPECT_TRUE(same_bits(some.output, {same, same + count * c.row()})) << "rows from " << first;
      first += count;
    }
  }
}

TEST(Attention, ThreadsAndCallsBesideChangeNoBit) {
  Random random(24);
  std::vector<Case> cases;
  for (int i = 0; i < 5; ++i) {
    cases.push_back(draw_case(random, {{4, 2, 32}, static_cast<int64_t>(random() % 90), 100 + 60 * i, 2}));
  }
  for (const int32_t width : {1, 2, 5}) {
    SpinPool pool(width);
    const Workers workers{best_cpu_target(), &pool};
    std::vector<SharedKv> kvs;
    std::vector<Result> results(cases.size());
    std::vector<AttentionCall> calls;
    for (const Case& c : cases) kvs.push_back(shared_of(c));
    for (size_t i = 0; i < cases.size(); ++i) calls.push_back(call_of(cases[i], kvs[i], results[i]));
    Attention(default_allocator(), cases[0].shape, cases[0].scale, 90, workers).run(calls);
    for (size_t i = 0; i < cases.size(); ++i) {
      EXPECT_TRUE(same_bits(results[i].output, run(cases[i], {best_cpu_target(), nullptr}).output))
          << width << " " << i;
    }
  }
}

// A row that does not see a key must not feel it, even where its neighbours do.
TEST(Attention, NaNReachesOnlyRowsThatSeeIt) {
  Random random(25);
  Case c = draw_case(random, {{2, 1, 20}, 40, 40, 2});
  c.causal = true;
  const Result clean = run(c, {best_cpu_target(), nullptr});
  for (const CpuTarget target : targets()) {
    Case sick = c;
    for (int32_t k = 0; k < 20; ++k) sick.keys[static_cast<size_t>(23 * 20 + k)] = NAN;
    for (int32_t k = 0; k < 20; ++k) sick.values[static_cast<size_t>(31 * 20 + k)] = NAN;
    const Result result = run(sick, {target, nullptr});
    const int64_t healthy = 23 * c.row();
    EXPECT_TRUE(same_bits({result.output.begin(), result.output.begin() + healthy},
                          {clean.output.begin(), clean.output.begin() + healthy}))
        << cpu_target_name(target);
    for (size_t i = static_cast<size_t>(healthy); i < result.output.size(); ++i)
      EXPECT_TRUE(std::isnan(result.output[i]));
    EXPECT_TRUE(std::isnan(result.log_sum_exp[23 * 2]));
  }
}

// Of rows that are a host's: padding may hold anything.
TEST(Attention, WhatABiasHidesMayBeNaN) {
  Random random(26);
  Case c = draw_case(random, {{4, 2, 20}, 9, 300, 0});
  add_biases(random, c);
  const std::vector<int64_t> hidden = {0, 5, 16, 130, 299};
  for (const int64_t key : hidden)
    for (int64_t head = 0; head < 4; ++head) c.shared_bias[static_cast<size_t>(head * 300 + key)] = -kInfinity;
  const Result clean = run(c, {best_cpu_target(), nullptr});
  for (const CpuTarget target : targets()) {
    Case sick = c;
    for (const int64_t key : hidden) {
      std::fill_n(sick.keys.begin() + key * c.kv_row(), c.kv_row(), NAN);
      std::fill_n(sick.values.begin() + key * c.kv_row(), c.kv_row(), NAN);
    }
    const SharedKv none;
    Result out;
    AttentionCall call = call_of(sick, none, out);
    call.shared = nullptr;
    call.shared_rows = {sick.keys.data(), sick.values.data(), c.kv_row(), SIDBEAM_DTYPE_F32};
    call.shared_length = c.length;
    const AttentionPlan plan{c.shape, c.scale, c.rows, true, {target, nullptr}};
    Buffer<float> scratch(default_allocator(), plan.scratch_floats());
    attend(plan, {&call, 1}, scratch.data());
    EXPECT_TRUE(same_bits(out.output, clean.output)) << cpu_target_name(target);
    EXPECT_TRUE(same_bits(out.log_sum_exp, clean.log_sum_exp)) << cpu_target_name(target);
  }
}

TEST(Attention, WhatABiasHidesOfAncestorsMayBeNaN) {
  Random random(28);
  constexpr int64_t kDepth = 3, kHidden = 1;
  Case c = draw_case(random, {{4, 2, 20}, 40, 30, kDepth});
  add_biases(random, c);
  const int32_t slot = std::max(0, c.ancestors[kHidden]);
  for (size_t i = 0; i < c.ancestors.size(); ++i)
    c.ancestors[i] = i % kDepth == kHidden ? slot : c.ancestors[i] == slot ? -1 : c.ancestors[i];
  for (int64_t head = 0; head < 4; ++head) c.ancestor_bias[static_cast<size_t>(head * kDepth + kHidden)] = -kInfinity;
  const Result clean = run(c, {best_cpu_target(), nullptr});
  std::fill_n(c.unshared_keys.begin() + slot * c.kv_row(), c.kv_row(), NAN);
  std::fill_n(c.unshared_values.begin() + slot * c.kv_row(), c.kv_row(), NAN);
  for (const CpuTarget target : targets()) {
    const Result result = run(c, {target, nullptr});
    EXPECT_TRUE(same_bits(result.output, clean.output)) << cpu_target_name(target);
    EXPECT_TRUE(same_bits(result.log_sum_exp, clean.log_sum_exp)) << cpu_target_name(target);
  }
}

// Each byte of the prompt once for all rows.
TEST(Attention, ReadsThePromptOnce) {
  Random random(27);
  Case c = draw_case(random, {{8, 2, 20}, 100, 300, 3});
  std::fill(c.ancestors.begin(), c.ancestors.end(), 7);
  c.ancestors[11] = -1;
  const SharedKv kv = shared_of(c);
  Result out;
  const AttentionCall call = call_of(c, kv, out);
  const AttentionPlan plan{c.shape, c.scale, c.rows, false, {best_cpu_target(), nullptr}};
  Buffer<float> scratch(default_allocator(), plan.scratch_floats());
  const int64_t position_bytes = 2 * c.kv_row() * 4;
  EXPECT_EQ(attend(plan, {&call, 1}, scratch.data()), (300 + 299) * position_bytes);
}

void check_sixteen_bits(CpuTarget target) {
  Random random(26);
  Case c = draw_case(random, {{4, 2, 24}, 9, 37, 3});
  for (const int32_t dtype : {SIDBEAM_DTYPE_F16, SIDBEAM_DTYPE_BF16}) {
    // Small integers over 8, which both types have.
    const auto halves = [&](std::vector<float>& values) {
      std::vector<uint16_t> bits;
      for (float& value : values) {
        value = std::nearbyint(value * 8.0F) / 8.0F;
        const uint32_t f32 = std::bit_cast<uint32_t>(value);
        const uint32_t sign = f32 >> 16 & 0x8000U, magnitude = f32 & 0x7FFFFFFFU;
        bits.push_back(static_cast<uint16_t>(dtype == SIDBEAM_DTYPE_BF16 ? f32 >> 16
                                             : magnitude == 0            ? sign
                                                                         : sign | ((magnitude - (112U << 23)) >> 13)));
      }
      return bits;
    };
    const auto keys = halves(c.keys), values = halves(c.values);
    const auto unshared_keys = halves(c.unshared_keys), unshared_values = halves(c.unshared_values);
    const Result wide = run(c, {target, nullptr});
    SharedKv kv(default_allocator(), c.shape, c.length);
    write_rows(kv, target, 0, c.length, {keys.data(), values.data(), c.kv_row(), dtype});
    for (const bool packs : {false, true}) {
      Result out;
      AttentionCall call = call_of(c, kv, out);
      call.unshared = {unshared_keys.data(), unshared_values.data(), c.kv_row(), dtype};
      if (packs) {
        call.shared = nullptr;
        call.shared_rows = {keys.data(), values.data(), c.kv_row(), dtype};
        call.shared_length = c.length;
      }
      const AttentionPlan plan{c.shape, c.scale, c.rows, packs, {target, nullptr}};
      Buffer<float> scratch(default_allocator(), plan.scratch_floats());
      attend(plan, {&call, 1}, scratch.data());
      EXPECT_TRUE(same_bits(out.output, wide.output)) << cpu_target_name(target) << dtype << packs;
    }
  }
}

TEST(Attention, RowsMayBeOfSixteenBits) {
  for (const CpuTarget target : targets()) check_sixteen_bits(target);
}

}  // namespace
}  // namespace sidbeam::runner
