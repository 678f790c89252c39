// Opens an index from a file or from bytes in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "index/index.h"
#include "support/cpu_target.h"
#include "support/memory.h"

namespace sidbeam {

// Reads only the header of a file.
IndexHeaderInfo peek_index(const char* path);
// Throws INVALID_ARGUMENT unless they are SIDBEAM_RESIDENCY_* and SIDBEAM_VERIFY_*.
void check_open_config(int32_t residency, int32_t verify);
Index open_index(const char* path, int32_t residency, int32_t verify, int threads, const Allocator& allocator,
                 CpuTarget target = best_cpu_target());
// Calls `release` once the bytes are no longer needed: when the index is destroyed or, with COPY, before this returns.
// Does not call it if this throws.
Index open_index_memory(const void* data, int64_t bytes, std::function<void()> release, int32_t residency,
                        int32_t verify, int threads, const Allocator& allocator, CpuTarget target = best_cpu_target());

}  // namespace sidbeam
