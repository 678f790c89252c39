// Which keys may be in a hash set: many are looked up together.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_PROBES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_PROBES_INL
#undef SIDBEAM_CPU_PROBES_INL
#else
#define SIDBEAM_CPU_PROBES_INL
#endif

#include "backend/cpu/kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr uint64_t kLineKeys = 8;  // of a cache line; no hash set has fewer slots

// Bit i: entry i of the line is the key.
HWY_INLINE uint64_t find_in_line(const uint64_t* line, uint64_t key) {
  const hn::CappedTag<uint64_t, kLineKeys> d;
  constexpr size_t kLanes = hn::MaxLanes(d);
  uint64_t found = 0;
  for (size_t i = 0; i < kLineKeys; i += kLanes) {
    const auto equal = hn::Eq(hn::LoadU(d, line + i), hn::Set(d, key));
    uint8_t bits[8] = {};
    hn::StoreMaskBits(d, equal, bits);
    found |= static_cast<uint64_t>(bits[0]) << i;
  }
  return found;
}

// A key is nowhere if its slot's line, from the slot on, has an empty slot but not the key. Without branches, because
// nothing could predict them.
inline int32_t may_exist(const HashView& hash, const uint64_t* keys, int32_t n, int32_t* left) {
  uint64_t slots[kMostProbed];
  for (int32_t i = 0; i < n; ++i) slots[i] = mix_key(hash.mix, keys[i]) & (hash.capacity - 1);
  for (int32_t i = 0; i < n; ++i) __builtin_prefetch(hash.keys + slots[i]);
  const uint64_t* table = hash.keys;
  int32_t count = 0;
  for (int32_t i = 0; i < n; ++i) {
    left[count] = i;
    const uint64_t* line = table + slots[i] / kLineKeys * kLineKeys;
    const uint64_t same = find_in_line(line, keys[i]) >> slots[i] % kLineKeys;
    const uint64_t empty = find_in_line(line, ~uint64_t{0}) >> slots[i] % kLineKeys;
    count += same == 0 && empty != 0 ? 0 : 1;
  }
  return count;
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
