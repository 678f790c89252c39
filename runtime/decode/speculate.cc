// Making a speculation, beginning a round, and what the draft adds to it.
// SPDX-License-Identifier: Apache-2.0
#include "decode/speculate.h"

#include <algorithm>
#include <cstdio>

#include "decode/device_choice.h"
#include "index/read/state.h"
#include "support/codebook.h"
#include "support/error.h"

namespace sidbeam {
namespace {

void check_same(const char* what, int32_t draft, int32_t target) {
  if (draft != target)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.draft has %s %d, expected %d, as config.target", what, draft, target);
}

struct DeviceName {
  char text[32];
};
DeviceName device_of(const sidbeam_session& session) {
  DeviceName name{"the CPU"};
  if (session.device_type != SIDBEAM_DEVICE_CPU)
    std::snprintf(name.text, sizeof name.text, "CUDA device %d", session.device_id);
  return name;
}

void check_same_device(const sidbeam_session& target, const sidbeam_session& draft) {
  if (draft.device_type != target.device_type || draft.device_id != target.device_id)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.draft is on %s, expected %s, as config.target", device_of(draft).text,
         device_of(target).text);
}

void check_sessions(const sidbeam_session& target, const sidbeam_session& draft) {
  if (&target == &draft) fail(SIDBEAM_INVALID_ARGUMENT, "config.draft is config.target, expected a session of its own");
  check_same_device(target, draft);
  check_same("slots", draft.slots, target.slots);
  check_same("levels", draft.levels, target.levels);
  check_codebook("config.draft", draft.constraint->codebook(), target.constraint->codebook(), "config.target");
  check_same("strategy", draft.strategy, target.strategy);
  check_same("mode", draft.mode, target.mode);
  if (target.mode == SIDBEAM_MODE_SAMPLE)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.target is in mode SAMPLE, expected SEARCH or STOCHASTIC");
  if (draft.beams < target.beams)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.draft has %d beams, expected at least %d, those of config.target",
         draft.beams, target.beams);
}

void take_arrays(sidbeam_speculation& speculation, const Allocator& allocator) {
  const TreeShape& shape = speculation.shape;
  const int64_t slots = shape.slots, nodes = checked_bytes(slots, shape.nodes());
  const auto ints = [&](int64_t count) { return Buffer<int32_t>(allocator, count); };
  speculation.named = NamedSlots(allocator, slots);
  speculation.slots = Buffer<SpeculatedSlot>(allocator, slots);
  std::fill(speculation.slots.begin(), speculation.slots.end(), SpeculatedSlot());
  speculation.list = ints(slots);
  speculation.trees = SpeculationTrees(allocator, shape);
  speculation.target_nodes = ints(slots * shape.beams);
  speculation.draft_nodes = ints(slots * shape.width);
  speculation.root_beams = ints(slots * shape.beams);
  speculation.paths = ints(slots * shape.beams * shape.levels);
  speculation.new_paths = ints(int64_t{shape.beams} * shape.levels);
  speculation.new_nodes = ints(shape.width);
  speculation.going_at = ints(slots);
  TreeArrays& arrays = speculation.arrays;
  arrays.node_offsets = Buffer<int64_t>::zeroed(allocator, slots + 1);
  arrays.tokens = Buffer<int64_t>(allocator, nodes);
  for (Buffer<int32_t>* array : {&arrays.codes, &arrays.positions, &arrays.parents, &arrays.places})
    *array = ints(nodes);
  arrays.ancestors = ints(checked_bytes(nodes, shape.levels));
  arrays.draft_slots = ints(slots);
  arrays.draft_nodes = ints(slots * shape.width);
}

int64_t memory_of(const sidbeam_speculation& speculation) {
  const TreeArrays& arrays = speculation.arrays;
  int64_t bytes = speculation.named.memory_bytes() + speculation.slots.bytes() + speculation.trees.memory_bytes() +
                  speculation.lists->memory_bytes + arrays.node_offsets.bytes() + arrays.tokens.bytes();
  for (const Buffer<int32_t>* array :
       {&speculation.list, &speculation.target_nodes, &speculation.draft_nodes, &speculation.root_beams,
        &speculation.paths, &speculation.new_paths, &speculation.new_nodes, &speculation.going_at, &arrays.codes,
        &arrays.positions, &arrays.parents, &arrays.places, &arrays.ancestors, &arrays.draft_slots,
        &arrays.draft_nodes})
    bytes += array->bytes();
  return bytes;
}

