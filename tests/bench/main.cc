// bench_step: decoding steps of this library beside every published alternative, in one run.
//
//   bench_step --list
//   bench_step --table NAME[,NAME..] [--quick | --full] [--json FILE] [--memory GB] [--sids N[,N..]]
//
// Prints tables, and appends one JSON object per line to FILE. --quick is tiny and times nothing worth reading: it is
// there for the comparison of beams that every run makes, and ends with status 1 if one differs. --full adds what takes
// long or much memory; a method whose structure would exceed --memory (6 GB, with --full 10) is left out. --sids
// replaces the sizes of the static table.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "tables.h"

namespace {

using bench::Options;

constexpr const char* kUsage =
    "usage: bench_step --list | --table NAME[,NAME..] [--quick | --full] [--json FILE] [--memory GB] "
    "[--sids N[,N..]]";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--list") {
      options.list = true;
    } else if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--full") {
      options.full = true;
    } else if (argument == "--table" && has_value) {
      options.tables = split(argv[++i]);
    } else if (argument == "--json" && has_value) {
      options.json = argv[++i];
    } else if (argument == "--memory" && has_value) {
      options.memory_gb = std::atof(argv[++i]);
    } else if (argument == "--sids" && has_value) {
      for (const std::string& part : split(argv[++i])) options.sids.push_back(std::atoll(part.c_str()));
    } else {
      throw std::invalid_argument(kUsage);
    }
  }
  const bool real = std::all_of(options.sids.begin(), options.sids.end(), [](int64_t sids) { return sids > 0; });
  if (!real) throw std::invalid_argument(kUsage);
  if (!options.list && options.tables.empty()) throw std::invalid_argument(kUsage);
  if (options.quick && options.full) throw std::invalid_argument(kUsage);
  return options;
}

void run(const Options& options) {
  const auto tables = bench::all_tables();
  if (options.list) {
    for (const bench::Table& table : tables) std::printf("%-10s  %s\n", table.name, table.about);
    return;
  }
  const auto wanted = [&](const char* name) {
    return std::find(options.tables.begin(), options.tables.end(), name) != options.tables.end();
  };
  for (const std::string& name : options.tables) {
    const bool known = name == "all" ||
                       std::any_of(tables.begin(), tables.end(), [&](const auto& table) { return name == table.name; });
    if (!known) throw std::invalid_argument("no such table: " + name + " (--list names them)");
  }
  bench::Context context(options);
  for (const bench::Table& table : tables)
    if (wanted("all") || wanted(table.name)) table.run(context);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    run(parse(argc, argv));
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_step: %s\n", error.what());
    return 1;
  }
}
