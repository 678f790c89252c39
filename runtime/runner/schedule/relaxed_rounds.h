// What rounds of relaxed speculation draw (SIDBEAM_SPECULATE_RELAXED): the draft's beams of every level, and the
// target's, which verify them. Both sessions are stepped on the choices that this makes for them, so that trees, places
// and rounds are those of strict speculation.
//
// Extensions of a level are all valid continuations of the draft's beams there, in the order of beams, then codes. The
// nodes of the tree at a level are these beams, and the target's beams are some of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/schedule/choices.h"
#include "runner/schedule/log_probs.h"
#include "runner/schedule/relaxed_draws.h"
#include "runner/schedule/running_slots.h"
#include "runner/schedule/tree_rows.h"

namespace sidbeam::runner {

class RelaxedRounds {
 public:
  // `config` is that of requests, not of the sessions, which are of NORMALIZE_NONE and have a column per code.
  RelaxedRounds(const Allocator& allocator, const LaneConfig& config, bool without_replacement,
                const LaneSession& target, const LaneSession& draft);
  int64_t memory_bytes() const;

  // Nothing of the last round is known any more.
  void begin(const RunningSlots& running);
  // Draws what the draft's beams that are to be stepped continue with, from their logits rows, which it changes.
  LevelRows draft(const sidbeam_speculation_tree& tree, const LevelRows& logits, const int32_t* row_map);
  // Verifies the levels of the complete tree, as far as the target's beams are its nodes, from the logits rows of the
  // nodes, which it changes.
  LevelRows verify(const sidbeam_speculation_tree& tree, const LevelRows& logits, RunningSlots& running);
  // Whether a slot must end, and how.
  bool failed(int32_t slot, Outcome& outcome) const;

 private:
  // What one level of a slot has, or the views of it.
  struct Level {
    int32_t* nodes;        // one: how many there are; -1: not known
    int32_t* draft_count;  // one
    int64_t* firsts;       // [N + 1] first extension of each node, and the end
    int64_t* sources;      // [N] extension of the level before that a node is; not of the first level of a round
    int64_t* drafts;       // [N] extensions in the order of the draws, with replacement repeatedly
    int32_t* codes;        // [extensions]
    float* draft;          // [extensions] the draft's log-probabilities of the whole sequence
  };
  // A beam of the target at the level that is verified.
  struct Beam {
    int64_t extension = 0;  // of the level before; of a root nothing
    int32_t node = -1;      // of the level
    int32_t parent = -1;    // its number among the beams before
    int32_t code = -1;
    float log_prob = 0.0F;  // of the code
    float score = 0.0F;
    int32_t draws = 1;  // that came out as this beam
  };

  void take_arrays(const Allocator& allocator);
  Level level_of(int32_t slot, int32_t level);
  // Lists the extensions of the draft's beams as they are.
  void list(int32_t slot, int32_t level);
  void find_sources(int32_t slot, int32_t level);
  void draft_slot(int32_t slot, const LevelRows& logits, const int32_t* row_map);
  void verify_slot(const sidbeam_speculation_tree& tree, int64_t i, const LevelRows& logits, RunningSlots& running);
  void take_roots(int32_t slot, const Level& level);
  // The target's log-probabilities of the extensions of its beams; false: a bad row.
  bool weigh(int32_t level_number, const Level& level, int64_t first_row, const LevelRows& logits);
  // Returns the number of extensions in drawn_.
  int32_t choose(int32_t slot, int32_t level_number, const Level& level);
  int32_t keep_drafts_of_beams(const Level& level);
  void take_drawn(const Level& level, int64_t first_row, int32_t count);
  bool follow(const Level& next);
  DrawKey key_of(int32_t slot, int32_t level) const;

  const LaneSession &target_, &draft_;
  const OutputColumns& output_;
  const int32_t beams_, width_, levels_;  // K, N and L
  const bool without_replacement_;
  const LogProbs log_probs_;
  int64_t most_ = 0, slot_extensions_ = 0;  // extensions of a level at most, and of all levels of a slot
  int64_t offsets_[SIDBEAM_MAX_LEVELS] = {};
  RelaxedDraws draws_;
  Choices choices_;

  // Of the levels: [requests, L], then as Level has them.
  Buffer<int32_t> nodes_, draft_counts_;
  Buffer<int64_t> firsts_, sources_, drafts_;
  Buffer<int32_t> codes_;
  Buffer<float> draft_log_probs_;
  Buffer<const char*> failures_;  // [requests] why a slot must end; nullptr: it need not

  // Of the level at hand.
  Buffer<float> steps_, target_log_probs_;  // [extensions] log-probabilities of the code, and of the sequence
  Buffer<int64_t> drawn_;                   // [N]
  Buffer<int32_t> beam_of_node_;            // [N]; -1: none
  Buffer<Beam> now_, next_;                 // [K]
  int32_t count_ = 0, next_count_ = 0;
};

}  // namespace sidbeam::runner
