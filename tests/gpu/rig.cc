// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gpu {

using differential::call;
using differential::Snapshot;

namespace {

void copy_over(const std::shared_ptr<void>& there, const void* here, size_t bytes, void* stream) {
  if (bytes == 0) return;
  expect_cuda(cudaMemcpyAsync(there.get(), here, bytes, cudaMemcpyHostToDevice, static_cast<cudaStream_t>(stream)),
              "copy to the device");
}

// Sums of up to eight levels, each with a log-sum-exp of its own.
bool near(const std::vector<float>& a, const std::vector<float>& b, float tolerance = 2e-5F) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [tolerance](float x, float y) {
    return x == y || std::fabs(x - y) <= tolerance * std::max(1.0F, std::fabs(x));
  });
}

}  // namespace

Rig::Rig(const differential::Case& c, bool listed, int mode)
    : world_(differential::make_world(c)),
      listed_(listed),
      mode_(mode),
      truncated_(static_cast<size_t>(c.slots)),
      silent_(static_cast<size_t>(c.slots)),
      astray_(static_cast<size_t>(c.slots)),
      runtime_(differential::make_runtime(nullptr)),
      device_(0),
      columns_(world_.columns),
      lists_(mode == SIDBEAM_MODE_SEARCH && c.strategy == SIDBEAM_STRATEGY_TRIE &&
             (c.given_lse != 0 || c.normalization >= SIDBEAM_NORMALIZE_VALID)) {
  loaded_ = differential::load_all(runtime(), world_);
  for (const differential::Loaded& each : loaded_) device_.prepare(each.index.get());
  world_.c.mode = mode;
  const auto strategy = static_cast<int>(c.strategy), slot_count = static_cast<int>(c.slots);
  sidbeam_constraint* first = loaded_[0].constraint.get();
  cpu_ = differential::make_session(runtime(), here_, first, world_, strategy, slot_count);
  eager_ = differential::make_session(runtime(), device_, first, world_, strategy, slot_count);
  graphed_ = differential::make_session(runtime(), device_, first, world_, strategy, slot_count);
  const auto rows = static_cast<size_t>(c.slots * c.beams), size = rows * static_cast<size_t>(columns_);
  wide_.resize(c.dtype == SIDBEAM_DTYPE_F32 ? size : 0);
  narrow_.resize(c.dtype == SIDBEAM_DTYPE_F32 ? 0 : size);
  rows_here_ = sidbeam_rows_dense(wide_.empty() ? static_cast<void*>(narrow_.data()) : wide_.data(),
                                  static_cast<int32_t>(c.dtype), c.slots, c.beams, columns_);
  const auto stream = static_cast<cudaStream_t>(device_.stream());
  rows_there_memory_ = device_memory(size * (c.dtype == SIDBEAM_DTYPE_F32 ? sizeof(float) : sizeof(uint16_t)), stream);
  list_.assign(slots(), -1);
  for (size_t r = 0; r < rows; ++r) map_.push_back(static_cast<int32_t>(rows - 1 - r));
  list_there_ = device_.copy(list_.data(), list_.size() * sizeof(int32_t));
  map_there_ = device_.copy(map_.data(), map_.size() * sizeof(int32_t));
  temperatures_.assign(slots(), 0);
  soft_caps_.assign(slots(), 0);
  lse_.resize(c.given_lse != 0 ? rows : 0);
  if (!lse_.empty()) lse_there_ = device_.copy(lse_.data(), lse_.size() * sizeof(float));
  temperatures_there_ = device_.copy(temperatures_.data(), temperatures_.size() * sizeof(float));
  soft_caps_there_ = device_.copy(soft_caps_.data(), soft_caps_.size() * sizeof(float));
  if (listed_) {
    rows_here_.slots = 0;
    rows_here_.rows = c.slots * c.beams;
  }
  rows_there_ = rows_here_;
  rows_there_.device_type = SIDBEAM_DEVICE_CUDA;
  rows_there_.data = rows_there_memory_.get();
  for (size_t which = 0; lists_ && which < 2; ++which) {
    offsets_there_[which] = device_memory((rows + 1) * sizeof(int64_t), stream);
    children_there_[which] = device_memory(size * sizeof(int32_t), stream);
    expect_cuda(cudaMemsetAsync(children_there_[which].get(), 0xFF, size * sizeof(int32_t), stream), "clear");
  }
  capture();
}

