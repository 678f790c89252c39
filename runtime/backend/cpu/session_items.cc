// What beams on the CPU stand for: SIDs, ordinals, item rows.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <optional>

#include "backend/beams.h"
#include "backend/cpu/session.h"
#include "index/read/item_lists.h"
#include "index/read/lookup.h"
#include "index/read/value_cap.h"

namespace sidbeam::cpu {

void CpuSession::fill_items(int64_t slot, int64_t i, const sidbeam_items& out) const {
  const Constraint* constraint = constraints_[slot];
  const IndexView* index = constraint != nullptr ? &constraint->view() : nullptr;
  const RepeatsView* repeats = constraint != nullptr && out.distinct != 0 ? &constraint->repeats() : nullptr;
  const History history{history_parents_.data() + history_at(slot), history_tokens_.data() + history_at(slot),
                        shape_.beams};
  std::optional<ValueCap> cap;
  if (constraint != nullptr && out.cap > 0)
    cap.emplace(constraint->capped({out.cap_attribute, out.cap}, "cap_attribute"), out.cap, cap_counts_);
  ItemList rows({out.limit_per_sid, out.limit}, constraint != nullptr ? constraint->rules() : nullptr,
                cap ? &*cap : nullptr, out.item_rows != nullptr ? out.item_rows + i * out.limit : nullptr);
  if (repeats != nullptr) earlier_.clear();
  for (int32_t m = 0; m < shape_.beams; ++m) {
    int32_t codes[kMaxLevels];
    const int64_t state = states_[slot * shape_.beams + m], at = i * shape_.beams + m;
    const BeamSid sid = sid_of_beam(index, history, level_[slot], m, state, CpuHashKey(), codes, shape_.levels);
    if (out.ordinals != nullptr) out.ordinals[at] = sid.ordinal;
    if (out.lengths != nullptr) out.lengths[at] = sid.length;
    if (out.sids != nullptr) std::copy_n(codes, shape_.levels, out.sids + at * shape_.levels);
    if (out.offsets != nullptr) out.offsets[i * (shape_.beams + 1) + m] = rows.count();
    if (index != nullptr) rows.append(*index, repeats, earlier_, sid.ordinal);
  }
  if (out.offsets != nullptr) out.offsets[i * (shape_.beams + 1) + shape_.beams] = rows.count();
  if (out.truncated != nullptr) out.truncated[i] = rows.truncated() ? 1 : 0;
  if (out.came_short != nullptr) out.came_short[i] = rows.came_short() ? 1 : 0;
}

// What may fail in a slot's list under a cap, so that it does before anything is written.
void CpuSession::prepare_cap(int64_t slot, const sidbeam_items& out) const {
  if (constraints_[slot] == nullptr) return;
  char what[48];
  std::snprintf(what, sizeof what, "slot %lld: cap_attribute", static_cast<long long>(slot));
  const CappedColumn column = constraints_[slot]->capped({out.cap_attribute, out.cap}, what);
  if (ValueCap(column, out.cap, cap_counts_).reserve(out.limit)) return;
  sidbeam_items nothing = SIDBEAM_ITEMS_INIT;
  nothing.limit_per_sid = out.limit_per_sid;
  nothing.limit = out.limit;
  nothing.distinct = out.distinct;
  nothing.cap_attribute = out.cap_attribute;
  nothing.cap = out.cap;
  fill_items(slot, 0, nothing);
}

void CpuSession::items(const int32_t* slots, int64_t count, const sidbeam_items& out) const {
  for (const Constraint* constraint : constraints_)  // before anything is written: it may fail
    if (out.distinct != 0 && constraint != nullptr) constraint->repeats();
  for (int64_t i = 0; out.cap > 0 && i < count; ++i) prepare_cap(slots != nullptr ? slots[i] : i, out);
  for (int64_t i = 0; i < count; ++i) fill_items(slots != nullptr ? slots[i] : i, i, out);
}

}  // namespace sidbeam::cpu
