// SPDX-License-Identifier: Apache-2.0
#include "static_trie.h"

#include <algorithm>
#include <stdexcept>

namespace bench {
namespace {

constexpr int64_t kMostDenseCells = int64_t{1} << 28;  // 1 GiB of states

// [N] the first level at which a SID differs from the one before.
std::vector<uint8_t> first_differences(const Catalogue& catalogue) {
  std::vector<uint8_t> result(static_cast<size_t>(catalogue.sids));
  for (int64_t i = 1; i < catalogue.sids; ++i) {
    const int32_t *sid = catalogue.sid(i), *before = catalogue.sid(i - 1);
    result.data()[i] = static_cast<uint8_t>(std::mismatch(sid, sid + catalogue.levels, before).first - sid);
  }
  return result;
}

}  // namespace

StaticTrie::StaticTrie(const Catalogue& catalogue) : codes(catalogue.codes), levels(catalogue.levels) {
  const std::vector<uint8_t> differs = first_differences(catalogue);
  std::vector<int64_t> level_edges(static_cast<size_t>(levels));
  for (const uint8_t level : differs)
    for (int32_t l = level; l < levels; ++l) ++level_edges.data()[l];
  int64_t all = 0;
  for (const int64_t count : level_edges) all += count;
  if (all > INT32_MAX - codes) throw std::length_error("static: more edges than its 32-bit states count");

  row_pointers = Pages<int32_t>(all - level_edges.back() + 2);
  edges = Pages<Edge>(all + codes);
  largest_branching.assign(static_cast<size_t>(levels), 0);
  // Edges and nodes are both numbered level by level in the order of SIDs: edge i leads to node i + 1. Those of the
  // last level lead to numbers that no row pointer has.
  int64_t edge = 0, node = 0;
  for (int32_t l = 0; l < levels; ++l) {
    int64_t row = edge;
    for (int64_t i = 0; i < catalogue.sids; ++i) {
      if (i == 0 || differs.data()[i] < l) row_pointers[node++] = static_cast<int32_t>(row = edge);
      if (i > 0 && differs.data()[i] > l) continue;
      edges[edge] = {catalogue.sid(i)[l], static_cast<int32_t>(edge + 1)};
      ++edge;
      int32_t& largest = largest_branching.data()[l];
      largest = std::max(largest, static_cast<int32_t>(edge - row));
    }
  }
  row_pointers[node] = static_cast<int32_t>(edge);
  fill_dense();
}

void StaticTrie::fill_dense() {
  dense_levels = int64_t{codes} * codes > kMostDenseCells ? 1 : 2;
  dense_levels = std::min(dense_levels, levels - 1);
  int64_t node = 0, level_nodes = 1;
  for (int32_t l = 0; l < dense_levels; ++l) {
    const int64_t rows = l == 0 ? 1 : codes;
    dense_masks[static_cast<size_t>(l)] = Pages<uint64_t>(rows * mask_words());
    dense_states[static_cast<size_t>(l)] = Pages<int32_t>(rows * codes);
    const int64_t last = node + level_nodes;
    level_nodes = row_pointers[last] - row_pointers[node];
    for (; node < last; ++node) {
      const int64_t row = dense_row(static_cast<Place>(node), l);
      for (int64_t i = row_pointers[node]; i < row_pointers[node + 1]; ++i) {
        const Edge& edge = edges[i];
        dense_masks[static_cast<size_t>(l)][row * mask_words() + edge.code / 64] |= uint64_t{1} << (edge.code % 64);
        dense_states[static_cast<size_t>(l)][row * codes + edge.code] = edge.next;
      }
    }
  }
}

void StaticTrie::mask(Place node, int32_t, uint8_t* mask) const {
  const auto n = static_cast<int64_t>(node);
  for (int64_t i = row_pointers[n]; i < row_pointers[n + 1]; ++i) mask[edges[i].code] = 1;
}

std::optional<Place> StaticTrie::find(Place node, int32_t, int32_t code) const {
  const auto n = static_cast<int64_t>(node);
  const Edge *first = edges.data() + row_pointers[n], *last = edges.data() + row_pointers[n + 1];
  const Edge* found =
      std::lower_bound(first, last, code, [](const Edge& edge, int32_t wanted) { return edge.code < wanted; });
  if (found == last || found->code != code) return std::nullopt;
  return static_cast<Place>(found->next);
}

}  // namespace bench
