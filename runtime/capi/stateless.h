// Rows of the stateless forms.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "capi/guard.h"
#include "decode/rows.h"

namespace sidbeam::capi {

// [rows, columns] on a device, checked.
inline sidbeam_rows read_rows(const sidbeam_rows* logits, int32_t device_type, int32_t device_id) {
  sidbeam_rows rows = read_struct(logits, "logits");
  check_rows(rows, "logits", device_type, device_id);
  if (rows.slots != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "logits.slots is %lld, expected 0", static_cast<long long>(rows.slots));
  return rows;
}

}  // namespace sidbeam::capi
