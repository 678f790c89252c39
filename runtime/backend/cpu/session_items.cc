// What beams on the CPU stand for: SIDs, ordinals, item rows.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/beams.h"
#include "backend/cpu/session.h"
#include "index/read/lookup.h"

namespace sidbeam::cpu {
namespace {

struct ItemRows {
  int64_t count = 0;
  bool truncated = false;
};

// Appends the item rows of an ordinal to those of entry i, as far as the limits allow.
void append_rows(const IndexView* index, int64_t ordinal, const sidbeam_items& out, int64_t i, ItemRows& rows) {
  const SidRows all = rows_of_sid(index, ordinal, out.limit_per_sid);
  const int64_t kept = out.limit > 0 ? std::min(all.wanted, out.limit - rows.count) : all.wanted;
  for (int64_t r = 0; out.item_rows != nullptr && r < kept; ++r)
    out.item_rows[i * out.limit + rows.count + r] = static_cast<int64_t>(all.first) + r;
  rows.count += kept;
  rows.truncated = rows.truncated || kept < all.count;
}

}  // namespace

void CpuSession::fill_items(int64_t slot, int64_t i, const sidbeam_items& out) const {
  const IndexView* index = constraints_[slot] != nullptr ? &constraints_[slot]->view() : nullptr;
  const History history{history_parents_.data() + history_at(slot), history_tokens_.data() + history_at(slot),
                        shape_.beams};
  ItemRows rows;
  for (int32_t m = 0; m < shape_.beams; ++m) {
    int32_t codes[kMaxLevels];
    const int64_t state = states_[slot * shape_.beams + m], at = i * shape_.beams + m;
    const BeamSid sid = sid_of_beam(index, history, level_[slot], m, state, CpuHashKey(), codes, shape_.levels);
    if (out.ordinals != nullptr) out.ordinals[at] = sid.ordinal;
    if (out.lengths != nullptr) out.lengths[at] = sid.length;
    if (out.sids != nullptr) std::copy_n(codes, shape_.levels, out.sids + at * shape_.levels);
    if (out.offsets != nullptr) out.offsets[i * (shape_.beams + 1) + m] = rows.count;
    append_rows(index, sid.ordinal, out, i, rows);
  }
  if (out.offsets != nullptr) out.offsets[i * (shape_.beams + 1) + shape_.beams] = rows.count;
  if (out.truncated != nullptr) out.truncated[i] = rows.truncated ? 1 : 0;
}

void CpuSession::items(const int32_t* slots, int64_t count, const sidbeam_items& out) const {
  for (int64_t i = 0; i < count; ++i) fill_items(slots != nullptr ? slots[i] : i, i, out);
}

}  // namespace sidbeam::cpu
