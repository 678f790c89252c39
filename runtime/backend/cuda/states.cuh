// What kernels of the stateless calls share: the index, state and row of an entry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/row_scan.cuh"

namespace sidbeam::cuda {

// The index that row i follows; nullptr if there is none.
__device__ inline const IndexView* index_of(const ConstraintTable& table, int64_t i) {
  const int32_t which = table.which != nullptr ? table.which[i] : 0;
  return which >= 0 && which < table.count ? table.indexes[which] : nullptr;
}

// Whether a code may follow a state. An invalid state counts as dead.
__device__ inline bool may_go_on(const IndexView* index, int64_t state) {
  return index != nullptr && is_trie_state(*index, state) && !is_ended(state) &&
         decode_state(state).level < index->levels;
}

// Finds the row and the children of a state after which a code may come; called by one thread.
template <int kThreads>
__device__ void open_state(const IndexView& index, const LevelColumns& columns, int64_t state, const StepView& rows,
                           int64_t i, int32_t normalization, RowShared<kThreads>& shared) {
  BeamRow beam;
  beam.columns = columns;
  beam.row = {static_cast<const char*>(rows.data) + i * rows.row_stride * element_bytes(rows.dtype),
              rows.columns,
              rows.dtype,
              {}};
  beam.reads_row = sums_rows(normalization, false);
  shared.beam = beam;
  shared.children = children_of(index, SIDBEAM_STRATEGY_TRIE, decode_state(state).level, beam.columns, state, 0);
  shared.lse = nullptr;
}

}  // namespace sidbeam::cuda
