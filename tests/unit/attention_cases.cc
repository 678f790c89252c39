// SPDX-License-Identifier: Apache-2.0
#include "attention_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "sidbeam/base.h"

namespace sidbeam::runner {
namespace {

// A result in float64 and how far one in f32 may be from it.
struct Exact {
  std::vector<double> output, log_sum_exp;
  double tolerance = 0.0;
};

// The softmax of one row and head, key by key.
struct ExactRow {
  std::vector<double> scores;
  std::vector<const float*> values;

  void add(const Case& c, const float* query, const float* key, const float* value, double bias, double& largest) {
    double sum = 0.0, size = 0.0;
    for (int32_t k = 0; k < c.shape.head_dim; ++k) {
      const double term = static_cast<double>(query[k]) * static_cast<double>(key[k]);
      sum += term;
      size += std::fabs(term);
    }
    largest = std::max(largest, size * static_cast<double>(c.scale) + std::fabs(std::isinf(bias) ? 0.0 : bias));
    scores.push_back(sum * static_cast<double>(c.scale) + bias);
    values.push_back(value);
  }

  void finish(const Case& c, int64_t at, Exact& out) const {
    double top = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (const double score : scores) top = std::max(top, score);
    for (const double score : scores) sum += std::isinf(score) ? 0.0 : std::exp(score - top);
    out.log_sum_exp[static_cast<size_t>(at)] =
        sum == 0.0 ? -std::numeric_limits<double>::infinity() : top + std::log(sum);
    for (int32_t k = 0; k < c.shape.head_dim && sum > 0.0; ++k) {
      double value = 0.0;
      for (size_t j = 0; j < scores.size(); ++j) {
        if (!std::isinf(scores[j])) value += std::exp(scores[j] - top) * static_cast<double>(values[j][k]);
      }
      out.output[static_cast<size_t>(at * c.shape.head_dim + k)] = value / sum;
    }
  }
};

Exact exactly(const Case& c) {
  Exact out;
  out.output.resize(c.queries.size());
  out.log_sum_exp.resize(static_cast<size_t>(c.rows * c.shape.heads));
  double largest = 1.0;
  for (int64_t at = 0; at < c.rows * c.shape.heads; ++at) {
    const int64_t r = at / c.shape.heads, h = at % c.shape.heads, from = h / c.shape.group() * c.shape.head_dim;
    const float* const query = c.queries.data() + at * c.shape.head_dim;
    ExactRow row;
    const int64_t position = c.first_position + r;
    for (int64_t j = 0; j < (c.causal ? std::min(c.length, position + 1) : c.length); ++j) {
      double bias =
          c.shared_bias.empty() ? 0.0 : static_cast<double>(c.shared_bias[static_cast<size_t>(h * c.length + j)]);
      if (!c.relative_bias.empty()) {
        bias +=
            static_cast<double>(c.relative_bias[static_cast<size_t>(h * (2 * c.reach + 1) + c.reach + j - position)]);
      }
      row.add(c, query, &c.keys[static_cast<size_t>(j * c.kv_row() + from)],
              &c.values[static_cast<size_t>(j * c.kv_row() + from)], bias, largest);
    }
    for (int32_t i = 0; i < c.depth; ++i) {
      const int32_t slot = c.ancestors[static_cast<size_t>(r * c.depth + i)];
      if (slot < 0) continue;
      row.add(
          c, query, &c.unshared_keys[static_cast<size_t>(slot * c.kv_row() + from)],
          &c.unshared_values[static_cast<size_t>(slot * c.kv_row() + from)],
          c.ancestor_bias.empty() ? 0.0 : static_cast<double>(c.ancestor_bias[static_cast<size_t>(h * c.depth + i)]),
          largest);
    }
    row.finish(c, at, out);
  }
  out.tolerance = 4e-6 + 6e-7 * largest;
  return out;
}

void expect_near(const Exact& exact, const Result& result) {
  int wrong = 0;
  for (size_t i = 0; i < exact.output.size() && wrong < 5; ++i) {
    const double got = static_cast<double>(result.output[i]);
    if (!(std::fabs(got - exact.output[i]) <= exact.tolerance)) {
      ADD_FAILURE() << "element " << i << " is " << got << ", expected " << exact.output[i] << " to "
                    << exact.tolerance;
      ++wrong;
    }
  }
  for (size_t i = 0; i < exact.log_sum_exp.size() && wrong < 5; ++i) {
    const double got = static_cast<double>(result.log_sum_exp[i]);
    if (got == exact.log_sum_exp[i]) continue;  // -inf
    if (!(std::fabs(got - exact.log_sum_exp[i]) <= exact.tolerance + 2e-7 * std::fabs(exact.log_sum_exp[i]))) {
      ADD_FAILURE() << "log-sum-exp " << i << " is " << got << ", expected " << exact.log_sum_exp[i];
      ++wrong;
    }
  }
}

}  // namespace

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> found;
  for (const CpuTarget target : kCpuTargets) {
    if (has_cpu_target(target)) found.push_back(target);
  }
  return found;
}

