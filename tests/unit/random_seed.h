// The seed of a test's random cases: the same every time, so that a commit's tests fail by what the commit changed.
// SIDBEAM_TEST_SEED=N draws others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>

namespace sidbeam::testing {

inline uint32_t random_seed() {
  const char* const given = std::getenv("SIDBEAM_TEST_SEED");
  return given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : 1;
}

}  // namespace sidbeam::testing
