// Between the two halves of the emulator. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_runtime.h"

namespace emulator {

// One caller at a time.
void run_grid(const dim3& blocks, const dim3& threads, size_t shared_bytes, const std::function<void()>& kernel);
void seed_order(uint64_t seed);

}  // namespace emulator
