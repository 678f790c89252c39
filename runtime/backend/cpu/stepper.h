// Steps the slots of a session on the CPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "backend/cpu/row_scan.h"

namespace sidbeam::cpu {

class CpuStepper final : public Stepper {
 public:
  CpuStepper(const Kernels& kernels, const Allocator& allocator) : kernels_(kernels), allocator_(allocator) {}

  void reserve(const StepLimits& limits) override;
  void step(const StepJob& job, sidbeam_stats& stats) override;
  int64_t memory_bytes() const override;

 private:
  void step_slot(const StepJob& job, const SlotStep& slot, sidbeam_stats& stats);
  // Fills the selection; returns the best score among bad rows, NaN for none.
  float scan_beams(const StepJob& job, const SlotStep& slot, sidbeam_stats& stats);
  RowTask task_for(const StepJob& job, const SlotStep& slot, int32_t beam);
  void write_beams(const StepJob& job, const SlotStep& slot, int32_t count);
  void continue_beam(const StepJob& job, const SlotStep& slot, int32_t m, int32_t parent, uint32_t token);

  const Kernels& kernels_;
  Allocator allocator_;
  StepLimits limits_;
  Selection selection_;
  RowWorkspace workspace_;
  Buffer<int64_t> states_;       // [M] of the beams being written
  Buffer<uint64_t> range_ends_;  // [M]
  Buffer<int32_t> prefix_;       // [levels]
};

}  // namespace sidbeam::cpu