// The same addresses at every step, which a graph keeps.
sidbeam_step_args Rig::args_there() const {
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.rows = &rows_there_;
  step.stream = device_.stream();
  step.inverse_temperatures = static_cast<const float*>(temperatures_there_.get());
  step.soft_caps = static_cast<const float*>(soft_caps_there_.get());
  step.lse = static_cast<const float*>(lse_there_.get());
  if (listed_) {
    step.slots = static_cast<const int32_t*>(list_there_.get());
    step.count = static_cast<int64_t>(list_.size());
    step.row_map = static_cast<const int32_t*>(map_there_.get());
  }
  return step;
}

void Rig::capture() {
  const sidbeam_step_args step = args_there();
  graph_.emplace(static_cast<cudaStream_t>(device_.stream()), [&] {
    if (lists_) list_children(graphed_.get(), 1);
    call("sidbeam_session_step", sidbeam_session_step, graphed_.get(), &step);
  });
}

// The graph's list has not room for all of it.
void Rig::list_children(sidbeam_session* session, size_t which) const {
  const sidbeam_step_args step = args_there();
  const int64_t size = world_.c.slots * world_.c.beams * columns_;
  call("sidbeam_session_children", sidbeam_session_children, static_cast<const sidbeam_session*>(session), step.slots,
       step.count, step.lse != nullptr ? 1 : 0, which == 0 ? size : size / 8,
       static_cast<int64_t*>(offsets_there_[which].get()), static_cast<int32_t*>(children_there_[which].get()),
       step.stream);
}

std::vector<std::vector<int32_t>> Rig::children_there(size_t which) const {
  const auto beams = static_cast<size_t>(world_.c.slots * world_.c.beams);
  std::vector<int64_t> offsets(beams + 1);
  device_.fetch(offsets.data(), offsets_there_[which].get(), offsets.size() * sizeof(int64_t));
  const auto size = static_cast<size_t>(world_.c.slots * world_.c.beams * columns_),
             room = which == 0 ? size : size / 8;
  std::vector<int32_t> columns(size);
  device_.fetch(columns.data(), children_there_[which].get(), size * sizeof(int32_t));
  differential::expect(std::all_of(columns.begin() + static_cast<std::ptrdiff_t>(room), columns.end(),
                                   [](int32_t column) { return column == -1; }),
                       "children are written where there is no room");
  std::fill(columns.begin() + static_cast<std::ptrdiff_t>(std::min(room, static_cast<size_t>(offsets.back()))),
            columns.end(), -1);
  std::vector<std::vector<int32_t>> out(beams);
  for (size_t b = 0; b < beams; ++b) out[b].assign(columns.begin() + offsets[b], columns.begin() + offsets[b + 1]);
  return out;
}

std::vector<std::vector<int32_t>> Rig::children_here() const {
  const auto beams = static_cast<size_t>(world_.c.beams);
  std::vector<int64_t> offsets(slots() * beams + 1);
  std::vector<int32_t> columns(slots() * beams * static_cast<size_t>(columns_));
  call("sidbeam_session_children", sidbeam_session_children, static_cast<const sidbeam_session*>(cpu_.get()),
       static_cast<const int32_t*>(nullptr), int64_t{0}, lse_.empty() ? 0 : 1, static_cast<int64_t>(columns.size()),
       offsets.data(), columns.data(), static_cast<void*>(nullptr));
  std::vector<std::vector<int32_t>> out(slots() * beams);
  for (size_t b = 0; b < out.size(); ++b) {
    const int32_t slot = listed_ ? list_[b / beams] : static_cast<int32_t>(b / beams);
    if (slot < 0) continue;
    const size_t from = static_cast<size_t>(slot) * beams + b % beams;
    out[b].assign(columns.begin() + offsets[from], columns.begin() + offsets[from + 1]);
  }
  return out;
}

