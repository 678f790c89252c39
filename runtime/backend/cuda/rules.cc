// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/rules.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/cuda/check.h"
#include "support/error.h"

namespace sidbeam::cuda {
namespace {

constexpr int64_t kListAlignment = 16, kBlockAlignment = 256;

int64_t rounded(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

int64_t view_bytes(int64_t levels) {
  return rounded(static_cast<int64_t>(sizeof(RulesView)), kListAlignment) +
         rounded(levels * static_cast<int64_t>(sizeof(LevelRules)), kListAlignment);
}

int64_t numbers_bytes(const NumberList& list) {
  return rounded(static_cast<int64_t>(list.count) * list.numbers.width, kListAlignment);
}
int64_t list_bytes(const NumberList& list) {
  if (list.first == nullptr) return 0;
  const auto entries = static_cast<int64_t>(list.buckets) + 1;
  return numbers_bytes(list) + rounded(entries * static_cast<int64_t>(sizeof(uint32_t)), kListAlignment);
}

// The rules of one trie, or of the merged rows: a view, the rules of its levels, and their lists.
struct TrieRules {
  const RulesView& rules;
  const RulesView* bits;  // of a filter; nullptr: none
  int32_t levels;

  // Calls visit(edges) for each list of edges, from the last level up; those that a level shares with the next, once.
  template <class Visit>
  void for_each_level_list(const Visit& visit) const {
    const uint32_t* below = nullptr;
    for (int32_t l = levels - 1; l >= 0; --l) {
      const NumberList& list = rules.level[l].edges.listed;
      visit(l, list, list.first == below);
      below = list.first;
    }
  }
  int64_t bytes() const {
    int64_t bytes = view_bytes(levels) + list_bytes(rules.rows.listed) + list_bytes(rules.sids.listed);
    for_each_level_list([&](int32_t, const NumberList& list, bool shared) { bytes += shared ? 0 : list_bytes(list); });
    return bytes;
  }
};

TrieRules base_of(const DeviceRules& all) { return {*all.rules, all.filter, all.levels}; }
TrieRules delta_of(const DeviceRules& all) {
  return {*all.rules->delta, all.filter != nullptr ? all.filter->delta : nullptr, all.delta_levels};
}
TrieRules merged_of(const DeviceRules& all) {
  const RulesView& lists = all.merged != nullptr ? *all.merged : *all.rules->merged;
  return {lists, all.filter != nullptr ? all.filter->merged : nullptr, all.delta_levels};
}

// Writes rules one after the other.
struct RulesWriter {
  uint8_t* here;
  const uint8_t* there;
  int64_t at = 0;

  // Returns where the view is. It follows an allow list where `only_listed` says so.
  const RulesView* write(const TrieRules& trie, RulesView view) {
    const int64_t view_at = at, levels_at = view_at + view_bytes(0);
    at += view_bytes(trie.levels);
    const RulesView none, &bits = trie.bits != nullptr ? *trie.bits : none;
    view.level = reinterpret_cast<const LevelRules*>(there + levels_at);
    view.rows = {bits.rows.bits, write(trie.rules.rows.listed)};
    view.sids = {bits.sids.bits, write(trie.rules.sids.listed)};
    LevelRules level;
    trie.for_each_level_list([&](int32_t l, const NumberList& list, bool shared) {
      level.edges.bits = trie.bits != nullptr ? bits.level[l].edges.bits : nullptr;
      if (!shared) level.edges.listed = write(list);
      std::memcpy(here + levels_at + l * static_cast<int64_t>(sizeof level), &level, sizeof level);
    });
    std::memcpy(here + view_at, &view, sizeof view);
    return reinterpret_cast<const RulesView*>(there + view_at);
  }
  NumberList write(const NumberList& list) {
    NumberList out = list;
    if (list.first == nullptr) return out;
    out.numbers.data = there + at;
    std::copy_n(static_cast<const uint8_t*>(list.numbers.data), list.count * static_cast<uint64_t>(list.numbers.width),
                here + at);  // of a list without numbers none
    const int64_t directory = at + numbers_bytes(list);
    out.first = reinterpret_cast<const uint32_t*>(there + directory);
    std::memcpy(here + directory, list.first, static_cast<size_t>(list.buckets + 1) * sizeof(uint32_t));
    at += list_bytes(list);
    return out;
  }
};

}  // namespace

// Every list has at most as many numbers as there are listed item rows, and no more buckets than numbers, or one. Those
// of a base and of its delta together have as many; each may round up by itself. Merged rows have lists of their own.
int64_t most_rules_bytes(int64_t levels, int64_t listed) {
  const int64_t list = rounded(listed * static_cast<int64_t>(sizeof(uint64_t)), kListAlignment) +
                       rounded((listed + 1) * static_cast<int64_t>(sizeof(uint32_t)), kListAlignment);
  const int64_t more = 3 * kListAlignment;
  return rounded(3 * view_bytes(levels) + (levels + 2) * (list + more) + levels * list, kBlockAlignment);
}

int64_t rules_bytes(const DeviceRules& rules) {
  const int64_t bytes = base_of(rules).bytes();
  return rules.delta_levels > 0 ? bytes + delta_of(rules).bytes() + merged_of(rules).bytes() : bytes;
}

int64_t write_rules(const DeviceRules& rules, uint8_t* here, const uint8_t* there) {
  RulesView view = *rules.rules;
  const TrieRules base = base_of(rules);
  RulesWriter writer{here, there, base.bytes()};
  view.delta = view.merged = nullptr;
  if (rules.delta_levels > 0) {
    RulesView merged;
    merged.only_listed = view.only_listed;
    view.delta = writer.write(delta_of(rules), *rules.rules->delta);
    view.merged = writer.write(merged_of(rules), merged);
  }
  const int64_t end = writer.at;
  writer.at = 0;
  writer.write(base, view);
  return end;
}

SlotRules::SlotRules(int64_t slots, int64_t levels, int64_t listed)
    : block_bytes_(most_rules_bytes(levels, listed)),
      now_(static_cast<size_t>(slots)),
      ring_(static_cast<size_t>(slots)) {}

SlotRules::Copied::~Copied() {
  if (event == nullptr) return;
  cudaEventSynchronize(event);
  cudaEventDestroy(event);
}

void SlotRules::make_room(const DeviceHandle& device) {
  if (here_.data() != nullptr) return;
  Layout layout;
  const auto slots = static_cast<int64_t>(now_.size());
  layout.add_bytes(2 * slots, block_bytes_);
  const WaitsForWork waits(device);
  DeviceMemory there(device, layout.bytes(), device.work, device.release);
  here_ = PinnedMemory(slots * block_bytes_);
  there_ = std::move(there);
}

const RulesView* SlotRules::send(int32_t slot, const DeviceRules& rules, cudaStream_t stream) {
  // Of a damaged index, or the ring would be written over.
  if (rules_bytes(rules) > block_bytes_)
    fail(SIDBEAM_CORRUPT, "the rules of slot %d list more edges or SIDs than item rows", slot);
  cudaEvent_t& copied = ring_[next_].event;
  uint8_t* const here = here_.data() + static_cast<int64_t>(next_) * block_bytes_;
  const int64_t other = 2 * int64_t{slot} + (now_[static_cast<size_t>(slot)] ^ 1);
  uint8_t* const there = there_.data() + other * block_bytes_;
  if (copied == nullptr) {
    check(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming), "make an event");
  } else {
    check(cudaEventSynchronize(copied), "wait for a copy to the device");
  }
  const int64_t bytes = write_rules(rules, here, there);
  check(cudaMemcpyAsync(there, here, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream), "copy to the device");
  next_ = (next_ + 1) % ring_.size();
  check(cudaEventRecord(copied, stream), "record an event");
  return reinterpret_cast<const RulesView*>(there);
}

}  // namespace sidbeam::cuda
