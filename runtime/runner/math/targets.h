// The instruction sets that the runner's kernels are compiled for; those of backend/cpu/kernels.cc, for its reasons.
// Included before foreach_target.h. SPDX-License-Identifier: Apache-2.0
#pragma once

#define HWY_BROKEN_EMU128 1
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)