void Rig::start(int slot, size_t catalogue, const std::vector<int32_t>& widths, const oracle::Sid& prefix,
                const differential::Settings& settings, const Sampling& sampling) {
  sidbeam_constraint* constraint = loaded_[catalogue].constraint.get();
  const auto length = static_cast<int32_t>(prefix.size());
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.slots = &slot;
  start.count = 1;
  start.constraints = &constraint;
  start.widths = widths.data();
  start.width_levels = widths.size() > 1 ? static_cast<int32_t>(widths.size()) : 0;
  start.prefixes = prefix.data();
  start.prefix_lengths = &length;
  start.prefix_stride = SIDBEAM_BROADCAST;
  start.inverse_temperatures = &settings.inverse_temperature;
  start.soft_caps = &settings.soft_cap;
  if (length == 0) start.prefixes = start.prefix_lengths = nullptr;
  start.stream = device_.stream();
  sidbeam_sampling how = SIDBEAM_SAMPLING_INIT;
  how.seeds = &sampling.seed;
  how.requests = &sampling.request;
  how.draws = sampling.draws.empty() ? nullptr : sampling.draws.data();
  if (mode_ == SIDBEAM_MODE_SAMPLE) {
    how.top_ks = &sampling.top_k;
    how.top_ps = &sampling.top_p;
  } else {
    how.noise_scales = &sampling.noise_scale;
  }
  if (mode_ != SIDBEAM_MODE_SEARCH) start.sampling = &how;
  truncated_[static_cast<size_t>(slot)] = sampling.top_k > 0 || sampling.top_p < 1;
  silent_[static_cast<size_t>(slot)] = mode_ == SIDBEAM_MODE_STOCHASTIC && sampling.noise_scale == 0;
  astray_[static_cast<size_t>(slot)] = false;
  for (sidbeam_session* session : {cpu_.get(), eager_.get(), graphed_.get()})
    call("sidbeam_session_start", sidbeam_session_start, session, &start);
}

void Rig::stop(int slot) {
  for (sidbeam_session* session : {cpu_.get(), eager_.get(), graphed_.get()})
    call("sidbeam_session_stop", sidbeam_session_stop, session, static_cast<const int32_t*>(&slot), int64_t{1},
         device_.stream());
}

void Rig::swap(size_t catalogue, uint64_t seed) {
  differential::Case other = world_.c;
  other.seed = static_cast<int64_t>(seed);
  other.uneven = 0;
  const differential::World next = differential::make_world(other);
  world_.pairs[catalogue] = next.pairs[catalogue];
  if (!world_.stories.empty()) world_.stories[catalogue] = next.stories[catalogue];
  world_.wholes[catalogue] = next.wholes[catalogue];
  world_.catalogues[catalogue] = next.catalogues[catalogue];
  if (!world_.parts.empty()) world_.parts[catalogue] = next.parts[catalogue];
  loaded_[catalogue] = differential::load(runtime(), world_, catalogue);
  device_.prepare(loaded_[catalogue].index.get());
}

void Rig::rule(size_t catalogue, int64_t rules, uint64_t seed) {
  differential::Case other = world_.c;
  other.seed = static_cast<int64_t>(seed);
  other.rules = rules;
  const oracle::Catalogue& whole = world_.wholes[catalogue];
  const differential::Numbered numbered =
      world_.stories.empty()
          ? differential::numbered(whole)
          : differential::numbered_by(world_.stories[catalogue], whole.codes, world_.c.variable != 0);
  world_.parts[catalogue] = differential::draw_rules(other, numbered, catalogue);
  world_.catalogues[catalogue] = world_.parts[catalogue].catalogue;
  loaded_[catalogue].constraint =
      differential::constrain(loaded_[catalogue].index.get(), world_.parts[catalogue].rules, seed);
}