// A slot that was just started has one beam, which no step has made.
bool is_fresh(const sidbeam_beams& beams, int32_t slot) {
  return beams.live[slot] == 1 && beams.parents[int64_t{slot} * beams.beams] == -1;
}

// On CUDA a step may name a slot twice, which leaves it in any state. Throws if a slot's beams cannot be nodes of a
// tree: only beams that must be fed are looked at, and `nodes`, of the beams before the slot's last step, may be null.
void check_beams(const sidbeam_speculation& speculation, const char* whose, const sidbeam_beams& beams, int32_t slot,
                 const int32_t* nodes) {
  const int32_t level = beams.level[slot], live = beams.live[slot];
  if (level > speculation.shape.levels || live < 0 || live > beams.beams)
    fail(SIDBEAM_BAD_STATE, "slot %d of the %s is at level %d with %d live beams, expected at most %d and %d", slot,
         whose, level, live, speculation.shape.levels, beams.beams);
  const int64_t first = int64_t{slot} * beams.beams;
  for (int64_t m = first; m < first + live; ++m) {
    if (is_ended(beams.states[m])) continue;
    const int32_t parent = beams.parents[m], code = beams.codes[m];
    const bool stepped = parent >= 0 && parent < beams.beams && (nodes == nullptr || nodes[parent] >= 0);
    if (!stepped || !has_column(speculation.target->vocabulary, level - 1, code))
      fail(SIDBEAM_BAD_STATE,
           "slot %d of the %s has a beam of parent %d and code %d, expected those of a step that named the slot once",
           slot, whose, parent, code);
  }
}

// Whether an entry of a list takes part; throws if it cannot.
bool takes_part(const sidbeam_speculation& speculation, const sidbeam_beams& target, const sidbeam_beams& draft,
                int32_t slot, bool named) {
  if (target.level[slot] < 0) {
    if (named) fail(SIDBEAM_BAD_STATE, "slot %d of the target is not started, expected one that is", slot);
    return false;
  }
  if (target.active[slot] == 0) return false;
  if (draft.level[slot] < 0) fail(SIDBEAM_BAD_STATE, "slot %d of the draft is not started, expected one that is", slot);
  const int32_t level = speculation.slots[slot].level;
  if (!is_fresh(target, slot) && target.level[slot] != level)
    fail(SIDBEAM_BAD_STATE, "slot %d of the target is at level %d, expected %d, where its last round ended, or a start",
         slot, target.level[slot], level);
  if (!is_fresh(target, slot)) check_beams(speculation, "target", target, slot, nullptr);
  return true;
}

// Gives the draft's slots of the round the target's beams.
void take_target(sidbeam_speculation& speculation, int64_t count) {
  const MarksLists marks(*speculation.lists, speculation.stream);
  std::copy_n(speculation.list.data(), count, speculation.lists->slots);
  speculation.lists->send(count, speculation.stream);
  speculation.draft->backend->take_beams(*speculation.lists, count, *speculation.target->backend, speculation.stream);
}

// The roots: the target's beams that must be fed.
void begin_slot(sidbeam_speculation& speculation, const sidbeam_beams& target, int32_t slot) {
  const TreeShape& shape = speculation.shape;
  SpeculatedSlot& own = speculation.slots[slot];
  const int64_t first = int64_t{slot} * shape.beams;
  int32_t* draft_nodes = speculation.draft_nodes.data() + int64_t{slot} * shape.width;
  if (is_fresh(target, slot)) own = {target.level[slot], target.level[slot], 0, 0, false};
  const SlotTree tree = speculation.trees.of(slot);
  own.depth = 0;
  begin_depth(tree, 0);
  std::fill_n(draft_nodes, shape.width, -1);
  for (int32_t m = 0; m < target.live[slot]; ++m) {
    int32_t node = -1;
    if (!is_ended(target.states[first + m])) {
      node = add_node(tree, 0, -1, target.codes[first + m]);
      speculation.root_beams[first + node] = m;
    }
    speculation.target_nodes[first + m] = draft_nodes[m] = node;
  }
  own.drafting = shape.drafts_at(own.level) > 0;
}

// Throws unless a slot of the draft is where the last depth was, or one step further.
void check_drafted(const sidbeam_speculation& speculation, const sidbeam_beams& draft, int32_t slot) {
  const SpeculatedSlot& own = speculation.slots[slot];
  const int32_t level = own.level + own.depth;
  const int32_t* nodes = speculation.draft_nodes.data() + int64_t{slot} * speculation.shape.width;
  if (draft.level[slot] == level) return;
  if (own.drafting && draft.level[slot] == level + 1) return check_beams(speculation, "draft", draft, slot, nodes);
  fail(SIDBEAM_BAD_STATE, "slot %d of the draft is at level %d, expected %d%s", slot, draft.level[slot], level,
       own.drafting ? ", or one more" : ", where it is drafted no further");
}

