// Between the two halves of the emulator. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_runtime.h"

#if defined(__SANITIZE_ADDRESS__)  // g++'s way to say it
#define EMULATOR_UNDER_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATOR_UNDER_ASAN
#endif
#endif

namespace emulator {

// One caller at a time.
void run_grid(const dim3& blocks, const dim3& threads, size_t shared_bytes, const std::function<void()>& kernel);
void seed_order(uint64_t seed);

}  // namespace emulator
