// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/probes.h"

#include <algorithm>

#include "index/read/lookup.h"

namespace sidbeam::cpu {
namespace {

// The keys of SIDs that differ in their last code alone, which is overwritten in `sid`.
void keys_of_siblings(const IndexView& index, int32_t* sid, const uint32_t* codes, int32_t count, uint64_t* keys) {
  const auto key_with = [&](uint32_t code) {
    sid[index.levels - 1] = static_cast<int32_t>(code);
    return hash_key(index, sid);
  };
  if (index.hash.hashed) {
    for (int32_t i = 0; i < count; ++i) keys[i] = key_with(codes[i]);
    return;
  }
  const uint64_t first = key_with(0), step = key_with(1) - first;
  for (int32_t i = 0; i < count; ++i) keys[i] = first + step * codes[i];
}

}  // namespace

int32_t keep_in_hash_set(const Kernels& kernels, const IndexView& index, const int32_t* prefix, uint32_t* codes,
                         int32_t count) {
  int32_t sid[kMaxLevels], kept = 0;
  std::copy_n(prefix, index.levels - 1, sid);
  for (int32_t from = 0; from < count; from += kMostProbed) {
    const int32_t n = std::min(kMostProbed, count - from);
    uint64_t keys[kMostProbed];
    int32_t left[kMostProbed];
    keys_of_siblings(index, sid, codes + from, n, keys);
    const int32_t left_count = kernels.may_exist(index.hash, keys, n, left);
    for (int32_t j = 0; j < left_count; ++j) {
      const uint32_t code = codes[from + left[j]];
      const uint64_t key = keys[left[j]];
      sid[index.levels - 1] = static_cast<int32_t>(code);
      if (hash_find(index, sid, [&](const IndexView&, const int32_t*) { return key; }) >= 0) codes[kept++] = code;
    }
  }
  return kept;
}

// Damaged columns may not rise.
int32_t list_siblings(const IndexView& index, const int32_t* prefix, int64_t most, uint32_t* codes) {
  const LevelView& level = index.level[index.levels - 1];
  const OrdinalRange range = prefix_in_columns(index, prefix, index.levels - 1);
  if (range.hi > range.lo + static_cast<uint64_t>(most)) return -1;
  int32_t n = 0;
  for (uint64_t ordinal = range.lo; ordinal < range.hi; ++ordinal) {
    const auto code = static_cast<uint32_t>(level.column[ordinal]);
    if (code < level.codes && (n == 0 || code > codes[n - 1])) codes[n++] = code;
  }
  return n;
}

}  // namespace sidbeam::cpu
