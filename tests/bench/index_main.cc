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

#include <filesystem>

#include "index_tables.h"
#include "program.h"

namespace bench {
namespace {

constexpr TableOf<Settings> kTables[] = {
    {"build", "SIDs a second, seconds by phase, peak memory", build_table},
    {"arrow", "pairs into a builder, from Arrow's layouts and from rows", arrow_table},
    {"write", "building into a file, syncing apart", write_table},
    {"size", "bytes a SID, by kind and catalogue", size_table},
    {"open", "opening with verify=header", open_table},
    {"verify", "checking an open index, one core", verify_table},
    {"residency", "the first steps after opening, by residency", residency_table},
    {"titles-index", "an index of titles by kind, and the memory of the paper's arrays; --full: 6e6", titles_table},
    {"rules", "filters and lists of a request: deriving, changing, constraints", rules_table},
    {"terms", "filters of one term over 1e7 items", terms_table},
    {"live", "a live catalogue: adding, publishing, removing, going back, recovering, compacting", live_table},
    {"swap", "steps before, during and after a new index is brought in", swap_table},
};

int run(int argc, char** argv) {
  TableOptions options;
  Settings settings;
  std::string folder = std::filesystem::temp_directory_path().string();
  options.parse(argc, argv, std::vector<Option>{{"--full", &settings.full}, {"--dir FOLDER", &folder}});
  settings.quick = options.quick;
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) settings.threads = CPU_COUNT(&cores);
  IndexFiles files(folder);
  settings.files = &files;
  return run_tables<Settings>(kTables, options, settings);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program("bench_index", [&] { return bench::run(argc, argv); });
}
