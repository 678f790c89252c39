// SPDX-License-Identifier: Apache-2.0
#include "support/hashing.h"

#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sidbeam {
namespace {

XXH3_state_t* state_of(unsigned char* bytes) { return std::launder(reinterpret_cast<XXH3_state_t*>(bytes)); }

}  // namespace

uint64_t xxh3_64(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

Hash128 xxh3_128(const void* data, size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return {hash.low64, hash.high64};
}

Stream128::Stream128() {
  static_assert(sizeof(XXH3_state_t) <= sizeof state_ && alignof(XXH3_state_t) <= 64);
  XXH3_state_t* state = ::new (state_) XXH3_state_t;
  XXH3_INITSTATE(state);
  XXH3_128bits_reset(state);
}

void Stream128::add(const void* data, size_t bytes) {
  if (bytes != 0) XXH3_128bits_update(state_of(state_), data, bytes);
}

Hash128 Stream128::value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_of(const_cast<unsigned char*>(state_)));
  return {hash.low64, hash.high64};
}

}  // namespace sidbeam
