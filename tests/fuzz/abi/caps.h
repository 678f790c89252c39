// A cap as lists of items take it, or a wrong one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.h"

namespace fuzz::abi {

struct DrawnCap {
  const char* attribute = nullptr;
  int64_t most = 0;
};

// The next call may fail for it: of attributes that builders declare an index has some, and one of them takes no cap.
inline DrawnCap draw_cap(World& world) {
  static constexpr const char* kAttributes[] = {"price", "score", "stock", "brand", "tags", "no such attribute"};
  if (world.flip()) return {};
  DrawnCap cap{kAttributes[world.in(0, 5)], world.in(1, 3)};
  if (world.one_in(8)) cap.most = INT64_MAX;
  world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
  const int32_t fault = world.fault(3);
  if (fault == 1) cap.most = -1;
  if (fault == 2) cap.most = 0;
  if (fault == 3) cap.attribute = nullptr;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  return cap;
}

}  // namespace fuzz::abi
