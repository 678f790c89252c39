// Lookups that are not part of a step. All are safe on damaged contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/read/find.h"
#include "index/read/state.h"
#include "index/views.h"

namespace sidbeam {

// The ordinals below `node` of level `level` (0 .. levels), found by walking to its first and to its last leaf. With
// variable lengths, the first leaf of the next node cannot serve as the upper bound: SIDs that ended above may lie
// between.
OrdinalRange trie_ordinals(const IndexView& index, int level, uint64_t node);
// The same for a trie state.
OrdinalRange state_ordinals(const IndexView& index, const State& state);
// The ordinals of the SIDs that begin with a prefix, from the trie if there is one, otherwise from the columns. The
// range is empty if a code is out of range.
OrdinalRange prefix_ordinals(const IndexView& index, const int32_t* prefix, int length);
// The ordinal of a whole SID, or -1. Searches the trie, the hash set or the columns, whichever exists.
int64_t find_sid(const IndexView& index, const int32_t* codes, int length);
// Writes the codes of an ordinal < sid_count() to codes [levels]; returns their number.
int sid_of(const IndexView& index, uint64_t ordinal, int32_t* codes);
// The last edge above the tail on the path of an ordinal's SID.
struct Leaf {
  int level = 0;
  uint64_t edge = 0;  // may exceed the level's edges if damaged
};
Leaf last_edge_of(const IndexView& index, uint64_t ordinal);
// The codes of an ordinal < sids from the tail of a compact trie, which has those from level csr_levels on. Returns the
// length of the SID.
int tail_codes(const IndexView& index, uint64_t ordinal, int32_t* codes);

// The key of a SID in the hash set, and the lookup of a SID there.
uint64_t hash_key(const IndexView& index, const int32_t* codes);
int64_t hash_find(const IndexView& index, const int32_t* codes);

// hash_key() as find_sid() takes it, also for codes that are no array.
struct CpuHashKey {
  uint64_t operator()(const IndexView& index, const int32_t* codes) const { return hash_key(index, codes); }
  template <class Codes>
  uint64_t operator()(const IndexView& index, const Codes& codes) const {
    int32_t array[kMaxLevels];
    for (int l = 0; l < index.levels; ++l) array[l] = codes[l];
    return hash_key(index, array);
  }
};

}  // namespace sidbeam
