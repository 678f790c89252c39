// A draft head's arithmetic for a batch of beams: states and logits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/draft/cell.h"
#include "runner/draft/head.h"

namespace sidbeam::runner {

// Most rows of one request at each level: one where a beam's codes do not change its state. A session gives a beam no
// more children than there are codes, and over an index that is damaged one more: `surplus`, 0 where it is dropped.
void count_rows(const DraftShape& shape, int32_t beams, int32_t surplus, int64_t* rows);

// Hidden states of the host: row l of request i is h_l. Strides are resolved, in elements.
struct HiddenStates {
  const void* data = nullptr;
  Dtype dtype = Dtype::kF32;
  int64_t requests = 0, request_stride = 0, row_stride = 0;
};

// Rows are what differs: one per live beam, request by request, or, where a beam's codes do not change its state, one
// per request. Everything is allocated, and touched, by the constructor.
class DraftForward {
 public:
  // For up to `requests` requests of `beams` beams. The head must outlive it.
  DraftForward(const Allocator& allocator, const DraftHead& head, const Workers& workers, int64_t requests,
               int32_t beams);

  bool has_row_per_request() const { return head_.shape.transition == SIDBEAM_DRAFT_TRANSITION_NONE; }
  // Takes the states s_1 = h_0. `hidden` must outlive the last level.
  void begin(const HiddenStates& hidden);
  // The rows of level l + 1: row r continues row parents[r] with codes[r]. Not with a row per request.
  void advance(int32_t level, const int32_t* parents, const int32_t* codes, int64_t count);
  // The logits of `count` rows, [count, V_l]; row r belongs to request row_requests[r]. Valid until the next call.
  Rows logits(int32_t level, const int32_t* row_requests, int64_t count);

  // Most rows of any level.
  int64_t most_rows() const { return most_rows_; }
  int64_t memory_bytes() const;

 private:
  void allocate(const Allocator& allocator, int64_t requests, int32_t beams);
  ConstRows placeholders(int32_t level);
  int64_t gather(const int32_t* parents, int64_t count);
  void move(const DraftLevel& level, const int32_t* codes, int64_t count);

  const DraftHead& head_;
  Workers workers_;
  int64_t most_rows_ = 0, rows_ = 0;  // rows_: of states_
  HiddenStates hidden_;
  Buffer<float> placeholders_;  // [requests, D] h_l of the level
  Buffer<float> shared_;        // [requests, V_l] what the logits of a request's beams have in common
  Buffer<float> logits_;        // [rows, V_l]
  Buffer<float> states_;        // [rows, D] s_l
  // Of a transition: states of the distinct parents, and their products with W_r.
  Buffer<float> parent_states_;    // [parents, D]
  Buffer<float> recurrent_;        // [parents, G]
  Buffer<int32_t> parent_places_;  // [rows of the level before] among the distinct parents; -1: not one
  Buffer<int32_t> row_parents_;    // [rows] likewise, of each new row
};

}  // namespace sidbeam::runner
