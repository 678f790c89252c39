// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "index/emit.h"
#include "index/lookup.h"
#include "index/tail.h"
#include "index/verify.h"
#include "index/verify_blocks.h"
#include "support/error.h"
#include "support/hashing.h"

namespace sidbeam {
namespace {

using format::SectionKind;
using ull = unsigned long long;

// The SIDs of an index, one after the other. The trie must be verified; columns are checked on the way.
class SidWalk {
 public:
  explicit SidWalk(const IndexView& index) : index_(index) {}

  uint32_t codes[kMaxLevels] = {};  // V_l from the end on
  int length = 0;
  int first_new = 0;  // the first level in which this SID differs from the one before

  // Moves to `ordinal`, the one after the last.
  void next(uint64_t ordinal) {
    if (index_.has_trie) {
      next_in_trie(ordinal);
      if (index_.has_columns) compare_columns(ordinal);
    } else {
      next_in_columns(ordinal);
    }
  }
  // The edge of `level` that this SID goes through; with a trie, and level up to where it ends or the tail begins.
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

  // The levels of the tail, which is verified; the others stay as they are.
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
      const bool may_end = index_.variable_length && l > 0;
      if (code >= uint64_t{level.codes} + (may_end ? 1 : 0) || (length < l && code != level.codes))
        corrupt(SectionKind::Columns, l, "entry %llu is %llu, expected %s %u", static_cast<ull>(ordinal),
                static_cast<ull>(code), length < l ? "the end," : "less than",
                length < l ? level.codes : level.codes + (may_end ? 1u : 0u));
      if (code == level.codes && length > l) length = l;
      if (!differs && code != codes[l]) {
        if (code < codes[l])
          corrupt(SectionKind::Columns, l, "entry %llu falls (%llu after %u)", static_cast<ull>(ordinal),
                  static_cast<ull>(code), codes[l]);
        differs = true;
        first_new = l;
      }
      codes[l] = static_cast<uint32_t>(code);
    }
    if (!differs) corrupt(SectionKind::Columns, 0, "SID %llu is there twice", static_cast<ull>(ordinal));
  }

  void compare_columns(uint64_t ordinal) const {
    for (int l = 0; l < index_.levels; ++l) {
      if (index_.level[l].column[ordinal] != codes[l])
        corrupt(SectionKind::Columns, l, "entry %llu is %llu, the trie has %u", static_cast<ull>(ordinal),
                static_cast<ull>(index_.level[l].column[ordinal]), codes[l]);
    }
  }

  const IndexView& index_;
  uint64_t edge_[kMaxLevels] = {}, row_end_[kMaxLevels] = {};
  int leaf_level_ = 0;    // of the last edge that is no entry of the tail
  uint64_t run_end_ = 0;  // past the SIDs below that edge, where it leads into the tail
};

// XXH3-128 of each column as u32, as it was when the index was built.
class ColumnDigests {
 public:
  explicit ColumnDigests(int levels)
      : streams_(static_cast<size_t>(levels)), blocks_(static_cast<size_t>(levels) * kBlock) {}
  void add(const uint32_t* codes) {
    for (size_t l = 0; l < streams_.size(); ++l) blocks_[l * kBlock + used_] = codes[l];
    if (++used_ == kBlock) flush();
  }
  std::vector<Hash128> values() {
    flush();
    std::vector<Hash128> out;
    for (const Stream128& stream : streams_) out.push_back(stream.value());
    return out;
  }

 private:
  static constexpr size_t kBlock = 1024;
  void flush() {
    for (size_t l = 0; l < streams_.size(); ++l) streams_[l].add(&blocks_[l * kBlock], used_ * sizeof(uint32_t));
    used_ = 0;
  }
  std::vector<Stream128> streams_;
  std::vector<uint32_t> blocks_;
  size_t used_ = 0;
};

