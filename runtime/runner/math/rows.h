// What a transformer does to rows besides products and attention. Nothing allocates; the bits of a row depend on that
// row alone. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/math/matrix.h"
#include "runner/math/view.h"
#include "runner/math/workers.h"

namespace sidbeam::runner {

// out = x / sqrt(mean(x^2) + epsilon) * gain, over each of `heads` equal parts of a row by itself; gain is
// [columns / heads]. `out` may be x.
void rms_norm(const Workers& workers, ConstRows x, const float* gain, float epsilon, Rows out, int64_t heads = 1);

enum class Activation : uint8_t {
  kRelu,
  kGelu,       // x Phi(x), by erf
  kGeluTanh,   // its approximation by tanh ("gelu_new", "gelu_pytorch_tanh")
  kSilu,       // x / (1 + exp(-x))
  kQuickGelu,  // x / (1 + exp(-1.702 x))
  kMish,       // x tanh(log(1 + exp(x)))
  kTanh
};
// x = activation(x)
void activate(const Workers& workers, Activation activation, Rows x);
// out[r, c] = activation(x[r, c]) * x[r, columns + c], where out has `columns` columns and x twice as many. `out` may
// be x's own first half.
void activate_gated(const Workers& workers, Activation activation, ConstRows x, Rows out);

// x = cap * tanh(x / cap); an element that is not finite stays.
void soft_cap(const Workers& workers, float cap, Rows x);
// log(sum of exp(factor * x)) over n elements, its sum to 1e-6 relative; -inf where all are, NaN where one is NaN or
// +inf. factor > 0. On the caller's thread.
double log_sum_exp(CpuTarget target, float factor, const float* x, int64_t n);

// y += x; y *= factor
void add(const Workers& workers, ConstRows x, Rows y);
void scale(const Workers& workers, float factor, Rows y);

// Rotary embeddings ("rotate_half": dimension i of a head turns with dimension i + head_dim / 2).
struct RopeTable {
  int64_t positions = 0, half = 0;
  Buffer<float> cosines, sines;  // [positions, half]

  int64_t memory_bytes() const { return cosines.bytes() + sines.bytes(); }
};
// out[i] = theta^(-2i / head_dim), i in [0, head_dim / 2), rounded as PyTorch rounds in f32.
void rope_frequencies(double theta, int64_t head_dim, float* out);
// Of angles position * frequencies[i], rounded to f32 as PyTorch does, each cosine and sine times `factor`.
RopeTable make_rope_table(const Allocator& allocator, int64_t positions, std::span<const float> frequencies,
                          float factor = 1.0F);
// Turns every head of every row in place: x.columns is a multiple of the head's dimension. positions[r] of each row is
// below table.positions.
void rotate(const Workers& workers, const RopeTable& table, const int32_t* positions, Rows x);

// out[r] = the sum of the table's rows tokens[r, 0 .. group), in that order; -1 is none. out.columns = table.columns.
// Ids are below table.rows.
void embed(const Workers& workers, const Table& table, const int32_t* tokens, int64_t group, Rows out);

}  // namespace sidbeam::runner
