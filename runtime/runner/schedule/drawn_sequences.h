// The codes of what rounds have drawn, for results that a session does not have: sequences that have ended leave the
// sessions of relaxed rounds (relaxed_levels.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/schedule/choices.h"

namespace sidbeam::runner {

class DrawnSequences {
 public:
  // Up to K of each slot, K being the session's beams.
  DrawnSequences(const Allocator& allocator, LaneSession& session);
  int64_t memory_bytes() const { return codes_.bytes() + next_.bytes() + beams_.bytes() + rows_.bytes(); }

  // Sequence `i` of the next ones continues `parent` of a slot's by a code at a level, V_l if that is the end.
  void take(int32_t slot, int32_t level, int32_t i, int32_t parent, int32_t code, float log_prob);
  // It is `parent`, which has ended.
  void carry(int32_t slot, int32_t i, int32_t parent);
  // The first `count` that were taken become the slot's.
  void replace(int32_t slot, int32_t count);
  // Starts the session's slot over and leads it along its `count` sequences, so that its beams are these. Returns the
  // beam of each, [count].
  const int32_t* lead(int32_t slot, int32_t count, Choices& choices);

 private:
  struct Code {
    int32_t code;
    float log_prob;
  };

  int32_t beam_after(int32_t slot, int32_t parent, int32_t code) const;

  LaneSession& session_;
  const int32_t most_, levels_;   // K and L
  Buffer<Code> codes_;            // [requests, K, L]; what follows the end of a sequence means nothing
  Buffer<Code> next_;             // [K, L]
  Buffer<int32_t> beams_, rows_;  // [K]
};

}  // namespace sidbeam::runner
