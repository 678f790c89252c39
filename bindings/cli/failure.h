// Failure of a command: an exception whose text is the one line that the user reads.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_FAILURE_H
#define SIDBEAM_CLI_FAILURE_H

#include <stdexcept>

namespace cli {

// Exit status 1: what, where, why.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Exit status 2: the command line makes no sense.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace cli

#endif