std::vector<float> draw(Random& random, int64_t n, float magnitude) {
  std::vector<float> values(static_cast<size_t>(n));
  std::normal_distribution<float> normal;
  for (float& value : values) value = magnitude * normal(random);
  return values;
}

Case draw_case(Random& random, const Sizes& sizes, float magnitude) {
  Case c;
  c.shape = sizes.shape;
  c.scale = 1.0F / std::sqrt(static_cast<float>(c.shape.head_dim));
  c.rows = sizes.rows;
  c.length = sizes.length;
  c.depth = sizes.depth;
  c.slots = sizes.depth * static_cast<int32_t>(sizes.rows);
  c.queries = draw(random, c.rows * c.row(), magnitude);
  c.keys = draw(random, c.length * c.kv_row(), magnitude);
  c.values = draw(random, c.length * c.kv_row(), 1.0F);
  c.unshared_keys = draw(random, c.slots * c.kv_row(), magnitude);
  c.unshared_values = draw(random, c.slots * c.kv_row(), 1.0F);
  for (int64_t i = 0; i < c.rows * c.depth; ++i) {
    c.ancestors.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(c.slots + 1)) - 1);
  }
  return c;
}

void add_biases(Random& random, Case& c) {
  c.shared_bias = draw(random, c.shape.heads * c.length, 2.0F);
  c.ancestor_bias = draw(random, c.shape.heads * c.depth, 2.0F);
}

SharedKv shared_of(const Case& c, CpuTarget target) {
  SharedKv kv(default_allocator(), c.shape, std::max<int64_t>(c.length, 1));
  const int64_t half = c.length / 2;  // in two parts, as a prompt and the tokens behind it
  const KvRows all{c.keys.data(), c.values.data(), c.kv_row(), SIDBEAM_DTYPE_F32};
  write_rows(kv, target, 0, half, all);
  write_rows(kv, target, half, c.length - half, all.at(half, 0, c.shape.head_dim));
  return kv;
}

AttentionCall call_of(const Case& c, const SharedKv& kv, Result& out) {
  out.output.assign(c.queries.size(), 777.0F);
  out.log_sum_exp.assign(static_cast<size_t>(c.rows * c.shape.heads), 777.0F);
  AttentionCall call;
  call.rows = c.rows;
  call.queries = c.queries.data();
  call.query_stride = call.output_stride = c.row();
  call.output = out.output.data();
  call.log_sum_exp = out.log_sum_exp.data();
  call.shared = &kv;
  call.shared_bias = c.shared_bias.empty() ? nullptr : c.shared_bias.data();
  call.shared_bias_stride = c.length;
  call.causal = c.causal;
  call.first_position = c.first_position;
  call.relative_bias = c.relative_bias.empty() ? nullptr : c.relative_bias.data() + c.reach;
  call.relative_bias_stride = 2 * c.reach + 1;
  call.depth = c.depth;
  call.ancestors = c.ancestors.data();
  call.unshared = {c.unshared_keys.data(), c.unshared_values.data(), c.kv_row(), SIDBEAM_DTYPE_F32};
  call.ancestor_bias = c.ancestor_bias.empty() ? nullptr : c.ancestor_bias.data();
  call.ancestor_bias_stride = c.depth;
  return call;
}

Result run(const Case& c, const Workers& workers) {
  const SharedKv kv = shared_of(c, workers.target);
  Result out;
  const AttentionCall call = call_of(c, kv, out);
  Attention(default_allocator(), c.shape, c.scale, c.rows, workers).run(call);
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) return false;
  }
  return a.size() == b.size();
}

void check(const Case& c) {
  const Exact exact = exactly(c);
  const Result first = run(c, {CpuTarget::kBaseline, nullptr});
  expect_near(exact, first);
  for (const CpuTarget target : targets()) {
    const Result result = run(c, {target, nullptr});
    EXPECT_TRUE(same_bits(result.output, first.output)) << cpu_target_name(target);
    EXPECT_TRUE(same_bits(result.log_sum_exp, first.log_sum_exp)) << cpu_target_name(target);
  }
}

}  // namespace sidbeam::runner
