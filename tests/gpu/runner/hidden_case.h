// Sessions that step from hidden states of random layers, on either device. Numbers are small multiples of 1/4, so that
// sums are exact in any order and logits have the same bits. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/hidden.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "small_catalogue.h"

namespace gpu {

using differential::call;
using differential::expect;
using differential::Place;
using differential::Snapshot;

using Layer = std::unique_ptr<sidbeam_output_layer, handles::Releaser<sidbeam_output_layer_destroy>>;
using Hidden = std::unique_ptr<sidbeam_hidden, handles::Releaser<sidbeam_hidden_destroy>>;

inline constexpr int64_t kColumns = 50;
inline constexpr int32_t kSlots = 3;
inline constexpr size_t kRows = kSlots * kBeams;

struct HiddenCase {
  uint64_t seed = 1;
  int64_t width = 8;
  int32_t dtype = SIDBEAM_DTYPE_F32, hidden_dtype = SIDBEAM_DTYPE_F32;  // the latter on the device
  int32_t normalization = SIDBEAM_NORMALIZE_NONE;
  bool lse = false, bias = false, mapped = false, variable = false;
  int32_t path = SIDBEAM_HIDDEN_FASTEST;       // of the objects
  int32_t step_path = SIDBEAM_HIDDEN_FASTEST;  // of the steps on the device
  int64_t children = 0;                        // room on the device
  float soft_cap = 0.0F;

  std::string text() const {
    return "seed " + std::to_string(seed) + ", width " + std::to_string(width) + ", dtypes " + std::to_string(dtype) +
           " and " + std::to_string(hidden_dtype) + ", normalization " + std::to_string(normalization) +
           (lse ? ", lse" : "") + (bias ? ", bias" : "") + (mapped ? ", mapped" : "") + (variable ? ", variable" : "") +
           ", path " + std::to_string(path) + "/" + std::to_string(step_path) + ", room " + std::to_string(children);
  }
  // In elements; on the device rows begin at multiples of 16 bytes.
  int64_t row_stride() const { return (width + 7) / 8 * 8; }
};

inline uint16_t half_bits(float value, int32_t dtype) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (dtype == SIDBEAM_DTYPE_BF16) return static_cast<uint16_t>(bits >> 16);
  if (value == 0.0F) return 0;
  const uint32_t exponent = (bits >> 23 & 0xFF) - 127 + 15;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3FF));
}

// Elements of a type, exactly.
inline std::vector<uint8_t> elements(const std::vector<float>& values, int32_t dtype) {
  const size_t size = dtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  std::vector<uint8_t> out(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t narrow = half_bits(values[i], dtype);
    std::memcpy(out.data() + i * size, size == 4 ? static_cast<const void*>(&values[i]) : &narrow, size);
  }
  return out;
}

inline std::vector<float> quarters(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<float> out(count);
  for (float& value : out) value = static_cast<float>(static_cast<int>(random() % 9) - 4) / 4.0F;
  return out;
}

// A layer, a session and its steps, wherever they are, and the arrays of a call, at fixed addresses.
class HiddenSide {
 public:
  HiddenSide(const HiddenCase& c, sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Place& place)
      : c_(c),
        place_(place),
        cpu_(place.device_type() == SIDBEAM_DEVICE_CPU),
        dtype_(cpu_ ? SIDBEAM_DTYPE_F32 : c.hidden_dtype),
        weights_(place, elements(quarters(c.seed, static_cast<size_t>(kColumns * c.row_stride())), c.dtype)),
        bias_(place, quarters(c.seed + 1, kColumns)),
        states_(place, elements(std::vector<float>(kRows * static_cast<size_t>(c.width)), dtype_)),
        map_(place, std::vector<int32_t>(kRows)),
        lse_(place, std::vector<float>(kRows)),
        temperatures_(place, std::vector<float>{0.5F, 0.0F, 2.0F}) {
    make_layer();
    make_session(runtime, constraint);
    sidbeam_hidden_config config = SIDBEAM_HIDDEN_CONFIG_INIT;
    config.session = session_.get(), config.layer = layer_.get(), config.path = c.path;
    if (!cpu_) config.children = c.children;
    sidbeam_hidden* made = nullptr;
    call("hidden", sidbeam_hidden_create, static_cast<const sidbeam_hidden_config*>(&config), &made);
    hidden_.reset(made);
  }

  void start(sidbeam_constraint* few) {
    sidbeam_constraint* constraints[kSlots] = {nullptr, few, nullptr};
    const int32_t widths[kSlots] = {0, 0, 3};
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.constraints = constraints, start.widths = widths, start.stream = place_.stream();
    call("start", sidbeam_session_start, session_.get(), static_cast<const sidbeam_start_args*>(&start));
  }

