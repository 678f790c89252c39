// One beam's row: its log-sum-exp, its children, their scores.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/selection.h"
#include "index/lookup.h"
#include "index/tail.h"
#include "index/trie.h"

namespace sidbeam::cpu {

// Working memory of one row, sized for the widest level.
struct RowWorkspace {
  Buffer<float> x;          // [codes + 1 + slack] of children, or of all codes
  Buffer<uint32_t> tokens;  // [codes + 1 + slack]
  Buffer<int32_t> codes;    // [levels] a beam's SID so far, for the hash set
  Selection best;           // of a row: the strategies that look up a beam's best codes

  RowWorkspace() = default;
  RowWorkspace(const Allocator& allocator, const StepLimits& limits);
  int64_t memory_bytes() const { return x.bytes() + tokens.bytes() + codes.bytes() + best.memory_bytes(); }
};

// A row to be scanned. `elements` begins at column 0.
struct RowTask {
  const IndexView* index = nullptr;
  int32_t level = 0;
  uint64_t node = 0;                // trie: the node; sorted: the first ordinal
  uint64_t range_end = 0;           // sorted: the end of the ordinals
  const int32_t* prefix = nullptr;  // hash_final at the last level: the codes so far, [levels], the last one free
  LevelColumns columns;
  int64_t column_count = 0;
  Elements elements;
  const float* lse = nullptr;  // the row's, where the caller gave it
  int32_t strategy = 0, normalization = 0, top_k = 0;
  RowScore row;  // score and place of the beam; the rest is filled in
};

// Appends the row's candidates. False where the row is bad; then nothing was appended.
bool scan_row(const Kernels& kernels, RowTask& task, RowWorkspace& workspace, Selection& selection,
              sidbeam_stats& stats);

}  // namespace sidbeam::cpu
