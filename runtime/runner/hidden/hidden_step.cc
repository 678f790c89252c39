// SPDX-License-Identifier: Apache-2.0
#include "runner/hidden/hidden_step.h"

#include <algorithm>
#include <cmath>

#include "support/error.h"
#include "support/strides.h"

namespace sidbeam::runner {
namespace {

void check_temperature(int64_t i, float value) {
  if (std::isfinite(value) && value >= 0.0F) return;
  fail(SIDBEAM_INVALID_ARGUMENT, "inverse_temperatures[%lld] is %g, expected a finite number above 0, or 0",
       static_cast<long long>(i), static_cast<double>(value));
}

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

HiddenStep::HiddenStep(const Allocator& allocator, const HiddenConfig& config)
    : config_(config),
      layer_(*config.layer),
      beams_(beams_of(config)),
      most_pairs_(most_pairs(config, beams_)),
      sorter_(allocator, {layer_.columns, int64_t{beams_.slots} * beams_.beams, most_pairs_, layer_.width,
                          config_.workers.width()}),
      slots_(allocator, beams_.slots),
      named_(allocator, beams_.slots),
      rows_(allocator, int64_t{beams_.slots} * beams_.beams),
      numbers_(allocator, int64_t{beams_.slots} * beams_.beams),
      offsets_(allocator, int64_t{beams_.slots} * beams_.beams + 1),
      columns_(allocator, most_pairs_),
      values_(allocator, most_pairs_),
      by_union_(allocator, beams_.slots),
      seen_(Buffer<uint32_t>::zeroed(allocator, layer_.columns)),
      union_(allocator, layer_.columns),
      logits_(allocator, checked_bytes(beams_.beams, layer_.columns)),
      fed_(allocator, beams_.beams),
      row_map_(allocator, beams_.beams),
      lse_(allocator, int64_t{beams_.slots} * beams_.beams) {
  stats_.break_even = layer_.break_even;
  stats_.memory_bytes = sorter_.memory_bytes() + logits_.bytes() + slots_.bytes() + named_.bytes() + rows_.bytes() +
                        numbers_.bytes() + offsets_.bytes() + columns_.bytes() + values_.bytes() + by_union_.bytes() +
                        seen_.bytes() + union_.bytes() + fed_.bytes() + row_map_.bytes() + lse_.bytes();
}

// Writes the call's slots; all that the session would refuse of a list is refused here, before any slot is stepped.
void HiddenStep::list_slots(const sidbeam_hidden_step_args& args, int64_t count) {
  std::fill(named_.begin(), named_.end(), false);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slot = args.slots != nullptr ? args.slots[i] : i;
    const auto at = static_cast<long long>(i), number = static_cast<long long>(slot);
    if (slot < 0 || slot >= beams_.slots)
      fail(SIDBEAM_INVALID_ARGUMENT, "slots[%lld] is %lld, expected 0..%d", at, number, beams_.slots - 1);
    if (named_[slot]) fail(SIDBEAM_INVALID_ARGUMENT, "slots[%lld] is %lld, which is named before", at, number);
    named_[slot] = true;
    const bool idle = beams_.level[slot] < 0, done = !idle && beams_.active[slot] == 0;
    if (args.slots != nullptr && (idle || done))
      fail(SIDBEAM_BAD_STATE, "slots[%lld] is %lld, which is %s", at, number, idle ? "not started" : "done");
    if (args.inverse_temperatures != nullptr) check_temperature(i, args.inverse_temperatures[i]);
    slots_[i] = idle || done ? -1 : static_cast<int32_t>(slot);
  }
}

// Where each beam's hidden state is. Then leaves out the slots of a NULL list that are idle or done.
void HiddenStep::find_rows(const Call& call) {
  const sidbeam_rows& hidden = *call.hidden;
  const int32_t* map = call.args->row_map;
  for (int64_t i = 0; i < call.count; ++i) {
    for (int64_t m = 0; m < beams(); ++m) {
      const int64_t at = i * beams() + m, row = map != nullptr ? map[at] : m;
      const bool there = slots_[i] >= 0 && m < live(i) && row >= 0 && row < hidden.rows;
      const int64_t slot = map != nullptr ? 0 : i;
      numbers_[at] = slot * hidden.rows + row;
      rows_[at] = !there ? nullptr
                         : static_cast<const float*>(hidden.data) + slot * hidden.slot_stride + row * hidden.row_stride;
    }
  }
}

void HiddenStep::step(const sidbeam_hidden_step_args& args, sidbeam_rows& hidden) {
  check_call(layer_, args, hidden);
  const Call call{&args, &hidden, count_slots(args, hidden, beams_.slots)};
  list_slots(args, call.count);
  path_ = args.path != SIDBEAM_HIDDEN_FASTEST ? args.path : config_.path;
  find_rows(call);
  int64_t stepped = 0;
  for (int64_t first = 0; first < call.count;) {
    if (slots_[first] < 0) {
      ++first;
      continue;
    }
    const int64_t n = step_some(call, first);
    first += n;
    stepped += n;
  }
  if (stepped == 0) fail(SIDBEAM_BAD_STATE, "no slot is started and not done, expected one to step: start it first");
  ++stats_.steps;
}

// The consecutive slots from `first` on that run.
bool HiddenStep::list_children(const Call& call, int64_t first) {
  if (path_ == SIDBEAM_HIDDEN_PRODUCT) return false;
  int64_t end = first;
  while (end < call.count && slots_[end] >= 0) ++end;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  const sidbeam_status status =
      sidbeam_session_children(config_.session, slots_.data() + first, end - first, call.args->lse != nullptr ? 1 : 0,
                               most_pairs_, offsets_.data(), columns_.data(), nullptr, &error);
  if (status == SIDBEAM_UNSUPPORTED && path_ == SIDBEAM_HIDDEN_FASTEST) return false;
  check_status(status, error);
  return true;
}

// Steps as many slots as have room; returns their number.
int64_t HiddenStep::step_some(const Call& call, int64_t first) {
  int64_t end = first;
  if (list_children(call, first))
    while (end < call.count && slots_[end] >= 0 && offsets_[(end + 1 - first) * beams()] <= most_pairs_) ++end;
  if (end == first) {
    step_product(call, first);
    return 1;
  }
  check_children(first, end);
  for (int64_t i = first; i < end; ++i) by_union_[i] = wants_union(first, i);
  multiply_children(first, end);
  for (int64_t i = first; i < end;) {
    if (by_union_[i]) {
      step_union(call, first, i++);
      continue;
    }
    int64_t n = 1;
    while (i + n < end && !by_union_[i + n]) ++n;
    step_children(call, first, i, n);
    i += n;
  }
  return end - first;
}

void HiddenStep::check_children(int64_t first, int64_t end) const {
  for (int64_t i = first; i < end; ++i) {
    for (int64_t m = 0; m < live(i); ++m) {
      const int64_t n = children_of(first, i, m);
      if (n > 0 && rows_[i * beams() + m] == nullptr)
        fail(SIDBEAM_INVALID_ARGUMENT, "beam %lld of slot %d must be fed, expected a row of hidden states for it",
             static_cast<long long>(m), slots_[i]);
    }
  }
  const int64_t pairs = offsets_[(end - first) * beams()];
  const auto last = static_cast<uint32_t>(layer_.columns - 1);
  uint32_t odd = 0;  // its top bit is set where any column is negative or above the last; without branches
  for (int64_t p = 0; p < pairs; ++p)
    odd |= static_cast<uint32_t>(columns_[p]) | (last - static_cast<uint32_t>(columns_[p]));
  for (int64_t p = 0; odd >> 31 != 0 && p < pairs; ++p)
    if (columns_[p] < 0 || columns_[p] >= layer_.columns)
      fail(SIDBEAM_INVALID_ARGUMENT, "a child has column %d, expected one of the layer's, 0..%lld", columns_[p],
           static_cast<long long>(layer_.columns - 1));
}

// Whether the products of all of the slot's beams with all of their children, in tiles, cost less than those of beam
// and child by themselves. Lists the union of the children if they may.
bool HiddenStep::wants_union(int64_t first, int64_t i) {
  if (path_ == SIDBEAM_HIDDEN_CHILDREN) return false;
  const int64_t from = offsets_[(i - first) * beams()], to = offsets_[(i - first + 1) * beams()];
  if (++unions_ == 0) {
    std::fill(seen_.begin(), seen_.end(), 0U);
    unions_ = 1;
  }
  int64_t fed = 0;
  for (int64_t m = 0; m < live(i); ++m) fed += children_of(first, i, m) > 0 ? 1 : 0;
  const double most =
      static_cast<double>(to - from) * layer_.break_even / static_cast<double>(std::max<int64_t>(fed, 1));
  union_count_ = 0;
  for (int64_t p = from; p < to; ++p) {
    uint32_t& seen = seen_[columns_[p]];
    if (seen == unions_) continue;
    seen = unions_;
    union_[union_count_++] = columns_[p];
    if (static_cast<double>(union_count_) > most) return false;
  }
  return true;
}

// All that have no union of their own, so that a row of weights that several slots need is read once.
void HiddenStep::multiply_children(int64_t first, int64_t end) {
  const auto for_each_beam = [&](const auto& visit) {
    for (int64_t i = first; i < end; ++i)
      for (int64_t m = 0; !by_union_[i] && m < live(i); ++m)
        visit((i - first) * beams() + m, columns_of(first, i, m), children_of(first, i, m));
  };
  sorter_.begin();
  for_each_beam([&](int64_t, const int32_t* columns, int64_t n) { sorter_.count(columns, n); });
  sorter_.place((end - first) * beams());
  for_each_beam([&](int64_t row, const int32_t* columns, int64_t n) {
    sorter_.add(static_cast<int32_t>(row), columns, n, columns - columns_.data());
  });
  PairList list = sorter_.list();
  list.rows = rows_.data() + first * beams();
  list.values = values_.data();
  multiply_pairs(config_.workers, layer_, list);
  stats_.products += list.count();
  stats_.weight_rows += list.column_count;
  stats_.weight_bytes += list.column_count * layer_.width * dtype_bytes(layer_.dtype);
}

float HiddenStep::lse_of(const Call& call, int64_t i, int64_t m) const {
  return call.args->lse[numbers_[i * beams() + m]];
}

// The slots [i, i + n), which follow each other in the lists too.
void HiddenStep::step_children(const Call& call, int64_t first, int64_t i, int64_t n) {
  const int64_t* offsets = offsets_.data() + (i - first) * beams();
  for (int64_t at = 0; call.args->lse != nullptr && at < n * beams(); ++at)
    if (offsets[at + 1] > offsets[at]) lse_[at] = call.args->lse[numbers_[i * beams() + at]];
  stats_.child_slots += n;
  const sidbeam_rows rows =
      sidbeam_rows_dense(values_.data(), SIDBEAM_DTYPE_F32, 0, 1, offsets_[(i - first + n) * beams()]);
  sidbeam_step_args args = step_args(call, i, n);
  args.rows = &rows;
  args.child_offsets = offsets;
  step_session(args);
}

void HiddenStep::step_union(const Call& call, int64_t first, int64_t i) {
  static_cast<void>(wants_union(first, i));  // its columns, which other slots have overwritten
  std::sort(union_.begin(), union_.begin() + union_count_);
  ++stats_.union_slots;
  step_tiles(call, i, union_.data(), union_count_);
}

void HiddenStep::step_product(const Call& call, int64_t i) {
  ++stats_.product_slots;
  step_tiles(call, i, nullptr, layer_.columns);
}

void HiddenStep::step_tiles(const Call& call, int64_t i, const int32_t* columns, int64_t column_count) {
  int32_t fed = 0;
  for (int64_t m = 0; m < beams(); ++m) {
    const float* row = rows_[i * beams() + m];
    row_map_[m] = row != nullptr ? fed : -1;
    if (row == nullptr) continue;
    if (call.args->lse != nullptr) lse_[fed] = lse_of(call, i, m);
    fed_[fed++] = row;
  }
  multiply_tiles(config_.workers, layer_, {columns, column_count, fed_.data(), fed, logits_.data(), layer_.columns});
  stats_.products += fed * column_count;
  const sidbeam_rows rows = sidbeam_rows_dense(logits_.data(), SIDBEAM_DTYPE_F32, 0, fed, layer_.columns);
  sidbeam_step_args args = step_args(call, i, 1);
  args.rows = &rows;
  args.row_map = row_map_.data();
  step_session(args);
}

// What the steps of the slots [i, i + n) have in common.
sidbeam_step_args HiddenStep::step_args(const Call& call, int64_t i, int64_t n) const {
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = slots_.data() + i;
  args.count = n;
  args.lse = call.args->lse != nullptr ? lse_.data() : nullptr;
  args.soft_cap = layer_.soft_cap;
  args.inverse_temperature = call.args->inverse_temperature;
  if (call.args->inverse_temperatures != nullptr) args.inverse_temperatures = call.args->inverse_temperatures + i;
  return args;
}

void HiddenStep::step_session(const sidbeam_step_args& args) const {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_session_step(config_.session, &args, &error), error);
}

sidbeam_hidden_stats HiddenStep::stats() const { return stats_; }

}  // namespace sidbeam::runner
