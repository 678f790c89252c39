// SPDX-License-Identifier: Apache-2.0
#include "support/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "support/error.h"

namespace sidbeam {
namespace {

TEST(Parallel, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> runs(1000);
    parallel_for(threads, 1000, [&](int64_t i) { ++runs[static_cast<size_t>(i)]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, TheLowestFailureComesOut) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    try {
      parallel_for(4, 1000, [](int64_t i) {
        if (i >= 10) fail(SIDBEAM_IO_ERROR, "task %d", static_cast<int>(i));
      });
      FAIL() << "expected a Failure";
    } catch (const Failure& failure) {
      EXPECT_STREQ(failure.message, "task 10");
    }
  }
}

TEST(Parallel, NoTasksIsFine) {
  parallel_for(4, 0, [](int64_t) { FAIL(); });
}

}  // namespace
}  // namespace sidbeam
