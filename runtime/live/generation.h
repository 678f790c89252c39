// A base, and all that has been added to it since: what a compaction replaces as a whole. Item rows and ordinals keep
// their numbers for as long as it lasts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "decode/objects.h"
#include "index/live/pair_store.h"
#include "support/memory.h"

namespace sidbeam {

// The store's pairs as versions read them.
struct AddedPairs {
  int64_t pairs = 0;                       // the first ones of the store
  Ref<sidbeam_index> delta;                // of these; null: there are none
  std::shared_ptr<const Overlay> overlay;  // of base and delta
  Buffer<uint64_t> ordinals;               // [pairs] of their SIDs
  uint64_t sids = 0;                       // of base and delta together
};

struct Generation {
  // The base is a plain index with a trie.
  Generation(int64_t number, Ref<sidbeam_index> base);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  const int64_t number;
  const Ref<sidbeam_index> base;
  PairStore store;
  AddedPairs added;  // of its newest version
};

// All pairs of the store.
AddedPairs join_store(Generation& generation);

// A version of the base and what was added to it, of whose rows these are live; `live` are bits [rows]. `before`, which
// may be null, is one that differs little.
Ref<sidbeam_index> make_version(const Generation& generation, const AddedPairs& added, const uint64_t* live,
                                uint64_t rows, const sidbeam_index* before);

}  // namespace sidbeam
