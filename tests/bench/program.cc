// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <charconv>
#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

std::string_view name_of(const Option& option) { return option.form.substr(0, option.form.find(' ')); }

template <typename Number>
void read_number(const Option& option, std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument(std::string(name_of(option)) + ": not a number: '" + std::string(text) + "'");
}

void take(const Option& option, const char* text) {
  if (auto* const* flag = std::get_if<bool*>(&option.to)) **flag = true;
  if (auto* const* whole = std::get_if<int*>(&option.to)) read_number(option, text, **whole);
  if (auto* const* real = std::get_if<double*>(&option.to)) read_number(option, text, **real);
  if (auto* const* words = std::get_if<std::string*>(&option.to)) **words = text;
}

}  // namespace

void parse(int argc, char** argv, std::span<const Option> options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto found =
        std::find_if(options.begin(), options.end(), [&](const Option& option) { return name == name_of(option); });
    const bool flag = found != options.end() && std::holds_alternative<bool*>(found->to);
    if (found == options.end() || (!flag && i + 1 == argc)) {
      std::string expected;
      for (const Option& option : options) expected += (expected.empty() ? "" : ", ") + std::string(option.form);
      throw std::invalid_argument("expected " + expected + "; got '" + std::string(name) + "'");
    }
    take(*found, flag ? "" : argv[++i]);
  }
}

void TableOptions::parse(int argc, char** argv, std::span<const Option> more) {
  std::vector<Option> options = forms();
  options.insert(options.end(), more.begin(), more.end());
  bench::parse(argc, argv, options);
  if (!list && table.empty()) throw std::invalid_argument("expected --list or --table NAME[,NAME..]");
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

int run_program(const char* name, const std::function<int()>& body) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return body();
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace bench
