// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <sstream>
#include <type_traits>
#include <utility>

#include "failure.h"
#include "options.h"
#include "terminal.h"

namespace cli {
namespace {

// "INT in [1 - 64]" begins with the name of the type.
template <class Integer>
std::string check_integer(const std::string& text) {
  if (parse_canonical<Integer>(text)) return "";
  return "'" + text + "', expected " + (std::is_signed_v<Integer> ? "an integer" : "an integer from 0 to 2^64-1") +
         " in decimal, without leading zeros";
}

std::string check_value(const std::string& type, const std::string& text) {
  if (text.empty()) return "empty, expected a value";
  if (type.compare(0, 3, "INT") == 0) return check_integer<int64_t>(text);
  if (type.compare(0, 4, "UINT") == 0) return check_integer<uint64_t>(text);
  return "";
}

void check_values(CLI::App& command) {
  for (CLI::Option* const option : command.get_options()) {
    if (option->get_group() != "Options") continue;
    const std::string type = option->get_type_name();
    // A transform precedes the checks that the option has already.
    option->transform(CLI::Validator([type](std::string& text) { return check_value(type, text); }, ""));
  }
}

template <class App>
auto commands_of(App& app) {
  return app.get_subcommands([](const auto*) { return true; });
}

void check_values_of_all(CLI::App& app) {
  check_values(app);
  for (CLI::App* const command : commands_of(app)) check_values_of_all(*command);
}

// For an unknown command or option, CLI11 itself would first report a missing command. Commands may have commands.
void check_command(const CLI::App& app, int argc, char** argv) {
  const auto commands = commands_of(app);
  if (commands.empty() || (argc >= 2 && argv[1][0] == '-')) return;
  std::string names;
  for (const CLI::App* const command : commands) {
    if (argc >= 2 && command->check_name(argv[1])) return check_command(*command, argc - 1, argv + 1);
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  throw UsageError((argc >= 2 ? "'" + std::string(argv[1]) + "', " : "") + "expected a command: " + names);
}

// The outputs of --help and --version.
void print_answer(const CLI::App& program, const CLI::ParseError& asked) {
  std::ostringstream out;
  program.exit(asked, out, out);
  print(out.str());
}

}  // namespace

Option Option::required() const { return Option(option_->required()); }
Option Option::type_name(const char* name) const { return Option(option_->type_name(name)); }
Option Option::capture_default_str() const { return Option(option_->capture_default_str()); }
Option Option::once_a_value() const { return Option(option_->allow_extra_args(false)); }
Option Option::between(int64_t least, int64_t most) const { return Option(option_->check(CLI::Range(least, most))); }
Option Option::one_of(std::vector<std::string> names) const {
  return Option(option_->check(CLI::IsMember(std::move(names))));
}
Option Option::check(std::function<std::string(const std::string&)> complaint) const {
  return Option(option_->check(std::move(complaint)));
}
Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
// Not an option group of CLI11: that is an app without a name. An empty argument would name it, and with an unknown
// option after that, parsing would never end.
Option Option::under(const char* heading) const { return Option(option_->group(heading)); }
bool Option::given() const { return option_->count() > 0; }

Command Command::add_subcommand(const char* name, const char* what) const {
  return Command(command_->add_subcommand(name, what));
}

template <class T>
Option Command::add_option(const char* name, T& value, const char* what) const {
  return Option(command_->add_option(name, value, what));
}
template Option Command::add_option(const char*, std::string&, const char*) const;
template Option Command::add_option(const char*, std::vector<std::string>&, const char*) const;
template Option Command::add_option(const char*, int32_t&, const char*) const;
template Option Command::add_option(const char*, int64_t&, const char*) const;
template Option Command::add_option(const char*, uint64_t&, const char*) const;
template Option Command::add_option(const char*, double&, const char*) const;

Option Command::add_flag(const char* name, bool& value, const char* what) const {
  return Option(command_->add_flag(name, value, what));
}

Option Command::option(const char* name) const { return Option(command_->get_option(name)); }
void Command::footer(const char* text) const { command_->footer(text); }
void Command::callback(std::function<void()> run) const { command_->callback(std::move(run)); }

Program::Program(const char* name, const char* what, std::function<std::string()> version)
    : program_(std::make_unique<CLI::App>(what, name)) {
  program_->set_version_flag("--version", std::move(version));
}

Program::~Program() = default;

void Program::run(int argc, char** argv) const {
  for (CLI::App* const command : commands_of(*program_)) check_values_of_all(*command);
  check_command(*program_, argc, argv);
  try {
    program_->parse(argc, argv);  // runs the command, too
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(error.what());
    return print_answer(*program_, error);
  }
  if (program_->get_subcommands().empty()) check_command(*program_, 1, argv);
}

std::string Program::command_name() const {
  std::string name = program_->get_name();
  const CLI::App* app = program_.get();
  for (auto parsed = app->get_subcommands(); !parsed.empty(); parsed = app->get_subcommands()) {
    app = parsed.front();
    name += " " + app->get_name();
  }
  return name;
}

}  // namespace cli
