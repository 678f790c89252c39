// A session on the CPU: the table of slots, the beams of each, and the memory for a step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "backend/constraint.h"
#include "backend/cpu/stepper.h"
#include "backend/named_slots.h"
#include "index/read/item_lists.h"
#include "index/read/value_cap.h"
#include "support/memory.h"

namespace sidbeam::cpu {

// What slots have besides in the modes that sample; empty in mode SEARCH.
struct SampledSlots {
  Buffer<SlotSampling> slots;  // [S]
  Buffer<int64_t> draws;       // [S, M]
  Buffer<bool> fresh;          // [S] no step since the start
  Buffer<float> log_masses;    // [S, M]

  SampledSlots() = default;
  SampledSlots(const Allocator& allocator, int64_t slot_count, int64_t beams);
  int64_t memory_bytes() const { return slots.bytes() + draws.bytes() + fresh.bytes() + log_masses.bytes(); }
};

// The same for mode STOCHASTIC; arrays are [S, M].
struct StochasticSlots {
  Buffer<float> perturbed, log_inclusions, arrivals;
  Buffer<uint64_t> hashes;
  Buffer<PerturbedRow> rows;
  Buffer<float> thresholds;  // [S]

  StochasticSlots() = default;
  StochasticSlots(const Allocator& allocator, int64_t slot_count, int64_t beams);
  StochasticBeams of(int64_t slot, int64_t beams);
  void begin(int64_t slot, int64_t beams, const SlotSampling& sampling, bool lives);
  int64_t memory_bytes() const;
};

class CpuSession final : public SessionBackend {
 public:
  CpuSession(const SessionShape& shape, const Constraint& constraint, const Allocator& allocator,
             const Kernels& kernels, Executor* executor, int64_t grain);
  CpuSession(const CpuSession&) = delete;
  CpuSession& operator=(const CpuSession&) = delete;
  ~CpuSession() override;

  void check_host(const void* /*list*/, const char* /*name*/) const override {}
  void start(const SlotStart* starts, int64_t count, void* stream) override;
  void stop(const int32_t* slots, int64_t count, void* stream) override;
  void take_beams(const StepLists& lists, int64_t count, SessionBackend& from, void* stream) override;
  void step(const sidbeam_step_args& args) override;
  void children(const int32_t* slots, int64_t count, const ChildColumns& out) const override;
  sidbeam_beams beams() const override;
  sidbeam_beams fetch(void* /*stream*/) override { return beams(); }
  sidbeam_beams read(void* /*stream*/) override { return beams(); }
  void items(const int32_t* slots, int64_t count, const sidbeam_items& out) const override;
  SessionCounts counts() const override;

 private:
  bool draws() const { return shape_.mode != SIDBEAM_MODE_SEARCH; }
  bool stochastic() const { return shape_.mode == SIDBEAM_MODE_STOCHASTIC; }
  int64_t history_at(int64_t slot) const { return slot * shape_.levels * shape_.beams; }
  const int32_t* widths_of(int64_t slot) const { return widths_.data() + slot * shape_.levels; }
  void take_arrays(const Allocator& allocator);
  void hold(int64_t slot, Constraint* constraint);
  void clear_beams(int64_t slot);
  void begin_slot(const SlotStart& start);
  void begin_sampling(const SlotStart& start);
  void take_slot(const CpuSession& from, int32_t slot);
  void take_noise(const CpuSession& from, int32_t slot);
  void check_columns(const IndexView& index, const sidbeam_rows& rows, int32_t slot) const;
  int32_t rows_of(int32_t slot) const;
  void check_rows_of_beams(const sidbeam_step_args& args, int32_t slot, int64_t batch) const;
  RowSettings settings_for(const sidbeam_step_args& args, int32_t slot, int64_t batch) const;
  void set_step(const Constraint& constraint, int32_t slot, int64_t batch, SlotStep& step);
  int64_t add_slot(const sidbeam_step_args& args, int64_t batch, int64_t added);
  [[noreturn]] void refuse_idle() const;
  void list_slot(int64_t slot, int64_t* offsets, const ChildColumns& out, int64_t& found) const;
  void fill_items(int64_t slot, int64_t i, const sidbeam_items& out) const;
  void prepare_cap(int64_t slot, const sidbeam_items& out) const;

  // Arrays are by slot, then (level, then) beam.
  SessionShape shape_;
  CpuStepper stepper_;
  NamedSlots named_;
  Buffer<Constraint*> constraints_;                   // [S] held; nullptr: idle
  Buffer<int32_t> widths_;                            // [S, L]
  Buffer<RowSettings> settings_;                      // [S] 0: not given
  Buffer<int64_t> states_;                            // [S, M]
  Buffer<uint64_t> range_ends_;                       // [S, M] of the sorted strategies
  Buffer<float> scores_;                              // [S, M]
  Buffer<int32_t> parents_, tokens_;                  // [S, M]
  Buffer<int32_t> history_parents_, history_tokens_;  // [S, L, M]
  Buffer<int32_t> live_, active_, level_, errors_;    // [S]
  Buffer<SlotStep> steps_;                            // [S] of the step that is under way
  SampledSlots sampled_;                              // of the modes that sample
  StochasticSlots stochastic_;                        // of mode STOCHASTIC
  mutable OrdinalSet earlier_;                        // [M] of the distinct items that are being listed
  mutable ValueCounts cap_counts_;                    // of the same; grows with the values that lists have
  StepCounters counters_;
};

}  // namespace sidbeam::cpu
