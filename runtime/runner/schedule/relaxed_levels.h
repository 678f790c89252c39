// The extensions of each level of a round of relaxed speculation, listed for draws: all valid continuations, by one
// code, of the draft's beams there, in the order of beams, then codes, the end last.
//
// A sequence that has ended is an extension too: its only continuation is itself. A session would keep it as a beam
// whether it is drawn again or not, so that rounds never let their sessions end one: it is kept here instead, behind
// the session's beams.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/schedule/lane_session.h"
#include "support/memory.h"

namespace sidbeam::runner {

// One level of a slot: views. Its nodes are what is continued there.
struct RelaxedLevel {
  int32_t number, end_code;  // V_l
  int32_t* nodes;            // one: how many there are; -1: the level is not listed
  int32_t* fed;              // one: the first of them, which are nodes of the tree; the others have ended
  int32_t* draft_count;      // one
  int64_t* firsts;           // [N + K + 1] first extension of each node, and the end
  int64_t* sources;          // [N + K] extension of the level before that a node is; not of the first level of a round
  int64_t* drafts;           // [N] extensions in the order of the draws, with replacement repeatedly
  int32_t* codes;            // [extensions] V_l: the end; -1: of a sequence that ended before
  float* draft;              // [extensions] the draft's log-probabilities of the whole sequence

  bool is_listed() const { return *nodes >= 0; }
  int64_t extensions() const { return firsts[*nodes]; }
  bool has_ended(int64_t extension) const { return codes[extension] < 0 || codes[extension] == end_code; }
  // The number of the first of the nodes from `node` on that an extension continues.
  int32_t node_of(int64_t extension, int32_t node) const {
    while (firsts[node + 1] <= extension) ++node;
    return node;
  }
};

// Adds a sequence that has ended.
void add_ended(const RelaxedLevel& level, int64_t source, float draft);
// The different drafts of a level, rising, in `drafts` [N]; returns how many there are.
int32_t different_drafts(const RelaxedLevel& level, int64_t* drafts);

class RelaxedLevels {
 public:
  // The draft's session has N beams, the target's K.
  RelaxedLevels(const Allocator& allocator, const LaneSession& target, const LaneSession& draft);
  int64_t memory_bytes() const;
  int64_t most_extensions() const { return most_; }  // of a level

  RelaxedLevel of(int32_t slot, int32_t level);
  // No level of a slot is listed any more.
  void clear(int32_t slot);
  // Lists the extensions of the draft's beams as they are, and, if the level before is listed, of its drafts that had
  // ended.
  void list(int32_t slot, int32_t level);

 private:
  int64_t most_extensions(int32_t level) const;
  void find_sources(const RelaxedLevel& level, const RelaxedLevel& before, int32_t slot) const;

  const LaneSession& draft_;
  const int32_t width_, levels_;    // N and L
  const int64_t most_nodes_;        // N + K
  int64_t most_ = 0, of_slot_ = 0;  // extensions
  int64_t offsets_[SIDBEAM_MAX_LEVELS] = {};
  // Of the levels: [requests, L], then as RelaxedLevel has them.
  Buffer<int32_t> nodes_, fed_, draft_counts_;
  Buffer<int64_t> firsts_, sources_, drafts_;
  Buffer<int32_t> codes_;
  Buffer<float> draft_log_probs_;
  Buffer<int64_t> different_;  // [N]
};

}  // namespace sidbeam::runner
