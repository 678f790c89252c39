// The `sidbeam` command, called in this process, and what every call of it must keep to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace fuzz {

struct Ran {
  int status;
  std::string out, err;
};

// Standard output and error are caught, signals set back. Checks that the status is 0, 1 or 2; that standard error is
// empty with 0, has one line with 1 and two with 2; that JSON is JSON; and that no other text carries a control
// character to a terminal.
Ran run_command(std::vector<std::string> arguments);

}  // namespace fuzz
