// Random draft heads and their decoders, on either device. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../random_head.h"
#include "device_place.h"
#include "library.h"

namespace gpu {

struct DraftCase {
  uint64_t seed = 1;
  heads::HeadShape shape{{7, 5, 9}};
  int32_t dtype = SIDBEAM_DTYPE_F32, hidden_dtype = SIDBEAM_DTYPE_F32;
  int32_t verification = SIDBEAM_DRAFT_VERIFY_TRIE, normalization = SIDBEAM_NORMALIZE_FULL;
  int32_t requests = 3, beams = 6, top_k = 0;
  bool is_spread = false;  // hidden states with odd strides

  int32_t levels() const { return static_cast<int32_t>(shape.codes.size()); }
  std::string text() const;
};

// What a run found, in the host's memory.
struct Drafted {
  std::vector<int32_t> live, errors, sids;
  std::vector<float> scores;
  std::vector<int64_t> ordinals;

  std::vector<int> sid(const DraftCase& c, size_t beam) const;
  void expect_same_bits(const Drafted& other, const std::string& what) const;
};

// Hidden states of a run, [requests][L + 1][D].
using States = std::vector<std::vector<oracle::Vector>>;
States random_states(const DraftCase& c, uint64_t seed);

// Constraints and widths of a run; none: those of the decoder.
struct Start {
  std::vector<sidbeam_constraint*> constraints;
  std::vector<int32_t> widths;
};

// A decoder of one request more than it gets, and hidden states at a fixed address.
class DraftSide {
 public:
  DraftSide(const DraftCase& c, sidbeam_runtime* runtime, sidbeam_draft_head* head, sidbeam_index* index,
            const differential::Place& place);
  void fill(const States& states);
  void run(const Start& start);
  // The halves of a run.
  void start(const Start& start);
  void decode();
  // What the last run or decode found.
  Drafted look() const;

  sidbeam_draft_decoder* decoder() const { return decoder_.get(); }
  const sidbeam_rows& rows() const { return rows_; }
  sidbeam_draft_args args(const Start& start) const;

 private:
  DraftCase c_;
  const differential::Place& place_;
  int64_t row_stride_ = 0, slot_stride_ = 0;  // elements
  differential::Array<char> states_;
  sidbeam_rows rows_ = SIDBEAM_ROWS_INIT;
  heads::DraftDecoder decoder_;
  sidbeam_draft_result result_ = SIDBEAM_DRAFT_RESULT_INIT;
};

}  // namespace gpu
