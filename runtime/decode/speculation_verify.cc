// Verifying a round: the target's session takes its ordinary steps, each on the rows of the nodes that its beams are.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decode/speculate.h"
#include "index/read/state.h"
#include "support/error.h"

namespace sidbeam {
namespace {

void check_round(const sidbeam_speculation& speculation, const sidbeam_beams& target, const sidbeam_rows& rows) {
  for (int64_t i = 0; i < speculation.count; ++i) {
    const int32_t slot = speculation.list[i], level = speculation.slots[slot].level;
    if (target.level[slot] != level)
      fail(SIDBEAM_BAD_STATE, "slot %d of the target is at level %d, expected %d, where the round began", slot,
           target.level[slot], level);
  }
  const int64_t nodes = speculation.arrays.node_offsets[speculation.count];
  if (rows.slots != 0 || rows.rows != nodes)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "rows are [%lld, %lld, ...], expected [%lld, ...], a logits row per node of the tree",
         static_cast<long long>(rows.slots), static_cast<long long>(rows.rows), static_cast<long long>(nodes));
}

// The logits row of each beam of the slots that go on: that of its node.
void fill_row_map(sidbeam_speculation& speculation, const sidbeam_beams& target, int64_t going) {
  const int32_t beams = speculation.shape.beams;
  for (int64_t g = 0; g < going; ++g) {
    const int32_t slot = speculation.lists->slots[g];
    const auto offset = static_cast<int32_t>(speculation.arrays.node_offsets[speculation.going_at[g]]);
    const int32_t* nodes = speculation.target_nodes.data() + int64_t{slot} * beams;
    int32_t* map = speculation.lists->row_map + g * beams;
    for (int32_t m = 0; m < beams; ++m) map[m] = m < target.live[slot] && nodes[m] >= 0 ? offset + nodes[m] : -1;
  }
}

void step_target(sidbeam_speculation& speculation, const sidbeam_speculation_verify_args& args, int64_t going) {
  StepLists& lists = *speculation.lists;
  const MarksLists marks(lists, speculation.stream);
  sidbeam_rows rows = *args.rows;  // a step resolves the strides
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  lists.send(going, speculation.stream);
  step.slots = lists.slots_there;
  step.count = going;
  step.rows = &rows;
  step.row_map = lists.row_map_there;
  step.lse = args.lse;
  step.stream = speculation.stream;
  step_session(*speculation.target, step, rows);
}

// The nodes of the round's last level are those of a slot's beams, or still those of their parents.
enum class NodesOf { kBeams, kParents };

// Keeps the way to a slot's beams for the next round; what it has of a beam's own last code is not read.
void keep_paths(sidbeam_speculation& speculation, const sidbeam_beams& target, int32_t slot, NodesOf which) {
  const TreeShape& shape = speculation.shape;
  const int64_t first = int64_t{slot} * shape.beams;
  for (int32_t m = 0; m < target.live[slot]; ++m) {
    if (is_ended(target.states[first + m])) continue;
    const int32_t beam = which == NodesOf::kBeams ? m : target.parents[first + m];
    write_path(speculation, slot, speculation.target_nodes[first + beam],
               speculation.new_paths.data() + int64_t{m} * shape.levels);
  }
  std::copy_n(speculation.new_paths.data(), int64_t{target.live[slot]} * shape.levels,
              speculation.paths.data() + first * shape.levels);
}

// Finds the nodes that a slot's beams are after a step; whether every beam that must be fed is one.
bool find_nodes(sidbeam_speculation& speculation, const sidbeam_beams& target, int32_t slot, int32_t depth) {
  if (depth > speculation.slots[slot].depth) return false;
  const SlotTree tree = speculation.trees.of(slot);
  const int64_t first = int64_t{slot} * speculation.shape.beams;
  bool all = true;
  for (int32_t m = 0; m < target.live[slot]; ++m) {
    int32_t& node = speculation.new_nodes[m] = -1;
    if (is_ended(target.states[first + m])) continue;
    node = find_node(tree, depth, speculation.target_nodes[first + target.parents[first + m]], target.codes[first + m]);
    all = all && node >= 0;
  }
  return all;
}

// What follows a step of a slot; whether another one does.
bool goes_on(sidbeam_speculation& speculation, const sidbeam_beams& target, int32_t slot, int32_t depth) {
  ++speculation.stats.levels;
  const bool found = target.active[slot] > 0 && find_nodes(speculation, target, slot, depth);
  if (!found) {
    if (target.active[slot] > 0) keep_paths(speculation, target, slot, NodesOf::kParents);
    return false;
  }
  ++speculation.stats.accepted_levels;
  std::copy_n(speculation.new_nodes.data(), target.live[slot],
              speculation.target_nodes.data() + int64_t{slot} * speculation.shape.beams);
  return true;
}

// Ends the round where the target is.
void end_round(sidbeam_speculation& speculation, const sidbeam_beams& target) {
  for (int64_t i = 0; i < speculation.count; ++i) {
    SpeculatedSlot& own = speculation.slots[speculation.list[i]];
    own.next_place += static_cast<int32_t>(speculation.arrays.node_offsets[i + 1] - speculation.arrays.node_offsets[i]);
    own.level = target.level[speculation.list[i]];
  }
  speculation.stats.rounds += speculation.count;
  speculation.stats.nodes += speculation.arrays.node_offsets[speculation.count];
  speculation.count = 0;
  publish_tree(speculation);
}

// Keeps those of the slots that go on.
int64_t follow_step(sidbeam_speculation& speculation, const sidbeam_beams& target, int64_t going, int32_t depth) {
  int64_t kept = 0;
  for (int64_t g = 0; g < going; ++g) {
    if (!goes_on(speculation, target, speculation.lists->slots[g], depth)) continue;
    speculation.lists->slots[kept] = speculation.lists->slots[g];
    speculation.going_at[kept++] = speculation.going_at[g];
  }
  return kept;
}

// A later step that fails ends the round where it is: the slots' beams are those of plain steps.
void step_further(sidbeam_speculation& speculation, const sidbeam_speculation_verify_args& args,
                  const sidbeam_beams& target, int64_t going) {
  try {
    step_target(speculation, args, going);
  } catch (...) {
    for (int64_t g = 0; g < going; ++g) keep_paths(speculation, target, speculation.lists->slots[g], NodesOf::kBeams);
    end_round(speculation, target);
    throw;
  }
}

// Brings the target's beams to the host after a step. Where that fails nobody knows them: the round is forgotten, and
// the next one finds slots at other levels than it left them at.
void read_step(sidbeam_speculation& speculation) {
  try {
    speculation.target->backend->read(speculation.stream);
  } catch (...) {
    speculation.count = 0;
    publish_tree(speculation);
    throw;
  }
}

}  // namespace

void verify_round(sidbeam_speculation& speculation, const sidbeam_speculation_verify_args& args) {
  if (speculation.count == 0) fail(SIDBEAM_BAD_STATE, "no round is under way, expected begin() before verify()");
  const sidbeam_beams target = speculation.target->backend->read(speculation.stream);
  check_round(speculation, target, *args.rows);
  int64_t going = speculation.count;
  for (int64_t i = 0; i < going; ++i) {
    speculation.lists->slots[i] = speculation.list[i];
    speculation.going_at[i] = static_cast<int32_t>(i);
  }
  for (int32_t depth = 1; going > 0; ++depth) {
    fill_row_map(speculation, target, going);
    if (depth == 1)
      step_target(speculation, args, going);
    else
      step_further(speculation, args, target, going);
    read_step(speculation);
    going = follow_step(speculation, target, going, depth);
  }
  end_round(speculation, target);
}

}  // namespace sidbeam
