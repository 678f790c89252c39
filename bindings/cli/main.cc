// The sidbeam command: one more binding of the library, which it knows through include/sidbeam alone. (It shares the
// source of writing files and escaping text with the library.)
// Exit status: 0 done, 1 failed (one line on standard error: what, where, why), 2 wrong usage.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/sidbeam.h>
#include <support/error.h>
#include <support/escape.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "command_line.h"
#include "commands.h"
#include "failure.h"
#include "mapped.h"

namespace {

using AddCommand = void(cli::Command);
constexpr AddCommand* kCommands[] = {cli::add_build,   cli::add_synth,  cli::add_plan,   cli::add_catalog,
                                     cli::add_inspect, cli::add_verify, cli::add_lookup, cli::add_diff,
                                     cli::add_convert, cli::add_decode, cli::add_sample, cli::add_run,
                                     cli::add_draft};

std::string version() {
  return std::string("sidbeam ") + sidbeam_version() + " (ABI " + std::to_string(sidbeam_abi_version()) + ", kernels " +
         sidbeam_cpu_target() + ")";
}

int report(const cli::Program& program, const std::string& message, int status) {
  const std::string what = sidbeam::escaped(message);  // it may quote pieces of a file
  const std::string name = program.command_name();
  std::fprintf(stderr, "%s: %s\n", name.c_str(), what.c_str());
  if (status == 2) std::fprintf(stderr, "See '%s --help'.\n", name.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  cli::Program program(
      "sidbeam", "Beam search over Semantic IDs that returns only items that exist: index files, and decoding by hand.",
      version);
  program.commands().footer(
      "Example:\n"
      "  sidbeam build --input catalogue.index.json --output catalogue.sidx\n"
      "  sidbeam decode catalogue.sidx --logits logits.npy --beams 10\n"
      "'sidbeam COMMAND --help' explains a command. 'sidbeam serve', a service over HTTP, is in the Python package:\n"
      "pip install 'sidbeam[serve]'.");
  std::signal(SIGXFSZ, SIG_IGN);  // a write past a size limit fails with a message instead
  cli::catch_lost_pages(argc > 1 ? "sidbeam " + std::string(argv[1]) : "sidbeam");
  try {
    if (argc > 1 && std::strcmp(argv[1], "serve") == 0)
      throw cli::UsageError("'serve' is a command of the Python package: pip install 'sidbeam[serve]'");
    for (AddCommand* const add : kCommands) add(program.commands());
    program.run(argc, argv);
    return 0;
  } catch (const cli::UsageError& error) {
    return report(program, error.what(), 2);
  } catch (const sidbeam::Failure& failure) {  // thrown when a file is written
    return report(program, failure.message, 1);
  } catch (const std::bad_alloc&) {
    return report(program, "out of memory", 1);
  } catch (const std::exception& error) {
    return report(program, error.what(), 1);
  }
}
