// Writes down every call that the differential test makes on sessions and constraint sets, and its results: the linker
// puts recorder.cc between the test and the library (--wrap). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "writer.h"

namespace shared_cases {

// The objects whose calls are recorded: checks of sessions make constraint sets of their own, which belong to no case.
enum class Recorded { kSessions, kSets };

// While one lives, calls are written.
class Recording {
 public:
  // constraints: of the case's indexes, in their order.
  Recording(Writer& writer, std::vector<const sidbeam_constraint*> constraints, Recorded recorded);
  ~Recording();
  Recording(const Recording&) = delete;
};

}  // namespace shared_cases
