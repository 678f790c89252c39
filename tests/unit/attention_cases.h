// Calls of the attention primitive on arrays drawn at random, and their results in float64.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "runner/attention/attention.h"

namespace sidbeam::runner {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Random = std::mt19937;

// Those that this machine has.
std::vector<CpuTarget> targets();

// Arrays of one call.
struct Case {
  HeadShape shape;
  float scale = 1.0F;
  int64_t rows = 1, length = 0, positions = 0;
  int32_t depth = 0, slots = 0;
  bool causal = false;
  int64_t first_position = 0;
  std::vector<float> queries, keys, values, shared_bias, relative_bias, unshared_keys, unshared_values, ancestor_bias;
  std::vector<int32_t> ancestors;
  int64_t reach = 0;  // distances of relative_bias: -reach .. reach

  int64_t kv_row() const { return int64_t{shape.kv_heads} * shape.head_dim; }
  int64_t row() const { return int64_t{shape.heads} * shape.head_dim; }
};

struct Sizes {
  HeadShape shape;
  int64_t rows, length;
  int32_t depth;
};

Case draw_case(Random& random, const Sizes& sizes, float magnitude = 1.0F);
std::vector<float> draw(Random& random, int64_t n, float magnitude);
void add_biases(Random& random, Case& c);

struct Result {
  std::vector<float> output, log_sum_exp;
};

SharedKv shared_of(const Case& c, CpuTarget target = best_cpu_target());
// Refers to all three.
AttentionCall call_of(const Case& c, const SharedKv& kv, Result& out);
Result run(const Case& c, const Workers& workers);

bool same_bits(const std::vector<float>& a, const std::vector<float>& b);
// Expects the result in float64, and the same bits on every target.
void check(const Case& c);

}  // namespace sidbeam::runner
