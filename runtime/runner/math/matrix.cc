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

// Writes n floats as f32, f16 or bf16.
void narrow(const float* from, int64_t n, Dtype dtype, void* to) {
  if (dtype == Dtype::kF32) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  auto* out = static_cast<uint16_t*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = dtype == Dtype::kF16 ? f16_bits(from[i]) : bf16_bits(from[i]);
}

// Where output o, input i of a matrix stands among its elements.
int64_t place_of(const Matrix& matrix, int64_t output, int64_t input) {
  const int64_t first = input / kBlock * kBlock, length = std::min(kBlock, matrix.inputs - first);
  return kPanel * (matrix.panels() * first + output / kPanel * length + (input - first)) + output % kPanel;
}

template <class T, class Convert>
void scatter(Matrix& matrix, int64_t output, const float* weights, const Convert& convert) {
  T* const elements = reinterpret_cast<T*>(matrix.elements.data());
  for (int64_t first = 0; first < matrix.inputs; first += kBlock) {
    T* const to = elements + place_of(matrix, output, first);
    const int64_t n = std::min(kBlock, matrix.inputs - first);
    for (int64_t i = 0; i < n; ++i) to[i * kPanel] = convert(weights[first + i]);
  }
}

void put(Matrix& matrix, int64_t output, const float* weights) {
  switch (matrix.dtype) {
    case Dtype::kF32:
      return scatter<float>(matrix, output, weights, [](float w) { return w; });
    case Dtype::kF16:
      return scatter<uint16_t>(matrix, output, weights, f16_bits);
    case Dtype::kBf16:
      return scatter<uint16_t>(matrix, output, weights, bf16_bits);
    case Dtype::kI8:
      break;
  }
  const float scale = int8_scale(weights, matrix.inputs);
  matrix.scales[output] = scale;
  scatter<int8_t>(matrix, output, weights, [scale](float w) { return int8_of(w, scale); });
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

}  // namespace

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
  for (int64_t i = 0; i < n; ++i) {
    if (tensor.dtype == Dtype::kF32) out[i] = read_at<float>(tensor.data, first + i);
    if (tensor.dtype == Dtype::kF16) out[i] = float_of(read_at<F16>(tensor.data, first + i));
    if (tensor.dtype == Dtype::kBf16) out[i] = float_of(read_at<Bf16>(tensor.data, first + i));
  }
}

Matrix pack_matrix(const Allocator& allocator, std::span<const Tensor> tensors, Dtype dtype) {
  int64_t outputs = 0;
  for (const Tensor& tensor : tensors) outputs += tensor.outputs;
  const int64_t inputs = tensors.front().inputs;
  Matrix matrix = make_matrix(allocator, outputs, inputs, dtype);
  Buffer<float> weights(allocator, inputs);
  int64_t output = 0;
  for (const Tensor& tensor : tensors) {
    for (int64_t row = 0; row < tensor.outputs; ++row) {
      widen(tensor, row * inputs, inputs, weights.data());
      put(matrix, output++, weights.data());
    }
  }
  return matrix;
}

Matrix pack_matrix(const Allocator& allocator, const Tensor& tensor, Dtype dtype) {
  return pack_matrix(allocator, std::span(&tensor, 1), dtype);
}

Matrix pack_matrix(const Allocator& allocator, const Tensor& tensor, Dtype dtype, std::span<const int32_t> rows) {
  Matrix matrix = make_matrix(allocator, static_cast<int64_t>(rows.size()), tensor.inputs, dtype);
  Buffer<float> weights(allocator, tensor.inputs);
  int64_t output = 0;
  for (const int32_t row : rows) {
    if (row >= 0) {
      widen(tensor, row * tensor.inputs, tensor.inputs, weights.data());
      put(matrix, output, weights.data());
    }
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

Table copy_table(const Allocator& allocator, const Tensor& tensor, Dtype dtype) {
  Table table{tensor.outputs, tensor.inputs, dtype, {}};
  const int64_t row_bytes = checked_bytes(table.columns, dtype_bytes(dtype));
  table.elements = Buffer<std::byte>(allocator, checked_bytes(table.rows, row_bytes));
  if (tensor.dtype == dtype) {
    if (table.elements.bytes() > 0)
      std::memcpy(table.elements.data(), tensor.data, static_cast<size_t>(table.elements.bytes()));
    return table;
  }
  Buffer<float> row(allocator, table.columns);
  for (int64_t i = 0; i < table.rows; ++i) {
    widen(tensor, i * table.columns, table.columns, row.data());
    narrow(row.data(), table.columns, dtype, table.elements.data() + i * row_bytes);
  }
  return table;
}

}  // namespace sidbeam::runner