// The header's counts, counted again.
struct Counts {
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

void need_ordinal(SectionKind kind, int level, uint64_t entry, uint64_t found, uint64_t expected) {
  if (found != expected)
    corrupt(kind, level, "entry %llu is %llu, expected %llu", static_cast<ull>(entry), static_cast<ull>(found),
            static_cast<ull>(expected));
}

// The ordinals that a trie keeps of nodes and ends that are first met at this SID; `counts` is without it.
void verify_ordinals(const IndexView& index, const SidWalk& sid, uint64_t ordinal, const Counts& counts) {
  for (int l = sid.first_new + 1; l <= std::min({sid.length + 1, index.levels - 1, index.csr_levels}); ++l) {
    const UintArray& ordinals = index.level[l].ordinals;
    if (ordinals) need_ordinal(SectionKind::Ordinals, l, sid.edge(l - 1), ordinals[sid.edge(l - 1)], ordinal);
  }
  if (sid.length >= index.csr_levels) return;
  const uint64_t end = counts.ends[sid.length];
  need_ordinal(SectionKind::EndOrdinals, sid.length, end, index.level[sid.length].end_ordinals[end], ordinal);
  if (index.ends == 0) return;
  need_ordinal(SectionKind::EndOrdinals, -1, counts.all_ends, index.end_ordinals[counts.all_ends], ordinal);
}

void verify_outer_ordinals(const IndexView& index) {
  for (int l = 0; l < index.levels; ++l) {
    const LevelView& level = index.level[l];
    if (!level.ordinals) continue;
    if (l == 0) need_ordinal(SectionKind::Ordinals, 0, 0, level.ordinals[0], 0);
    need_ordinal(SectionKind::Ordinals, l, level.nodes, level.ordinals[level.nodes], index.sids);
  }
}

void need_count(const char* what, int level, uint64_t header, uint64_t found) {
  if (header == found) return;
  if (level < 0)
    fail(SIDBEAM_CORRUPT, "the header's %s is %llu, the SIDs give %llu", what, static_cast<ull>(header),
         static_cast<ull>(found));
  fail(SIDBEAM_CORRUPT, "the header's %s of level %d is %llu, the SIDs give %llu", what, level,
       static_cast<ull>(header), static_cast<ull>(found));
}

void verify_counts(const Index& index, const Counts& counts) {
  const IndexView& view = index.view;
  for (int l = 0; l < view.levels; ++l) {
    need_count("edges", l, view.level[l].edges, counts.edges[l]);
    need_count("ends", l, view.level[l].ends, counts.ends[l]);
    need_count("max_children", l, view.level[l].max_children, counts.longest_row[l]);
  }
  need_count("shortest", -1, static_cast<uint64_t>(index.header.info.shortest), static_cast<uint64_t>(counts.shortest));
  need_count("longest", -1, static_cast<uint64_t>(index.header.info.longest), static_cast<uint64_t>(counts.longest));
}

// Whether they rise from 0 to the items, and by how much: without saying where they do not.
bool measure_offsets(const IndexView& view, uint64_t& collisions, uint64_t& most) {
  const UintArray& offsets = view.item_offsets;
  if (offsets[0] != 0 || offsets[view.sids] != view.items) return false;
  const PlainKernels& kernels = plain_kernels();
  if (offsets.width == 4)
    return kernels.rise_u32(static_cast<const uint32_t*>(offsets.data) + 1, view.sids, collisions, most);
  return kernels.rise_u64(static_cast<const uint64_t*>(offsets.data) + 1, view.sids, collisions, most);
}

[[noreturn]] void find_bad_offset(const IndexView& view) {
  uint64_t before = 0;
  for (uint64_t o = 0; o <= view.sids; ++o) {
    const uint64_t offset = view.item_offsets[o];
    if (o == 0 ? offset != 0 : offset <= before || offset > view.items)
      corrupt(SectionKind::ItemOffsets, -1, "entry %llu is %llu after %llu, expected to rise from 0 to %llu",
              static_cast<ull>(o), static_cast<ull>(offset), static_cast<ull>(before), static_cast<ull>(view.items));
    before = offset;
  }
  corrupt(SectionKind::ItemOffsets, -1, "the last entry is %llu, expected the %llu items", static_cast<ull>(before),
          static_cast<ull>(view.items));
}

}  // namespace

bool is_fingerprint(const Index& index, const Hash128& fingerprint) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<ull>(fingerprint.high),
                static_cast<ull>(fingerprint.low));
  return std::strcmp(text, index.header.info.fingerprint) == 0;
}

void verify_sids(const Index& index) {
  const IndexView& view = index.view;
  SidWalk sid(view);
  Counts counts;
  ColumnDigests digests(view.levels);
  if (view.has_trie) verify_outer_ordinals(view);
  for (uint64_t ordinal = 0; ordinal < view.sids; ++ordinal) {
    sid.next(ordinal);
    if (view.has_trie) verify_ordinals(view, sid, ordinal, counts);
    counts.add(sid, view.levels);
    digests.add(sid.codes);
  }
  verify_counts(index, counts);
  const Hash128 found = fingerprint(view, digests.values());
  if (!is_fingerprint(index, found))
    fail(SIDBEAM_CORRUPT, "the header's fingerprint is %s, the contents give %016llx%016llx",
         index.header.info.fingerprint, static_cast<ull>(found.high), static_cast<ull>(found.low));
}

void verify_items(const Index& index) {
  const IndexView& view = index.view;
  uint64_t collisions = 0, most = 1;
  if (view.item_offsets && !measure_offsets(view, collisions, most)) find_bad_offset(view);
  need_count("collisions", -1, static_cast<uint64_t>(index.header.info.collisions), collisions);
  need_count("max_items_per_sid", -1, static_cast<uint64_t>(index.header.info.max_items_per_sid), most);
  if (view.id_type != IdType::kString) return;
  for (uint64_t i = 0; i <= view.items; ++i) {
    const uint64_t offset = view.name_offsets[i], least = i == 0 ? 0 : view.name_offsets[i - 1];
    if (offset < least || offset > view.name_bytes || (i == 0 && offset != 0) ||
        (i == view.items && offset != view.name_bytes))
      corrupt(SectionKind::ItemNameOffsets, -1, "entry %llu is %llu, expected to rise from 0 to %llu",
              static_cast<ull>(i), static_cast<ull>(offset), static_cast<ull>(view.name_bytes));
  }
}

}  // namespace sidbeam
