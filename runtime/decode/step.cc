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
  if (args.row_map == nullptr && rows.slots != args.count)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.slots is %lld, expected %lld, the slots of the call (or 0 and a row_map)",
         static_cast<long long>(rows.slots), static_cast<long long>(args.count));
  if (args.row_map != nullptr && rows.slots != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.slots is %lld, expected 0 with a row_map", static_cast<long long>(rows.slots));
}

}  // namespace

void step_session(sidbeam_session& session, const sidbeam_step_args& given, sidbeam_rows& rows) {
  check_rows(rows, "rows", session.device_type, session.device_id);
  sidbeam_step_args args = given;
  args.rows = &rows;
  args.count = listed_slots(session, args.slots, args.count);
  check_scalars(session, args);
  check_shape(args);
  if (args.slots != nullptr && args.count == 0)
    fail(SIDBEAM_BAD_STATE, "count is 0, expected at least one slot to step");
  session.backend->step(args);
}

}  // namespace sidbeam
