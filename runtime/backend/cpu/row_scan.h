// Scans one beam's row: its normaliser, its children and their scores.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/plan.h"
#include "backend/cpu/selection.h"
#include "backend/cpu/step_job.h"
#include "backend/truncation.h"
#include "index/read/lookup.h"
#include "index/tail.h"
#include "index/trie.h"
#include "support/half.h"

namespace sidbeam::cpu {

// What a draw needs beyond a row's children.
struct DrawWorkspace {
  Buffer<float> powers;         // [codes + 1 + slack]
  Buffer<uint64_t> cumulative;  // [blocks of kDrawBlock] sums of a row's weights up to the end of each block
  Buffer<float> exponentials;   // [codes + 1 + slack] of stochastic beams
  Buffer<RowCopy> copies;       // [kMostTogether] of the rows of a group
  Buffer<DrawnRow> rows;        // [kMostTogether] those that are copied
  Buffer<float> copied;         // their elements, then their powers

  DrawWorkspace() = default;
  DrawWorkspace(const Allocator& allocator, uint32_t codes);
  int64_t memory_bytes() const {
    return powers.bytes() + cumulative.bytes() + exponentials.bytes() + copies.bytes() + rows.bytes() + copied.bytes();
  }
};

// Lists that are scanned together.
inline constexpr int32_t kShortTogether = 32;
struct ShortWorkspace {
  Buffer<ShortList> lists;  // [kShortTogether]
  Buffer<float> x;          // [kShortTogether, kShortStride] those that are not read in place
  Buffer<uint32_t> tokens;  // [kShortTogether, kShortStride]

  ShortWorkspace() = default;
  explicit ShortWorkspace(const Allocator& allocator)
      : lists(allocator, kShortTogether),
        x(allocator, kShortTogether * kShortStride + kVectorSlack),
        tokens(allocator, kShortTogether * kShortStride) {}
  int64_t memory_bytes() const { return lists.bytes() + x.bytes() + tokens.bytes(); }
};

// Working memory of one row, sized for the widest level.
struct RowWorkspace {
  Buffer<float> x;          // [codes + 1 + slack] of children, or of all codes
  Buffer<uint32_t> tokens;  // [codes + 1 + slack]
  Buffer<uint64_t> masks;   // [kMostSlices + 1] of codes + 1 bits: children that rules allow
  Buffer<float> maxima;     // [maxima_rows] of blocks of columns; wider rows have none
  Selection best;           // the best codes of a row, for the strategies that look only those up
  DrawWorkspace draw;       // of the modes that sample
  ShortWorkspace lists;

  RowWorkspace() = default;
  RowWorkspace(const Kernels& kernels, const Allocator& allocator, const StepLimits& limits);
  int32_t maxima_rows = 1, mask = 0;
  int64_t maxima_room = 0;  // floats per row
  // Where bits of children go, one row's after another's: a slice that waits keeps its own.
  uint64_t* next_mask() {
    mask = mask == kMostSlices ? 0 : mask + 1;
    return masks.data() + mask * (masks.size() / (kMostSlices + 1));
  }
  // Where the maxima of a row of `columns` columns go; nullptr if they do not fit.
  float* maxima_of(int64_t columns) { return maxima_size(columns) <= maxima_room ? maxima.data() : nullptr; }
  int64_t memory_bytes() const {
    return x.bytes() + tokens.bytes() + masks.bytes() + maxima.bytes() + best.memory_bytes() + draw.memory_bytes() +
           lists.memory_bytes();
  }
};

// A row to be scanned. (gcc 12 initialises a struct of more than 80 bytes with `rep stos`, which took 3 % of a step.)
struct RowTask {
  const float* maxima = nullptr;    // from the row's sum, if it was summed ahead
  const void* data = nullptr;       // column 0, or the first child where the row holds children alone
  int64_t elements = 0;             // of the children, in that case
  const float* lse = nullptr;       // the row's, if the caller gave it
  uint64_t node = 0;                // trie: the node; sorted: the first ordinal
  const NodeRow* found = nullptr;   // trie: the row of a node that has one
  uint64_t range_end = 0;           // sorted: the end of the ordinals
  const int32_t* prefix = nullptr;  // hash_final at the last level: the codes so far, [levels], the last one free
  RowScore row;       // score and place of the beam, the normaliser if it was summed ahead; the rest is filled in
  Boundary boundary;  // filled in where the plan truncates
};

inline float element_at(const Elements& elements, int64_t column) {
  if (elements.dtype == SIDBEAM_DTYPE_F32) return static_cast<const float*>(elements.data)[column];
  if (elements.dtype == SIDBEAM_DTYPE_F16) return float_of(static_cast<const F16*>(elements.data)[column]);
  return float_of(static_cast<const Bf16*>(elements.data)[column]);
}

// The element of a code in a mapped level. A code without a column gets -inf: it is no candidate and adds nothing to a
// sum.
inline float mapped_element(const Elements& elements, int32_t column) {
  return column >= 0 ? element_at(elements, column) : -std::numeric_limits<float>::infinity();
}

// Children of a row, codes rising and the end last.
struct RowChildren {
  int32_t count = 0;
  uint64_t first_edge = kNoEdge;  // of the trie, where they are all the children of a node
  float largest = 0.0F;           // x; +inf if any is +inf or NaN
  const float* x = nullptr;       // [count], and nothing that may be read beyond
  UintArray tokens;               // [count] their codes; absent: child i is code i

  uint32_t code(int32_t i) const {
    return static_cast<uint32_t>(tokens ? tokens[static_cast<uint64_t>(i)] : static_cast<uint64_t>(i));
  }
};

// The list of a node that is not in the tail, apart from the end.
TokenList list_of_node(const SlotPlan& plan, uint64_t node, const NodeRow& row);

// Lists a row's children that truncation keeps in the workspace; none if the outcome is not kReady.
RowOutcome list_children(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, StepCounters& counters,
                         RowChildren& children);
// The same to be read only: in place where the row holds the x of all codes and all of them follow.
RowOutcome find_children(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, StepCounters& counters,
                         RowChildren& children);
// Appends a row's candidates by the plan's path. Appends nothing unless the outcome is kReady.
RowOutcome scan_row(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, Selection& selection,
                    StepCounters& counters);

}  // namespace sidbeam::cpu
