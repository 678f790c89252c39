// Strict speculation: rounds in which a draft session's beams become a tree and a target session is stepped on its
// nodes (sidbeam/speculate.h). It lives in the core because it checks two sessions against each other and moves beams
// between them, which public headers do not offer; of models it needs nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "decode/session.h"
#include "decode/speculation_tree.h"
#include "sidbeam/speculate.h"

namespace sidbeam {

// Where a slot is in its request, and in the round.
struct SpeculatedSlot {
  int32_t start = 0;       // level at which the request began
  int32_t level = -1;      // of the target after the last round, or at the beginning of this one
  int32_t depth = 0;       // levels drafted in this round
  int32_t next_place = 0;  // places used by the rounds before
  bool drafting = false;
};

// What callers see of a tree, slot by slot; see sidbeam_speculation_tree.
struct TreeArrays {
  Buffer<int64_t> node_offsets, tokens;
  Buffer<int32_t> codes, positions, parents, places, ancestors;
  Buffer<int32_t> draft_slots, draft_nodes;
  int64_t draft_count = 0;
};

}  // namespace sidbeam

// One thread at a time. Creation takes all memory.
struct sidbeam_speculation {
  sidbeam::Ref<sidbeam_runtime> runtime;
  sidbeam_session *target = nullptr, *draft = nullptr;  // the caller's
  void* stream = nullptr;                               // on CUDA
  sidbeam::TreeShape shape;
  int64_t place_stride = 0;
  sidbeam::NamedSlots named;
  sidbeam::Buffer<sidbeam::SpeculatedSlot> slots;  // [S]
  sidbeam::Buffer<int32_t> list;                   // [S] slots of the round
  int64_t count = 0;                               // of these; 0: no round
  sidbeam::SpeculationTrees trees;
  sidbeam::Buffer<int32_t> target_nodes, draft_nodes;  // [S, K], [S, N] node within the slot of each beam; -1: none
  sidbeam::Buffer<int32_t> root_beams;                 // [S, K] beam of the target that each root is
  sidbeam::Buffer<int32_t> paths;                      // [S, K, L] places of the codes before a beam's last one
  sidbeam::Buffer<int32_t> new_paths, new_nodes;       // [K, L], [N] of the slot at hand
  sidbeam::Buffer<int32_t> going_at;                   // [S] where the slots of the step at hand are in the round
  std::unique_ptr<sidbeam::StepLists> lists;           // of take_beams(), and of the step at hand
  sidbeam::TreeArrays arrays;
  sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
};

namespace sidbeam {

std::unique_ptr<sidbeam_speculation> create_speculation(sidbeam_runtime* runtime,
                                                        const sidbeam_speculation_config& config);
// Returns the number of slots in the round.
int64_t begin_round(sidbeam_speculation& speculation, const int32_t* slots, int64_t count);
void add_drafted(sidbeam_speculation& speculation);
void verify_round(sidbeam_speculation& speculation, const sidbeam_speculation_verify_args& args);
// Writes the places of the codes on the way to a node, its own last, and returns how many there are.
int32_t write_path(sidbeam_speculation& speculation, int32_t slot, int32_t node, int32_t* places);
// Brings the arrays that callers see up to date.
void publish_tree(sidbeam_speculation& speculation);
sidbeam_speculation_tree tree_of(const sidbeam_speculation& speculation);
void fill_mask(const sidbeam_speculation& speculation, uint8_t* mask, int64_t columns);

}  // namespace sidbeam
