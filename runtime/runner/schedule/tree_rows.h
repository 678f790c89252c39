// Nodes of trees as a model takes them: a pass of the draft's model is some of them, one of the target's all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/models/forward.h"
#include "runner/models/output.h"
#include "sidbeam/speculate.h"
#include "support/memory.h"

namespace sidbeam::runner {

// A request's trees, where all levels but the last are drafted: K beams of the target, N of the draft, L levels.
struct TreeSize {
  int32_t levels = 0, beams = 0, draft_beams = 0;

  // Levels that a round drafts at most; 1 where there is none to draft, since a speculation wants so many.
  int32_t draft_levels() const { return levels > 1 ? levels - 1 : 1; }
  int64_t rows() const { return beams + int64_t{draft_levels()} * draft_beams; }
  // Places of all rounds, if every one gains one level: each drafts what is left, L-1, L-2, ... 0 levels.
  int64_t slots() const { return int64_t{levels} * beams + int64_t{levels} * (levels - 1) / 2 * draft_beams; }
};

class TreeRows {
 public:
  TreeRows(const Allocator& allocator, const OutputColumns& output, int64_t rows);
  int64_t memory_bytes() const;

  void clear() { rows_ = 0; }
  // Adds a node; returns its row.
  int32_t add(const sidbeam_speculation_tree& tree, int32_t slot, int64_t node);
  int32_t count() const { return rows_; }
  const int32_t* depths() const { return depths_.data(); }
  DecodeRows view() const;

 private:
  const OutputColumns& output_;
  int32_t rows_ = 0, stride_;
  Buffer<int32_t> requests_, depths_, tokens_, slots_;
  Buffer<int32_t> ancestors_;  // [rows, L - 1]
};

}  // namespace sidbeam::runner
