// The columns that a step reads where it reads children alone.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cpu/only_children.h"
#include "backend/cpu/session.h"
#include "backend/cpu/valid_columns.h"
#include "support/error.h"

namespace sidbeam::cpu {
namespace {

// Lists the children of a slot's beams as far as they are lists of codes, a fixed offset from their columns, for which
// there is room; returns the number of beams.
int32_t list_codes(const Kernels& kernels, const IndexView& index, int32_t number, const LevelColumns& columns,
                   const ColumnLists& lists, int64_t& found) {
  const LevelView& level = index.level[number];
  if (number >= index.csr_levels || index.variable_length || columns.map != nullptr) return 0;
  if (columns.offset + level.codes > INT32_MAX) return 0;
  ColumnLists of_base = lists;
  const auto is_merged = [&](int64_t state) { return in_delta(index, number, node_to_feed(state)); };
  if (index.overlay != nullptr)
    of_base.beams =
        static_cast<int32_t>(std::find_if(lists.states, lists.states + lists.beams, is_merged) - lists.states);
  return kernels.list_columns(level, of_base, found);
}

// Takes out of such lists of `count` beams the children that rules do not allow.
void keep_allowed(const Kernels& kernels, const RulesView& rules, const LevelView& level, const Subset& edges,
                  const ColumnLists& lists, int32_t count, int64_t& found) {
  constexpr int64_t kTogether = 1024;
  uint64_t bits[kTogether / 64];
  uint32_t kept[kTogether + kVectorSlack];
  int64_t to = count > 0 ? lists.offsets[0] : found;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t from = lists.offsets[i], listed = (i + 1 < count ? lists.offsets[i + 1] : found) - from;
    const Row row = row_of(level, node_to_feed(lists.states[i]));
    lists.offsets[i] = to;
    for (int64_t at = 0; at < listed; at += kTogether) {
      const auto n = static_cast<int32_t>(std::min(kTogether, listed - at));
      rules.put_allowed(edges, {row.begin + static_cast<uint64_t>(at), static_cast<uint32_t>(n)}, bits);
      const int32_t left = kernels.keep_codes({lists.columns + from + at, sizeof(uint32_t), n, n}, bits, kept);
      std::copy_n(kept, left, lists.columns + to);
      to += left;
    }
  }
  found = to;
}

// The same as list_codes() for one beam of any kind.
void list_any(const StateRow& beam, const ChildColumns& out, int64_t& found) {
  for_each_valid_column(beam, [&](int64_t column) {
    if (column > INT32_MAX)
      fail(SIDBEAM_UNSUPPORTED, "a child has column %lld, expected at most 2^31 - 1", static_cast<long long>(column));
    if (found < out.capacity) out.columns[found] = static_cast<int32_t>(column);
    ++found;
  });
}

}  // namespace

// Lists the children of the beams of a running slot. Rows are looked up, and their codes fetched, a group ahead.
void CpuSession::list_slot(int64_t slot, int64_t* offsets, const ChildColumns& out, int64_t& found) const {
  constexpr int32_t kTogether = 32;
  const int64_t* states = states_.data() + slot * shape_.beams;
  const IndexView& index = constraints_[slot]->view();
  const RulesView* rules = constraints_[slot]->rules();
  const int32_t level = level_[slot], live = live_[slot];
  const LevelColumns* columns = shape_.vocabulary.columns;
  const auto count_from = [&](int32_t first) { return std::clamp(live - first, 0, kTogether); };
  fetch_next(index, level - 1, states, count_from(0));
  for (int32_t first = -kTogether; first < live; first += kTogether) {
    const int32_t next = first + kTogether, after = next + kTogether;
    fetch_next(index, level - 1, states + after, count_from(after));
    fetch_children(index, level, states + next, count_from(next));
    if (first < 0) continue;
    const int32_t end = first + count_from(first);
    const ColumnLists lists{states + first,  end - first, columns[level].offset,
                            offsets + first, out.columns, out.capacity};
    const int32_t listed = list_codes(stepper_.kernels(), index, level, columns[level], lists, found);
    if (rules != nullptr && listed > 0)
      keep_allowed(stepper_.kernels(), *rules, index.level[level], rules->level[level].edges, lists, listed, found);
    for (int32_t m = first + listed; m < end; ++m) {
      offsets[m] = found;
      list_any({&index, rules, states[m], columns}, out, found);
    }
  }
}

void CpuSession::children(const int32_t* slots, int64_t count, const ChildColumns& out) const {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slot = slots != nullptr ? slots[i] : i;
    const bool runs = level_[slot] >= 0 && active_[slot] > 0;
    int64_t* offsets = out.offsets + i * shape_.beams;
    if (runs) list_slot(slot, offsets, out, found);
    std::fill(offsets + (runs ? live_[slot] : 0), offsets + shape_.beams, found);
  }
  out.offsets[count * shape_.beams] = found;
}

}  // namespace sidbeam::cpu
