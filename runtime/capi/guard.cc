// SPDX-License-Identifier: Apache-2.0
#include "capi/guard.h"

namespace sidbeam::capi {

void check_size(uint32_t struct_size, size_t smallest, const char* name) {
  if (struct_size < smallest || struct_size > kMostStructBytes)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "%s.struct_size is %u, expected at least %zu and at most %u: begin with its _INIT macro", name, struct_size,
         smallest, kMostStructBytes);
}

void check_struct(const void* given, uint32_t struct_size, size_t smallest, size_t known, const char* name) {
  check_size(struct_size, smallest, name);
  const auto* bytes = static_cast<const unsigned char*>(given);
  for (size_t i = known; i < struct_size; ++i)
    if (bytes[i] != 0)
      fail(SIDBEAM_UNSUPPORTED, "%s asks for something at byte %zu that library %s does not know, expected zero", name,
           i, sidbeam_version());
}

}  // namespace sidbeam::capi
