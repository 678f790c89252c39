// The tables of bench_index, and what they share. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "index_files.h"
#include "report.h"

namespace bench {

struct Settings {
  bool quick = false, full = false;  // --quick: is it right; --full: 1e8 items too
  int threads = 1;                   // of this machine
  IndexFiles* files = nullptr;
};

Measurements build_table(const Settings& settings);
Measurements arrow_table(const Settings& settings);
Measurements write_table(const Settings& settings);
Measurements size_table(const Settings& settings);
Measurements open_table(const Settings& settings);
Measurements verify_table(const Settings& settings);
Measurements residency_table(const Settings& settings);
Measurements swap_table(const Settings& settings);
Measurements rules_table(const Settings& settings);
Measurements live_table(const Settings& settings);
Measurements terms_table(const Settings& settings);
Measurements titles_table(const Settings& settings);

inline double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// That the calling thread has taken.
inline double processor_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Runs `work` in a child process, which has its own peak of memory and its own page tables; its numbers come back.
std::vector<double> in_child(const std::function<std::vector<double>()>& work);

// A field of /proc/self/status in bytes: "VmHWM", "VmRSS".
double memory_of_this_process(const std::string& field);

// The sizes that tables over N go through.
inline std::vector<int64_t> sizes(const Settings& settings) {
  if (settings.quick) return {20000};
  std::vector<int64_t> all = {100000, 1000000, 10000000};
  if (settings.full) all.push_back(100000000);
  return all;
}

}  // namespace bench
