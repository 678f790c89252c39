// The codes of an ordinal, found from its last edge upwards. All is safe on damaged contents.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "index/read/lookup.h"
#include "index/read/rising_sids.h"
#include "index/tail.h"

namespace sidbeam {
namespace {

// The first place in an array of `end` entries at which holds() is true, found by halves. The place where the same
// array was searched before is of no use.
struct SearchAll {
  template <class Holds>
  uint64_t operator()(int, uint64_t end, const Holds& holds) const {
    return first_where(0, end, holds);
  }
};

// The same near that place: what is searched for rises.
struct SearchNear {
  uint64_t* places;
  template <class Holds>
  uint64_t operator()(int array, uint64_t end, const Holds& holds) const {
    return places[array] = first_where_near(std::min(places[array], end), end, holds);
  }
};

// The numbers by which a search knows the arrays that it looks into, besides those of levels.
int nodes_of(int level) { return level; }
int ends_of(int level) { return kMaxLevels + level; }
constexpr int kAllEnds = 2 * kMaxLevels, kLastEnds = kAllEnds + 1;
static_assert(kLastEnds < RisingSids::kPlaces);

uint32_t clamped_code(const LevelView& level, uint64_t code) {
  return static_cast<uint32_t>(std::min<uint64_t>(code, level.codes - 1));
}

// The edge that is the end of an ordinal's SID, or level -1 if the SID has no end within the CSR levels.
template <class Search>
Leaf end_leaf_of(const IndexView& index, uint64_t ordinal, const Search& search) {
  for (int l = 1; l < index.csr_levels; ++l) {
    const LevelView& level = index.level[l];
    if (level.ends == 0) continue;
    const uint64_t i = search(ends_of(l), level.ends, [&](uint64_t k) { return level.end_ordinals[k] >= ordinal; });
    if (i < level.ends && level.end_ordinals[i] == ordinal) return {l, level.end_edges[i]};
  }
  return {-1, 0};
}

// The last edge above the tail on the path of an ordinal's SID.
template <class Search>
Leaf leaf_above_tail(const IndexView& index, uint64_t ordinal, const Search& search) {
  const LevelView& level = index.level[index.csr_levels];
  if (ended_above_tail(index, ordinal)) {
    const Leaf end = end_leaf_of(index, ordinal, search);
    if (end.level >= 0) return end;
  }
  const uint64_t after =
      search(nodes_of(index.csr_levels), level.nodes, [&](uint64_t n) { return level.ordinals[n] > ordinal; });
  return {index.csr_levels - 1, after == 0 ? 0 : after - 1};
}

// The last edge on the path of an ordinal's SID.
template <class Search>
Leaf leaf_of(const IndexView& index, uint64_t ordinal, const Search& search) {
  const int last = index.levels - 1;
  if (!index.variable_length) return {last, ordinal};
  // The number of ends before it, over all levels.
  const uint64_t before =
      index.ends == 0 ? 0 : search(kAllEnds, index.ends, [&](uint64_t i) { return index.end_ordinals[i] >= ordinal; });
  if (before < index.ends && index.end_ordinals[before] == ordinal) {
    const Leaf end = end_leaf_of(index, ordinal, search);
    if (end.level >= 0) return end;
  }
  // The leaves of full-length SIDs are the edges of the last level that are no ends.
  const LevelView& level = index.level[last];
  const uint64_t leaf = ordinal - std::min(ordinal, before);
  if (level.ends == 0) return {last, leaf};
  return {last, leaf + search(kLastEnds, level.ends, [&](uint64_t i) {
                  const uint64_t edge = level.end_edges[i];
                  return edge < i || edge - i > leaf;
                })};
}

// The node from which an edge leaves.
template <class Search>
uint64_t node_of(const IndexView& index, int l, uint64_t edge, const Search& search) {
  const LevelView& level = index.level[l];
  const uint64_t after = search(nodes_of(l), level.nodes + 1, [&](uint64_t n) { return level.row_pointers[n] > edge; });
  return std::min(after == 0 ? 0 : after - 1, level.nodes - 1);
}

int sid_of_columns(const IndexView& index, uint64_t ordinal, int32_t* codes) {
  for (int l = 0; l < index.levels; ++l) {
    const LevelView& level = index.level[l];
    const uint64_t code = level.column[ordinal];
    if (index.variable_length && l > 0 && code == level.codes) return l;
    codes[l] = static_cast<int32_t>(clamped_code(level, code));
  }
  return index.levels;
}

template <class Search>
Leaf last_edge_of(const IndexView& index, uint64_t ordinal, const Search& search) {
  return index.csr_levels < index.levels ? leaf_above_tail(index, ordinal, search) : leaf_of(index, ordinal, search);
}

// A SID has codes in the tail only if its last edge above the tail is no end of the SID. Otherwise the tail is ignored.
template <class Search>
int sid_of_trie(const IndexView& index, uint64_t ordinal, int32_t* codes, const Search& search) {
  const bool has_tail = index.csr_levels < index.levels;
  const Leaf leaf = last_edge_of(index, ordinal, search);
  uint64_t edge = leaf.edge;
  int length = leaf.level + 1;
  for (int l = leaf.level; l >= 0; --l) {
    const LevelView& level = index.level[l];
    if (level.edges == 0 || level.nodes == 0) return 0;  // damaged
    edge = std::min(edge, level.edges - 1);
    const uint32_t token = static_cast<uint32_t>(level.tokens[edge]);
    if (index.variable_length && l > 0 && l == leaf.level && token == level.codes) {
      length = l;
    } else {
      codes[l] = static_cast<int32_t>(clamped_code(level, token));
    }
    edge = l > 0 ? node_of(index, l, edge, search) : 0;
  }
  return has_tail && length == index.csr_levels ? tail_codes(index, ordinal, codes) : length;
}

template <class Search>
int sid_of(const IndexView& index, uint64_t ordinal, int32_t* codes, const Search& search) {
  return index.has_columns ? sid_of_columns(index, ordinal, codes) : sid_of_trie(index, ordinal, codes, search);
}

}  // namespace

Leaf last_edge_of(const IndexView& index, uint64_t ordinal) { return last_edge_of(index, ordinal, SearchAll()); }

int tail_codes(const IndexView& index, uint64_t ordinal, int32_t* codes) {
  const uint64_t first = tail_entry(index, ordinal, index.csr_levels);
  return read_tail(index.tail, [&](const auto& entries) {
    for (int l = index.csr_levels; l < index.levels; ++l) {
      const uint32_t token = entries.token(first + static_cast<uint64_t>(l - index.csr_levels));
      if (is_tail_end(index, l, token)) return l;
      codes[l] = static_cast<int32_t>(clamped_code(index.level[l], token));
    }
    return index.levels;
  });
}

int sid_of(const IndexView& index, uint64_t ordinal, int32_t* codes) {
  if (ordinal >= index.sids) return sid_of(*index.overlay->delta, delta_ordinal(index, ordinal), codes);
  return sid_of(index, ordinal, codes, SearchAll());
}

int RisingSids::read(uint64_t ordinal, int32_t* codes) { return sid_of(index_, ordinal, codes, SearchNear{places_}); }

}  // namespace sidbeam
