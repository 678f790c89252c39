// SPDX-License-Identifier: Apache-2.0
#include "support/hashing.h"

#include <new>

#include "support/hashing_kernels.h"

namespace sidbeam {
namespace {

XXH3_state_t* state_of(unsigned char* bytes) { return std::launder(reinterpret_cast<XXH3_state_t*>(bytes)); }

const HashKernels& kernels() {
  static constexpr HashKernels baseline = {hash_64, hash_seeded_64, hash_rows_64, hash_128, update_128};
#ifdef __x86_64__
  static const bool avx2 = __builtin_cpu_supports("avx2"), avx512 = __builtin_cpu_supports("avx512f");
  if (avx512) return kAvx512HashKernels;
  if (avx2) return kAvx2HashKernels;
#endif
  return baseline;
}

}  // namespace

uint64_t xxh3_64(const void* data, size_t bytes) { return kernels().hash_64(data, bytes); }

uint64_t xxh3_64(const void* data, size_t bytes, uint64_t seed) { return kernels().hash_seeded_64(data, bytes, seed); }

void xxh3_64_of_rows(const uint32_t* columns, size_t words, size_t stride, size_t count, uint64_t seed, uint64_t* out) {
  kernels().hash_rows_64(columns, words, stride, count, seed, out);
}

Hash128 xxh3_128(const void* data, size_t bytes) {
  const XXH128_hash_t hash = kernels().hash_128(data, bytes);
  return {hash.low64, hash.high64};
}

Stream128::Stream128() {
  static_assert(sizeof(XXH3_state_t) <= sizeof state_ && alignof(XXH3_state_t) <= 64);
  XXH3_state_t* state = ::new (state_) XXH3_state_t;
  XXH3_INITSTATE(state);
  XXH3_128bits_reset(state);
}

void Stream128::add(const void* data, size_t bytes) {
  if (bytes != 0) kernels().update_128(state_of(state_), data, bytes);
}

Hash128 Stream128::value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_of(const_cast<unsigned char*>(state_)));
  return {hash.low64, hash.high64};
}

uint64_t Stream128::value_64() const { return XXH3_64bits_digest(state_of(const_cast<unsigned char*>(state_))); }

}  // namespace sidbeam
