// Short measurements of what is cheaper here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <algorithm>
#include <limits>

namespace sidbeam::runner {

// Processor time of this thread: what other programs do meanwhile does not count.
inline double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least of three runs of the work, or of fewer if they take long.
template <class Work>
double least_seconds(const Work& work) {
  constexpr double kLong = 5e-4;
  double least = std::numeric_limits<double>::infinity(), all = 0.0;
  for (int i = 0; i < 3 && all < kLong; ++i) {
    const double start = thread_seconds();
    work();
    const double seconds = thread_seconds() - start;
    least = std::min(least, seconds);
    all += seconds;
  }
  return least;
}

}  // namespace sidbeam::runner
