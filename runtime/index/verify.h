// The parts of a full verification. All throw Failure(CORRUPT), naming section, level and position; none trusts what
// another has not checked before it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/format.h"
#include "index/index.h"
#include "support/hashing.h"

namespace sidbeam {

// Row pointers, tokens, ends and masks of one level that has rows.
void verify_trie_level(const IndexView& index, int level);
// Order, splits and runs of a compact trie's tail, and the ordinals of its first level.
void verify_tail(const IndexView& index);
// Every SID in order, from the trie (verified before) or the columns: that all sections agree on it, and the header's
// counts and fingerprint.
void verify_sids(const Index& index);
void verify_hash(const IndexView& index);

// Shortcuts for SIDs of one length: true where verify_trie_level() without its masks, or verify_sids(), would find
// nothing; false says nothing. Of has_plain_sids() the trie must be verified.
bool is_plain_level(const IndexView& index, int level);
bool has_plain_sids(const Index& index);

// Whether the header says so.
bool is_fingerprint(const Index& index, const Hash128& fingerprint);
void verify_items(const Index& index);

// Fails with "section <kind> of level <level>: <message>".
[[noreturn]] void corrupt(format::SectionKind kind, int level, const char* message, ...)
    __attribute__((format(printf, 3, 4)));

}  // namespace sidbeam