void Rig::list(const std::vector<int>& order) {
  std::fill(list_.begin(), list_.end(), -1);
  std::copy(order.begin(), order.end(), list_.begin());
  copy_over(list_there_, list_.data(), list_.size() * sizeof(int32_t), device_.stream());
}

void Rig::say(const std::vector<differential::Settings>& each) {
  for (size_t i = 0; i < slots(); ++i) {
    temperatures_[i] = each[i].inverse_temperature;
    soft_caps_[i] = each[i].soft_cap;
  }
  copy_over(temperatures_there_, temperatures_.data(), temperatures_.size() * sizeof(float), device_.stream());
  copy_over(soft_caps_there_, soft_caps_.data(), soft_caps_.size() * sizeof(float), device_.stream());
}

// Logits of beam m of slot s are the same whatever its place in a list.
void Rig::fill(uint64_t round) {
  const auto beams = static_cast<size_t>(world_.c.beams);
  for (size_t i = 0; i < slots() * beams; ++i) {
    const size_t row = listed_ ? static_cast<size_t>(map_[i]) : i;
    const int slot = listed_ ? list_[i / beams] : static_cast<int>(i / beams);
    if (slot < 0) continue;
    const differential::RawRow raw =
        differential::make_row(world_, {round, static_cast<uint64_t>(slot), i % beams}, columns_);
    if (!lse_.empty()) lse_[row] = raw.lse.value_or(0);
    for (size_t k = 0; k < raw.elements.size(); ++k) {
      const size_t at = row * static_cast<size_t>(columns_) + k;
      if (wide_.empty()) {
        narrow_[at] = static_cast<uint16_t>(raw.elements[k]);
      } else {
        wide_[at] = std::bit_cast<float>(raw.elements[k]);
      }
    }
  }
  copy_over(rows_there_memory_, wide_.data(), wide_.size() * sizeof(float), device_.stream());
  copy_over(rows_there_memory_, narrow_.data(), narrow_.size() * sizeof(uint16_t), device_.stream());
  copy_over(lse_there_, lse_.data(), lse_.size() * sizeof(float), device_.stream());
}

// The CPU refuses what a graph passes over: slots of the list that are idle or done, and a step of none.
void Rig::step_on_cpu() {
  const sidbeam_beams now = differential::beams_of(here_, cpu_.get());
  std::vector<int32_t> named, map;
  std::vector<float> temperatures, soft_caps;
  for (size_t i = 0; i < slots(); ++i) {
    const int32_t slot = listed_ ? list_[i] : static_cast<int32_t>(i);
    if (slot < 0 || now.active[slot] == 0) continue;
    named.push_back(slot);
    temperatures.push_back(temperatures_[i]);
    soft_caps.push_back(soft_caps_[i]);
    const auto from = map_.begin() + static_cast<std::ptrdiff_t>(i) * world_.c.beams;
    map.insert(map.end(), from, from + world_.c.beams);
  }
  if (named.empty()) return;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.rows = &rows_here_;
  step.inverse_temperatures = listed_ ? temperatures.data() : temperatures_.data();
  step.soft_caps = listed_ ? soft_caps.data() : soft_caps_.data();
  step.lse = lse_.empty() ? nullptr : lse_.data();
  if (listed_) {
    step.slots = named.data();
    step.count = static_cast<int64_t>(named.size());
    step.row_map = map.data();
  }
  call("sidbeam_session_step", sidbeam_session_step, cpu_.get(), &step);
}

std::vector<Snapshot> Rig::step(uint64_t round) {
  fill(round);
  const bool as_cpu = lists_ && has_bits_of_the_cpu(0);
  const std::vector<std::vector<int32_t>> expected = as_cpu ? children_here() : std::vector<std::vector<int32_t>>();
  step_on_cpu();
  const sidbeam_step_args there = args_there();
  if (lists_) list_children(eager_.get(), 0);
  call("sidbeam_session_step", sidbeam_session_step, eager_.get(), &there);
  graph_->launch();
  if (lists_) compare_children(expected, round);
  return compare("round " + std::to_string(round));
}

