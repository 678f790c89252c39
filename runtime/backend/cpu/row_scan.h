// One beam's row: its log-sum-exp, its children, their scores.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/selection.h"
#include "backend/cpu/step_job.h"
#include "backend/half.h"
#include "index/lookup.h"
#include "index/tail.h"
#include "index/trie.h"

namespace sidbeam::cpu {

// Working memory of one row, sized for the widest level.
struct RowWorkspace {
  Buffer<float> x;          // [codes + 1 + slack] of children, or of all codes
  Buffer<uint32_t> tokens;  // [codes + 1 + slack]
  Buffer<float> maxima;     // [maxima_rows] of blocks of columns; rows of more than it holds do without
  Buffer<int32_t> codes;    // [levels] a beam's SID so far, for the hash set
  Selection best;           // of a row: the strategies that look up a beam's best codes

  RowWorkspace() = default;
  RowWorkspace(const Kernels& kernels, const Allocator& allocator, const StepLimits& limits);
  int32_t maxima_rows = 1;
  int64_t maxima_room = 0;  // floats for each of them
  // Where those of rows of so many columns begin; nullptr where they do not fit.
  float* maxima_of(int64_t columns) { return maxima_size(columns) <= maxima_room ? maxima.data() : nullptr; }
  int64_t memory_bytes() const {
    return x.bytes() + tokens.bytes() + maxima.bytes() + codes.bytes() + best.memory_bytes();
  }
};

// What the rows of a slot have in common.
struct SlotScan {
  const Kernels* kernels = nullptr;
  const IndexView* index = nullptr;
  int32_t level = 0;
  int32_t strategy = 0, normalization = 0, top_k = 0;
  LevelColumns columns;
  int64_t column_count = 0;
  Elements elements;    // of the first row
  bool by_row = false;  // whether children are found by the rows of a trie
  // Whether an only child is scored by itself: its x is its element, the normaliser does not hang on the children, and the
  // level has nodes that are not dense.
  bool singles = false;

  // Whether the normaliser reads the row itself, so that a bad element among the children cannot go unseen; whether it
  // reads it in place, so that rows can be summed before they are scanned; whether a scan may want the maxima.
  bool reads_row = false, sums_ahead = false, wants_maxima = false;
  // Whether the codes of a dense node are columns of its row as it lies there, and there is no end besides.
  bool notes_slices = false;
};

// The codes of a level in a row as it lies there. Of a level's sum, which begins with its first code, the maxima are those
// of a row that does so, too.
inline Slice slice_in_row(const SlotScan& slot, const void* row) {
  const auto codes = static_cast<int64_t>(slot.index->level[slot.level].codes);
  const int32_t dtype = slot.elements.dtype;
  if (slot.normalization != SIDBEAM_NORMALIZE_LEVEL)
    return {row, dtype, slot.column_count, slot.columns.offset, codes, nullptr, nullptr, codes};
  const auto* first = static_cast<const char*>(row) + slot.columns.offset * element_bytes(dtype);
  return {first, dtype, codes, 0, codes, nullptr, nullptr, codes};
}

// A row to be scanned. (Of more than 80 bytes gcc 12 makes it by `rep stos`, which took 3 % of a step.)
struct RowTask {
  const float* maxima = nullptr;    // of the row's sum, where sums_ahead
  const void* data = nullptr;       // column 0
  const float* lse = nullptr;       // the row's, where the caller gave it
  uint64_t node = 0;                // tail of a trie: the node; sorted: the first ordinal
  const NodeRow* found = nullptr;   // trie above the tail: the node's row
  uint64_t range_end = 0;           // sorted: the end of the ordinals
  const int32_t* prefix = nullptr;  // hash_final at the last level: the codes so far, [levels], the last one free
  RowScore row;  // score and place of the beam, the normaliser where sums_ahead; the rest is filled in
};

inline float element_at(const Elements& elements, int64_t column) {
  if (elements.dtype == SIDBEAM_DTYPE_F32) return static_cast<const float*>(elements.data)[column];
  if (elements.dtype == SIDBEAM_DTYPE_F16) return float_of(static_cast<const F16*>(elements.data)[column]);
  return float_of(static_cast<const Bf16*>(elements.data)[column]);
}

// Decides the last of a SlotScan.
void decide(SlotScan& slot, bool lse_given);

// Appends a row's candidates. False where the row is bad; then nothing was appended.
//
// An only child, where `singles` allows it: no kernel but for the row's sum, and no copy.
bool scan_single(const SlotScan& slot, RowTask& task, uint32_t token, Selection& selection);
bool scan_row(const SlotScan& slot, RowTask& task, RowWorkspace& workspace, Selection& selection,
              StepCounters& counters);

}  // namespace sidbeam::cpu
