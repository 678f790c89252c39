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

// Standard input is `input`; standard output and error are caught, signals set back. Checks that the status is 0, 1 or
// 2; that standard error is empty with 0, has one line with 1 and two with 2; that JSON is JSON; and that every line of
// other text is safe on a terminal.
Ran run_command(std::vector<std::string> arguments, const std::string& input = "");

// What the program itself says there is: its commands, "catalog add" among them, and the options of one, or --help
// alone where there is none.
const std::vector<std::string>& command_names();
std::vector<std::string> words_of_command(const std::string& command);
const std::vector<std::string>& option_names(const std::string& command);

// Counts the options of a command line that is meant to do something.
void count_options(const std::vector<std::string>& arguments);
// From now on the run fails at its end if a command of the program has not done once what it was asked for, and prints
// the options that have not been counted: most of all those that the program has learned since.
void require_every_command();

}  // namespace fuzz
