// What beams stand for: SIDs, ordinals, item rows.
// SPDX-License-Identifier: Apache-2.0
#include "decode/session.h"
#include "index/read/item_lists.h"
#include "index/read/value_cap.h"
#include "support/error.h"
#include "support/strides.h"

namespace sidbeam {
namespace {

void check_items(const sidbeam_session& session, const int32_t* slots, int64_t count, const sidbeam_items& out) {
  for (int64_t i = 0; slots != nullptr && i < count; ++i)
    if (slots[i] < 0 || slots[i] >= session.slots)
      fail(SIDBEAM_INVALID_ARGUMENT, "slots[%lld] is %d, expected 0..%d", static_cast<long long>(i), slots[i],
           session.slots - 1);
  check_item_lists({out.limit_per_sid, out.limit}, out.distinct, out.item_rows, out.offsets);
  if (out.item_rows != nullptr) check_stride("limit", count, out.limit);
  check_cap({out.cap_attribute, out.cap});
  if (session.device_type != SIDBEAM_DEVICE_CPU && (out.cap > 0 || out.came_short != nullptr))
    fail(SIDBEAM_UNSUPPORTED,
         "%s is given for a session on CUDA, expected none: caps are taken on the host, where "
         "sidbeam_constraint_items() lists the ordinals",
         out.cap > 0 ? "cap_attribute" : "came_short");
}

}  // namespace

void get_items(const sidbeam_session& session, const int32_t* slots, int64_t count, const sidbeam_items& out) {
  count = listed_slots(session, slots, count);
  session.backend->check_host(slots, "slots");
  check_items(session, slots, count, out);
  session.backend->items(slots, count, out);
}

}  // namespace sidbeam
