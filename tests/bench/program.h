// What the benchmarks' programs share: their command line, the choice among their tables, main().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report.h"

namespace bench {

// An option and where what it says goes: "--quick" to a bool, "--json FILE" to the others.
struct Option {
  std::string_view form;
  std::variant<bool*, int*, double*, std::string*> to;
};
// Throws std::invalid_argument, which names the options that there are.
void parse(int argc, char** argv, std::span<const Option> options);

// What every program with tables has; the tables' own settings are derived from it.
struct TableOptions {
  std::string table, json;
  bool list = false, quick = false;

  std::vector<Option> forms() {
    return {{"--list", &list}, {"--table NAME[,NAME..]", &table}, {"--quick", &quick}, {"--json FILE", &json}};
  }
  void parse(int argc, char** argv, std::span<const Option> more = {});
};

std::vector<std::string> split(const std::string& text);

template <typename Settings>
struct TableOf {
  const char* name;
  const char* about;
  Measurements (*run)(const Settings& settings);
};

// Those that the list names, or all; throws std::invalid_argument where there is none of that name.
template <typename Table>
std::vector<const Table*> choose(std::span<const Table> tables, const std::string& names) {
  std::vector<const Table*> chosen;
  std::string all;
  for (const Table& table : tables) {
    chosen.push_back(&table);
    all += std::string(", ") + table.name;
  }
  if (names == "all") return chosen;
  chosen.clear();
  for (const std::string& name : split(names)) {
    const auto found =
        std::find_if(tables.begin(), tables.end(), [&](const Table& table) { return name == table.name; });
    if (found == tables.end()) throw std::invalid_argument("no table '" + name + "', expected all" + all);
    chosen.push_back(&*found);
  }
  return chosen;
}

// --list.
template <typename Table>
void list(std::span<const Table> tables) {
  for (const Table& table : tables) std::printf("%-16s %s\n", table.name, table.about);
}

// Runs the tables asked for, prints them and appends their measurements to the file of --json.
template <typename Settings>
int run_tables(std::span<const TableOf<Settings>> tables, const TableOptions& options, const Settings& settings) {
  if (options.list) {
    list(tables);
    return 0;
  }
  const auto chosen = choose(tables, options.table);
  JsonLines lines(options.json);
  for (const TableOf<Settings>* table : chosen) {
    std::printf("\n%s: %s\n", table->name, table->about);
    const Measurements measurements = table->run(settings);
    for (const Measurement& measurement : measurements) lines.add(measurement);
    print(measurements);
  }
  return 0;
}

// Runs a program: 2 after a command line that it does not take, 1 after any other failure.
int run_program(const char* name, const std::function<int()>& body);

}  // namespace bench
