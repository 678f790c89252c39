// A baseline's knowledge of the catalogue: which codes may follow a prefix. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "catalogue.h"

namespace bench {

// A prefix, in one word whose meaning is the structure's own.
using Place = uint64_t;

class Validity {
 public:
  virtual ~Validity() = default;
  virtual Place root() const = 0;
  // Sets mask[t] for every code t that may follow; mask [V] comes zeroed.
  virtual void mask(Place place, int32_t level, uint8_t* mask) const = 0;
  // Where code t leads; none if it may not follow.
  virtual std::optional<Place> find(Place place, int32_t level, int32_t code) const = 0;
};

// A node is a std::unordered_map from code to node, as a dictionary of dictionaries is in Python ("CPU trie" of
// STATIC's Table 1, without the transfer to an accelerator).
std::unique_ptr<Validity> make_pointer_trie(const Catalogue& catalogue);
// One bit for the hash of every prefix in one map of 2^30. Every code of a beam is probed; some that do not exist pass
// ("hash bitmap" of STATIC's Table 1).
std::unique_ptr<Validity> make_hash_bitmap(const Catalogue& catalogue);
// One set of prefixes per level, open addressing; every code of a beam is probed (NEZHA's set, carried to every level).
std::unique_ptr<Validity> make_hash_set(const Catalogue& catalogue);
// The sorted SIDs, of which each candidate is looked up by binary search over them all (DISC, Algorithm 2). Borrows the
// catalogue.
std::unique_ptr<Validity> make_prefix_verification(const Catalogue& catalogue);

}  // namespace bench
