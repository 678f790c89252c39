// sidbeam catalog: the commands of live catalogues.
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "live.h"

namespace cli {

void add_catalog(Command program) {
  const Command command =
      program.add_subcommand("catalog", "Live catalogues: items come and go while processes serve the index");
  for (void (*const add)(Command) : {add_live_create, add_live_add, add_live_remove, add_live_publish,
                                     add_live_rollback, add_live_compact, add_live_log, add_live_follow})
    add(command);
  command.footer(
      "One process at a time writes a catalogue; any number may follow it. 'sidbeam inspect FOLDER' shows it.\n"
      "Example:\n"
      "  sidbeam catalog create office_live --base office.sidx\n"
      "  sidbeam catalog add office_live new.jsonl\n"
      "'sidbeam catalog COMMAND --help' explains a command.");
}

}  // namespace cli
