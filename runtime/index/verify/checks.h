// The rules of every section, element by element, each with the message for a violation. A device checks all elements
// in parallel and counts violations. The CPU goes through them in order and throws at the first one (explain.h). A
// Report has
//
//   bool need(bool holds, SectionKind kind, int level, Message message, numbers...);   // returns `holds`, or throws
//
// No check reads outside the arrays, whatever they contain.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "index/format.h"
#include "index/tail.h"
#include "index/trie.h"
#include "index/verify/invariants.h"

namespace sidbeam {

// Text with exactly one %llu per number. Other text does not compile.
template <class... Numbers>
struct MessageOf {
  const char* text;
  consteval MessageOf(const char* given) : text(given) {  // NOLINT(google-explicit-constructor): literals are messages
    size_t numbers = 0;
    for (const char* at = given; *at != '\0'; ++at) {
      if (*at != '%') continue;
      if (at[1] != 'l' || at[2] != 'l' || at[3] != 'u') throw "a message takes %llu alone";
      ++numbers;
    }
    if (numbers != sizeof...(Numbers)) throw "a message takes one %llu per number";
  }
};
// Keeps Message out of template argument deduction, so that the numbers alone determine how many there are.
template <class... Numbers>
using Message = std::type_identity_t<MessageOf<Numbers...>>;

// For arrays in which every entry follows from other sections: ordinals, ends and ranks.
template <class Report>
SIDBEAM_HD bool check_entry(Report& report, format::SectionKind kind, int level, uint64_t entry, uint64_t found,
                            uint64_t expected) {
  return report.need(found == expected, kind, level, "entry %llu is %llu, expected %llu", entry, found, expected);
}

// Row pointers begin at 0, never fall, and end at the edges.
template <class Report>
SIDBEAM_HD void check_first_pointer(Report& report, const LevelView& level, int l) {
  const uint64_t pointer = level.row_pointers[0];
  report.need(pointer == 0, format::SectionKind::RowPointers, l, "entry 0 is %llu, expected 0", pointer);
}
template <class Report>
SIDBEAM_HD void check_row_pointer(Report& report, const LevelView& level, int l, uint64_t n, uint64_t before,
                                  uint64_t pointer) {
  constexpr auto kKind = format::SectionKind::RowPointers;
  report.need(!falls_from(before, pointer), kKind, l, "entry %llu falls (%llu after %llu)", n, pointer, before);
  report.need(pointer <= level.edges, kKind, l, "entry %llu is %llu, expected at most the %llu edges", n, pointer,
              level.edges);
}
template <class Report>
SIDBEAM_HD void check_last_pointer(Report& report, const LevelView& level, int l) {
  const uint64_t pointer = level.row_pointers[level.nodes];
  report.need(pointer == level.edges, format::SectionKind::RowPointers, l,
              "the last entry is %llu, expected the %llu edges", pointer, level.edges);
}

// The number of values that a token of a level may take, including the end. No SID is empty, so level 0 has no end.
SIDBEAM_HD inline uint64_t tokens_of(const IndexView& index, int l) {
  return uint64_t{index.level[l].codes} + (index.variable_length && l > 0 ? 1 : 0);
}

// The row of a node, edges [begin, end). Ends have no children, and other nodes have some. Tokens rise and stay below
// the bound. `tokens` is the level's UintArray or its typed pointer; testing the width per token would slow the CPU by
// a quarter.
template <class Report, class Tokens>
SIDBEAM_HD void check_row(Report& report, const IndexView& index, int l, uint64_t node, uint64_t begin, uint64_t end,
                          const Tokens& tokens) {
  const bool is_end = is_end_node(index, l, node);
  report.need(begin != end || is_end, format::SectionKind::RowPointers, l,
              "node %llu has no children, though no SID ends there", node);
  report.need(begin == end || !is_end, format::SectionKind::RowPointers, l, "node %llu has children below an end",
              node);
  const uint64_t bound = tokens_of(index, l);
  uint64_t before = 0;
  for (uint64_t edge = begin; edge < end; ++edge) {
    const uint64_t token = tokens[edge];
    report.need(edge == begin || rises(before, token), format::SectionKind::Tokens, l,
                "entry %llu does not rise (%llu after %llu)", edge, token, before);
    report.need(token < bound, format::SectionKind::Tokens, l, "entry %llu is %llu, expected less than %llu", edge,
                token, bound);
    before = token;
  }
}

// The list of ends contains every end in order: edge `edge` is an end, and `rank` ends precede it.
template <class Report>
SIDBEAM_HD void check_end(Report& report, const LevelView& level, int l, uint64_t rank, uint64_t edge) {
  if (report.need(rank < level.ends, format::SectionKind::Tokens, l, "more than the header's %llu ends", level.ends))
    check_entry(report, format::SectionKind::EndEdges, l, rank, level.end_edges[rank], edge);
}
template <class Report>
SIDBEAM_HD void check_end_count(Report& report, const LevelView& level, int l, uint64_t ends) {
  report.need(ends == level.ends, format::SectionKind::Tokens, l, "%llu ends, the header says %llu", ends, level.ends);
}

// The first and last entries of a level's ordinals.
template <class Report>
SIDBEAM_HD void check_outer_ordinals(Report& report, const IndexView& index, int l) {
  const LevelView& level = index.level[l];
  if (!level.ordinals) return;
  if (l == 0) check_entry(report, format::SectionKind::Ordinals, 0, 0, level.ordinals[0], 0);
  check_entry(report, format::SectionKind::Ordinals, l, level.nodes, level.ordinals[level.nodes], index.sids);
}

// Which nodes are dense: the rank of a group of bits, a set bit preceded by `dense` others, and the number of set bits.
template <class Report>
SIDBEAM_HD void check_dense_rank(Report& report, const LevelView& level, int l, uint64_t group, uint64_t dense) {
  check_entry(report, format::SectionKind::DenseNodeRanks, l, group, level.dense_ranks[group], dense);
}
template <class Report>
SIDBEAM_HD bool check_dense_bit(Report& report, const LevelView& level, int l, uint64_t node, uint64_t dense) {
  return report.need(node < level.nodes && dense < level.dense_nodes, format::SectionKind::DenseNodes, l,
                     "bit %llu is set, there are %llu nodes and %llu of them are dense", node, level.nodes,
                     level.dense_nodes);
}
template <class Report>
SIDBEAM_HD void check_dense_count(Report& report, const LevelView& level, int l, uint64_t dense) {
  report.need(dense == level.dense_nodes, format::SectionKind::DenseNodes, l, "%llu bits are set, the header says %llu",
              dense, level.dense_nodes);
}

template <class Token>
SIDBEAM_HD bool are_in_mask(const uint64_t* mask, const Token* tokens, uint64_t count, uint32_t codes) {
  uint64_t set = 1;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t token = tokens[i] < codes ? tokens[i] : codes;  // the end has a bit, too
    set &= mask[token / 64] >> token % 64;
  }
  return set != 0;
}

