// The parts of XXH3 that take time, compiled for an instruction set: included by one file for each, which is all that it
// differs in. xxHash's own dispatcher (xxh_x86dispatch) is not in the package, and would decide at every call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sidbeam {

struct HashKernels {
  uint64_t (*hash_64)(const void*, size_t);
  void (*hash_each_64)(const void*, size_t, size_t count, uint64_t* out);
  XXH128_hash_t (*hash_128)(const void*, size_t);
  void (*update_128)(XXH3_state_t*, const void*, size_t);
};

// Of an instruction set; only where the machine has it.
extern const HashKernels kAvx2HashKernels, kAvx512HashKernels;

namespace {

uint64_t hash_64(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }
void hash_each_64(const void* data, size_t bytes, size_t count, uint64_t* out) {
  const char* piece = static_cast<const char*>(data);
  for (size_t i = 0; i < count; ++i, piece += bytes) out[i] = XXH3_64bits(piece, bytes);
}
XXH128_hash_t hash_128(const void* data, size_t bytes) { return XXH3_128bits(data, bytes); }
void update_128(XXH3_state_t* state, const void* data, size_t bytes) { XXH3_128bits_update(state, data, bytes); }

}  // namespace
}  // namespace sidbeam
