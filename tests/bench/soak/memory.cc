// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "index_tables.h"

namespace bench::soak {
namespace {

double open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<double>(std::distance(begin(files), end(files)));
}

double heap_bytes() {
  const struct mallinfo2 all = mallinfo2();
  return static_cast<double>(all.uordblks + all.hblkhd);
}

}  // namespace

void Memory::look() {
  kinds_[0].values.push_back(memory_of_this_process("VmRSS"));
  kinds_[1].values.push_back(heap_bytes());
  kinds_[2].values.push_back(open_files());
}

void Memory::add(const char* name, std::vector<double> bytes) {
  kinds_.push_back({name, "MiB", kMiB, 8 * kMiB, std::move(bytes)});
}

// A few values are in more than one quarter.
double Memory::Kind::most(size_t quarter) const {
  const size_t begin = values.size() * quarter / 4, end = std::max(values.size() * (quarter + 1) / 4, begin + 1);
  const auto at = [&](size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  return *std::max_element(at(begin), at(end));
}

void Memory::report(const Case& where, Measurements& to) const {
  for (const Kind& kind : kinds_) {
    const auto add = [&](const char* when, size_t quarter) {
      to.push_back(
          {"soak", where, std::string(kind.name) + when, kind.unit, exactly(kind.most(quarter) / kind.per_unit), ""});
    };
    add(", most of the second quarter", 1);
    add(", most of the last", 3);
  }
}

void Memory::expect_flat() const {
  for (const Kind& kind : kinds_)
    if (kind.most(3) > 1.1 * kind.most(1) + kind.slack)
      throw std::runtime_error(std::string(kind.name) + " grew from " + figure(kind.most(1) / kind.per_unit) + " to " +
                               figure(kind.most(3) / kind.per_unit) + " " + kind.unit);
}

}  // namespace bench::soak
