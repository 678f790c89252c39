// What the commands use of CLI11. Only command_line.cc includes CLI11, which costs the compiler ten seconds.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_COMMAND_LINE_H
#define SIDBEAM_CLI_COMMAND_LINE_H

#include <cstdint>
#include <functional>
#include <memory>
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
  Option under(const char* heading) const;  // in --help; such an option may be given an empty value
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

 private:
  CLI::App* command_;
};

// The whole command line: owns what the others are views of.
class Program {
 public:
  Program(const char* name, const char* what, std::function<std::string()> version);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command commands() const { return Command(program_.get()); }  // to add them
  // Runs the command that the arguments name, or prints what --help or --version ask for. Wrong usage is a UsageError.
  // Only options under a heading of their own take an empty value. Integers are taken only in the form in which they
  // print: CLI11 would take octal.
  void run(int argc, char** argv) const;
  std::string command_name() const;  // "sidbeam build", once the command is known

 private:
  std::unique_ptr<CLI::App> program_;
};

}  // namespace cli

#endif
