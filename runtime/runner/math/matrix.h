// Weights, as a checkpoint has them and as the products read them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "support/memory.h"

namespace sidbeam::runner {

enum class Dtype : uint8_t { kF32, kF16, kBf16, kI8 };
int64_t dtype_bytes(Dtype dtype);

// A matrix of a checkpoint, [outputs, inputs], dense; borrowed, of any alignment. Never kI8.
struct Tensor {
  const void* data = nullptr;
  Dtype dtype = Dtype::kF32;
  int64_t outputs = 0, inputs = 0;
};

inline constexpr int64_t kPanel = 32;   // outputs per panel
inline constexpr int64_t kBlock = 256;  // inputs that one chain of fused multiply-adds covers

// A matrix packed for multiply(): blocks of kBlock inputs (the last may be shorter), within a block panels of kPanel
// outputs, within a panel kPanel elements per input, so that a product reads it from end to end. Outputs past the last
// are zeros. Immutable.
struct Matrix {
  int64_t outputs = 0, inputs = 0;
  Dtype dtype = Dtype::kF32;
  Buffer<std::byte> elements;
  Buffer<float> scales;  // [panels * kPanel] of kI8, else empty: an output's weights are its elements times its scale

  int64_t panels() const { return (outputs + kPanel - 1) / kPanel; }
  int64_t memory_bytes() const { return elements.bytes() + scales.bytes(); }
};

// The first of a tensor's elements, row-major, that is not finite, or would not be when held as `held`; -1: none.
int64_t first_unfit(const Tensor& tensor, Dtype held);

// What kI8 makes of one output's weights, which are finite: an element times the scale is near the weight.
float int8_scale(const float* weights, int64_t n);
int8_t int8_of(float weight, float scale);

// A matrix of zeros, and its outputs from `first` on. Weights are finite, and stay so when they are narrowed:
// first_unfit() says. f32 takes any exactly, f16 and bf16 round to nearest, kI8 rounds to nearest multiples of an
// output's largest magnitude / 127.
Matrix make_matrix(const Allocator& allocator, int64_t outputs, int64_t inputs, Dtype dtype);
void pack_outputs(Matrix& matrix, int64_t first, const Tensor& outputs);

// Packs the tensors one below the other: the matrix has the outputs of the first, then those of the second, ... All
// have the same number of inputs.
Matrix pack_matrix(const Allocator& allocator, std::span<const Tensor> tensors, Dtype dtype);
// Packs one tensor, or the outputs of it that `rows` names, in that order; -1 is an output of zeros.
Matrix pack_matrix(const Allocator& allocator, const Tensor& tensor, Dtype dtype);
Matrix pack_matrix(const Allocator& allocator, const Tensor& tensor, Dtype dtype, std::span<const int32_t> rows);

// Writes an output's inputs, of the matrix's type; not of kI8.
void unpack_output(const Matrix& matrix, int64_t output, void* out);

// An embedding: rows that are looked up, as stored. Owns its memory.
struct Table {
  int64_t rows = 0, columns = 0;
  Dtype dtype = Dtype::kF32;
  Buffer<std::byte> elements;

  int64_t memory_bytes() const { return elements.bytes(); }
};
// One that is not filled yet, of f32, f16 or bf16, and its rows from `first` on.
Table make_table(const Allocator& allocator, int64_t rows, int64_t columns, Dtype dtype);
void copy_rows(Table& table, int64_t first, const Tensor& rows);
Table copy_table(const Allocator& allocator, const Tensor& tensor, Dtype dtype);

// Writes n elements of a tensor, from `first` on, as f32.
void widen(const Tensor& tensor, int64_t first, int64_t n, float* out);

}  // namespace sidbeam::runner
