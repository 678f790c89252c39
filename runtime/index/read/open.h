// Opening an index: a file, or bytes that somebody has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "index/index.h"
#include "support/cpu_target.h"
#include "support/memory.h"

namespace sidbeam {

// The header of a file, from its first bytes only.
IndexHeaderInfo peek_index(const char* path);
Index open_index(const char* path, int32_t residency, int32_t verify, int threads, const Allocator& allocator,
                 CpuTarget target = best_cpu_target());
// `release` is called once the bytes are no longer needed: when the index goes or, with COPY, before this returns; not
// when this throws.
Index open_index_memory(const void* data, int64_t bytes, std::function<void()> release, int32_t residency,
                        int32_t verify, int threads, const Allocator& allocator, CpuTarget target = best_cpu_target());

}  // namespace sidbeam
