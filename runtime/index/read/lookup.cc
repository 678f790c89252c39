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

}  // namespace

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
