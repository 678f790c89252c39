// SPDX-License-Identifier: Apache-2.0
#include "support/guard.h"

#include "support/escape.h"

namespace sidbeam {

sidbeam_status report(sidbeam_error* err, sidbeam_status status, const char* message) noexcept {
  if (err != nullptr && err->struct_size >= sizeof(sidbeam_error)) {
    err->code = status;
    escape_into(message, err->message, sizeof err->message);
  }
  return status;
}

}  // namespace sidbeam
