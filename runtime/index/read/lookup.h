// Questions to an index that are not part of a step. All are safe on damaged contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/read/find.h"
#include "index/read/state.h"
#include "index/views.h"

namespace sidbeam {

// The ordinals below `node` of level `level` (0 .. levels), by walking to its first and to its last leaf. In an index
// of variable length the first leaf of the next node would not do: SIDs that ended above may lie between.
OrdinalRange trie_ordinals(const IndexView& index, int level, uint64_t node);
// The same for a state of the trie.
OrdinalRange state_ordinals(const IndexView& index, const State& state);
// Ordinals of the SIDs that begin with a prefix; from the trie, else the columns. Codes out of range give an empty
// range.
OrdinalRange prefix_ordinals(const IndexView& index, const int32_t* prefix, int length);
// The ordinal of a whole SID, or -1; from the trie, the hash set or the columns, whichever is there.
int64_t find_sid(const IndexView& index, const int32_t* codes, int length);
// Codes of an ordinal < sids into codes [levels]; returns their number.
int sid_of(const IndexView& index, uint64_t ordinal, int32_t* codes);
// The same from the tail of a compact trie, which has the codes from level csr_levels on; returns where the SID ends.
int tail_codes(const IndexView& index, uint64_t ordinal, int32_t* codes);

// The key of a SID in the hash set, and the slot walk that finds one.
uint64_t hash_key(const IndexView& index, const int32_t* codes);
int64_t hash_find(const IndexView& index, const int32_t* codes);

}  // namespace sidbeam