  // New hidden states in the rows of the beams that live; NaN elsewhere, where a product may read it.
  void fill(uint64_t round, const std::vector<int32_t>& live) {
    const auto width = static_cast<size_t>(c_.width);
    const std::vector<float> fresh = quarters(c_.seed * 1000 + round, kRows * width);
    std::vector<float> values(kRows * width, std::numeric_limits<float>::quiet_NaN());
    std::vector<int32_t> map(kRows, -1);
    std::vector<float> lse(kRows);
    for (size_t b = 0; b < kRows; ++b) {
      const size_t row = c_.mapped ? kRows - 1 - b : b;
      lse[row] = 40.0F + static_cast<float>(b % 5) / 4.0F;
      if (static_cast<int32_t>(b % kBeams) >= live[b / kBeams]) continue;
      map[b] = static_cast<int32_t>(row);
      std::copy_n(fresh.begin() + static_cast<std::ptrdiff_t>(b * width), width,
                  values.begin() + static_cast<std::ptrdiff_t>(row * width));
    }
    copy(states_.data(), elements(values, dtype_));
    copy(map_.data(), map);
    copy(lse_.data(), lse);
  }

  void step() {
    sidbeam_rows rows = sidbeam_rows_dense(states_.data(), dtype_, c_.mapped ? 0 : kSlots,
                                           c_.mapped ? static_cast<int64_t>(kRows) : kBeams, c_.width);
    rows.device_type = place_.device_type();
    sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
    args.hidden = &rows;
    if (!cpu_) args.path = c_.step_path;
    if (c_.mapped) args.row_map = map_.data();
    if (c_.lse) args.lse = lse_.data();
    if (c_.normalization == SIDBEAM_NORMALIZE_VALID) args.inverse_temperatures = temperatures_.data();
    args.stream = place_.stream();
    call("step", sidbeam_hidden_step, hidden_.get(), static_cast<const sidbeam_hidden_step_args*>(&args));
  }

  std::vector<Snapshot> look() const {
    const sidbeam_beams beams = differential::beams_of(place_, session_.get());
    std::vector<Snapshot> out;
    for (size_t slot = 0; slot < kSlots; ++slot) out.push_back(differential::snapshot(beams, slot));
    return out;
  }
  std::vector<int32_t> live() const {
    std::vector<int32_t> out;
    for (const Snapshot& slot : look()) out.push_back(slot.live);
    return out;
  }
  sidbeam_hidden_stats stats() const {
    sidbeam_hidden_stats stats = SIDBEAM_HIDDEN_STATS_INIT;
    call("stats", sidbeam_hidden_get_stats, static_cast<const sidbeam_hidden*>(hidden_.get()), &stats);
    return stats;
  }

 private:
  template <class T>
  void copy(void* to, const std::vector<T>& values) {
    if (cpu_) {
      std::memcpy(to, values.data(), values.size() * sizeof(T));
      return;
    }
    place_.wait();
    expect_cuda(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  }

  void make_layer() {
    sidbeam_output_layer_config config = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
    config.dtype = c_.dtype, config.device_type = place_.device_type();
    config.weights = weights_.data(), config.columns = kColumns, config.width = c_.width;
    config.row_stride = c_.row_stride(), config.soft_cap = c_.soft_cap;
    if (c_.bias) config.bias = bias_.data();
    sidbeam_output_layer* made = nullptr;
    call("layer", sidbeam_output_layer_create, static_cast<const sidbeam_output_layer_config*>(&config), &made);
    layer_.reset(made);
  }

  void make_session(sidbeam_runtime* runtime, sidbeam_constraint* constraint) {
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = 3, vocabulary.offsets = kOffsets, vocabulary.end_column = kEnd;
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.slots = kSlots, config.beams = kBeams, config.normalization = c_.normalization;
    config.constraint = constraint, config.vocabulary = &vocabulary, config.device_type = place_.device_type();
    sidbeam_session* made = nullptr;
    call("session", sidbeam_session_create, runtime, static_cast<const sidbeam_session_config*>(&config), &made);
    session_.reset(made);
  }

  HiddenCase c_;
  const Place& place_;
  bool cpu_;
  int32_t dtype_;
  differential::Array<uint8_t> weights_;
  differential::Array<float> bias_;
  differential::Array<uint8_t> states_;
  differential::Array<int32_t> map_;
  differential::Array<float> lse_, temperatures_;
  Layer layer_;
  handles::Session session_;
  Hidden hidden_;  // before what it steps
};

}  // namespace gpu