// One level below the last depth: the draft's beams that would have to be fed.
void add_depth(sidbeam_speculation& speculation, const sidbeam_beams& draft, int32_t slot) {
  const TreeShape& shape = speculation.shape;
  SpeculatedSlot& own = speculation.slots[slot];
  const SlotTree tree = speculation.trees.of(slot);
  const int64_t first = int64_t{slot} * shape.width;
  int32_t* nodes = speculation.draft_nodes.data() + first;
  const int32_t depth = ++own.depth, live = draft.active[slot] > 0 ? draft.live[slot] : 0;
  begin_depth(tree, depth);
  std::fill_n(speculation.new_nodes.data(), shape.width, -1);
  for (int32_t m = 0; m < live; ++m)
    if (!is_ended(draft.states[first + m]))
      speculation.new_nodes[m] = add_node(tree, depth, nodes[draft.parents[first + m]], draft.codes[first + m]);
  end_depth(tree, depth);
  std::copy_n(speculation.new_nodes.data(), shape.width, nodes);
  const bool grew = tree.firsts[depth + 1] > tree.firsts[depth];
  own.drafting = grew && depth < shape.drafts_at(own.level);
  speculation.stats.drafted_levels += grew ? 1 : 0;
}

}  // namespace

std::unique_ptr<sidbeam_speculation> create_speculation(sidbeam_runtime* runtime,
                                                        const sidbeam_speculation_config& config) {
  if (config.target == nullptr || config.draft == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.%s is NULL, expected a session",
         config.target == nullptr ? "target" : "draft");
  check_range("config.draft_levels", config.draft_levels, 1, SIDBEAM_MAX_LEVELS);
  check_sessions(*config.target, *config.draft);
  auto speculation = std::make_unique<sidbeam_speculation>();
  speculation->runtime = Ref<sidbeam_runtime>::share(runtime);
  speculation->target = config.target;
  speculation->draft = config.draft;
  speculation->stream = config.stream;
  speculation->shape = {config.target->slots, config.target->beams, config.draft->beams,
                        std::min(config.draft_levels, config.target->levels), config.target->levels};
  speculation->place_stride = speculation->shape.places();
  check_range("slots * place_stride", speculation->place_stride * config.target->slots, 0, INT32_MAX);
  take_arrays(*speculation, runtime->allocator);
  speculation->lists = backend_on(*config.target->runtime, config.target->device_type, config.target->device_id)
                           .make_step_lists(config.target->slots, config.target->beams, runtime->allocator);
  speculation->stats.memory_bytes = memory_of(*speculation);
  return speculation;
}

int64_t begin_round(sidbeam_speculation& speculation, const int32_t* slots, int64_t count) {
  count = listed_slots(*speculation.target, slots, count);
  const sidbeam_beams target = speculation.target->backend->read(speculation.stream),
                      draft = speculation.draft->backend->read(speculation.stream);
  speculation.count = speculation.arrays.draft_count = 0;
  speculation.named.begin();
  int64_t taken = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t slot = speculation.named.take(slots, i);
    if (takes_part(speculation, target, draft, slot, slots != nullptr)) speculation.list[taken++] = slot;
  }
  if (taken > 0) take_target(speculation, taken);
  for (int64_t i = 0; i < taken; ++i) begin_slot(speculation, target, speculation.list[i]);
  speculation.count = taken;
  publish_tree(speculation);
  return taken;
}

void add_drafted(sidbeam_speculation& speculation) {
  if (speculation.count == 0) fail(SIDBEAM_BAD_STATE, "no round is under way, expected begin() before add()");
  const sidbeam_beams draft = speculation.draft->backend->read(speculation.stream);
  for (int64_t i = 0; i < speculation.count; ++i) check_drafted(speculation, draft, speculation.list[i]);
  for (int64_t i = 0; i < speculation.count; ++i) {
    SpeculatedSlot& own = speculation.slots[speculation.list[i]];
    if (draft.level[speculation.list[i]] == own.level + own.depth + 1)
      add_depth(speculation, draft, speculation.list[i]);
    else
      own.drafting = false;
  }
  publish_tree(speculation);
}

}  // namespace sidbeam
