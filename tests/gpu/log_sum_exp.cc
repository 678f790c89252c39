// Log-sum-exp on a CUDA device; see tests/differential/lse_check.cc. Exit status 77: no device.
// SPDX-License-Identifier: Apache-2.0
#include "checks.h"
#include "device_place.h"

int main() {
  if (!gpu::has_device()) return 77;
  differential::LogSumExpRows rows;
#ifdef SIDBEAM_EMULATED
  rows = {1025, 2};  // emulated threads are slow
#endif
  const gpu::DevicePlace place(0);
  std::vector<differential::Way> ways;
  ways.push_back({"the device", differential::make_runtime(nullptr), &place});
  return differential::report_log_sum_exp(ways, rows);
}
