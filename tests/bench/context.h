// What a run of the program shares: its options, its budget of time and memory, where results go.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "report.h"

namespace bench {

using Clock = std::chrono::steady_clock;
inline double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

struct Options {
  std::vector<std::string> tables;
  bool list = false;
  bool quick = false;  // tiny, for correctness
  bool full = false;   // also what takes long or much memory
  std::string json;
  std::vector<int64_t> sids;  // sizes of the static table's catalogues; none: its own
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
