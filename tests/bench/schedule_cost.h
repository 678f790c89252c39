// What the runner itself costs, in CPU time. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace bench {

struct CostCase {
  std::string how;      // "run", "post", "threads"
  int64_t waiting = 0;  // requests that wait all the time
  bool mixed = false;   // with priorities and deadlines
  int32_t batch = 1;
  int64_t requests = 20000;
};
// Microseconds of CPU time per request of a runner whose lane does nothing.
double scheduling_us(const CostCase& cost);

struct LoopCase {
  int32_t batch = 1, beams = 50, codes = 256;
  int64_t batches = 200, sids = 1000000;
};
struct LoopCost {
  double lane_us = 0, steps_us = 0;  // per request: by a lane whose forward pass does nothing; by a session's calls
};
LoopCost loop_us(const LoopCase& loop);

}  // namespace bench
