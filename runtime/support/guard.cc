// SPDX-License-Identifier: Apache-2.0
#include "support/guard.h"

#include "support/escape.h"

namespace sidbeam {

sidbeam_status report(sidbeam_error* err, sidbeam_status status, const char* message) noexcept {
  if (err == nullptr || err->struct_size < kFirstBytes<sidbeam_error> || err->struct_size > kMostStructBytes)
    return status;
  sidbeam_error written{};
  written.code = status;
  escape_into(message, written.message, sizeof written.message);
  write_struct(written, err);
  return status;
}

}  // namespace sidbeam
