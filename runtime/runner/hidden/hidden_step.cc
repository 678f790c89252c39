// SPDX-License-Identifier: Apache-2.0
#include "runner/hidden/hidden_step.h"

#include <algorithm>
#include <cmath>

#include "support/error.h"

namespace sidbeam::runner {
namespace {

void check_temperature(int64_t i, float value) {
  if (std::isfinite(value) && value >= 0.0F) return;
  fail(SIDBEAM_INVALID_ARGUMENT, "inverse_temperatures[%lld] is %g, expected a finite number above 0, or 0",
       static_cast<long long>(i), static_cast<double>(value));
}

}  // namespace

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

// Where each beam's hidden state is.
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

// Lists the children of slot i after those of the slots [first, i); false where they have no room, or where a step
// reads more than children.
bool HiddenStep::list_children(const Call& call, int64_t first, int64_t i) {
  if (path_ == SIDBEAM_HIDDEN_PRODUCT) return false;
  int64_t* offsets = offsets_.data() + (i - first) * beams();
  const int64_t used = i > first ? offsets[0] : 0;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  const sidbeam_status status =
      sidbeam_session_children(config_.session, slots_.data() + i, 1, call.args->lse != nullptr ? 1 : 0,
                               most_pairs_ - used, offsets, columns_.data() + used, nullptr, &error);
  for (int64_t m = 0; status == SIDBEAM_OK && m <= beams(); ++m) offsets[m] += used;
  if (status != SIDBEAM_OK) offsets[0] = used;  // where the slots before end
  if (status == SIDBEAM_UNSUPPORTED && path_ == SIDBEAM_HIDDEN_FASTEST) {
    path_ = SIDBEAM_HIDDEN_PRODUCT;  // of the whole call
    return false;
  }
  check_status(status, error);
  return offsets[beams()] <= most_pairs_;
}

// Steps as many slots as have room; returns their number. (A list is looked through at once, while it is in the cache.)
int64_t HiddenStep::step_some(const Call& call, int64_t first) {
  int64_t end = first;
  for (; end < call.count && slots_[end] >= 0 && list_children(call, first, end); ++end) {
    check_children(first, end);
    choose_path(first, end);
  }
  if (end == first) {
    step_product(call, first);
    return 1;
  }
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

void HiddenStep::check_children(int64_t first, int64_t i) const {
  for (int64_t m = 0; m < live(i); ++m)
    if (children_of(first, i, m) > 0 && rows_[i * beams() + m] == nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "beam %lld of slot %d must be fed, expected a row of hidden states for it",
           static_cast<long long>(m), slots_[i]);
  const auto last = static_cast<uint32_t>(layer_.columns - 1);
  uint32_t odd = 0;  // its top bit is set where any column is negative or above the last; without branches
  const int32_t* columns = columns_of(first, i, 0);
  const int64_t count = children_of_slot(first, i);
  for (int64_t c = 0; c < count; ++c)
    odd |= static_cast<uint32_t>(columns[c]) | (last - static_cast<uint32_t>(columns[c]));
  for (int64_t c = 0; odd >> 31 != 0 && c < count; ++c)
    if (columns[c] < 0 || columns[c] >= layer_.columns)
      fail(SIDBEAM_INVALID_ARGUMENT, "a child has column %d, expected one of the layer's, 0..%lld", columns[c],
           static_cast<long long>(layer_.columns - 1));
}

// Where the products of all of the slot's beams with all of their children, in tiles, cost less than those of beam and
// child by themselves, the union of the children takes the place of their list.
void HiddenStep::choose_path(int64_t first, int64_t i) {
  by_union_[i] = false;
  if (path_ == SIDBEAM_HIDDEN_CHILDREN) return;
  int64_t fed = 0;
  for (int64_t m = 0; m < live(i); ++m) fed += children_of(first, i, m) > 0 ? 1 : 0;
  const double in_tiles = layer_.break_even * static_cast<double>(children_of_slot(first, i));
  const double of_a_column = static_cast<double>(std::max<int64_t>(fed, 1)) + layer_.row_cost;
  const int64_t count = find_union(first, i, static_cast<int64_t>(in_tiles / of_a_column));
  if (count < 0) return;
  by_union_[i] = true;
  const int64_t from = offsets_[(i - first) * beams()];
  std::copy_n(union_.data(), count, columns_.data() + from);
  std::fill_n(offsets_.begin() + (i - first) * beams() + 1, beams(), from + count);
}

// Writes the union of the slot's children, as they are found, unless there are more than `most`, and returns their
// number, or -1. (Sorting them gained nothing.)
int64_t HiddenStep::find_union(int64_t first, int64_t i, int64_t most) {
  if (++unions_ == 0) {
    std::fill(seen_.begin(), seen_.end(), 0U);
    unions_ = 1;
  }
  int64_t count = 0;
  for (int64_t m = 0; m < live(i) && count < layer_.columns; ++m) {
    const int32_t* columns = columns_of(first, i, m);
    const int64_t n = children_of(first, i, m);
    // Where beams have about all codes, most have the children of the one before.
    if (m > 0 && n == children_of(first, i, m - 1) && std::equal(columns, columns + n, columns - n)) continue;
    for (int64_t c = 0; c < n; ++c) {
      uint32_t& seen = seen_[columns[c]];
      if (seen == unions_) continue;
      seen = unions_;
      union_[count++] = columns[c];
    }
    if (count > most) return -1;
  }
  return count;
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
  count(list.count(), list.column_count);
}

void HiddenStep::count(int64_t products, int64_t weight_rows) {
  stats_.products += products;
  stats_.weight_rows += weight_rows;
  stats_.weight_bytes += weight_rows * layer_.width * dtype_bytes(layer_.dtype);
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
  ++stats_.union_slots;
  step_tiles(call, i, columns_of(first, i, 0), children_of_slot(first, i));
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
  count(fed * column_count, fed > 0 ? column_count : 0);
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
