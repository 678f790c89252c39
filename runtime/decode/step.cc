// One step: check what depends on the session alone, then let the backend compute.
// SPDX-License-Identifier: Apache-2.0
#include "backend/settings.h"
#include "decode/rows.h"
#include "decode/session.h"
#include "support/error.h"

namespace sidbeam {
namespace {

void check_scalars(const sidbeam_session& session, const sidbeam_step_args& args) {
  check_inverse_temperature({"inverse_temperature", -1, args.inverse_temperature});
  check_soft_cap({"soft_cap", -1, args.soft_cap});
  if (args.inverse_temperatures != nullptr && args.inverse_temperature != 0.0F)
    fail(SIDBEAM_INVALID_ARGUMENT, "inverse_temperature is %g, expected 0 beside inverse_temperatures",
         static_cast<double>(args.inverse_temperature));
  if (args.soft_caps != nullptr && args.soft_cap != 0.0F)
    fail(SIDBEAM_INVALID_ARGUMENT, "soft_cap is %g, expected 0 beside soft_caps", static_cast<double>(args.soft_cap));
  if (args.lse != nullptr && session.normalization == SIDBEAM_NORMALIZE_NONE)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "lse is given, expected NULL with NORMALIZE_NONE, whose rows are log-probabilities already");
}

void check_shape(const sidbeam_step_args& args) {
  const sidbeam_rows& rows = *args.rows;
  if (args.child_offsets != nullptr) return;
  if (args.row_map == nullptr && rows.slots != args.count)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.slots is %lld, expected %lld, the slots of the call (or 0 and a row_map)",
         static_cast<long long>(rows.slots), static_cast<long long>(args.count));
  if (args.row_map != nullptr && rows.slots != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.slots is %lld, expected 0 with a row_map", static_cast<long long>(rows.slots));
}

void check_reads_children(const sidbeam_session& session, int32_t lse_given) {
  if (session.strategy != SIDBEAM_STRATEGY_TRIE || session.mode != SIDBEAM_MODE_SEARCH)
    fail(SIDBEAM_UNSUPPORTED,
         "the session's strategy is %d and its mode %d, expected TRIE (0) and SEARCH (0): a step reads more than "
         "children",
         session.strategy, session.mode);
  const bool whole = session.normalization == SIDBEAM_NORMALIZE_FULL ||  //
                     session.normalization == SIDBEAM_NORMALIZE_LEVEL;
  if (whole && lse_given == 0)
    fail(SIDBEAM_UNSUPPORTED,
         "the session's normalization is %d, expected lse_given, or VALID (2) or NONE (3): a step reads more than "
         "children",
         session.normalization);
}

// Logits of children alone: one row, of which every beam has a piece.
void check_children(const sidbeam_session& session, const sidbeam_step_args& args) {
  if (session.device_type != SIDBEAM_DEVICE_CPU)
    fail(SIDBEAM_UNSUPPORTED, "child_offsets is given, expected NULL on CUDA");
  check_reads_children(session, args.lse != nullptr ? 1 : 0);
  const sidbeam_rows& rows = *args.rows;
  if (args.row_map != nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "row_map is given, expected NULL beside child_offsets");
  if (rows.slots != 0 || rows.rows != 1)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.slots and rows.rows are %lld and %lld, expected 0 and 1 with child_offsets",
         static_cast<long long>(rows.slots), static_cast<long long>(rows.rows));
  int64_t last = 0;
  for (int64_t i = 0; i <= args.count * session.beams; ++i) {
    if (args.child_offsets[i] < last || args.child_offsets[i] > rows.columns)
      fail(SIDBEAM_INVALID_ARGUMENT, "child_offsets[%lld] is %lld, expected %lld..%lld", static_cast<long long>(i),
           static_cast<long long>(args.child_offsets[i]), static_cast<long long>(last),
           static_cast<long long>(rows.columns));
    last = args.child_offsets[i];
  }
}

}  // namespace

void list_children(const sidbeam_session& session, const int32_t* slots, int64_t count, int32_t lse_given,
                   const ChildColumns& out) {
  const int64_t listed = listed_slots(session, slots, count);
  if (lse_given != 0 && lse_given != 1) fail(SIDBEAM_INVALID_ARGUMENT, "lse_given is %d, expected 0 or 1", lse_given);
  if (out.capacity < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "capacity is %lld, expected at least 0", static_cast<long long>(out.capacity));
  const bool readable = slots != nullptr && session.device_type == SIDBEAM_DEVICE_CPU;
  for (int64_t i = 0; readable && i < listed; ++i)
    if (slots[i] < 0 || slots[i] >= session.slots)
      fail(SIDBEAM_INVALID_ARGUMENT, "slots[%lld] is %d, expected 0..%d", static_cast<long long>(i), slots[i],
           session.slots - 1);
  check_reads_children(session, lse_given);
  session.backend->children(slots, listed, out);
}

void step_session(sidbeam_session& session, const sidbeam_step_args& given, sidbeam_rows& rows) {
  check_rows(rows, "rows", session.device_type, session.device_id);
  sidbeam_step_args args = given;
  args.rows = &rows;
  args.count = listed_slots(session, args.slots, args.count);
  check_scalars(session, args);
  check_shape(args);
  if (args.child_offsets != nullptr) check_children(session, args);
  if (args.slots != nullptr && args.count == 0)
    fail(SIDBEAM_BAD_STATE, "count is 0, expected at least one slot to step");
  session.backend->step(args);
}

}  // namespace sidbeam
