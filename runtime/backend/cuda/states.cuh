// What kernels of the stateless calls share: the index, state and row of an entry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/row_scan.cuh"
#include "index/rules/ruled_state.h"

namespace sidbeam::cuda {

// What row i follows; no index if its constraint does not exist.
struct Followed {
  const IndexView* index = nullptr;
  const RulesView* rules = nullptr;
};
__device__ inline Followed followed_by(const ConstraintTable& table, int64_t i) {
  const int32_t which = table.which != nullptr ? table.which[i] : 0;
  if (which < 0 || which >= table.count) return {};
  return {table.indexes[which], table.rules != nullptr ? table.rules[which] : nullptr};
}

// A trie state, or dead where the rules do not allow it.
__device__ inline int64_t allowed(const Followed& by, int64_t state) {
  if (by.rules == nullptr || !is_live(state)) return state;
  return allows_state(*by.index, by.rules, decode_state(state)) ? state : kDeadState;
}

// Whether a code may follow a state. An invalid state counts as dead.
__device__ inline bool may_go_on(const Followed& by, int64_t state) {
  return by.index != nullptr && is_trie_state(*by.index, state) && !is_ended(state) &&
         decode_state(state).level < by.index->levels && is_live(allowed(by, state));
}

// Finds the row and the children of a state after which a code may come; called by one thread.
template <int kThreads>
__device__ void open_state(const Followed& by, const LevelColumns& columns, int64_t state, const StepView& rows,
                           int64_t i, int32_t normalization, RowShared<kThreads>& shared) {
  BeamRow beam;
  beam.columns = columns;
  beam.row = {static_cast<const char*>(rows.data) + i * rows.row_stride * element_bytes(rows.dtype),
              rows.columns,
              rows.dtype,
              {}};
  beam.reads_row = sums_rows(normalization, false);
  shared.beam = beam;
  shared.children =
      children_of(*by.index, by.rules, SIDBEAM_STRATEGY_TRIE, decode_state(state).level, beam.columns, state, 0);
  shared.lse = nullptr;
}

}  // namespace sidbeam::cuda
