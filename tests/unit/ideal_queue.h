// A queue that costs nothing, to compare the runner's with: requests in the order of arrival, lanes that never idle
// while one waits. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

namespace sidbeam::runner::fakes {

inline constexpr int64_t kRefused = -1;

// Latency of each request, or kRefused where `capacity` requests wait already. The k-th request that starts is served
// in services[k].
inline std::vector<int64_t> ideal_latencies(const std::vector<int64_t>& arrivals, const std::vector<int64_t>& services,
                                            int32_t lanes, int64_t capacity) {
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> free;  // when each lane is
  for (int32_t lane = 0; lane < lanes; ++lane) free.push(0);
  std::deque<size_t> waiting;
  std::vector<int64_t> latencies(arrivals.size(), kRefused);
  size_t started = 0;
  const auto start_until = [&](int64_t now) {
    while (!waiting.empty() && free.top() <= now && started < services.size()) {
      const size_t request = waiting.front();
      waiting.pop_front();
      const int64_t end = std::max(free.top(), arrivals[request]) + services[started++];
      free.pop();
      free.push(end);
      latencies[request] = end - arrivals[request];
    }
  };
  for (size_t i = 0; i < arrivals.size(); ++i) {
    start_until(arrivals[i]);
    if (static_cast<int64_t>(waiting.size()) < capacity || free.top() <= arrivals[i]) waiting.push_back(i);
    start_until(arrivals[i]);
  }
  start_until(INT64_MAX);
  return latencies;
}

}  // namespace sidbeam::runner::fakes
