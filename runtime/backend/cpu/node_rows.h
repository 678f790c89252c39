// Beams with other than one child: the rows of their nodes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cpu/only_children.h"
#include "index/trie.h"

namespace sidbeam::cpu {

// Of those of n beams whose `only` says that they have not one child. (To fetch their masks here, too, gained nothing.)
inline void find_rows(const LevelView& level, const int64_t* states, int32_t n, const uint32_t* only, BitsBefore count,
                      NodeRow* rows) {
  for (int32_t i = 0; i < n; ++i)
    if (only[i] == kNotOne) rows[i] = node_row(level, node_to_feed(states[i]), count);
}

}  // namespace sidbeam::cpu
