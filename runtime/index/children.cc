// SPDX-License-Identifier: Apache-2.0
#include "index/children.h"

#include <algorithm>

#include "index/lookup.h"
#include "index/trie.h"

namespace sidbeam {
namespace {

void add_child(const LevelView& level, uint32_t code, int32_t* tokens, int64_t capacity, Children& children) {
  if (code == level.codes) {
    children.end = true;
  } else if (code < level.codes) {
    if (children.count < capacity) tokens[children.count] = static_cast<int32_t>(code);
    ++children.count;
  }
}

// The node of a prefix at its level, or kNoEdge.
uint64_t node_of(const IndexView& index, const int32_t* prefix, int32_t length) {
  uint64_t node = 0;
  for (int32_t l = 0; l < length && node != kNoEdge; ++l) {
    const LevelView& level = index.level[l];
    const bool in_range = prefix[l] >= 0 && static_cast<uint32_t>(prefix[l]) < level.codes;
    node = in_range ? find_edge(level, row_of(level, node), static_cast<uint32_t>(prefix[l])) : kNoEdge;
  }
  return node;
}

}  // namespace

Children children_of(const IndexView& index, const int32_t* prefix, int32_t length, int32_t* tokens, int64_t capacity) {
  Children children;
  const LevelView& level = index.level[length];
  if (index.has_trie) {
    const uint64_t node = node_of(index, prefix, length);
    const Row row = node == kNoEdge ? Row{} : row_of(level, node);
    for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge)
      add_child(level, static_cast<uint32_t>(level.tokens[edge]), tokens, capacity, children);
    return children;
  }
  OrdinalRange rest = prefix_ordinals(index, prefix, length);
  while (rest.lo < rest.hi) {
    const auto code = static_cast<uint32_t>(level.column[rest.lo]);
    add_child(level, code, tokens, capacity, children);
    rest.lo = std::max(column_range(index, length, rest, code).hi, rest.lo + 1);
  }
  return children;
}

}  // namespace sidbeam
