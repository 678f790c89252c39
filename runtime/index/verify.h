// The parts of a full verification. All throw Failure(CORRUPT), naming section, level and position; none trusts what
// another has not checked before it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/format.h"
#include "index/index.h"
#include "support/hashing.h"

namespace sidbeam {

// Row pointers, tokens, ends and masks of one level that has rows.
void verify_trie_level(const IndexView& index, int level);
// Only the masks, the rest being verified.
void verify_dense(const LevelView& level, int l);
// Order, splits and runs of a compact trie's tail, and the ordinals of its first level.
void verify_tail(const IndexView& index);
// Whether bits past the last split are set.
bool has_tail_padding(const IndexView& index);
// Every SID in order, from the trie (verified before) or the columns: that all sections agree on it, and the header's
// counts and fingerprint.
void verify_sids(const Index& index);
void verify_hash(const IndexView& index);

// The sections' checksums, made piece by piece: so that what else reads a section finds it in a near cache.
class SectionSums {
 public:
  explicit SectionSums(const Index& index);
  struct Sum {
    const void* data = nullptr;
    uint64_t bytes = 0, done = 0, fetched = 0;
    Stream128 stream;
    // Adds at least the first `end` bytes.
    void reach(uint64_t end) {
      while (done < end && done < bytes) add_piece();
    }
    void add_piece();
    // Fetches what comes after `end`, a little with every call: while other work is done.
    void fetch_after(uint64_t end);

   private:
    void fetch(uint64_t end);
  };
  // Of the section that is this array; nullptr where there is none.
  Sum* find(const void* data);
  // Of the section, in the order of the header, once all of it is added.
  uint64_t finish(size_t section);

 private:
  std::vector<Sum> sums_;
};

class SidPairs;

// A shortcut for SIDs of one length: true where verify_trie_level() without its masks, verify_tail() and verify_sids()
// would find nothing; false says nothing. Trusts nothing but the header, and adds to the sums, and to the pairs, what it
// reads.
bool has_plain_sids(const Index& index, SectionSums& sums, SidPairs& pairs);
// Its parts: of an index with a trie, and of one with columns only.
bool has_plain_trie(const Index& index, SectionSums& sums, SidPairs& pairs);
bool has_plain_columns(const Index& index, SectionSums& sums, SidPairs& pairs);
// The same for verify_hash(), of SIDs of any length.
bool has_plain_hash(const Index& index, SectionSums& sums, SidPairs& pairs);

// Whether the header says so.
bool is_fingerprint(const Index& index, const Hash128& fingerprint);
void verify_items(const Index& index);

// Fails with "section <kind> of level <level>: <message>".
[[noreturn]] void corrupt(format::SectionKind kind, int level, const char* message, ...)
    __attribute__((format(printf, 3, 4)));

}  // namespace sidbeam
