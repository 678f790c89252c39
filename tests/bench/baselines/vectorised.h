// Loops of baselines are plain C++ that the compiler vectorises, once per instruction set; the choice is made when the
// program is loaded. (Intrinsics would show what intrinsics can do, not what the method can.) Sanitizers run before the
// choice can be made. SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define BENCH_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define BENCH_VECTORISED
#endif
