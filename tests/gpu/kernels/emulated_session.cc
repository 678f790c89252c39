// SPDX-License-Identifier: Apache-2.0
#include "emulated_session.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace gpu_test {

using namespace sidbeam;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(error));
  std::abort();
}

DeviceMemory::DeviceMemory(size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  memory_.reset(memory);
}
DeviceMemory::DeviceMemory(const void* from, size_t bytes) : DeviceMemory(bytes) {
  if (from != nullptr && bytes > 0) check(cudaMemcpy(data(), from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

const void* DeviceIndex::copy(const void* data, uint64_t bytes) {
  if (data == nullptr) return nullptr;
  bytes_.push_back(bytes);
  return arrays_.emplace_back(data, static_cast<size_t>(bytes)).data();
}
UintArray DeviceIndex::copy(const UintArray& array, uint64_t count) {
  return {copy(array.data, count * static_cast<uint64_t>(array.width)), array.width};
}

DeviceIndex::DeviceIndex(const IndexView& host) {
  IndexView view = host;
  const uint64_t n = host.sids;
  for (int l = 0; l < host.levels; ++l) {
    const LevelView& from = host.level[l];
    LevelView& to = view.level[l];
    to.row_pointers = copy(from.row_pointers, from.nodes + 1);
    to.tokens = copy(from.tokens, from.edges);
    to.ordinals = copy(from.ordinals, from.nodes + 1);
    to.end_edges = copy(from.end_edges, from.ends);
    to.end_ordinals = copy(from.end_ordinals, from.ends);
    to.column = copy(from.column, n);
    to.dense_bits = static_cast<const uint64_t*>(copy(from.dense_bits, (from.nodes + 63) / 64 * 8));
    to.dense_ranks = static_cast<const uint32_t*>(copy(from.dense_ranks, (from.nodes + kRankBits - 1) / kRankBits * 4));
    to.masks = static_cast<const uint64_t*>(copy(from.masks, from.dense_nodes * from.mask_words() * 8));
    to.mask_ranks = static_cast<const uint32_t*>(copy(from.mask_ranks, from.dense_nodes * from.mask_rank_count() * 4));
  }
  const uint64_t tail = n * static_cast<uint64_t>(host.levels - host.csr_levels);
  view.end_ordinals = copy(host.end_ordinals, host.ends);
  view.tail.tokens = copy(host.tail.tokens, tail);
  view.tail.splits = static_cast<const uint64_t*>(copy(host.tail.splits, (tail + 63) / 64 * 8));
  view.hash.keys = static_cast<const uint64_t*>(copy(host.hash.keys, host.hash.capacity * 8));
  view.hash.ordinals = copy(host.hash.ordinals, host.hash.capacity);
  view.item_offsets = copy(host.item_offsets, n + 1);
  if (host.item_offsets) bytes_.back() = 0;  // not to be flipped
  view.ids = nullptr;
  view.name_offsets = nullptr;
  view.names = nullptr;
  view_ = DeviceMemory(&view, sizeof view);
}

uint64_t DeviceIndex::damage() const {
  const DeviceArray<uint64_t> found(std::vector<uint64_t>{0});
  check(cuda::launch_verify(view(), found.data(), nullptr), "launch_verify");
  return found.read()[0];
}

void DeviceIndex::flip(uint64_t random) {
  uint64_t all = 0;
  for (const uint64_t bytes : bytes_) all += bytes;
  uint64_t at = random / 8 % all;
  size_t array = 0;
  while (at >= bytes_[array]) at -= bytes_[array++];
  char* byte = static_cast<char*>(arrays_[array].data()) + at;
  char value = 0;
  check(cudaMemcpy(&value, byte, 1, cudaMemcpyDeviceToHost), "cudaMemcpy");
  value = static_cast<char>(value ^ 1 << random % 8);
  check(cudaMemcpy(byte, &value, 1, cudaMemcpyHostToDevice), "cudaMemcpy");
}

namespace {
std::map<const IndexView*, std::unique_ptr<DeviceIndex>>& indexes() {
  static std::map<const IndexView*, std::unique_ptr<DeviceIndex>> all;
  return all;
}
}  // namespace

const DeviceIndex& device_index(const sidbeam_constraint* constraint) {
  std::unique_ptr<DeviceIndex>& index = indexes()[&constraint->view()];
  if (index == nullptr) index = std::make_unique<DeviceIndex>(constraint->view());
  return *index;
}
void forget_indexes() { indexes().clear(); }

DeviceColumns::DeviceColumns(const Vocabulary& vocabulary) {
  std::vector<LevelColumns> all(vocabulary.columns, vocabulary.columns + vocabulary.levels);
  for (int l = 0; l < vocabulary.levels; ++l) {
    if (all[static_cast<size_t>(l)].map == nullptr) continue;
    maps.emplace_back(vocabulary.columns[l].map, vocabulary.map_codes[l]);
    all[static_cast<size_t>(l)].map = maps.back().data();
  }
  columns = DeviceArray<LevelColumns>(all);
}

DeviceRows::DeviceRows(const sidbeam_rows& rows, int64_t slots) {
  element_ = element_bytes(rows.dtype);
  int64_t highest = 0;
  for (const int64_t i : {int64_t{0}, std::max<int64_t>(slots, 1) - 1}) {
    for (const int64_t r : {int64_t{0}, std::max<int64_t>(rows.rows, 1) - 1}) {
      const int64_t at = (rows.slots > 0 ? i * rows.slot_stride : 0) + r * rows.row_stride;
      lowest_ = std::min(lowest_, at);
      highest = std::max(highest, at);
    }
  }
  const char* from = static_cast<const char*>(rows.data) + lowest_ * element_;
  const auto shift = static_cast<size_t>(reinterpret_cast<uintptr_t>(from) % 16);
  bytes_ = (highest - lowest_ + rows.columns) * element_;
  memory_ = DeviceMemory(static_cast<size_t>(bytes_) + shift);
  char* to = static_cast<char*>(memory_.data()) + shift;
  if (bytes_ > 0) check(cudaMemcpy(to, from, static_cast<size_t>(bytes_), cudaMemcpyHostToDevice), "cudaMemcpy");
  view.data = to - lowest_ * element_;
  view.dtype = rows.dtype;
  view.rows = rows.rows;
  view.columns = rows.columns;
  view.slot_stride = rows.slot_stride;
  view.row_stride = rows.row_stride;
}

void DeviceRows::read_back(const sidbeam_rows& rows) const {
  if (bytes_ == 0) return;
  check(cudaMemcpy(static_cast<char*>(rows.data) + lowest_ * element_,
                   static_cast<const char*>(view.data) + lowest_ * element_, static_cast<size_t>(bytes_),
                   cudaMemcpyDeviceToHost),
        "cudaMemcpy");
}

EmulatedSession::EmulatedSession(const sidbeam_session& cpu) : columns_(cpu.vocabulary) {
  const int64_t s = cpu.slots, m = s * cpu.beams, h = m * cpu.levels;
  const float lowest = -std::numeric_limits<float>::infinity();
  const auto filled = [](int64_t count, auto value) {
    return DeviceArray<decltype(value)>(std::vector<decltype(value)>(static_cast<size_t>(count), value));
  };
  table_ = filled(s, cuda::Slot{});
  states_ = filled(m, int64_t{-1});
  range_ends_ = filled(m, uint64_t{0});
  scores_ = filled(m, lowest);
  parents_ = filled(m, -1);
  tokens_ = filled(m, -1);
  history_parents_ = filled(h, -1);
  history_tokens_ = filled(h, -1);
  live_ = filled(s, 0);
  active_ = filled(s, 0);
  level_ = filled(s, -1);
  errors_ = filled(s, 0);
  counters_ = DeviceArray<int64_t>(cuda::kCounters);
  workspace_ = DeviceArray<char>(cuda::step_workspace_bytes(cpu.slots, cpu.beams));
  view = {cpu.slots, cpu.beams, cpu.levels, cpu.strategy, cpu.normalization, cpu.top_k};
  view.columns = columns_.columns.data();
  view.table = table_.data();
  view.states = states_.data();
  view.range_ends = uses_columns(cpu.strategy) ? range_ends_.data() : nullptr;
  view.scores = scores_.data();
  view.parents = parents_.data();
  view.tokens = tokens_.data();
  view.history_parents = history_parents_.data();
  view.history_tokens = history_tokens_.data();
  view.live = live_.data();
  view.active = active_.data();
  view.level = level_.data();
  view.errors = errors_.data();
  view.counters = counters_.data();
  view.workspace = workspace_.data();
  check(cuda::launch_reset(view, nullptr), "launch_reset");
}

void EmulatedSession::start(const sidbeam_session& cpu, const sidbeam_start_args& args) {
  std::vector<cuda::StartEntry> entries;
  std::vector<int32_t> codes;
  for (int64_t i = 0; i < args.count; ++i) {
    cuda::StartEntry entry;
    entry.slot = args.slots != nullptr ? args.slots[i] : static_cast<int32_t>(i);
    entry.width = args.widths != nullptr && args.widths[i] > 0 ? args.widths[i] : cpu.beams;
    entry.prefix_length = args.prefixes != nullptr ? args.prefix_lengths[i] : 0;
    entry.prefix_at = static_cast<int32_t>(codes.size());
    const sidbeam_constraint* named = args.constraints != nullptr ? args.constraints[i] : nullptr;
    entry.index = device_index(named != nullptr ? named : cpu.constraint.get()).view();
    for (int32_t l = 0; l < entry.prefix_length; ++l) codes.push_back(args.prefixes[i * args.prefix_stride + l]);
    entries.push_back(entry);
  }
  check(cuda::launch_start(view, entries.data(), args.count, codes.data(), nullptr), "launch_start");
}

void EmulatedSession::step(const sidbeam_session& cpu, const sidbeam_step_args& args) {
  const int64_t count = args.slots != nullptr ? args.count : cpu.slots;
  DeviceRows rows(*args.rows, count);
  cuda::StepView step = rows.view;
  DeviceArray<int32_t> slots, map;
  DeviceArray<float> lse;
  if (args.slots != nullptr) step.slots = (slots = DeviceArray<int32_t>(args.slots, count)).data();
  if (args.row_map != nullptr) step.row_map = (map = DeviceArray<int32_t>(args.row_map, count * cpu.beams)).data();
  const int64_t all = args.row_map != nullptr ? args.rows->rows : count * args.rows->rows;
  if (args.lse != nullptr) step.lse = (lse = DeviceArray<float>(args.lse, all)).data();
  step.count = count;
  step.inverse_temperature = args.inverse_temperature == 0.0F ? 1.0F : args.inverse_temperature;
  step.soft_cap = args.soft_cap;
  check(cuda::launch_step(view, step, nullptr), "launch_step");
  check(cudaDeviceSynchronize(), "a step");
}

void EmulatedSession::stop(const int32_t* slots, int64_t count) {
  std::vector<int32_t> all(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    all[static_cast<size_t>(i)] = slots != nullptr ? slots[i] : static_cast<int32_t>(i);
  check(cuda::launch_stop(view, all.data(), count, nullptr), "launch_stop");
}

void EmulatedSession::get_beams(sidbeam_beams& out) {
  host_parents_ = parents_.read();
  host_tokens_ = tokens_.read();
  host_scores_ = scores_.read();
  host_states_ = states_.read();
  host_live_ = live_.read();
  host_active_ = active_.read();
  host_level_ = level_.read();
  host_errors_ = errors_.read();
  out.parents = host_parents_.data();
  out.tokens = host_tokens_.data();
  out.scores = host_scores_.data();
  out.states = host_states_.data();
  out.live = host_live_.data();
  out.active = host_active_.data();
  out.level = host_level_.data();
  out.errors = host_errors_.data();
}

void EmulatedSession::get_stats(sidbeam_stats& out) const {
  const std::vector<int64_t> counters = counters_.read();
  std::copy_n(counters.begin(), 15, &out.steps);
}

void EmulatedSession::get_items(const sidbeam_session& cpu, const int32_t* slots, int64_t count,
                                sidbeam_items& out) const {
  const int64_t beams = count * cpu.beams;
  std::vector<int32_t> all(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    all[static_cast<size_t>(i)] = slots != nullptr ? slots[i] : static_cast<int32_t>(i);
  cuda::ItemsView items;
  items.limit_per_sid = out.limit_per_sid;
  items.limit = out.limit;
  // Buffers that the caller wants, with what is in them now.
  const auto mirror = [](auto* host, int64_t n) {
    return host != nullptr ? DeviceArray(host, n) : DeviceArray<std::remove_reference_t<decltype(*host)>>();
  };
  const auto ordinals = mirror(out.ordinals, beams), rows = mirror(out.rows, count * out.limit),
             offsets = mirror(out.offsets, count * (cpu.beams + 1));
  const auto sids = mirror(out.sids, beams * cpu.levels), lengths = mirror(out.lengths, beams),
             truncated = mirror(out.truncated, count);
  items.ordinals = ordinals.data();
  items.rows = rows.data();
  items.offsets = offsets.data();
  items.sids = sids.data();
  items.lengths = lengths.data();
  items.truncated = truncated.data();
  check(cuda::launch_items(view, all.data(), count, items, nullptr), "launch_items");
  const auto back = [](const auto& from, auto* host) {
    if (host != nullptr) std::ranges::copy(from.read(), host);
  };
  back(ordinals, out.ordinals);
  back(rows, out.rows);
  back(offsets, out.offsets);
  back(sids, out.sids);
  back(lengths, out.lengths);
  back(truncated, out.truncated);
}

}  // namespace gpu_test
