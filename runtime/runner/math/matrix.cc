// SPDX-License-Identifier: Apache-2.0
#include "runner/math/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "support/error.h"
#include "support/half.h"

namespace sidbeam::runner {
namespace {

// Rounded to nearest, ties to even; NaN stays NaN.
uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Likewise. Adding a number whose last bit has the weight of the result's rounds, whether that is normal or not.
uint16_t f16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000;
  const auto magnitude = std::bit_cast<float>(bits & 0x7FFFFFFF);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7E00);
  if (magnitude >= 65520.0F) return static_cast<uint16_t>(sign | 0x7C00);
  const uint32_t exponent = std::max<uint32_t>(std::bit_cast<uint32_t>(magnitude) >> 23, 127 - 14);
  const auto magic = std::bit_cast<float>((exponent + 13) << 23);
  const uint32_t steps = std::bit_cast<uint32_t>(magnitude + magic) - std::bit_cast<uint32_t>(magic);
  return static_cast<uint16_t>(sign | (((exponent - 127 + 14) << 10) + steps));
}

template <class T>
T read_at(const void* data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + i * static_cast<int64_t>(sizeof(T)), sizeof value);
  return value;
}

// Writes n floats as f16 or bf16.
void narrow(const float* from, int64_t n, Dtype dtype, void* to) {
  auto* out = static_cast<uint16_t*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = dtype == Dtype::kF16 ? f16_bits(from[i]) : bf16_bits(from[i]);
}

// Where output o, input i of a matrix stands among its elements.
int64_t place_of(const Matrix& matrix, int64_t output, int64_t input) {
  const int64_t first = input / kBlock * kBlock, length = std::min(kBlock, matrix.inputs - first);
  return kPanel * (matrix.panels() * first + output / kPanel * length + (input - first)) + output % kPanel;
}

// Inputs of some outputs, as floats: of one panel and one block, so that they are packed into consecutive memory. Rows
// are a little longer than a block, lest they meet in few sets of the first-level cache.
struct Tile {
  int64_t output = 0, outputs = 0, input = 0, inputs = 0;
  float weights[kPanel][kBlock + 16];
};

template <class T, class Convert>
void put_as(Matrix& matrix, const Tile& tile, const Convert& convert) {
  T* to = reinterpret_cast<T*>(matrix.elements.data()) + place_of(matrix, tile.output, tile.input);
  for (int64_t i = 0; i < tile.inputs; ++i, to += kPanel)
    for (int64_t o = 0; o < tile.outputs; ++o) to[o] = convert(tile.weights[o][i], o);
}

void put(Matrix& matrix, const Tile& tile) {
  switch (matrix.dtype) {
    case Dtype::kF32:
      return put_as<float>(matrix, tile, [](float w, int64_t) { return w; });
    case Dtype::kF16:
      return put_as<uint16_t>(matrix, tile, [](float w, int64_t) { return f16_bits(w); });
    case Dtype::kBf16:
      return put_as<uint16_t>(matrix, tile, [](float w, int64_t) { return bf16_bits(w); });
    case Dtype::kI8:
      break;
  }
  const float* const scales = matrix.scales.data() + tile.output;
  put_as<int8_t>(matrix, tile, [scales](float w, int64_t o) { return int8_of(w, scales[o]); });
}

// The least magnitude of a type that is not finite, or would not be when held as another, by its bits: of f16 from
// 65520 on, of bf16 from half a step above its largest number on.
uint32_t least_unfit(Dtype stored, Dtype held) {
  if (stored == Dtype::kF16) return 0x7C00;
  if (stored == Dtype::kBf16) return held == Dtype::kF16 ? 0x4780 : 0x7F80;
  return held == Dtype::kF16 ? std::bit_cast<uint32_t>(65520.0F) : held == Dtype::kBf16 ? 0x7F7F8000 : 0x7F800000;
}

// In parts, of which the largest magnitude alone is sought: that is a loop of vectors, and seldom finds anything.
template <class Bits>
int64_t first_of_magnitude(const void* data, int64_t n, uint32_t least) {
  constexpr auto kMagnitude = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
  constexpr int64_t kPart = 4096;
  for (int64_t begin = 0; begin < n; begin += kPart) {
    const int64_t end = std::min(n, begin + kPart);
    Bits most = 0;
    for (int64_t i = begin; i < end; ++i) most = std::max(most, static_cast<Bits>(read_at<Bits>(data, i) & kMagnitude));
    if (most < least) continue;
    while ((read_at<Bits>(data, begin) & kMagnitude) < least) ++begin;
    return begin;
  }
  return -1;
}

}  // namespace

int64_t first_unfit(const Tensor& tensor, Dtype held) {
  const int64_t n = tensor.outputs * tensor.inputs;
  const uint32_t least = least_unfit(tensor.dtype, held);
  return tensor.dtype == Dtype::kF32 ? first_of_magnitude<uint32_t>(tensor.data, n, least)
                                     : first_of_magnitude<uint16_t>(tensor.data, n, least);
}

Matrix make_matrix(const Allocator& allocator, int64_t outputs, int64_t inputs, Dtype dtype) {
  Matrix matrix;
  matrix.outputs = outputs, matrix.inputs = inputs, matrix.dtype = dtype;
  const int64_t columns = matrix.panels() * kPanel;
  const int64_t elements = checked_bytes(columns, std::max<int64_t>(inputs, 1)) / std::max<int64_t>(inputs, 1) * inputs;
  matrix.elements = Buffer<std::byte>::zeroed(allocator, checked_bytes(elements, dtype_bytes(dtype)));
  if (dtype == Dtype::kI8) matrix.scales = Buffer<float>::zeroed(allocator, columns);
  return matrix;
}

