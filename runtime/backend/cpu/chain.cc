// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/chain.h"

#include "backend/cpu/only_children.h"
#include "index/read/state.h"

namespace sidbeam::cpu {
namespace {

// Whether vectors of 32-bit offsets reach all that a chain reads.
bool is_small(const StepJob& job, const SlotPlan& plan, const SlotStep& slot) {
  constexpr uint64_t kMost = uint64_t{1} << 30;
  const LevelView& level = slot.index->level[slot.level];
  const sidbeam_rows& rows = *job.rows;
  const int64_t most_rows = job.row_map != nullptr ? rows.rows : kMostInChain;
  if (is_added(plan, 0)) return false;  // the root, where there is a delta
  return !plan.in_tail() && level.row_pointers.width == 4 && level.tokens.width == 2 && level.nodes < kMost &&
         level.edges < kMost && level.edges >= 2 && rows.dtype == SIDBEAM_DTYPE_F32 &&
         plan.column_count < int64_t{kMost} && rows.row_stride >= 0 && rows.row_stride < int64_t{kMost} &&
         most_rows < int64_t{kMost} && rows.row_stride * most_rows < int64_t{kMost};
}

}  // namespace

ChildRows child_rows(const StepJob& job, const SlotPlan& plan, const SlotStep& slot, int32_t first,
                     const LogSum* sums) {
  const sidbeam_rows& rows = *job.rows;
  const bool mapped = job.row_map != nullptr;
  const RowPlace place =
      place_of_row(mapped, slot.batch, mapped ? 0 : first, rows.rows, rows.slot_stride, rows.row_stride);
  return {static_cast<const char*>(rows.data) + (place.offset + plan.columns.offset) * element_bytes(rows.dtype),
          rows.row_stride, mapped ? job.row_map + slot.batch * job.beams + first : nullptr,
          job.lse != nullptr ? job.lse + place.number : nullptr, sums};
}

// Every field is named: gcc 12 clears one that is not, and then all of them by `rep stos`.
bool make_chain(const StepJob& job, const SlotPlan& plan, const SlotStep& slot, int32_t first, const ChildRows& rows,
                Chain& chain) {
  if (!is_small(job, plan, slot)) return false;
  const LevelView& level = slot.index->level[slot.level];
  const UintArray ahead = looked_up_next(*slot.index, slot.level);
  chain = {.states = slot.states + first,
           .scores = slot.scores + first,
           .log_masses = slot.log_masses != nullptr ? slot.log_masses + first : nullptr,
           .first_beam = static_cast<uint32_t>(first),
           .pointers = static_cast<const uint32_t*>(level.row_pointers.data),
           .tokens = static_cast<const uint16_t*>(level.tokens.data),
           .nodes = static_cast<uint32_t>(level.nodes),
           .edges = static_cast<uint32_t>(level.edges),
           .codes = level.codes,
           .next_level = encode_state({slot.level + 1, false, NodeKind::kTrie, 0}),
           .data = static_cast<const float*>(rows.data),
           .stride = static_cast<int32_t>(rows.stride),
           .map = rows.map,
           .lse = rows.lse,
           .sums = rows.sums,
           .next_pointers = ahead.width == 4 ? static_cast<const uint32_t*>(ahead.data) : nullptr};
  return true;
}

}  // namespace sidbeam::cpu
