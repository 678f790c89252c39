// SPDX-License-Identifier: Apache-2.0
#include "support/hashing.h"

#include <new>

#include "support/hashing_kernels.h"

namespace sidbeam {
namespace {

XXH3_state_t* state_of(unsigned char* bytes) { return std::launder(reinterpret_cast<XXH3_state_t*>(bytes)); }

constexpr HashKernels kBaseline = kTheseHashKernels;

}  // namespace

const HashKernels& hash_kernels(CpuTarget target) {
#ifdef __x86_64__
  return table_of(target, kBaseline, kAvx2HashKernels, kAvx512HashKernels);
#else
  return table_of(target, kBaseline, kBaseline, kBaseline);
#endif
}

uint64_t xxh3_64(CpuTarget target, const void* data, size_t bytes) { return hash_kernels(target).hash_64(data, bytes); }

uint64_t xxh3_64(CpuTarget target, const void* data, size_t bytes, uint64_t seed) {
  return hash_kernels(target).hash_seeded_64(data, bytes, seed);
}

void xxh3_64_of_rows(CpuTarget target, const uint32_t* columns, size_t words, size_t stride, size_t count,
                     uint64_t seed, uint64_t* out) {
  hash_kernels(target).hash_rows_64(columns, words, stride, count, seed, out);
}

Hash128 xxh3_128(CpuTarget target, const void* data, size_t bytes) {
  const XXH128_hash_t hash = hash_kernels(target).hash_128(data, bytes);
  return {hash.low64, hash.high64};
}

Stream128::Stream128(CpuTarget target) : target_(target) {
  static_assert(sizeof(XXH3_state_t) <= sizeof state_ && alignof(XXH3_state_t) <= 64);
  XXH3_state_t* state = ::new (state_) XXH3_state_t;
  XXH3_INITSTATE(state);
  XXH3_128bits_reset(state);
}

void Stream128::add(const void* data, size_t bytes) {
  if (bytes != 0) hash_kernels(target_).update_128(state_of(state_), data, bytes);
}

Hash128 Stream128::value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_of(const_cast<unsigned char*>(state_)));
  return {hash.low64, hash.high64};
}

uint64_t Stream128::value_64() const { return XXH3_64bits_digest(state_of(const_cast<unsigned char*>(state_))); }

}  // namespace sidbeam
