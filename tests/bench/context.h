// What a run of the program shares: its options, its budget of time and memory, where results go.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "program.h"

namespace bench {

using Clock = std::chrono::steady_clock;
inline double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

// Processor time of this thread, for work so long that other programs on the machine would interrupt it.
inline double thread_microseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

struct Options : TableOptions {
  bool full = false;          // also what takes long or much memory
  std::vector<int64_t> sids;  // of the catalogues of static and titles; none: their own
  double memory_gb = 0;       // most that one method's structure may take; 0: 6, or 10 with full
};

// A method is timed until it has had enough runs for enough time, or for very long.
struct Budget {
  int64_t enough_runs = 30, least_runs = 3;
  double enough_us = 0.3e6, most_us = 1.5e6;

  bool spent(int64_t runs, double us) const {
    return (runs >= enough_runs && us >= enough_us) || (runs >= least_runs && us >= most_us);
  }
};

struct Context {
  explicit Context(const Options& chosen)
      : options(chosen),
        json(chosen.json),
        most_bytes(1e9 * (chosen.memory_gb > 0 ? chosen.memory_gb
                          : chosen.full        ? 10
                                               : 6)) {
    if (chosen.quick) budget = {2, 2, 0, 0};
  }

  Options options;
  JsonLines json;
  Budget budget;
  double most_bytes;
};

}  // namespace bench
