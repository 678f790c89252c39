// SPDX-License-Identifier: Apache-2.0
#include "index/read/children.h"

#include <algorithm>

#include "index/read/lookup.h"
#include "index/read/state.h"
#include "index/rules/ruled_state.h"

namespace sidbeam {
namespace {

void add_child(const LevelView& level, uint32_t code, int32_t* tokens, int64_t capacity, ChildCount& children) {
  if (code == level.codes) {
    children.end = true;
  } else if (code < level.codes) {
    if (children.count < capacity) tokens[children.count] = static_cast<int32_t>(code);
    ++children.count;
  }
}

}  // namespace

ChildCount children_of(const IndexView& index, const RulesView* rules, const int32_t* prefix, int32_t length,
                       int32_t* tokens, int64_t capacity) {
  ChildCount children;
  const LevelView& level = index.level[length];
  if (index.has_trie) {
    State state;
    if (!follow_prefix(index, prefix, length, state)) return children;
    for_each_allowed_child(index, rules, state,
                           [&](uint32_t token) { add_child(level, token, tokens, capacity, children); });
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
