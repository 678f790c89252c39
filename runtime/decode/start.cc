// Starting slots: check everything, compute every beginning, then change the session.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <limits>

#include "decode/rows.h"
#include "decode/session.h"
#include "decode/states.h"
#include "index/lookup.h"
#include "index/state.h"
#include "support/error.h"

namespace sidbeam {
namespace {

struct Beginning {
  int64_t state = kDeadState;
  uint64_t range_end = 0;
};

Beginning columns_beginning(const IndexView& index, const int32_t* prefix, int32_t length) {
  const OrdinalRange range = prefix_ordinals(index, prefix, length);
  if (range.lo >= range.hi) return {};
  return {encode_state({length, false, NodeKind::kSorted, range.lo}), range.hi};
}

Beginning beginning_of(int32_t strategy, const IndexView& index, const int32_t* prefix, int32_t length) {
  if (uses_columns(strategy)) return columns_beginning(index, prefix, length);
  if (strategy == SIDBEAM_STRATEGY_TRIE) return {trie_state(index, prefix, length), 0};
  if (strategy == SIDBEAM_STRATEGY_HASH_FINAL && !is_live(columns_beginning(index, prefix, length).state)) return {};
  return {encode_state({length, false, NodeKind::kOpaque, 0}), 0};
}

const int32_t* prefix_of(const sidbeam_start_args& args, int64_t i) {
  return args.prefixes != nullptr ? args.prefixes + i * args.prefix_stride : nullptr;
}

int32_t prefix_length_of(const sidbeam_start_args& args, int64_t i) {
  return args.prefixes != nullptr ? args.prefix_lengths[i] : 0;
}

void check_constraint(const sidbeam_session& session, const sidbeam_start_args& args, int64_t i) {
  const sidbeam_constraint* constraint = constraint_of(session, args, i);
  if (constraint == session.constraint.get()) return;
  const IndexView& index = constraint->view();
  char what[40];
  std::snprintf(what, sizeof what, "constraints[%lld]", static_cast<long long>(i));
  if (index.levels > session.levels)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s has %d levels, expected at most %d, those of the session", what, index.levels,
         session.levels);
  check_strategy(session.strategy, index, what);
  check_vocabulary(session.vocabulary, index, what);
}

void check_prefix(const IndexView& index, const sidbeam_start_args& args, int64_t i) {
  const int32_t length = prefix_length_of(args, i);
  if (length < 0 || length > index.levels || length > args.prefix_stride)
    fail(SIDBEAM_INVALID_ARGUMENT, "prefix_lengths[%lld] is %d, expected 0..%lld", static_cast<long long>(i), length,
         static_cast<long long>(std::min<int64_t>(index.levels, args.prefix_stride)));
  const int32_t* prefix = prefix_of(args, i);
  for (int32_t l = 0; l < length; ++l)
    if (!is_code(index.level[l], prefix[l]))
      fail(SIDBEAM_INVALID_ARGUMENT, "prefixes[%lld][%d] is %d, expected 0..%u", static_cast<long long>(i), l,
           prefix[l], index.level[l].codes - 1);
}

void check_width(const sidbeam_session& session, const sidbeam_start_args& args, int64_t i) {
  if (args.widths != nullptr && (args.widths[i] < 0 || args.widths[i] > session.beams))
    fail(SIDBEAM_INVALID_ARGUMENT, "widths[%lld] is %d, expected 1..%d, or 0 for %d", static_cast<long long>(i),
         args.widths[i], session.beams, session.beams);
}

// Checks entry i and keeps where its slot begins; returns the widest level of its index.
uint32_t prepare(sidbeam_session& session, const sidbeam_start_args& args, int64_t i) {
  const int32_t slot = named_slot(session, args.slots, i);
  check_width(session, args, i);
  check_constraint(session, args, i);
  const IndexView& index = constraint_of(session, args, i)->view();
  check_prefix(index, args, i);
  if (session.device != nullptr) return 0;  // begun there
  const Beginning beginning = beginning_of(session.strategy, index, prefix_of(args, i), prefix_length_of(args, i));
  session.start_states[slot] = beginning.state;
  session.start_range_ends[slot] = static_cast<int64_t>(beginning.range_end);
  return widest_level(index);
}

void begin_slot(sidbeam_session& session, const sidbeam_start_args& args, int64_t i) {
  const int64_t slot = args.slots != nullptr ? args.slots[i] : i, first = slot * session.beams;
  const int32_t length = prefix_length_of(args, i), width = args.widths != nullptr ? args.widths[i] : 0;
  sidbeam_constraint* constraint = constraint_of(session, args, i);
  hold_constraint(session, slot, constraint);
  session.widths[slot] = width > 0 ? width : session.beams;
  clear_beams(session, slot);
  for (int32_t l = 0; l < length; ++l) {
    session.history_parents[(slot * session.levels + l) * session.beams] = 0;
    session.history_tokens[(slot * session.levels + l) * session.beams] = prefix_of(args, i)[l];
  }
  const bool lives = is_live(session.start_states[slot]);
  if (lives) {
    session.states[first] = session.start_states[slot];
    session.scores[first] = 0.0F;
    if (session.range_ends.size() > 0)
      session.range_ends[first] = static_cast<uint64_t>(session.start_range_ends[slot]);
  }
  session.live[slot] = lives ? 1 : 0;
  session.active[slot] = lives && length < constraint->view().levels ? 1 : 0;
  session.level[slot] = length;
  session.errors[slot] = SIDBEAM_SLOT_OK;
}

}  // namespace

sidbeam_constraint* constraint_of(const sidbeam_session& session, const sidbeam_start_args& args, int64_t i) {
  sidbeam_constraint* named = args.constraints != nullptr ? args.constraints[i] : nullptr;
  return named != nullptr ? named : session.constraint.get();
}

void start_slots(sidbeam_session& session, const sidbeam_start_args& args) {
  check_slot_count(session, args.count);
  if (session.device != nullptr) check_start_lists(*session.device, args);
  if (args.prefixes != nullptr && args.prefix_lengths == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "prefix_lengths is NULL, expected the lengths of prefixes");
  if (args.prefixes != nullptr) check_prefix_stride("prefix_stride", args.count, args.prefix_stride);
  ++session.calls;
  StepLimits limits{session.beams, session.levels, session.top_k, 0};
  for (int64_t i = 0; i < args.count; ++i) limits.codes = std::max(limits.codes, prepare(session, args, i));
  if (session.device != nullptr) return start_on_device(session, args);
  session.stepper->reserve(limits);
  for (int64_t i = 0; i < args.count; ++i) begin_slot(session, args, i);
}

}  // namespace sidbeam
