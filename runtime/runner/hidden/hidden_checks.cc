// What steps from hidden states on every device check. SPDX-License-Identifier: Apache-2.0
#include "runner/hidden/hidden_step.h"

#include <algorithm>

#include "support/error.h"
#include "support/strides.h"

namespace sidbeam::runner {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 31;

// Throws if the session is not where the layer is: a step of no slots moves nothing, but looks at the rows' device
// first.
void check_device(const HiddenConfig& config) {
  const float element = 0.0F;
  const int32_t none = 0;
  sidbeam_rows rows = sidbeam_rows_dense(&element, SIDBEAM_DTYPE_F32, 0, 1, 1);
  rows.device_type = config.layer->device_type, rows.device_id = config.layer->device_id;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = &none;
  args.rows = &rows;
  if (sidbeam_session_step(config.session, &args, nullptr) != SIDBEAM_NO_DEVICE) return;
  if (rows.device_type == SIDBEAM_DEVICE_CPU)
    fail(SIDBEAM_UNSUPPORTED, "config.session is on CUDA, expected one on the CPU, where the layer is");
  fail(SIDBEAM_UNSUPPORTED, "config.session is elsewhere, expected one on CUDA device %d, where the layer is",
       rows.device_id);
}

void check_dtype(const OutputLayer& layer, const sidbeam_rows& hidden) {
  if (layer.device_type != SIDBEAM_DEVICE_CPU) {
    check_range("hidden.dtype", hidden.dtype, SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_BF16);
  } else if (hidden.dtype != SIDBEAM_DTYPE_F32) {
    fail(SIDBEAM_INVALID_ARGUMENT, "hidden.dtype is %d, expected F32 (0)", hidden.dtype);
  }
}

}  // namespace

sidbeam_beams beams_of(const HiddenConfig& config) {
  check_device(config);
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_session_get_beams(config.session, &beams, &error), error);
  return beams;
}

int64_t most_pairs(const HiddenConfig& config, const sidbeam_beams& beams) {
  constexpr int64_t kMost = int64_t{1} << 22;
  const int64_t rows = int64_t{beams.slots} * beams.beams;
  const int64_t all = rows > kMost / config.layer->columns ? kMost : rows * config.layer->columns;
  return config.children > 0 ? std::min(config.children, all) : all;
}

void check_call(const OutputLayer& layer, const sidbeam_hidden_step_args& args, sidbeam_rows& hidden) {
  check_range("args.path", args.path, SIDBEAM_HIDDEN_FASTEST, SIDBEAM_HIDDEN_PRODUCT);
  if (hidden.device_type != layer.device_type)
    fail(SIDBEAM_NO_DEVICE, "hidden.device_type is %d, expected %s, where the session is", hidden.device_type,
         layer.device_type == SIDBEAM_DEVICE_CPU ? "CPU (0)" : "CUDA (1)");
  if (hidden.device_id != layer.device_id)
    fail(SIDBEAM_NO_DEVICE, "hidden.device_id is %d, expected %d, where the session is", hidden.device_id,
         layer.device_id);
  check_dtype(layer, hidden);
  if (hidden.columns != layer.width)
    fail(SIDBEAM_INVALID_ARGUMENT, "hidden.columns is %lld, expected %lld, the width of the output layer",
         static_cast<long long>(hidden.columns), static_cast<long long>(layer.width));
  check_range("hidden.rows", hidden.rows, 0, kMostRows);
  check_range("hidden.slots", hidden.slots, 0, kMostRows);
  if (hidden.data == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "hidden.data is NULL, expected hidden states");
  const uintptr_t element = hidden.dtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  if (reinterpret_cast<uintptr_t>(hidden.data) % element != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "hidden.data is not aligned to its elements of %d bytes", static_cast<int>(element));
  if (args.row_map != nullptr && hidden.slots != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "hidden.slots is %lld, expected 0 with a row_map",
         static_cast<long long>(hidden.slots));
  if (args.inverse_temperatures != nullptr && args.inverse_temperature != 0.0F)
    fail(SIDBEAM_INVALID_ARGUMENT, "inverse_temperature is %g, expected 0 beside inverse_temperatures",
         static_cast<double>(args.inverse_temperature));
  resolve_strides(hidden, "hidden");
}

int64_t count_slots(const sidbeam_hidden_step_args& args, const sidbeam_rows& hidden, int32_t slots) {
  if (args.slots == nullptr && args.count != 0 && args.count != slots)
    fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected 0 or %d, all slots, where slots is NULL",
         static_cast<long long>(args.count), slots);
  check_range("count", args.count, args.slots == nullptr ? 0 : 1, slots);
  const int64_t count = args.slots != nullptr ? args.count : slots;
  if (args.row_map == nullptr && hidden.slots != count)
    fail(SIDBEAM_INVALID_ARGUMENT, "hidden.slots is %lld, expected %lld, the slots of the call (or 0 and a row_map)",
         static_cast<long long>(hidden.slots), static_cast<long long>(count));
  return count;
}

}  // namespace sidbeam::runner
