// Temperatures and soft caps as callers give them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam {

// One of them, and what messages call it.
struct Setting {
  const char* name;
  int64_t entry;  // of the array `name`; -1 where it is none
  float value;
  const char* zero = "that of the slot";  // what 0 stands for
};

// Throw where the value is neither 0 nor one that is allowed.
void check_inverse_temperature(const Setting& setting);
void check_soft_cap(const Setting& setting);

}  // namespace sidbeam
