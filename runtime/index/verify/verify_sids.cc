// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_sids.h"

#include <algorithm>
#include <vector>

#include "index/fingerprint.h"
#include "index/read/lookup.h"
#include "index/tail.h"
#include "index/verify/bulk_arrays.h"
#include "index/verify/explain.h"
#include "index/verify/header_fingerprint.h"
#include "support/error.h"

namespace sidbeam {
namespace {

using format::SectionKind;
using ull = unsigned long long;

// Walks the SIDs of an index in order. A trie must already be verified. Without a trie, checks the columns on the way.
class SidWalk {
 public:
  explicit SidWalk(const IndexView& index) : index_(index) {}

  uint32_t codes[kMaxLevels] = {};  // V_l from the end on
  int length = 0;
  int first_new = 0;  // the first level at which this SID differs from the previous one

  // Moves to `ordinal`, which must follow the previous one.
  void next(uint64_t ordinal) {
    if (index_.has_trie) {
      next_in_trie(ordinal);
    } else {
      next_in_columns(ordinal);
    }
  }
  // With a trie: the edge of `level` on this SID's path, for levels up to its end or the tail.
  uint64_t edge(int level) const { return edge_[level]; }

 private:
  void enter(int level, uint64_t node) {
    edge_[level] = index_.level[level].row_pointers[node];
    row_end_[level] = index_.level[level].row_pointers[node + 1];
  }

  void next_in_trie(uint64_t ordinal) {
    int l = 0;
    if (ordinal == 0) {
      enter(0, 0);
    } else if (ordinal < run_end_) {
      return next_in_tail(ordinal);
    } else {
      l = leaf_level_;
      while (l > 0 && edge_[l] + 1 == row_end_[l]) --l;
      ++edge_[l];
    }
    const int changed = first_new = l;
    for (;; ++l) {
      const LevelView& level = index_.level[l];
      codes[l] = static_cast<uint32_t>(level.tokens[edge_[l]]);
      const bool end = index_.variable_length && codes[l] == level.codes;
      length = end ? l : l + 1;
      leaf_level_ = l;
      for (int k = l + 1; end && k < index_.levels; ++k) codes[k] = index_.level[k].codes;
      if (end || l + 1 == index_.levels) return;
      if (is_tail_level(index_, l + 1)) {
        const Run run = run_of(index_, l + 1, edge_[l]);
        run_end_ = run.lo + run.count;
        next_in_tail(ordinal);
        first_new = changed;
        return;
      }
      enter(l + 1, edge_[l]);
    }
  }

  // Reads the levels of the tail, which is already verified. The levels above stay as they are.
  void next_in_tail(uint64_t ordinal) {
    const uint64_t first = tail_entry(index_, ordinal, index_.csr_levels);
    int32_t tail[kMaxLevels];
    length = tail_codes(index_, ordinal, tail);
    for (int l = index_.csr_levels; l < index_.levels; ++l)
      codes[l] = l < length ? static_cast<uint32_t>(tail[l]) : index_.level[l].codes;
    first_new = read_tail(index_.tail, [&](const auto& entries) {
      int l = index_.csr_levels;
      while (l + 1 < index_.levels && !entries.split(first + static_cast<uint64_t>(l - index_.csr_levels))) ++l;
      return l;
    });
  }

  void next_in_columns(uint64_t ordinal) {
    bool differs = ordinal == 0;
    first_new = 0;
    length = index_.levels;
    for (int l = 0; l < index_.levels; ++l) {
      const LevelView& level = index_.level[l];
      const uint64_t code = level.column[ordinal];
      check_code(kExplain, index_, l, ordinal, code, length < l);
      check_code_order(kExplain, l, ordinal, differs, uint64_t{codes[l]}, code);
      if (code == level.codes && length > l) length = l;
      if (!differs && begins_edge(false, uint64_t{codes[l]}, code)) {
        differs = true;
        first_new = l;
      }
      codes[l] = static_cast<uint32_t>(code);
    }
    check_distinct(kExplain, ordinal, differs);
  }

  const IndexView& index_;
  uint64_t edge_[kMaxLevels] = {}, row_end_[kMaxLevels] = {};
  int leaf_level_ = 0;    // level of the last edge above the tail
  uint64_t run_end_ = 0;  // end of the SIDs below that edge, if it leads into the tail
};

// Collects the codes of all SIDs, in blocks by level. Computes the digest of each level (XXH3-128 of its codes as u32,
// like the build). With a trie, also checks that the columns hold the same codes.
class CodeBlocks {
 public:
  explicit CodeBlocks(const IndexView& index)
      : index_(index),
        streams_(static_cast<size_t>(index.levels), Stream128(index.target)),
        codes_(static_cast<size_t>(index.levels) * kSids) {}
  void add(const uint32_t* codes) {
    for (size_t l = 0; l < streams_.size(); ++l) codes_[l * kSids + used_] = codes[l];
    if (++used_ == kSids) flush();
  }
  std::vector<Hash128> digests() {
    flush();
    std::vector<Hash128> out;
    for (const Stream128& stream : streams_) out.push_back(stream.value());
    return out;
  }

