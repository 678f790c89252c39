// SPDX-License-Identifier: Apache-2.0
#include "logits.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "mix.h"

namespace bench {
namespace {

constexpr int64_t kBlock = 1 << 21;  // normal numbers that are drawn; rows are copies from within, at an offset

uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// To the nearest; what is subnormal there becomes 0. N(0, 3) has nothing large.
uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude < (113U << 23)) return static_cast<uint16_t>(sign);
  return static_cast<uint16_t>(sign | (magnitude - (112U << 23) + 0x0FFF + (magnitude >> 13 & 1)) >> 13);
}

std::vector<char> draw_block(int32_t dtype) {
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<char> block(kBlock * (dtype == SIDBEAM_DTYPE_F32 ? 4 : 2));
  for (int64_t i = 0; i < kBlock; ++i) {
    const float x = normal(random);
    const uint16_t half = dtype == SIDBEAM_DTYPE_F16 ? to_f16(x) : to_bf16(x);
    if (dtype == SIDBEAM_DTYPE_F32) {
      std::memcpy(block.data() + i * 4, &x, 4);
    } else {
      std::memcpy(block.data() + i * 2, &half, 2);
    }
  }
  return block;
}

}  // namespace

std::string name_of(Source source) {
  return source == Source::kHot ? "hot" : source == Source::kLevels ? "levels" : "memory";
}

Logits::Logits(Source source, int64_t slots, int64_t beams, int64_t columns, int32_t levels, int32_t dtype,
               int64_t ring_bytes)
    : slots_(slots), beams_(beams), columns_(columns), dtype_(dtype) {
  const Rows shape{nullptr, 0, 0, beams, columns, dtype};
  const int64_t step_rows = slots * beams, most = std::max<int64_t>(1, ring_bytes / shape.row_bytes());
  const int64_t fit = most / step_rows;  // steps that fit
  const int64_t steps = source == Source::kHot ? 1 : source == Source::kLevels ? levels : fit;
  ring_rows_ = fit == 0 ? most : step_rows * std::clamp<int64_t>(steps, 1, fit);
  ring_ = Pages<char>(ring_rows_ * shape.row_bytes());
  const std::vector<char> block = draw_block(dtype);
  const int64_t element = shape.row_bytes() / columns, places = kBlock - columns;
  for (int64_t r = 0; r < ring_rows_; ++r) {
    const auto from = static_cast<int64_t>(mix(static_cast<uint64_t>(r)) % static_cast<uint64_t>(places));
    std::memcpy(ring_.data() + r * shape.row_bytes(), block.data() + from * element,
                static_cast<size_t>(shape.row_bytes()));
  }
}

Rows Logits::at(int64_t step) const {
  return {ring_.data(), ring_rows_, step * slots_ * beams_ % ring_rows_, beams_, columns_, dtype_};
}

}  // namespace bench
