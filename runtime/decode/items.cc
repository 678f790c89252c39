// What beams stand for: SIDs, ordinals, item rows.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decode/session.h"
#include "decode/strides.h"
#include "index/read/lookup.h"
#include "index/read/state.h"
#include "support/error.h"

namespace sidbeam {
namespace {

// Codes of a beam, walking its parents back; returns their number. The end, and what comes after it, are no codes.
int32_t sid_of_beam(const sidbeam_session& session, const IndexView& index, int64_t slot, int32_t beam,
                    int32_t* codes) {
  const int64_t history = slot * session.levels * session.beams;
  int32_t length = 0;
  for (int32_t l = session.level[slot] - 1; l >= 0; --l) {
    const int64_t at = history + int64_t{l} * session.beams + beam;
    const int32_t token = session.history_tokens[at];
    beam = session.history_parents[at];
    if (token < 0 || static_cast<uint32_t>(token) >= index.level[l].codes) continue;
    codes[l] = token;
    length = std::max(length, l + 1);
  }
  return length;
}

int64_t ordinal_of_beam(const IndexView& index, int64_t word, const int32_t* codes, int32_t length) {
  const State state = decode_state(word);
  if (!state.ended && state.level < index.levels) return -1;
  if (state.kind == NodeKind::kOpaque) return find_sid(index, codes, length);
  const uint64_t ordinal = state.kind == NodeKind::kSorted ? state.node : sid_ordinal(index, state);
  return ordinal < index.sids ? static_cast<int64_t>(ordinal) : -1;
}

struct ItemRows {
  int64_t count = 0;
  bool truncated = false;
};

// Appends the item rows of an ordinal, as far as the limits allow.
void append_rows(const IndexView& index, int64_t ordinal, const sidbeam_items& out, int64_t i, ItemRows& rows) {
  if (ordinal < 0) return;
  const OrdinalRange all = item_rows(index, static_cast<uint64_t>(ordinal));
  const auto count = static_cast<int64_t>(all.hi - all.lo);
  int64_t kept = out.limit_per_sid > 0 ? std::min(count, out.limit_per_sid) : count;
  if (out.limit > 0) kept = std::min(kept, out.limit - rows.count);
  for (int64_t r = 0; out.item_rows != nullptr && r < kept; ++r)
    out.item_rows[i * out.limit + rows.count + r] = static_cast<int64_t>(all.lo) + r;
  rows.count += kept;
  rows.truncated = rows.truncated || kept < count;
}

void fill_slot(const sidbeam_session& session, int64_t slot, int64_t i, const sidbeam_items& out) {
  const sidbeam_constraint* constraint = session.slot_constraints[slot];
  ItemRows rows;
  for (int32_t m = 0; m < session.beams; ++m) {
    int32_t codes[kMaxLevels];
    std::fill_n(codes, kMaxLevels, -1);
    int32_t length = 0;
    int64_t ordinal = -1;
    const int64_t word = session.states[slot * session.beams + m], at = i * session.beams + m;
    if (constraint != nullptr && is_live(word)) {
      length = sid_of_beam(session, constraint->view(), slot, m, codes);
      ordinal = ordinal_of_beam(constraint->view(), word, codes, length);
    }
    if (out.ordinals != nullptr) out.ordinals[at] = ordinal;
    if (out.lengths != nullptr) out.lengths[at] = length;
    if (out.sids != nullptr) std::copy_n(codes, session.levels, out.sids + at * session.levels);
    if (out.offsets != nullptr) out.offsets[i * (session.beams + 1) + m] = rows.count;
    if (constraint != nullptr) append_rows(constraint->view(), ordinal, out, i, rows);
  }
  if (out.offsets != nullptr) out.offsets[i * (session.beams + 1) + session.beams] = rows.count;
  if (out.truncated != nullptr) out.truncated[i] = rows.truncated ? 1 : 0;
}

void check_items(const sidbeam_session& session, const int32_t* slots, int64_t count, const sidbeam_items& out) {
  for (int64_t i = 0; slots != nullptr && i < count; ++i)
    if (slots[i] < 0 || slots[i] >= session.slots)
      fail(SIDBEAM_INVALID_ARGUMENT, "slots[%lld] is %d, expected 0..%d", static_cast<long long>(i), slots[i],
           session.slots - 1);
  if (out.limit_per_sid < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "limit_per_sid is %lld, expected at least 0",
         static_cast<long long>(out.limit_per_sid));
  if (out.item_rows != nullptr && out.offsets == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "offsets is NULL, expected a buffer beside item_rows");
  if (out.limit < (out.item_rows != nullptr ? 1 : 0))
    fail(SIDBEAM_INVALID_ARGUMENT, "limit is %lld, expected at least %d%s", static_cast<long long>(out.limit),
         out.item_rows != nullptr ? 1 : 0, out.item_rows != nullptr ? ", the stride of item_rows" : "");
  if (out.item_rows != nullptr) check_stride("limit", count, out.limit);
}

}  // namespace

void get_items(const sidbeam_session& session, const int32_t* slots, int64_t count, const sidbeam_items& out) {
  count = listed_slots(session, slots, count);
  if (session.device != nullptr) check_host(*session.device, slots, "slots");
  check_items(session, slots, count, out);
  if (session.device != nullptr) return get_items_on_device(session, slots, count, out);
  for (int64_t i = 0; i < count; ++i) fill_slot(session, slots != nullptr ? slots[i] : i, i, out);
}

}  // namespace sidbeam
