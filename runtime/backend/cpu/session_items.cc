// What beams on the CPU stand for: SIDs, ordinals, item rows.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/beams.h"
#include "backend/cpu/session.h"
#include "index/read/item_lists.h"
#include "index/read/lookup.h"

namespace sidbeam::cpu {

void CpuSession::fill_items(int64_t slot, int64_t i, const sidbeam_items& out) const {
  const Constraint* constraint = constraints_[slot];
  const IndexView* index = constraint != nullptr ? &constraint->view() : nullptr;
  const RepeatsView* repeats = constraint != nullptr && out.distinct != 0 ? &constraint->repeats() : nullptr;
  const History history{history_parents_.data() + history_at(slot), history_tokens_.data() + history_at(slot),
                        shape_.beams};
  ItemList rows({out.limit_per_sid, out.limit}, constraint != nullptr ? constraint->rules() : nullptr,
                out.item_rows != nullptr ? out.item_rows + i * out.limit : nullptr);
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
}

void CpuSession::items(const int32_t* slots, int64_t count, const sidbeam_items& out) const {
  for (const Constraint* constraint : constraints_)  // before anything is written: it may fail
    if (out.distinct != 0 && constraint != nullptr) constraint->repeats();
  for (int64_t i = 0; i < count; ++i) fill_items(slots != nullptr ? slots[i] : i, i, out);
}

}  // namespace sidbeam::cpu
