// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "../../../bindings/cli/interrupt.h"
#include "../line.h"
#include "../specimens.h"

int sidbeam_main(int argc, char** argv);

namespace fuzz {
namespace {

// glibc's stdout and stderr are variables. Descriptors are left alone, so that libFuzzer and the sanitizers go on
// writing where they always do.
class Caught {
 public:
  Caught(FILE*& stream, std::ostream& other) : stream_(stream), before_(stream), other_(other) {
    stream_ = open_memstream(&text_, &size_);
    FUZZ_CHECK(stream_ != nullptr);
    buffer_ = other_.rdbuf(more_.rdbuf());
  }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;

  std::string take() {
    std::fclose(stream_);
    stream_ = before_;
    other_.rdbuf(buffer_);
    std::string text(text_, size_);
    std::free(text_);
    return text + more_.str();
  }

 private:
  FILE*& stream_;
  FILE* before_;
  std::ostream& other_;
  std::streambuf* buffer_;
  std::ostringstream more_;
  char* text_ = nullptr;
  size_t size_ = 0;
};

// The command catches interrupts for good, as it may in a process of its own. One that came meanwhile comes again.
class Signals {
 public:
  Signals() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], nullptr, &before_[i]);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    if (cli::interrupted()) std::raise(SIGINT);
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGXFSZ, SIGPIPE};
  struct sigaction before_[4];
};

void check_printable(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) FUZZ_CHECK(line.empty() || is_line(line));
}

bool given(const std::vector<std::string>& arguments, const char* option) {
  return std::find(arguments.begin(), arguments.end(), option) != arguments.end();
}

bool asks_for_help(const std::vector<std::string>& arguments) {
  return given(arguments, "--help") || given(arguments, "-h") || given(arguments, "--version");
}

// "catalog add" is a command too.
std::string command_of(const std::vector<std::string>& arguments) {
  const bool has_more = arguments.size() > 1 && arguments[0] == "catalog";
  return has_more ? arguments[0] + " " + arguments[1] : arguments[0];
}

// One document, or one a line where versions are reported as they come.
bool is_json(const std::string& text, const std::string& command) {
  if (command != "catalog follow" && command != "catalog publish") return nlohmann::json::accept(text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!nlohmann::json::accept(line)) return false;
  return true;
}

void check_output(const Ran& ran, const std::vector<std::string>& arguments) {
  const auto lines = std::count(ran.err.begin(), ran.err.end(), '\n');
  FUZZ_CHECK(ran.status >= 0 && ran.status <= 2);
  FUZZ_CHECK(lines == ran.status);
  FUZZ_CHECK(ran.status == 0 || ran.err.compare(0, 7, "sidbeam") == 0);
  check_printable(ran.err);
  if (asks_for_help(arguments)) return;
  if (!given(arguments, "--json")) return check_printable(ran.out);
  if (ran.status == 0) FUZZ_CHECK(is_json(ran.out, command_of(arguments)));
}

std::vector<std::string> words_of(const std::string& text, const std::string& pattern) {
  const std::regex word(pattern);
  std::vector<std::string> words;
  for (std::sregex_iterator found(text.begin(), text.end(), word), end; found != end; ++found)
    words.push_back(found->str());
  return words;
}

// How often each command has done what it was asked for, by its name; and how often each option was given that was
// meant to do something, by "name --option".
std::map<std::string, uint64_t>& reached() {
  static std::map<std::string, uint64_t> counts;
  return counts;
}

}  // namespace

Ran run_command(std::vector<std::string> arguments, const std::string& input) {
  Ran ran{};
  const std::string command = arguments.empty() ? "" : command_of(arguments);
  const bool traced = std::getenv("FUZZ_TRACE") != nullptr;  // for whoever looks at what was found
  for (size_t i = 0; i < arguments.size() && traced; ++i) std::fprintf(stderr, "'%s' ", arguments[i].c_str());
  {
    const Signals signals;
    Caught out(stdout, std::cout), err(stderr, std::cerr);
    std::istringstream in(input);
    std::streambuf* const before = std::cin.rdbuf(in.rdbuf());
    std::cin.clear();
    arguments.insert(arguments.begin(), "sidbeam");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ran.status = sidbeam_main(static_cast<int>(arguments.size()), argv.data());
    std::cin.rdbuf(before);
    ran.err = err.take();
    ran.out = out.take();
  }
  if (traced) std::fprintf(stderr, "-> %d\n%s%s", ran.status, ran.out.c_str(), ran.err.c_str());
  arguments.erase(arguments.begin());
  check_output(ran, arguments);
  if (ran.status == 0 && !asks_for_help(arguments)) ++reached()[command];
  return ran;
}

namespace {

// From the message for a command that there is not.
std::vector<std::string> names_after(std::vector<std::string> arguments) {
  arguments.emplace_back("bu");
  const std::string says = run_command(arguments).err, before = "expected a command: ";
  const size_t begin = says.find(before) + before.size();
  return words_of(says.substr(begin, says.find('\n') - begin), "[a-z]+");
}

}  // namespace

const std::vector<std::string>& command_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const std::string& name : names_after({}))
      if (name != "catalog") all.push_back(name);
    for (const std::string& name : names_after({"catalog"})) all.push_back("catalog " + name);
    return all;
  }();
  return names;
}

std::vector<std::string> words_of_command(const std::string& command) {
  const size_t space = command.find(' ');
  if (space == command.npos) return {command};
  return {command.substr(0, space), command.substr(space + 1)};
}

const std::vector<std::string>& option_names(const std::string& command) {
  static std::map<std::string, std::vector<std::string>> of_command;
  std::vector<std::string>& names = of_command[command];
  if (names.empty()) {
    const std::vector<std::string>& all = command_names();
    const bool exists = std::find(all.begin(), all.end(), command) != all.end();
    std::vector<std::string> asking = words_of_command(command);
    asking.emplace_back("--help");
    names = exists ? words_of(run_command(asking).out, "--[a-z]+(-[a-z]+)*") : names;
    std::sort(names.begin(), names.end());  // a line may name others
    names.erase(std::unique(names.begin(), names.end()), names.end());
    names.insert(names.end(), {"--help", "--", "-x"});
  }
  return names;
}

void count_options(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments)
    if (argument.rfind("--", 0) == 0) ++reached()[command_of(arguments) + " " + argument];
}

void require_every_command() {
  for (const std::string& command : command_names()) (void)option_names(command);  // these outlive the handler
  (void)reached();
  std::atexit([] {
    int missing = 0;
    for (const std::string& command : command_names()) {
      const uint64_t count = reached()[command];
      std::fprintf(stderr, "%9llu runs succeeded: %s\n", static_cast<unsigned long long>(count), command.c_str());
      missing += count == 0 ? 1 : 0;
      for (const std::string& option : option_names(command)) {
        if (option.size() < 3 || option == "--help" || reached()[command + " " + option] > 0) continue;
        std::fprintf(stderr, "no command line of the target's own has %s %s\n", command.c_str(), option.c_str());
      }
    }
    if (missing > 0) std::_Exit(1);
  });
}

}  // namespace fuzz