 private:
  void flush() {
    for (size_t l = 0; l < streams_.size(); ++l) streams_[l].add(&codes_[l * kSids], used_ * sizeof(uint32_t));
    if (index_.has_trie && index_.has_columns && !are_in_columns()) explain();
    begin_ += used_;
    used_ = 0;
  }
  bool are_in_columns() const {
    const BulkKernels& kernels = bulk_kernels(index_.target);
    for (size_t l = 0; l < streams_.size(); ++l) {
      const bool equal = with_codes(kernels, index_.level[l].column, [&](const auto* all, const auto& loops) {
        return loops.equal(all + begin_, &codes_[l * kSids], used_);
      });
      if (!equal) return false;
    }
    return true;
  }
  void explain() const {
    for (uint32_t i = 0; i < used_; ++i) {
      for (int l = 0; l < index_.levels; ++l)
        check_code_of_trie(kExplain, l, begin_ + i, index_.level[l].column[begin_ + i],
                           codes_[static_cast<size_t>(l) * kSids + i]);
    }
  }

  const IndexView& index_;
  std::vector<Stream128> streams_;
  std::vector<uint32_t> codes_;  // [levels, kSids]
  uint64_t begin_ = 0;           // the block's first SID
  uint32_t used_ = 0;
};

// Recounts everything that the header counts.
struct SidCounts {
  uint64_t edges[kMaxLevels] = {}, ends[kMaxLevels] = {}, row[kMaxLevels] = {}, longest_row[kMaxLevels] = {};
  uint64_t all_ends = 0;
  int shortest = kMaxLevels, longest = 0;

  void add(const SidWalk& sid, int levels) {
    for (int l = sid.first_new; l <= std::min(sid.length, levels - 1); ++l) {
      if (l > sid.first_new) row[l] = 0;
      ++edges[l];
      longest_row[l] = std::max(longest_row[l], ++row[l]);
    }
    if (sid.length < levels) {
      ++ends[sid.length];
      ++all_ends;
    }
    shortest = std::min(shortest, sid.length);
    longest = std::max(longest, sid.length);
  }
};

// Checks the ordinals that a trie keeps for the nodes and ends that begin at this SID. `counts` does not include this
// SID yet.
void verify_ordinals(const IndexView& index, const SidWalk& sid, uint64_t ordinal, const SidCounts& counts) {
  for (int l = sid.first_new + 1; l <= std::min({sid.length + 1, index.levels - 1, index.csr_levels}); ++l) {
    const UintArray& ordinals = index.level[l].ordinals;
    if (ordinals) check_entry(kExplain, SectionKind::Ordinals, l, sid.edge(l - 1), ordinals[sid.edge(l - 1)], ordinal);
  }
  if (sid.length >= index.csr_levels) return;
  const uint64_t end = counts.ends[sid.length];
  check_entry(kExplain, SectionKind::EndOrdinals, sid.length, end, index.level[sid.length].end_ordinals[end], ordinal);
  if (index.ends == 0) return;
  check_entry(kExplain, SectionKind::EndOrdinals, -1, counts.all_ends, index.end_ordinals[counts.all_ends], ordinal);
}

void verify_counts(const Index& index, const SidCounts& counts) {
  const IndexView& view = index.view;
  for (int l = 0; l < view.levels; ++l) {
    need_count("edges", l, view.level[l].edges, counts.edges[l]);
    need_count("ends", l, view.level[l].ends, counts.ends[l]);
    need_count("max_children", l, view.level[l].max_children, counts.longest_row[l]);
  }
  need_count("shortest", -1, static_cast<uint64_t>(index.header.info.shortest), static_cast<uint64_t>(counts.shortest));
  need_count("longest", -1, static_cast<uint64_t>(index.header.info.longest), static_cast<uint64_t>(counts.longest));
}

}  // namespace

void verify_sids(const Index& index) {
  const IndexView& view = index.view;
  SidWalk sid(view);
  SidCounts counts;
  CodeBlocks blocks(view);
  for (int l = 0; view.has_trie && l < view.levels; ++l) check_outer_ordinals(kExplain, view, l);
  for (uint64_t ordinal = 0; ordinal < view.sids; ++ordinal) {
    sid.next(ordinal);
    if (view.has_trie) verify_ordinals(view, sid, ordinal, counts);
    counts.add(sid, view.levels);
    blocks.add(sid.codes);
  }
  const std::vector<Hash128> digests = blocks.digests();
  verify_counts(index, counts);
  const Hash128 found = fingerprint(view, digests);
  if (!is_fingerprint(index, found))
    fail(SIDBEAM_CORRUPT, "the header's fingerprint is %s, the contents give %016llx%016llx",
         index.header.info.fingerprint, static_cast<ull>(found.high), static_cast<ull>(found.low));
}

}  // namespace sidbeam
