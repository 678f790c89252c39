// The commands: each adds itself to the program, and runs when the command line names it.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_COMMANDS_H
#define SIDBEAM_CLI_COMMANDS_H

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <string>

namespace cli {

void add_build(CLI::App& program);
void add_synth(CLI::App& program);
void add_plan(CLI::App& program);
void add_inspect(CLI::App& program);
void add_verify(CLI::App& program);
void add_lookup(CLI::App& program);
void add_convert(CLI::App& program);
void add_decode(CLI::App& program);

inline void add_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "one JSON document on standard output");
}
inline void add_attribute_loss(CLI::App& command, bool& allow) {
  command.add_flag("--allow-attribute-loss", allow,
                   "replace a file even where its owner, mode, ACL or extended attributes cannot be kept");
}
inline void add_index(CLI::App& command, std::string& path) {
  command.add_option("index", path, "index file (.sidx)")->required()->type_name("FILE");
}

}  // namespace cli

#endif
