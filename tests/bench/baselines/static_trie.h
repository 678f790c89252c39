// The trie as STATIC stores it (papers: Vectorizing the Trie, sections 4.2 and A): stacked CSR over all nodes, [code,
// next] pairs side by side, and dense masks and states for the first levels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "validity.h"

namespace bench {

struct StaticTrie final : Validity {
  explicit StaticTrie(const Catalogue& catalogue);

  struct Edge {
    int32_t code, next;
  };

  int32_t codes = 0, levels = 0;
  Pages<int32_t> row_pointers;             // [nodes + 1]; node 0 is the root, then level by level
  Pages<Edge> edges;                       // [edges + the largest branching, so that a slice never ends outside]
  std::vector<int32_t> largest_branching;  // [L], K_l
  // d, at most 2: dense levels. Level 0 has V bits; level 1 has V rows of V bits and V * V states.
  int32_t dense_levels = 0;
  std::array<Pages<uint64_t>, 2> dense_masks;
  std::array<Pages<int32_t>, 2> dense_states;

  // Of a node of level 0 or 1: the row of the dense masks and states.
  int64_t dense_row(Place node, int32_t level) const {
    return level == 0 ? 0 : edges[static_cast<int64_t>(node) - 1].code;
  }
  int64_t mask_words() const { return (codes + 63) / 64; }

  // As a plain trie: the true children of a node.
  Place root() const override { return 0; }
  void mask(Place node, int32_t level, uint8_t* mask) const override;
  std::optional<Place> find(Place node, int32_t level, int32_t code) const override;

 private:
  void fill_dense();
};

}  // namespace bench
