// The commands: each adds itself to the program, and runs when the command line names it.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_COMMANDS_H
#define SIDBEAM_CLI_COMMANDS_H

#include <string>

#include "command_line.h"

namespace cli {

void add_build(Command program);
void add_synth(Command program);
void add_plan(Command program);
void add_catalog(Command program);
void add_inspect(Command program);
void add_verify(Command program);
void add_lookup(Command program);
void add_diff(Command program);
void add_convert(Command program);
void add_decode(Command program);
void add_sample(Command program);
void add_run(Command program);
void add_draft(Command program);

inline void add_json(Command command, bool& json) {
  command.add_flag("--json", json, "one JSON document on standard output");
}
inline void add_attribute_loss(Command command, bool& allow) {
  command.add_flag("--allow-attribute-loss", allow,
                   "replace a file even where its owner, mode, ACL or extended attributes cannot be kept");
}
inline void add_index(Command command, std::string& path) {
  command.add_option("index", path, "index file (.sidx), or a live catalogue: FOLDER, FOLDER@VERSION")
      .required()
      .type_name("INDEX");
}

}  // namespace cli

#endif
