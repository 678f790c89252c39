// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_trie.h"

#include <bit>

#include "index/trie.h"
#include "index/verify/corrupt.h"

namespace sidbeam {
namespace {

using format::SectionKind;
using ull = unsigned long long;

void verify_row_pointers(const LevelView& level, int l) {
  const UintArray& pointers = level.row_pointers;
  if (pointers[0] != 0)
    corrupt(SectionKind::RowPointers, l, "entry 0 is %llu, expected 0", static_cast<ull>(pointers[0]));
  uint64_t before = 0;
  for (uint64_t n = 1; n <= level.nodes; ++n) {
    const uint64_t pointer = pointers[n];
    if (pointer < before)
      corrupt(SectionKind::RowPointers, l, "entry %llu falls (%llu after %llu)", static_cast<ull>(n),
              static_cast<ull>(pointer), static_cast<ull>(before));
    if (pointer > level.edges)
      corrupt(SectionKind::RowPointers, l, "entry %llu is %llu, expected at most the %llu edges", static_cast<ull>(n),
              static_cast<ull>(pointer), static_cast<ull>(level.edges));
    before = pointer;
  }
  if (before != level.edges)
    corrupt(SectionKind::RowPointers, l, "the last entry is %llu, expected the %llu edges", static_cast<ull>(before),
            static_cast<ull>(level.edges));
}

// Children rise and stay below the bound; ends have none and others some. Row pointers are verified.
void verify_rows(const IndexView& index, int l) {
  const LevelView& level = index.level[l];
  const uint64_t bound = uint64_t{level.codes} + (index.variable_length && l > 0 ? 1 : 0);
  for (uint64_t node = 0; node < level.nodes; ++node) {
    const uint64_t begin = level.row_pointers[node], end = level.row_pointers[node + 1];
    if ((begin == end) != is_end_node(index, l, node))
      corrupt(
          SectionKind::RowPointers, l,
          begin == end ? "node %llu has no children, though no SID ends there" : "node %llu has children below an end",
          static_cast<ull>(node));
    uint64_t before = 0;
    for (uint64_t edge = begin; edge < end; ++edge) {
      const uint64_t token = level.tokens[edge];
      if (edge > begin && token <= before)
        corrupt(SectionKind::Tokens, l, "entry %llu does not rise (%llu after %llu)", static_cast<ull>(edge),
                static_cast<ull>(token), static_cast<ull>(before));
      if (token >= bound)
        corrupt(SectionKind::Tokens, l, "entry %llu is %llu, expected less than %llu", static_cast<ull>(edge),
                static_cast<ull>(token), static_cast<ull>(bound));
      before = token;
    }
  }
}

void verify_end_edges(const IndexView& index, int l) {
  const LevelView& level = index.level[l];
  if (!index.variable_length) return;
  uint64_t ends = 0;
  for (uint64_t edge = 0; edge < level.edges; ++edge) {
    if (level.tokens[edge] != level.codes) continue;
    if (ends == level.ends)
      corrupt(SectionKind::Tokens, l, "more than the header's %llu ends", static_cast<ull>(level.ends));
    if (level.end_edges[ends] != edge)
      corrupt(SectionKind::EndEdges, l, "entry %llu is %llu, expected %llu", static_cast<ull>(ends),
              static_cast<ull>(level.end_edges[ends]), static_cast<ull>(edge));
    ++ends;
  }
  if (ends != level.ends)
    corrupt(SectionKind::Tokens, l, "%llu ends, the header says %llu", static_cast<ull>(ends),
            static_cast<ull>(level.ends));
}

template <class Token>
bool are_set(const uint64_t* mask, const Token* tokens, uint64_t count) {
  uint64_t set = 1;
  for (uint64_t i = 0; i < count; ++i) set &= mask[tokens[i] / 64] >> tokens[i] % 64;
  return set != 0;
}

// Every child's bit is set, and as many bits as there are children: the mask is the list.
void verify_mask(const LevelView& level, int l, uint64_t node, uint64_t dense) {
  const uint64_t* mask = level.masks + dense * level.mask_words();
  const uint32_t* ranks = level.mask_ranks + dense * level.mask_rank_count();
  const uint64_t begin = level.row_pointers[node], end = level.row_pointers[node + 1];
  uint64_t set = 0;
  for (uint64_t w = 0; w < level.mask_words(); ++w) {
    if (w % (kRankBits / 64) == 0 && ranks[w / (kRankBits / 64)] != set)
      corrupt(SectionKind::DenseMaskRanks, l, "rank %llu of node %llu is %u, expected %llu",
              static_cast<ull>(w / (kRankBits / 64)), static_cast<ull>(node), ranks[w / (kRankBits / 64)],
              static_cast<ull>(set));
    set += bits_set(mask[w]);
  }
  const bool in_mask = level.tokens.width == 2
                           ? are_set(mask, static_cast<const uint16_t*>(level.tokens.data) + begin, end - begin)
                           : are_set(mask, static_cast<const uint32_t*>(level.tokens.data) + begin, end - begin);
  if (set != end - begin || !in_mask)
    corrupt(SectionKind::DenseMasks, l, "the mask of node %llu is not its children", static_cast<ull>(node));
}

}  // namespace

void verify_dense(const LevelView& level, int l) {
  if (level.dense_nodes == 0) return;
  uint64_t dense = 0;
  for (uint64_t w = 0; w < divide_up(level.nodes, 64); ++w) {
    const uint64_t rank = w / (kRankBits / 64);
    if (w % (kRankBits / 64) == 0 && level.dense_ranks[rank] != dense)
      corrupt(SectionKind::DenseNodeRanks, l, "entry %llu is %u, expected %llu", static_cast<ull>(rank),
              level.dense_ranks[rank], static_cast<ull>(dense));
    for (uint64_t bits = level.dense_bits[w]; bits != 0; bits &= bits - 1) {
      const uint64_t node = w * 64 + static_cast<uint64_t>(std::countr_zero(bits));
      if (node >= level.nodes || dense == level.dense_nodes)
        corrupt(SectionKind::DenseNodes, l, "bit %llu is set, there are %llu nodes and %llu of them are dense",
                static_cast<ull>(node), static_cast<ull>(level.nodes), static_cast<ull>(level.dense_nodes));
      verify_mask(level, l, node, dense++);
    }
  }
  if (dense != level.dense_nodes)
    corrupt(SectionKind::DenseNodes, l, "%llu bits are set, the header says %llu", static_cast<ull>(dense),
            static_cast<ull>(level.dense_nodes));
}

void verify_trie_level(const IndexView& index, int level) {
  verify_row_pointers(index.level[level], level);
  verify_rows(index, level);
  verify_end_edges(index, level);
  verify_dense(index.level[level], level);
}

}  // namespace sidbeam
