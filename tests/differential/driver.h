// The command line of a differential test.
//
//   --cases N --seed S    cases of seeds S .. S+N-1; the first that fails is shrunk to a line
//   --seconds S           no further case after so long
//   --case 'LINE'         that line
//   --coverage            also fail when a listed path was reached less often than listed
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checks.h"

namespace differential {

struct Floor {
  const char* name;
  int64_t least;
};
// The exit status. Every case is adjusted before it is run.
int drive(int argc, char** argv, Machine (*make_machine)(), const std::vector<Floor>& floors,
          Case (*adjusted)(Case) = repaired);

}  // namespace differential
