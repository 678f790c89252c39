// Steps the slots of a session on the CPU, on one thread or several.
//
// The rows of all slots, one after the other, are divided evenly among lanes. A lane steps the slots that are wholly its
// own; of a slot that it shares it makes a selection of its part, and the parts are put together, in the order of beams,
// when all lanes are done. Which candidates win depends on their scores and places alone, so the result has the same
// bits whatever the number of lanes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/found.h"
#include "backend/cpu/row_scan.h"
#include "backend/cpu/step_job.h"
#include "backend/cpu/sum_ahead.h"
#include "support/executor.h"

namespace sidbeam::cpu {

// The best score among beams whose rows are bad, by what is wrong with them; NaN for none.
struct BestBad {
  float row = std::numeric_limits<float>::quiet_NaN(), lse = std::numeric_limits<float>::quiet_NaN();
};

// Beams [begin, end) of a slot and what was found in them.
struct Piece {
  const SlotStep* slot = nullptr;
  int32_t begin = 0, end = 0;
  Found* found = nullptr;
  BestBad best_bad;
};

// Working memory of a thread, on lines (which processors fetch in pairs) that no other thread writes.
struct alignas(128) Lane {
  RowWorkspace workspace;
  Found found;                  // of slots that are its own
  Found shared[2];              // of the slots it shares with the lanes before and after; only where there are lanes
  Buffer<int64_t> states;       // [M] of the beams being written
  Buffer<uint64_t> range_ends;  // [M]
  Buffer<int32_t> prefix;       // [levels]
  Piece pieces[2];              // of shared slots, of this step
  int32_t piece_count = 0;
  LogSum logs[kMostTogether];     // of the rows that come next
  const float* maxima = nullptr;  // of the first of them
  StepCounters counters;

  Lane() = default;
  Lane(const Kernels& kernels, const Allocator& allocator, const StepLimits& limits, bool shares);
  int64_t memory_bytes() const;
};

class CpuStepper {
 public:
  // `executor` may be null; `grain` elements of logits are worth a thread.
  CpuStepper(const Kernels& kernels, const Allocator& allocator, Executor* executor, int64_t grain)
      : kernels_(kernels), allocator_(allocator), executor_(executor), grain_(grain) {}

  // Takes memory; on failure what was there is still usable.
  void reserve(const StepLimits& limits);
  void step(const StepJob& job, StepCounters& counters);
  int64_t memory_bytes() const;

 private:
  int64_t lanes_for(const StepJob& job, int64_t rows) const;
  void run_lane(const StepJob& job, int64_t lane, int64_t begin, int64_t end);
  void merge_pieces(const StepJob& job, int64_t lanes);
  void scan_beams(const StepJob& job, Piece& piece, Lane& lane) const;
  void sum_beams(const StepJob& job, const SlotScan& scan, const Piece& piece, int32_t first, int32_t n,
                 Lane& lane) const;
  void scan_together(const StepJob& job, const SlotScan& scan, Piece& piece, int32_t first, int32_t n,
                     Lane& lane) const;
  void scan_beam(const StepJob& job, const SlotScan& scan, Piece& piece, int32_t m, uint32_t only, int32_t i,
                 Lane& lane) const;
  void finish_slot(const StepJob& job, const Piece& whole, Lane& lane) const;

  const Kernels& kernels_;
  Allocator allocator_;
  Executor* executor_;
  int64_t grain_;
  StepLimits limits_;
  std::vector<Lane> lanes_;
};

}  // namespace sidbeam::cpu