// The mask of a dense node equals its list: every child's bit is set, and there are as many set bits as children.
template <class Report>
SIDBEAM_HD void check_mask(Report& report, const LevelView& level, int l, uint64_t node, uint64_t dense) {
  const uint64_t* mask = level.masks + dense * level.mask_words();
  const uint32_t* ranks = level.mask_ranks + dense * level.mask_rank_count();
  const Row row = row_of(level, node);
  uint64_t set = 0;
  for (uint64_t w = 0; w < level.mask_words(); ++w) {
    const uint64_t group = w / (kRankBits / 64);
    if (w % (kRankBits / 64) == 0)
      report.need(ranks[group] == set, format::SectionKind::DenseMaskRanks, l,
                  "rank %llu of node %llu is %llu, expected %llu", group, node, ranks[group], set);
    set += bits_set(mask[w]);
  }
  const bool in_mask =
      level.tokens.width == 2
          ? are_in_mask(mask, static_cast<const uint16_t*>(level.tokens.data) + row.begin, row.count, level.codes)
          : are_in_mask(mask, static_cast<const uint32_t*>(level.tokens.data) + row.begin, row.count, level.codes);
  report.need(set == row.count && in_mask, format::SectionKind::DenseMasks, l,
              "the mask of node %llu is not its children", node);
}

