// What the commands use of CLI11. command_line.cc and main.cc alone include it: a compiler takes ten seconds for it.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_COMMAND_LINE_H
#define SIDBEAM_CLI_COMMAND_LINE_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cli {

// Views of what the program owns: copied freely.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option type_name(const char* name) const;
  Option capture_default_str() const;  // --help shows the value that the variable has now
  Option once_a_value() const;         // of a list: one value each time the option is given
  Option between(int64_t least, int64_t most) const;
  Option one_of(std::vector<std::string> names) const;
  Option check(std::function<std::string(const std::string&)> complaint) const;  // "" where there is none
  Option needs(Option other) const;
  Option excludes(Option other) const;
  Option under(const char* heading) const;  // of --help; such an option may be given an empty value
  bool given() const;

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App* command) : command_(command) {}

  Command add_subcommand(const char* name, const char* what) const;
  // T: std::string, a list of them, int32_t, int64_t, uint64_t, double
  template <class T>
  Option add_option(const char* name, T& value, const char* what) const;
  Option add_flag(const char* name, bool& value, const char* what) const;
  Option option(const char* name) const;
  void footer(const char* text) const;
  void callback(std::function<void()> run) const;
  // Lets no option take an empty value, except those under a heading of their own, and integers only as printing gives
  // them: CLI11 would take octal.
  void check_values() const;

 private:
  CLI::App* command_;
};

}  // namespace cli

#endif
