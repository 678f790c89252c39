// bench_index: building, opening and holding an index, and swapping it under load, through the C ABI.
//
//   bench_index --list
//   bench_index --table NAME[,NAME..] [--quick | --full] [--json FILE] [--dir FOLDER]
//
// --table all runs every table. --quick: tiny sizes, to check that everything is right; --full: 1e8 SIDs too (by
// computation from 1e7: 11 GiB of memory, 13 GB of disk). --json appends one measurement per line. Files are made in
// FOLDER ($TMPDIR or the system's) and removed.
// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>

#include "index_tables.h"

namespace bench {
namespace {

constexpr Table kTables[] = {
    {"build", "SIDs a second, seconds by phase, peak memory", build_table},
    {"write", "building into a file, syncing apart", write_table},
    {"size", "bytes a SID, by kind and catalogue", size_table},
    {"open", "opening with verify=header", open_table},
    {"verify", "checking an open index, one core", verify_table},
    {"residency", "the first steps after opening, by residency", residency_table},
    {"swap", "steps before, during and after a new index is brought in", swap_table},
};

struct Options {
  std::string tables, json, folder = std::filesystem::temp_directory_path().string();
  bool list = false, quick = false, full = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--list" || name == "--quick" || name == "--full") {
      (name == "--list" ? options.list : name == "--quick" ? options.quick : options.full) = true;
      continue;
    }
    std::string* value = name == "--table"  ? &options.tables
                         : name == "--json" ? &options.json
                         : name == "--dir"  ? &options.folder
                                            : nullptr;
    if (value == nullptr || i + 1 == argc)
      throw std::invalid_argument(
          "expected --list, --table NAMES, --quick, --full, --json FILE or --dir FOLDER, got '" + name + "'");
    *value = argv[++i];
  }
  if (!options.list && options.tables.empty()) throw std::invalid_argument("expected --list or --table NAMES");
  return options;
}

const Table& table_named(const std::string& name) {
  std::string names;
  for (const Table& table : kTables) {
    if (name == table.name) return table;
    names += std::string(names.empty() ? "" : ", ") + table.name;
  }
  throw std::invalid_argument("no table '" + name + "', expected all, " + names);
}

std::vector<const Table*> chosen(const std::string& names) {
  std::vector<const Table*> tables;
  if (names == "all") {
    for (const Table& table : kTables) tables.push_back(&table);
    return tables;
  }
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) tables.push_back(&table_named(name));
  return tables;
}

// A p99.9 is a measurement of its own and stands in a column of the one before it.
void show(const Table& table, const Measurements& measurements) {
  std::printf("\n%s: %s\n", table.name, table.what);
  TextTable text;
  text.row({"case", "", "median", "p10", "p90", "p99", "p99.9", "unit", "runs"});
  for (size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& m = measurements[i];
    const bool has_tail = i + 1 < measurements.size() && is_tail(measurements[i + 1]);
    text.row({describe(m.where), m.name, figure(m.value.median), figure(m.value.p10), figure(m.value.p90),
              figure(m.value.p99), has_tail ? figure(measurements[++i].value.median) : "", m.unit,
              std::to_string(m.value.runs)});
  }
  text.print();
}

int run(const Options& options) {
  if (options.list) {
    for (const Table& table : kTables) std::printf("%-10s %s\n", table.name, table.what);
    return 0;
  }
  const std::vector<const Table*> tables = chosen(options.tables);
  cpu_set_t cores;
  IndexFiles files(options.folder);
  const Settings settings = {options.quick, options.full,
                             sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1, &files};
  JsonLines lines(options.json);
  for (const Table* table : tables) {
    const Measurements measurements = table->run(settings);
    for (const Measurement& measurement : measurements) lines.add(measurement);
    show(*table, measurements);
  }
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return bench::run(bench::parse(argc, argv));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "bench_index: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_index: %s\n", error.what());
    return 1;
  }
}