// Whether bits past the last split are set.
SIDBEAM_HD inline bool has_tail_padding(const IndexView& index) {
  const uint64_t entries = index.sids * tail_width(index);
  return index.tail.splits != nullptr && entries % 64 != 0 && index.tail.splits[entries / 64] >> entries % 64 != 0;
}

// A run of the tail has at most kMaxRun SIDs; `count` lie below the node.
template <class Report>
SIDBEAM_HD void check_run(Report& report, const IndexView& index, uint64_t node, uint64_t count) {
  report.need(count <= kMaxRun, format::SectionKind::Ordinals, index.csr_levels, "node %llu has more than %llu SIDs",
              node, kMaxRun);
}

// Compares a row of the tail with the previous one. It rises at the first level where they differ, split bits are set
// from there on, and a SID that has ended stays ended. `begins`: the SID is the first of its node, or has `ended`
// above.
template <class Report, class Entries>
SIDBEAM_HD void check_tail_row(Report& report, const IndexView& index, const Entries& entries, uint64_t i, bool begins,
                               bool ended) {
  constexpr auto kKind = format::SectionKind::Tail;
  const int top = index.csr_levels;
  const uint64_t first = tail_entry(index, i, top), width = tail_width(index);
  const auto split_kind = index.tail.splits != nullptr ? format::SectionKind::TailSplits : kKind;
  bool differs = begins;
  for (int l = top; l < index.levels; ++l) {
    const uint64_t at = first + static_cast<uint64_t>(l - top);
    const uint32_t token = entries.token(at), codes = index.level[l].codes;
    report.need(!ended || token == codes, kKind, top, "SID %llu has %llu at level %llu, expected the end, %llu", i,
                token, l, codes);
    report.need(ended || token < codes || (token == codes && index.variable_length), kKind, top,
                "SID %llu has %llu at level %llu, expected less than %llu", i, token, l, codes);
    if (!differs) {
      const uint32_t before = entries.token(at - width);
      report.need(is_in_order(false, before, token), kKind, top, "SID %llu falls at level %llu (%llu after %llu)", i, l,
                  token, before);
      differs = begins_edge(false, before, token);
    }
    const bool split = entries.split(at);
    report.need(!split || (differs && !ended), split_kind, top,
                "SID %llu begins an edge at level %llu, which its codes deny", i, l);
    report.need(split || !differs || ended, split_kind, top,
                "SID %llu begins no edge at level %llu, which its codes deny", i, l);
    ended = ended || token == codes;
  }
  report.need(differs, kKind, top, "SID %llu is there twice", i);
}

// Entry i of a level's column: the code is below the bound, or the end code if the SID has ended.
template <class Report>
SIDBEAM_HD void check_code(Report& report, const IndexView& index, int l, uint64_t i, uint64_t code, bool ended) {
  constexpr auto kKind = format::SectionKind::Columns;
  const uint64_t codes = index.level[l].codes, bound = tokens_of(index, l);
  report.need(!ended || code == codes, kKind, l, "entry %llu is %llu, expected the end, %llu", i, code, codes);
  report.need(ended || code < bound, kKind, l, "entry %llu is %llu, expected less than %llu", i, code, bound);
}
template <class Report>
SIDBEAM_HD void check_code_order(Report& report, int l, uint64_t i, bool differs, uint64_t before, uint64_t code) {
  report.need(is_in_order(differs, before, code), format::SectionKind::Columns, l, "entry %llu falls (%llu after %llu)",
              i, code, before);
}
template <class Report>
SIDBEAM_HD void check_code_of_trie(Report& report, int l, uint64_t i, uint64_t code, uint64_t of_trie) {
  report.need(code == of_trie, format::SectionKind::Columns, l, "entry %llu is %llu, the trie has %llu", i, code,
              of_trie);
}
template <class Report>
SIDBEAM_HD void check_distinct(Report& report, uint64_t i, bool differs) {
  report.need(differs, format::SectionKind::Columns, 0, "SID %llu is there twice", i);
}

