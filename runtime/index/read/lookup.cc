// SPDX-License-Identifier: Apache-2.0
#include "index/read/lookup.h"

#include <algorithm>

#include "support/hashing.h"

namespace sidbeam {
namespace {

uint64_t first_ordinal(const IndexView& index, int level, uint64_t node) {
  for (;; ++level) {
    if (is_end_node(index, level, node)) return end_ordinal(index, level - 1, node);
    if (level == index.levels) return leaf_ordinal(index, node);
    const LevelView& at = index.level[level];
    if (node >= at.nodes) return index.sids;
    if (at.ordinals) return std::min(at.ordinals[node], index.sids);
    node = std::min(at.row_pointers[node], at.edges);
  }
}

uint64_t last_ordinal(const IndexView& index, int level, uint64_t node) {
  for (;; ++level) {
    if (is_end_node(index, level, node)) return end_ordinal(index, level - 1, node);
    if (level == index.levels) return leaf_ordinal(index, node);
    if (is_tail_level(index, level)) {
      const Run run = run_of(index, level, node);
      return run.count == 0 ? index.sids : run.lo + run.count - 1;
    }
    const Row row = row_of(index.level[level], node);
    if (row.count == 0) return index.sids;  // damaged: every node that is no end has children
    node = row.begin + row.count - 1;
  }
}

uint32_t clamped_code(const LevelView& level, uint64_t code) {
  return static_cast<uint32_t>(std::min<uint64_t>(code, level.codes - 1));
}

// The number of ends before an ordinal, over all levels.
uint64_t ends_before(const IndexView& index, uint64_t ordinal) {
  if (index.ends == 0) return 0;
  return first_where(0, index.ends, [&](uint64_t i) { return index.end_ordinals[i] >= ordinal; });
}

// The edge that is the end of an ordinal's SID, or level -1 if the SID has no end within the CSR levels.
Leaf end_leaf_of(const IndexView& index, uint64_t ordinal) {
  for (int l = 1; l < index.csr_levels; ++l) {
    const LevelView& level = index.level[l];
    if (level.ends == 0) continue;
    const uint64_t i = first_where(0, level.ends, [&](uint64_t k) { return level.end_ordinals[k] >= ordinal; });
    if (i < level.ends && level.end_ordinals[i] == ordinal) return {l, level.end_edges[i]};
  }
  return {-1, 0};
}

// The last edge above the tail on the path of an ordinal's SID.
Leaf leaf_above_tail(const IndexView& index, uint64_t ordinal) {
  const LevelView& level = index.level[index.csr_levels];
  if (ended_above_tail(index, ordinal)) {
    const Leaf end = end_leaf_of(index, ordinal);
    if (end.level >= 0) return end;
  }
  const uint64_t after = first_where(0, level.nodes, [&](uint64_t n) { return level.ordinals[n] > ordinal; });
  return {index.csr_levels - 1, after == 0 ? 0 : after - 1};
}

// The last edge on the path of an ordinal's SID.
Leaf leaf_of(const IndexView& index, uint64_t ordinal) {
  const int last = index.levels - 1;
  if (!index.variable_length) return {last, ordinal};
  const uint64_t before = ends_before(index, ordinal);
  if (before < index.ends && index.end_ordinals[before] == ordinal) {
    const Leaf end = end_leaf_of(index, ordinal);
    if (end.level >= 0) return end;
  }
  // The leaves of full-length SIDs are the edges of the last level that are no ends.
  const LevelView& level = index.level[last];
  const uint64_t leaf = ordinal - std::min(ordinal, before);
  if (level.ends == 0) return {last, leaf};
  return {last, leaf + first_where(0, level.ends, [&](uint64_t i) {
                  const uint64_t edge = level.end_edges[i];
                  return edge < i || edge - i > leaf;
                })};
}

// The node from which an edge leaves.
uint64_t node_of(const LevelView& level, uint64_t edge) {
  const uint64_t after = first_where(0, level.nodes + 1, [&](uint64_t n) { return level.row_pointers[n] > edge; });
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

// A SID has codes in the tail only if its last edge above the tail is no end of the SID. Otherwise the tail is ignored.
int sid_of_trie(const IndexView& index, uint64_t ordinal, int32_t* codes) {
  const bool has_tail = index.csr_levels < index.levels;
  const Leaf leaf = last_edge_of(index, ordinal);
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
    edge = node_of(level, edge);
  }
  return has_tail && length == index.csr_levels ? tail_codes(index, ordinal, codes) : length;
}

}  // namespace

Leaf last_edge_of(const IndexView& index, uint64_t ordinal) {
  return index.csr_levels < index.levels ? leaf_above_tail(index, ordinal) : leaf_of(index, ordinal);
}

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

OrdinalRange state_ordinals(const IndexView& index, const State& state) {
  if (state.kind != NodeKind::kTail) return trie_ordinals(index, state.level, state.node);
  const Run run = run_of(index, state.level, state.node);
  return {run.lo, run.lo + run.count};
}

OrdinalRange trie_ordinals(const IndexView& index, int level, uint64_t node) {
  const uint64_t nodes = level == index.levels ? index.level[level - 1].edges : index.level[level].nodes;
  if (node >= nodes) return {};
  const uint64_t lo = first_ordinal(index, level, node);
  const bool direct = !index.variable_length && level < index.levels && index.level[level].ordinals;
  const uint64_t hi = direct ? std::min(index.level[level].ordinals[node + 1], index.sids)
                             : std::min(last_ordinal(index, level, node) + 1, index.sids);
  return {lo, std::max(lo, hi)};
}

OrdinalRange prefix_ordinals(const IndexView& index, const int32_t* prefix, int length) {
  if (length < 0 || length > index.levels) return {};
  if (length == 0) return {0, index.sids};
  if (!index.has_trie) return prefix_in_columns(index, prefix, length);
  State state;
  return follow_prefix(index, prefix, length, state) ? state_ordinals(index, state) : OrdinalRange{};
}

int sid_of(const IndexView& index, uint64_t ordinal, int32_t* codes) {
  if (ordinal >= index.sids) return sid_of(*index.overlay->delta, delta_ordinal(index, ordinal), codes);
  return index.has_columns ? sid_of_columns(index, ordinal, codes) : sid_of_trie(index, ordinal, codes);
}

uint64_t hash_key(const IndexView& index, const int32_t* codes) {
  if (index.hash.hashed)
    return xxh3_64(index.target, codes, static_cast<size_t>(index.levels) * sizeof *codes, index.hash.seed) &
           index.hash.key_mask;
  uint64_t key = 0;
  for (int l = index.levels - 1; l >= 0; --l) {
    const uint64_t radix = uint64_t{index.level[l].codes} + (index.variable_length ? 1 : 0);
    key = key * radix + static_cast<uint32_t>(codes[l]);
  }
  return key;
}

int64_t hash_find(const IndexView& index, const int32_t* codes) { return hash_find(index, codes, hash_key); }

int64_t find_sid(const IndexView& index, const int32_t* codes, int length) {
  return find_sid(index, codes, length, CpuHashKey());
}

}  // namespace sidbeam
