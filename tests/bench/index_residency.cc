// Table residency: the first thousand steps after opening a file, by how it is held in memory.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "index_load.h"
#include "index_tables.h"

namespace bench {
namespace {

struct Residency {
  const char* name;
  int32_t value;
};
constexpr Residency kResidencies[] = {{"map", SIDBEAM_RESIDENCY_MAP},
                                      {"prefault", SIDBEAM_RESIDENCY_PREFAULT},
                                      {"copy, huge pages", SIDBEAM_RESIDENCY_COPY}};
constexpr int kSteps = 1000, kRepeats = 3;

// The file's pages in the system's cache, or none of them. Nothing may have it mapped.
void set_cache(const std::string& path, bool cached) {
  if (cached) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> piece(1 << 20);
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size()))) {
    }
    return;
  }
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int error = file < 0 ? errno : posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  if (file >= 0) close(file);
  if (error != 0) throw std::runtime_error("cannot drop the cache of " + path + ": " + std::strerror(error));
}

// Milliseconds of opening, then the number of pages that the steps read from disk, then microseconds of each step.
std::vector<double> first_steps(const std::string& path, int32_t residency, int steps) {
  const Runtime runtime = runtime_of(1);
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  config.residency = residency;
  Index index;
  const double open =
      seconds_of([&] { index = make<Index>("index_open", sidbeam_index_open, runtime.get(), path.c_str(), &config); });
  const Constraint constraint = constrain(index.get());
  Load load(runtime.get(), constraint.get());
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  std::vector<double> numbers = {1e3 * open, 0};
  for (int step = 0; step < steps; ++step) numbers.push_back(load.step());
  getrusage(RUSAGE_SELF, &after);
  numbers[1] = static_cast<double>(after.ru_majflt - before.ru_majflt);
  load.expect_items(index.get());
  return numbers;
}

}  // namespace

Measurements residency_table(const Settings& settings) {
  struct Variant {
    Kind kind;
    bool cached;
    Residency residency;
    std::vector<double> opening = {}, faults = {}, steps = {};
  };
  std::vector<Variant> variants;
  for (const Kind& kind : kTries)
    for (const bool cached : {true, false})
      for (const Residency& residency : kResidencies) variants.push_back({kind, cached, residency});

  const int64_t sids = sizes(settings).back();
  for (int repeat = 0; repeat < (settings.quick ? 1 : kRepeats); ++repeat) {
    for (Variant& variant : variants) {  // in turns: the machine's speed may change over time
      const std::string& path = settings.files->path(variant.kind, sids, 1, settings.threads);
      set_cache(path, variant.cached);
      const int steps = settings.quick ? 20 : kSteps;
      const auto numbers = in_child([&] { return first_steps(path, variant.residency.value, steps); });
      variant.opening.push_back(numbers.at(0));
      variant.faults.push_back(numbers.at(1));
      variant.steps.insert(variant.steps.end(), numbers.begin() + 2, numbers.end());
    }
  }

  Measurements out;
  for (const Variant& variant : variants) {
    const std::string name = std::string(variant.kind.name) + ", " + variant.residency.name;
    const Case where = {{"N", sids}, {"file", std::string(variant.cached ? "cached" : "cold")}};
    const Measurement body = {"residency", where, name, "us", summarise(variant.steps), "first steps after opening"};
    out.push_back(body);
    add_tail(out, body, variant.steps);
    out.push_back({"residency", where, name + ": open", "ms", summarise(variant.opening), ""});
    out.push_back({"residency", where, name + ": major faults", "faults", summarise(variant.faults), "in the steps"});
  }
  return out;
}

}  // namespace bench