// A slot of the hash set.
template <class Report>
SIDBEAM_HD void check_empty_slot(Report& report, const HashView& hash, uint64_t slot) {
  const uint64_t ordinal = hash.ordinals[slot];
  report.need(stray_ordinal(is_used(hash.keys[slot]), ordinal) == 0, format::SectionKind::HashOrdinals, -1,
              "slot %llu is empty and has ordinal %llu, expected 0", slot, ordinal);
}
template <class Report>
SIDBEAM_HD bool check_slot_ordinal(Report& report, const IndexView& index, uint64_t slot) {
  const uint64_t ordinal = index.hash.ordinals[slot];
  return report.need(ordinal < index.sids, format::SectionKind::HashOrdinals, -1,
                     "slot %llu has ordinal %llu, which is no SID's", slot, ordinal);
}
SIDBEAM_HD inline format::SectionKind keys_kind(const IndexView& index) {
  return index.hash.seed != 0 ? format::SectionKind::SeededHashKeys : format::SectionKind::HashKeys;
}
// The slot holds the key of its SID. Requires that the slot's ordinal is in range. key_of(index, ordinal) returns the
// key of a SID.
template <class Report, class Key>
SIDBEAM_HD void check_slot_key(Report& report, const IndexView& index, uint64_t slot, const Key& key_of) {
  const uint64_t ordinal = index.hash.ordinals[slot];
  report.need(key_of(index, ordinal) == index.hash.keys[slot], keys_kind(index), -1,
              "slot %llu has not the key of its SID, %llu", slot, ordinal);
}
// The place of a slot that `before` used slots precede without an empty one between.
template <class Report>
SIDBEAM_HD void check_slot_place(Report& report, const IndexView& index, uint64_t slot, uint64_t before) {
  const HashView& hash = index.hash;
  const uint64_t distance = (slot - mix_key(hash.mix, hash.keys[slot])) & (hash.capacity - 1);
  report.need(is_reached(distance, before, hash.capacity), keys_kind(index), -1,
              "slot %llu is cut off from where its key begins", slot);
  report.need(is_reached(distance, before, hash.probes - 1), keys_kind(index), -1,
              "slot %llu is %llu slots from where its key begins, expected less than %llu", slot, distance,
              hash.probes);
}

// Entry o <= sids: item offsets rise from 0 to the number of items.
template <class Report>
SIDBEAM_HD void check_item_offset(Report& report, const IndexView& index, uint64_t o) {
  constexpr auto kKind = format::SectionKind::ItemOffsets;
  const uint64_t offset = index.item_offsets[o], before = o == 0 ? 0 : index.item_offsets[o - 1];
  report.need(o == 0 ? offset == 0 : rises(before, offset) && offset <= index.items, kKind, -1,
              "entry %llu is %llu after %llu, expected to rise from 0 to %llu", o, offset, before, index.items);
  report.need(o != index.sids || offset == index.items, kKind, -1, "the last entry is %llu, expected the %llu items",
              offset, index.items);
}

// Entry i <= items: name offsets go from 0 to the size of the names and never fall.
template <class Report>
SIDBEAM_HD void check_name_offset(Report& report, const IndexView& index, uint64_t i) {
  const uint64_t offset = index.name_offsets[i], before = i == 0 ? 0 : index.name_offsets[i - 1];
  const bool is_last = i == index.items;
  report.need(!falls_from(before, offset) && offset <= index.name_bytes && (i != 0 || offset == 0) &&
                  (!is_last || offset == index.name_bytes),
              format::SectionKind::ItemNameOffsets, -1, "entry %llu is %llu, expected to rise from 0 to %llu", i,
              offset, index.name_bytes);
}

}  // namespace sidbeam
