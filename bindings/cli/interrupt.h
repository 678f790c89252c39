// Ctrl-C in commands that write a file: they stop at the next good moment and leave no litter.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_INTERRUPT_H
#define SIDBEAM_CLI_INTERRUPT_H

#include <string>

#include "failure.h"

namespace cli {

struct Cancelled : Failure {
  using Failure::Failure;
};

// From now on SIGINT and SIGTERM only raise a flag. `output` is the file that the message will call untouched.
void catch_interrupts(const std::string& output);
bool interrupted();
[[noreturn]] void throw_cancelled();
void throw_if_interrupted();

}  // namespace cli

#endif
