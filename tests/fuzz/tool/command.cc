// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../../../bindings/cli/interrupt.h"
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

bool is_control(unsigned char c) { return (c < ' ' && c != '\n') || c == 0x7f; }

void check_printable(const std::string& text) {
  FUZZ_CHECK(std::none_of(text.begin(), text.end(), [](char c) { return is_control(static_cast<unsigned char>(c)); }));
}

void check_output(const Ran& ran, const std::vector<std::string>& arguments) {
  const auto lines = std::count(ran.err.begin(), ran.err.end(), '\n');
  FUZZ_CHECK(ran.status >= 0 && ran.status <= 2);
  FUZZ_CHECK(lines == ran.status);
  FUZZ_CHECK(ran.status == 0 || ran.err.compare(0, 7, "sidbeam") == 0);
  check_printable(ran.err);
  const auto given = [&](const char* option) {
    return std::find(arguments.begin(), arguments.end(), option) != arguments.end();
  };
  if (given("--help") || given("--version")) return;
  if (!given("--json")) return check_printable(ran.out);
  if (ran.status == 0) FUZZ_CHECK(nlohmann::json::accept(ran.out));
}

}  // namespace

Ran run_command(std::vector<std::string> arguments) {
  Ran ran{};
  const bool traced = std::getenv("FUZZ_TRACE") != nullptr;  // for whoever looks at what was found
  for (size_t i = 0; i < arguments.size() && traced; ++i) std::fprintf(stderr, "'%s' ", arguments[i].c_str());
  {
    const Signals signals;
    Caught out(stdout, std::cout), err(stderr, std::cerr);
    arguments.insert(arguments.begin(), "sidbeam");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ran.status = sidbeam_main(static_cast<int>(arguments.size()), argv.data());
    ran.err = err.take();
    ran.out = out.take();
  }
  if (traced) std::fprintf(stderr, "-> %d\n%s%s", ran.status, ran.out.c_str(), ran.err.c_str());
  check_output(ran, arguments);
  return ran;
}

}  // namespace fuzz
