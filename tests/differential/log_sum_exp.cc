// Log-sum-exp on every target of this machine; see lse_check.cc. SPDX-License-Identifier: Apache-2.0
#include "checks.h"

int main() {
  using differential::make_runtime;
  const differential::Place here;
  std::vector<differential::Way> ways;
  ways.push_back({"best", make_runtime(nullptr), &here});
  for (const char* name : {"baseline", "avx2", "avx512", "neon"}) {
    differential::Runtime runtime = make_runtime(name);
    if (runtime) ways.push_back({name, std::move(runtime), &here});
  }
  differential::LogSumExpRows rows;
  if (SIDBEAM_SANITIZED) rows = {4097, rows.fractions / 8};
  return differential::report_log_sum_exp(ways, rows);
}
