// What the process takes, over time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report.h"

namespace bench::soak {

class Memory {
 public:
  void look();
  // That another process took, in bytes; at least once.
  void add(const char* name, std::vector<double> bytes);
  // The most of the second quarter and of the last, which compactions come and go in.
  void report(const Case& where, Measurements& to) const;
  // Throws where the last quarter has more than the second by a tenth and a little.
  void expect_flat() const;

 private:
  struct Kind {
    const char *name, *unit;
    double per_unit, slack;
    std::vector<double> values;
    double most(size_t quarter) const;
  };
  static constexpr double kMiB = 1 << 20;
  std::vector<Kind> kinds_ = {{"resident memory", "MiB", kMiB, 8 * kMiB, {}},
                              {"heap", "MiB", kMiB, 4 * kMiB, {}},
                              {"open files", "", 1, 4, {}}};
};

}  // namespace bench::soak