float int8_scale(const float* weights, int64_t n) {
  float largest = 0.0F;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(weights[i]));
  return largest / 127.0F;
}

int8_t int8_of(float weight, float scale) {
  const float steps = scale > 0.0F ? std::nearbyint(weight / scale) : 0.0F;
  return static_cast<int8_t>(std::clamp(steps, -127.0F, 127.0F));
}

int64_t dtype_bytes(Dtype dtype) {
  if (dtype == Dtype::kF32) return 4;
  return dtype == Dtype::kI8 ? 1 : 2;
}

void widen(const Tensor& tensor, int64_t first, int64_t n, float* out) {
  if (tensor.dtype == Dtype::kF16) {
    for (int64_t i = 0; i < n; ++i) out[i] = float_of(read_at<F16>(tensor.data, first + i));
  } else if (tensor.dtype == Dtype::kBf16) {
    for (int64_t i = 0; i < n; ++i) out[i] = float_of(read_at<Bf16>(tensor.data, first + i));
  } else if (n > 0) {
    std::memcpy(out, static_cast<const std::byte*>(tensor.data) + first * 4, static_cast<size_t>(n) * sizeof(float));
  }
}

namespace {

// The scales of int8 outputs, each of all its inputs.
void put_scales(Matrix& matrix, int64_t first, const Tensor& outputs) {
  float weights[kBlock];
  for (int64_t row = 0; row < outputs.outputs; ++row) {
    float& scale = matrix.scales[first + row];
    for (int64_t input = 0; input < matrix.inputs; input += kBlock) {
      const int64_t n = std::min(kBlock, matrix.inputs - input);
      widen(outputs, row * matrix.inputs + input, n, weights);
      scale = std::max(scale, int8_scale(weights, n));
    }
  }
}

}  // namespace

void pack_outputs(Matrix& matrix, int64_t first, const Tensor& outputs) {
  if (matrix.dtype == Dtype::kI8) put_scales(matrix, first, outputs);
  Tile tile;
  for (int64_t row = 0; row < outputs.outputs; row += tile.outputs) {
    tile.output = first + row;
    tile.outputs = std::min(kPanel - tile.output % kPanel, outputs.outputs - row);
    for (tile.input = 0; tile.input < matrix.inputs; tile.input += kBlock) {
      tile.inputs = std::min(kBlock, matrix.inputs - tile.input);
      for (int64_t o = 0; o < tile.outputs; ++o)
        widen(outputs, (row + o) * matrix.inputs + tile.input, tile.inputs, tile.weights[o]);
      put(matrix, tile);
    }
  }
}

Matrix pack_matrix(const Allocator& allocator, std::span<const Tensor> tensors, Dtype dtype) {
  int64_t outputs = 0;
  for (const Tensor& tensor : tensors) outputs += tensor.outputs;
  Matrix matrix = make_matrix(allocator, outputs, tensors.front().inputs, dtype);
  int64_t output = 0;
  for (const Tensor& tensor : tensors) {
    pack_outputs(matrix, output, tensor);
    output += tensor.outputs;
  }
  return matrix;
}

Matrix pack_matrix(const Allocator& allocator, const Tensor& tensor, Dtype dtype) {
  return pack_matrix(allocator, std::span(&tensor, 1), dtype);
}

Matrix pack_matrix(const Allocator& allocator, const Tensor& tensor, Dtype dtype, std::span<const int32_t> rows) {
  Matrix matrix = make_matrix(allocator, static_cast<int64_t>(rows.size()), tensor.inputs, dtype);
  const int64_t row_bytes = tensor.inputs * dtype_bytes(tensor.dtype);
  int64_t output = 0;
  for (const int32_t row : rows) {
    const auto* const from = static_cast<const std::byte*>(tensor.data) + row * row_bytes;
    if (row >= 0) pack_outputs(matrix, output, {from, tensor.dtype, 1, tensor.inputs});
    ++output;
  }
  return matrix;
}

void unpack_output(const Matrix& matrix, int64_t output, void* out) {
  const int64_t size = dtype_bytes(matrix.dtype);
  auto* const to = static_cast<std::byte*>(out);
  for (int64_t i = 0; i < matrix.inputs; ++i)
    std::memcpy(to + i * size, matrix.elements.data() + place_of(matrix, output, i) * size, static_cast<size_t>(size));
}

Table make_table(const Allocator& allocator, int64_t rows, int64_t columns, Dtype dtype) {
  Table table{rows, columns, dtype, {}};
  const int64_t row_bytes = checked_bytes(columns, dtype_bytes(dtype));
  table.elements = Buffer<std::byte>(allocator, checked_bytes(rows, row_bytes));
  return table;
}

void copy_rows(Table& table, int64_t first, const Tensor& rows) {
  const int64_t n = rows.outputs * rows.inputs, size = dtype_bytes(table.dtype);
  if (n == 0) return;
  std::byte* const to = table.elements.data() + first * table.columns * size;
  if (rows.dtype == table.dtype) {
    std::memcpy(to, rows.data, static_cast<size_t>(n * size));
    return;
  }
  if (table.dtype == Dtype::kF32) return widen(rows, 0, n, reinterpret_cast<float*>(to));
  float wide[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    widen(rows, i, count, wide);
    narrow(wide, count, table.dtype, to + i * size);
  }
}

Table copy_table(const Allocator& allocator, const Tensor& tensor, Dtype dtype) {
  Table table = make_table(allocator, tensor.outputs, tensor.inputs, dtype);
  copy_rows(table, 0, tensor);
  return table;
}

}  // namespace sidbeam::runner
