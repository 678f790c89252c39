// The sidbeam command: one more binding of the library, which it knows through include/sidbeam alone. (With the
// library it shares the source of how files are written and text is escaped.)
// Exit status: 0 done, 1 failed (one line on standard error: what, where, why), 2 wrong usage.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/sidbeam.h>
#include <support/error.h>
#include <support/escape.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <new>
#include <sstream>

#include "commands.h"
#include "failure.h"
#include "options.h"
#include "terminal.h"

namespace {

using AddCommand = void(cli::Command);
constexpr AddCommand* kCommands[] = {cli::add_build,  cli::add_synth,  cli::add_plan,    cli::add_inspect,
                                     cli::add_verify, cli::add_lookup, cli::add_convert, cli::add_decode};

std::string version() {
  return std::string("sidbeam ") + sidbeam_version() + " (ABI " + std::to_string(sidbeam_abi_version()) + ", kernels " +
         sidbeam_cpu_target() + ")";
}

// "sidbeam build", once the command is known.
std::string command_name(const CLI::App& program) {
  const auto parsed = program.get_subcommands();
  return parsed.empty() ? "sidbeam" : "sidbeam " + parsed.front()->get_name();
}

int report(const CLI::App& program, const std::string& message, int status) {
  const std::string what = sidbeam::escaped(message);  // pieces of a file may be quoted
  const std::string name = command_name(program);
  std::fprintf(stderr, "%s: %s\n", name.c_str(), what.c_str());
  if (status == 2) std::fprintf(stderr, "See '%s --help'.\n", name.c_str());
  return status;
}

// CLI11 says of an unknown command or option before it that a command is missing.
void check_command(const CLI::App& program, int argc, char** argv) {
  if (argc >= 2 && argv[1][0] == '-') return;
  std::string names;
  for (const CLI::App* const command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (argc >= 2 && command->check_name(argv[1])) return;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  throw cli::UsageError((argc >= 2 ? "'" + std::string(argv[1]) + "', " : "") + "expected a command: " + names);
}

// What --help and --version ask for.
void print_answer(const CLI::App& program, const CLI::ParseError& asked) {
  std::ostringstream out;
  program.exit(asked, out, out);
  cli::print(out.str());
}

// Parsing runs the command.
void run(CLI::App& program, int argc, char** argv) {
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw;
    return print_answer(program, error);
  }
  if (program.get_subcommands().empty()) check_command(program, 1, argv);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program(
      "Beam search over Semantic IDs that returns only items that exist: index files, and decoding by hand.",
      "sidbeam");
  program.set_version_flag("--version", version);
  program.footer(
      "Example:\n"
      "  sidbeam build --input catalogue.index.json --output catalogue.sidx\n"
      "  sidbeam decode catalogue.sidx --logits logits.npy --beams 10\n"
      "'sidbeam COMMAND --help' explains a command.");
  std::signal(SIGXFSZ, SIG_IGN);  // a write past a size limit fails with a message instead
  try {
    for (AddCommand* const add : kCommands) add(cli::Command(&program));
    for (CLI::App* const command : program.get_subcommands([](CLI::App*) { return true; }))
      cli::Command(command).check_values();
    check_command(program, argc, argv);
    run(program, argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return report(program, error.what(), 2);
  } catch (const cli::UsageError& error) {
    return report(program, error.what(), 2);
  } catch (const sidbeam::Failure& failure) {  // of a file that is written
    return report(program, failure.message, 1);
  } catch (const std::bad_alloc&) {
    return report(program, "out of memory", 1);
  } catch (const std::exception& error) {
    return report(program, error.what(), 1);
  }
}
