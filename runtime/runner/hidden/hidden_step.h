// The step from hidden states of one session. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runner/hidden/output_layer.h"
#include "runner/hidden/pairs.h"
#include "sidbeam/hidden.h"
#include "support/executor.h"

namespace sidbeam::runner {

// What a step from hidden states needs to know; borrowed.
struct HiddenConfig {
  sidbeam_session* session = nullptr;
  const OutputLayer* layer = nullptr;
  int32_t path = SIDBEAM_HIDDEN_FASTEST;
  int64_t children = 0;  // most pairs held at a time; 0: as sidbeam/hidden.h says
  Workers workers;
};

// One thread at a time. All memory is taken at creation.
class HiddenSteps {
 public:
  virtual ~HiddenSteps() = default;
  // Throws Failure, as sidbeam_hidden_step() says. `hidden` are args.hidden, whose strides it resolves.
  virtual void step(const sidbeam_hidden_step_args& args, sidbeam_rows& hidden) = 0;
  virtual sidbeam_hidden_stats stats() const = 0;
};

// What steps on every device share. The session's beams; throws unless it is where the layer is.
sidbeam_beams beams_of(const HiddenConfig& config);
// How many children are held at a time.
int64_t most_pairs(const HiddenConfig& config, const sidbeam_beams& beams);
// What the host can check of a call; resolves the strides.
void check_call(const OutputLayer& layer, const sidbeam_hidden_step_args& args, sidbeam_rows& hidden);
// The number of slots of a call; throws unless the hidden states are of as many.
int64_t count_slots(const sidbeam_hidden_step_args& args, const sidbeam_rows& hidden, int32_t slots);

// On the CPU.
class HiddenStep final : public HiddenSteps {
 public:
  // Throws Failure, as sidbeam_hidden_create() says.
  HiddenStep(const Allocator& allocator, const HiddenConfig& config);
  void step(const sidbeam_hidden_step_args& args, sidbeam_rows& hidden) override;
  sidbeam_hidden_stats stats() const override;

 private:
  // What is asked for.
  struct Call {
    const sidbeam_hidden_step_args* args = nullptr;
    const sidbeam_rows* hidden = nullptr;
    int64_t count = 0;  // slots
  };

  int64_t beams() const { return beams_.beams; }
  int32_t live(int64_t i) const { return beams_.live[slots_[i]]; }
  const int32_t* columns_of(int64_t first, int64_t i, int64_t m) const {
    return columns_.data() + offsets_[(i - first) * beams() + m];
  }
  int64_t children_of(int64_t first, int64_t i, int64_t m) const {
    const int64_t at = (i - first) * beams() + m;
    return offsets_[at + 1] - offsets_[at];
  }

  int64_t children_of_slot(int64_t first, int64_t i) const {
    return offsets_[(i + 1 - first) * beams()] - offsets_[(i - first) * beams()];
  }

  void list_slots(const sidbeam_hidden_step_args& args, int64_t count);
  void find_rows(const Call& call);
  bool list_children(const Call& call, int64_t first, int64_t i);
  int64_t step_some(const Call& call, int64_t first);
  void check_children(int64_t first, int64_t i) const;
  void choose_path(int64_t first, int64_t i);
  int64_t find_union(int64_t first, int64_t i, int64_t most);
  void multiply_children(int64_t first, int64_t end);
  void step_children(const Call& call, int64_t first, int64_t i, int64_t n);
  void step_union(const Call& call, int64_t first, int64_t i);
  void step_product(const Call& call, int64_t i);
  void step_tiles(const Call& call, int64_t i, const int32_t* columns, int64_t column_count);
  void count(int64_t products, int64_t weight_rows);
  sidbeam_step_args step_args(const Call& call, int64_t i, int64_t n) const;
  void step_session(const sidbeam_step_args& args) const;
  float lse_of(const Call& call, int64_t i, int64_t m) const;

  HiddenConfig config_;
  const OutputLayer& layer_;
  sidbeam_beams beams_ = SIDBEAM_BEAMS_INIT;  // views of the session's arrays
  int64_t most_pairs_ = 0;
  int32_t path_ = SIDBEAM_HIDDEN_FASTEST;  // of the call
  PairSorter sorter_;
  Buffer<int32_t> slots_;      // [S] of the call
  Buffer<bool> named_;         // [S]
  Buffer<const float*> rows_;  // [S, M] hidden states of each beam of the call's slots; nullptr: none
  Buffer<int64_t> numbers_;    // [S, M] of those rows among the caller's
  Buffer<int64_t> offsets_;    // [S * M + 1] of children, by beam
  Buffer<int32_t> columns_;    // [most_pairs_] of children
  Buffer<float> values_;       // [most_pairs_] their logits
  Buffer<bool> by_union_;      // [S] whether the union of a slot's children is in the place of their list
  Buffer<uint32_t> seen_;      // [columns] the last union that a column was found in
  Buffer<int32_t> union_;      // [columns]
  Buffer<float> logits_;       // [M, columns] of a tile
  Buffer<const float*> fed_;   // [M] rows of a tile
  Buffer<int32_t> row_map_;    // [M]
  Buffer<float> lse_;          // [S, M] of the rows of a step
  uint32_t unions_ = 0;
  sidbeam_hidden_stats stats_ = SIDBEAM_HIDDEN_STATS_INIT;
};

}  // namespace sidbeam::runner
