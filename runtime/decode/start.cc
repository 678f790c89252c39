// Starting slots: check everything, compute every beginning, then change the session.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <limits>

#include "decode/session.h"
#include "decode/strides.h"
#include "index/read/lookup.h"
#include "index/read/prefix_states.h"
#include "index/read/state.h"
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
  check_vocabulary(session.vocabulary, *constraint, what);
}

void check_prefix(const IndexView& index, const StartList& list, int64_t i) {
  const int32_t length = list.prefix_length(i), most = std::min(index.levels, list.prefixes.capacity);
  if (length < 0 || length > most)
    fail(SIDBEAM_INVALID_ARGUMENT, "prefix_lengths[%lld] is %d, expected 0..%d", static_cast<long long>(i), length,
         most);
  const int32_t* prefix = list.prefixes.of(i);
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

void check_temperatures(const sidbeam_start_args& args, int64_t i) {
  if (args.inverse_temperatures != nullptr)
    check_inverse_temperature({"inverse_temperatures", i, args.inverse_temperatures[i], "1"});
  if (args.soft_caps != nullptr) check_soft_cap({"soft_caps", i, args.soft_caps[i], "none"});
}

// Checks entry i and keeps where its slot begins; returns the widest level of its index.
uint32_t prepare(sidbeam_session& session, const StartList& list, int64_t i) {
  const sidbeam_start_args& args = list.args;
  const int32_t slot = named_slot(session, args.slots, i);
  check_width(session, args, i);
  check_temperatures(args, i);
  check_constraint(session, args, i);
  const IndexView& index = constraint_of(session, args, i)->view();
  check_prefix(index, list, i);
  if (session.device != nullptr) return 0;  // begun there
  const Beginning beginning = beginning_of(session.strategy, index, list.prefixes.of(i), list.prefix_length(i));
  session.start_states[slot] = beginning.state;
  session.start_range_ends[slot] = static_cast<int64_t>(beginning.range_end);
  return widest_level(index);
}

void begin_slot(sidbeam_session& session, const StartList& list, int64_t i) {
  const sidbeam_start_args& args = list.args;
  const int64_t slot = args.slots != nullptr ? args.slots[i] : i, first = slot * session.beams;
  const int32_t length = list.prefix_length(i);
  sidbeam_constraint* constraint = constraint_of(session, args, i);
  hold_constraint(session, slot, constraint);
  session.widths[slot] = list.width(i, session.beams);
  session.inverse_temperatures[slot] = args.inverse_temperatures != nullptr ? args.inverse_temperatures[i] : 0.0F;
  session.soft_caps[slot] = args.soft_caps != nullptr ? args.soft_caps[i] : 0.0F;
  clear_beams(session, slot);
  for (int32_t l = 0; l < length; ++l) {
    session.history_parents[(slot * session.levels + l) * session.beams] = 0;
    session.history_tokens[(slot * session.levels + l) * session.beams] = list.prefixes.of(i)[l];
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
  session.errors[slot] = 0;
}

}  // namespace

sidbeam_constraint* constraint_of(const sidbeam_session& session, const sidbeam_start_args& args, int64_t i) {
  sidbeam_constraint* named = args.constraints != nullptr ? args.constraints[i] : nullptr;
  return named != nullptr ? named : session.constraint.get();
}

void start_slots(sidbeam_session& session, const sidbeam_start_args& args) {
  StartList list{args, listed_slots(session, args.slots, args.count), {}};
  if (session.device != nullptr) check_start_lists(*session.device, args);
  if (args.prefixes != nullptr && args.prefix_lengths == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "prefix_lengths is NULL, expected the lengths of prefixes");
  if (args.prefixes != nullptr)
    list.prefixes = resolve_prefixes("prefix_stride", args.prefixes, args.prefix_stride, list.count, session.levels);
  ++session.calls;
  StepLimits limits{session.beams, session.levels, session.top_k, 0};
  for (int64_t i = 0; i < list.count; ++i) limits.codes = std::max(limits.codes, prepare(session, list, i));
  if (session.device != nullptr) return start_on_device(session, list);
  session.stepper->reserve(limits);
  for (int64_t i = 0; i < list.count; ++i) begin_slot(session, list, i);
}

}  // namespace sidbeam
