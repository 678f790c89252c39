// SPDX-License-Identifier: Apache-2.0
#include "logits.h"

#include <algorithm>
#include <cstring>

namespace fuzz::abi {
namespace {

constexpr int64_t kMostElements = 1 << 14;

// Elements from one of `count` things of `size` elements to the next, so that they lie in a small block: apart, on top
// of each other or backwards.
int64_t draw_step(World& world, int64_t count, int64_t size) {
  const int32_t kind = world.in(0, 7);
  if (count * size > kMostElements || kind == 1) return world.in(-3, 3);
  const int64_t step = size + (world.flip() ? 0 : world.in(0, 5));
  return kind == 2 ? -step : step;
}

// The stride that expresses this distance; `dense` is what 0 stands for.
int64_t stride_of(World& world, int64_t count, int64_t step, int64_t dense) {
  if (count <= 1 && world.one_in(8)) return world.strange();  // one thing has no stride to go wrong
  if (step == 0) return SIDBEAM_BROADCAST;
  return step == dense && world.flip() ? 0 : step;
}

// What a slot_stride of 0 stands for; 0: nothing that is allowed.
int64_t dense_slots(const sidbeam_rows& view) {
  if (view.row_stride == SIDBEAM_BROADCAST) return view.columns;
  if (view.row_stride < 0 || view.row_stride > kMostElements) return 0;
  return view.rows * (view.row_stride == 0 ? view.columns : view.row_stride);
}

// Elements of drawn bits, or of few, friendly and equal values; a short pattern again and again.
void fill(World& world, int32_t dtype, uint8_t* data, size_t bytes) {
  std::vector<uint8_t> pattern = world.input.ConsumeBytes<uint8_t>(static_cast<size_t>(world.in(1, 60)));
  const size_t element = dtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  pattern.resize(std::max<size_t>(element, pattern.size() / element * element), 0);
  if (world.in(0, 3) != 1 && dtype == SIDBEAM_DTYPE_F32) {
    for (size_t i = 0; i + 4 <= pattern.size(); i += 4) {
      const float value = -static_cast<float>(pattern[i] % 32) / 4;
      std::memcpy(&pattern[i], &value, sizeof value);
    }
  }
  for (size_t at = 0; at < bytes; at += pattern.size())
    std::memcpy(data + at, pattern.data(), std::min(pattern.size(), bytes - at));
}

}  // namespace

Logits::Logits(World& world, int64_t slots, int64_t rows, int64_t columns) {
  view.dtype = world.in(0, 2);
  view.slots = slots;
  view.rows = rows;
  view.columns = columns;
  const int64_t row_step = draw_step(world, rows, columns);
  const int64_t row_reach = rows > 1 ? row_step * (rows - 1) : 0;
  const int64_t slot_step = draw_step(world, slots, std::abs(row_reach) + columns);
  const int64_t slot_reach = slots > 1 ? slot_step * (slots - 1) : 0;
  view.row_stride = stride_of(world, rows, row_step, columns);
  view.slot_stride = stride_of(world, slots, slot_step, dense_slots(view));
  const int64_t lowest = std::min<int64_t>(row_reach, 0) + std::min<int64_t>(slot_reach, 0);
  const int64_t highest = std::max<int64_t>(row_reach, 0) + std::max<int64_t>(slot_reach, 0) + columns;
  const size_t element = view.dtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  memory_ = std::make_unique<Out<uint8_t>>(world, static_cast<size_t>(highest - lowest) * element, element);
  fill(world, view.dtype, memory_->get(), memory_->memory().bytes());
  data_ = memory_->get() + static_cast<size_t>(-lowest) * element;
  view.data = data_;
}

void Logits::spoil(World& world, int32_t fault) {
  if (fault < 1 || fault > kFaults) return;
  if (fault == 7 && (view.slots <= 1 || view.row_stride >= 0 || view.row_stride == SIDBEAM_BROADCAST)) return;
  world.expected.fails(fault == 1 ? SIDBEAM_NO_DEVICE : SIDBEAM_INVALID_ARGUMENT);
  if (fault == 1) view.device_type = SIDBEAM_DEVICE_CUDA;
  if (fault == 2) view.dtype = world.flip() ? -1 : 3;
  if (fault == 3) view.data = nullptr;
  if (fault == 4) view.columns = world.flip() ? -1 : INT64_MAX;
  if (fault == 5) view.data = memory_->get() + 1;
  if (fault == 6) view.rows = world.flip() ? -1 : INT64_MAX;
  if (fault == 7) view.slot_stride = 0;  // dense is refused for rows that go backwards
}

}  // namespace fuzz::abi
