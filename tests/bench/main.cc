// bench_step: decoding steps of this library beside every published alternative, in one run.
//
//   bench_step --list
//   bench_step --table NAME[,NAME..] [--quick | --full] [--json FILE] [--memory GB] [--sids N[,N..]]
//
// Prints tables, and appends one JSON object per line to FILE. --quick is tiny and times nothing worth reading: it is
// there for the comparison of beams that every run makes, and ends with status 1 if one differs. --full adds what takes
// long or much memory; a method whose structure would exceed --memory (6 GB, with --full 10) is left out. --sids
// replaces the sizes of the tables static and titles.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <stdexcept>

#include "tables.h"

namespace {

using bench::Options;

Options parse(int argc, char** argv) {
  Options options;
  std::string sids;
  options.parse(argc, argv,
                std::vector<bench::Option>{
                    {"--full", &options.full}, {"--memory GB", &options.memory_gb}, {"--sids N[,N..]", &sids}});
  for (const std::string& part : bench::split(sids)) {
    options.sids.push_back(std::atoll(part.c_str()));
    if (options.sids.back() <= 0) throw std::invalid_argument("--sids: not a number above 0: '" + part + "'");
  }
  if (options.quick && options.full) throw std::invalid_argument("--quick or --full, not both");
  return options;
}

int run(const Options& options) {
  const auto tables = bench::all_tables();
  if (options.list) {
    bench::list(tables);
    return 0;
  }
  const auto chosen = bench::choose(tables, options.table);
  bench::Context context(options);
  for (const bench::Table* table : chosen) table->run(context);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("bench_step", [&] { return run(parse(argc, argv)); });
}