// A list without room ends where its room does.
void Rig::compare_children(const std::vector<std::vector<int32_t>>& expected, uint64_t round) const {
  const std::vector<std::vector<int32_t>> eager = children_there(0), graphed = children_there(1);
  for (size_t b = 0; b < eager.size(); ++b) {
    const auto same = [](int32_t all, int32_t some) { return some == all || some == -1; };
    differential::expect(
        eager[b].size() == graphed[b].size() && std::equal(eager[b].begin(), eager[b].end(), graphed[b].begin(), same),
        "round ", round, ": beam ", b, " has other children in a graph");
    differential::expect(expected.empty() || eager[b] == expected[b], "round ", round, ": beam ", b, " has ",
                         eager[b].size(), " children, expected the ", expected.empty() ? 0 : expected[b].size(),
                         " of the CPU");
  }
}

// Throughout: where no sum of floats is computed, or only integer weights are summed up. Without noise stochastic beams
// are the search under VALID.
bool Rig::has_bits_of_the_cpu(size_t slot) const {
  const int64_t normalization = world_.c.normalization;
  const bool given = world_.c.given_lse != 0, valid = normalization == SIDBEAM_NORMALIZE_VALID;
  if (silent_[slot]) return valid && given;
  if (mode_ != SIDBEAM_MODE_SEARCH && (valid || truncated_[slot])) return true;
  return normalization == SIDBEAM_NORMALIZE_NONE || given;
}

void Rig::compare_with_cpu(const sidbeam_beams& there, const sidbeam_beams& here, size_t slot,
                           const std::string& what) {
  const Snapshot device = differential::snapshot(there, slot), cpu = differential::snapshot(here, slot);
  const bool exact = has_bits_of_the_cpu(slot), noisy = mode_ == SIDBEAM_MODE_STOCHASTIC && !silent_[slot];
  if (!exact && (mode_ == SIDBEAM_MODE_SEARCH || astray_[slot])) return;
  ++compared_;
  same_bits_ += exact || noisy ? 1 : 0;
  if (exact) return expect_same(device, cpu, true, what);
  if (silent_[slot] && (device.codes != cpu.codes || device.parents != cpu.parents)) {
    astray_[slot] = true;
    ++strayed_;
    return;
  }
  Snapshot rounded = device;  // neither a draw nor a beam's noise depends on the normaliser of P
  differential::expect(near(device.log_masses, cpu.log_masses), what, ": log_masses are far from each other");
  rounded.log_masses = cpu.log_masses;
  if (noisy) return expect_same(rounded, cpu, true, what);
  differential::expect(near(device.scores, cpu.scores), what, ": scores are far from each other");
  differential::expect(near(device.perturbed, cpu.perturbed) && near({device.threshold}, {cpu.threshold}), what,
                       ": perturbed scores are far from each other");
  rounded.scores = cpu.scores, rounded.perturbed = cpu.perturbed;
  rounded.log_inclusions = cpu.log_inclusions, rounded.threshold = cpu.threshold;
  expect_same(rounded, cpu, true, what);
}

std::vector<Snapshot> Rig::compare(const std::string& what) {
  const sidbeam_beams on_cpu = differential::beams_of(here_, cpu_.get());
  const sidbeam_beams eager = differential::beams_of(device_, eager_.get());
  const sidbeam_beams graphed = differential::beams_of(device_, graphed_.get());
  std::vector<Snapshot> all;
  for (size_t s = 0; s < slots(); ++s) {
    const std::string where = what + ", slot " + std::to_string(s);
    all.push_back(differential::snapshot(graphed, s));
    expect_same(all.back(), differential::snapshot(eager, s), true, where + ", graph and call");
    compare_with_cpu(graphed, on_cpu, s, where + ", device and CPU");
  }
  return all;
}

}  // namespace gpu
