// What rounds of relaxed speculation draw (SIDBEAM_SPECULATE_RELAXED): the draft's beams of every level, and the
// target's, which verify them. Both sessions are stepped on the choices that this makes for them, so that trees, places
// and rounds are those of strict speculation.
//
// The target's beams of a level are some of its nodes (relaxed_levels.h), except that one that has ended is added
// where the draft does not have it: it needs no logits row, so that the round goes on. A request ends where all of them
// have ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/schedule/drawn_sequences.h"
#include "runner/schedule/log_probs.h"
#include "runner/schedule/relaxed_draws.h"
#include "runner/schedule/relaxed_levels.h"
#include "runner/schedule/running_slots.h"
#include "runner/schedule/tree_rows.h"

namespace sidbeam::runner {

class RelaxedRounds {
 public:
  // `config` is that of requests, not of the sessions, which are of NORMALIZE_NONE and have a column per code.
  RelaxedRounds(const Allocator& allocator, const LaneConfig& config, bool without_replacement, LaneSession& target,
                const LaneSession& draft);
  int64_t memory_bytes() const;

  // Nothing of the last round is known any more, except the target's beams.
  void begin(const RunningSlots& running);
  // Draws what the draft's beams that are to be stepped continue with, from their logits rows, which it changes.
  LevelRows draft(const sidbeam_speculation_tree& tree, const LevelRows& logits, const int32_t* row_map);
  // Verifies the levels of the complete tree, as far as the target's beams are its nodes, from the logits rows of the
  // nodes, which it changes.
  LevelRows verify(const sidbeam_speculation_tree& tree, const LevelRows& logits);
  // Once the target's session has been stepped: gives those of its slots that are complete the results.
  void complete(RunningSlots& running);
  // Whether a slot must end, and how.
  bool failed(int32_t slot, Outcome& outcome) const;

 private:
  // A beam of the target at the level that is verified.
  struct Beam {
    int64_t extension = 0;  // of the level before; of a root nothing
    int32_t node = -1;      // of the level
    int32_t parent = -1;    // its number among the beams before
    int32_t code = -1;
    float log_prob = 0.0F;  // of the code
    float score = 0.0F;
    int32_t draws = 1;  // that came out as this beam
    bool ended = false;
  };
  // The beams of a slot: those of the target's session in its order, then those that have ended.
  struct Beams {
    Beam* beams;
    int32_t* count;  // one

    Beam* begin() const { return beams; }
    Beam* end() const { return beams + *count; }
  };

  void take_arrays(const Allocator& allocator);
  Beams beams_of(int32_t slot) { return {beams_.data() + int64_t{slot} * most_beams_, &counts_[slot]}; }
  // Lists the extensions of the draft's beams as they are.
  void list(int32_t slot, int32_t level);
  // Log-probabilities, in steps_, by which the extensions of a node continue it; false: its logits row is bad.
  bool weigh_node(int32_t slot, const RelaxedLevel& level, int32_t node, float* row);
  void draft_slot(int32_t slot, const LevelRows& logits, const int32_t* row_map);
  void verify_slot(const sidbeam_speculation_tree& tree, int64_t i, const LevelRows& logits);
  // Which nodes the target's beams are where the round begins.
  void find_roots(int32_t slot, const RelaxedLevel& level);
  // The target's log-probabilities of the extensions of its beams; false: a bad row.
  bool weigh(int32_t slot, const RelaxedLevel& level, int64_t first_row, const LevelRows& logits);
  // Returns the number of extensions in drawn_.
  int32_t choose(int32_t slot, const RelaxedLevel& level);
  int32_t keep_drafts_of_beams(const RelaxedLevel& level);
  void take_drawn(int32_t slot, const RelaxedLevel& level, int64_t first_row, int32_t count);
  void keep_sequences(int32_t slot, const RelaxedLevel& level, const Beams& beams);
  bool follow(int32_t slot, const RelaxedLevel& next);
  bool is_complete(int32_t slot, int32_t level);
  DrawKey key_of(int32_t slot, int32_t level) const;

  LaneSession& target_;
  const LaneSession& draft_;
  const OutputColumns& output_;
  const int32_t most_beams_, width_, levels_;  // K, N and L
  const bool without_replacement_;
  const LogProbs log_probs_;
  RelaxedLevels of_levels_;
  RelaxedDraws draws_;
  Choices choices_;
  DrawnSequences sequences_;

  Buffer<const char*> failures_;     // [requests] why a slot must end; nullptr: it need not
  Buffer<int32_t> variable_length_;  // [requests] of the slot's constraint
  Buffer<Beam> beams_;               // [requests, K]
  Buffer<int32_t> counts_;           // [requests]

  // Of the level at hand.
  Buffer<float> steps_, target_log_probs_;  // [extensions] log-probabilities of the code, and of the sequence
  Buffer<int64_t> drawn_;                   // [N]
  Buffer<int32_t> beam_of_node_;            // [N + K]; -1: none
};

}  // namespace sidbeam::runner
