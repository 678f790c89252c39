// Writes down every call that the differential test makes on sessions and constraint sets, and what came of it: the
// linker puts recorder.cc between the test and the library (--wrap). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "writer.h"

namespace shared_cases {

// While one lives, calls are written.
class Recording {
 public:
  // constraints: of the case's indexes, in their order.
  Recording(Writer& writer, std::vector<const sidbeam_constraint*> constraints);
  ~Recording();
  Recording(const Recording&) = delete;
};

}  // namespace shared_cases
