// Steps the slots of a session on the CPU, on one thread or several. The flow of data:
//
//   logits       of every slot, one row per live beam (step_job.h), are divided evenly among lanes, one per thread
//   plan         decide() chooses, once per slot and level, how children are found and how rows are normalised (plan.h)
//   normalisers  of neighbouring rows in place are computed together (sum_ahead.h), the others row by row
//   candidates   come from the plan's path: many beams with one child each at once (scan.cc), or row by row, by list,
//                mask, run, range or lookup (row_scan.cc); a row that cannot reach the threshold is not read
//   selection    keeps the best of a slot in bounded memory and raises the threshold (selection.h)
//   merging      a slot shared by lanes has a selection from each; they are joined in the order of beams
//   beams        the best candidates replace the beams of the level before (write_beams.h)
//
// Which candidates win depends only on their scores and places, so the result has the same bits for any number of
// lanes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backend/backend.h"
#include "backend/cpu/lane.h"
#include "backend/cpu/step_job.h"
#include "support/executor.h"

namespace sidbeam::cpu {

class CpuStepper {
 public:
  // `executor` may be null. A step uses one thread per `grain` elements of logits.
  CpuStepper(const Kernels& kernels, const Allocator& allocator, Executor* executor, int64_t grain)
      : kernels_(kernels), allocator_(allocator), executor_(executor), grain_(grain) {}

  // Allocates memory. If it fails, the previous memory remains usable.
  void reserve(const StepLimits& limits);
  void step(const StepJob& job, StepCounters& counters);
  int64_t memory_bytes() const;
  const Kernels& kernels() const { return kernels_; }

 private:
  int64_t lanes_for(const StepJob& job, int64_t rows) const;
  void run_lane(const StepJob& job, int64_t lane, int64_t begin, int64_t end);
  void take_piece(const StepJob& job, Piece& piece, Lane& lane) const;
  int32_t write_slot(const StepJob& job, const SlotStep& slot, Found* found, Lane& lane) const;
  void merge_pieces(const StepJob& job, int64_t lanes);
  void finish_slot(const StepJob& job, const Piece& whole, Lane& lane) const;

  const Kernels& kernels_;
  Allocator allocator_;
  Executor* executor_;
  int64_t grain_;
  StepLimits limits_;
  std::vector<Lane> lanes_;
};

}  // namespace sidbeam::cpu
