// A runner under open-loop load: requests arrive at random moments that do not wait for answers, and are timed from the
// moment at which they were to arrive. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

struct LoadCase {
  int32_t lanes = 1;
  double load = 0.5;  // of what the lanes can do
  int32_t queue_requests = 1024;
  int64_t requests = 1000;
  int64_t service_ns = 5000000;  // mean; uniform between half and one and a half of it
  bool spin = false;             // a service spends CPU time; otherwise it waits, as for a device
  bool on_virtual_clock = false;
};

struct LoadResult {
  // From the intended arrival, of the requests that were not refused: by the runner, and by an ideal queue with the
  // same lanes and measured services that gets each request when the runner got it.
  std::vector<double> latency_us, ideal_us;
  std::vector<double> service_us;
  std::vector<double> late_us;     // how much after their time requests were submitted
  std::vector<double> refusal_us;  // how long a refused call took
  int64_t ideal_refused = 0;
};

LoadResult run_load(const LoadCase& load);

}  // namespace bench
