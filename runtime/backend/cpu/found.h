// What a step finds in a slot before it knows which candidates win.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/selection.h"
#include "index/trie.h"
#include "support/memory.h"

namespace sidbeam::cpu {

struct Found {
  Selection selection;
  // With the trie, per beam [M]: the state after its only child, or kDeadState; and, above the tail, the row of the
  // node of a beam that has several children or none.
  Buffer<int64_t> only_next;
  Buffer<NodeRow> rows;
  bool all_only = true;  // whether every live beam has one child, whose state is known

  Found() = default;
  Found(const Kernels& kernels, const Allocator& allocator, int64_t beams)
      : selection(kernels, allocator, beams), only_next(allocator, beams), rows(allocator, beams) {}
  int64_t memory_bytes() const { return selection.memory_bytes() + only_next.bytes() + rows.bytes(); }
};

}  // namespace sidbeam::cpu
