// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_trie.h"

#include <bit>

#include "index/verify/explain.h"

namespace sidbeam {
namespace {

using format::SectionKind;
using ull = unsigned long long;

template <class Pointers, class Tokens>
void verify_rows(const IndexView& index, int l, const Pointers& pointers, const Tokens& tokens) {
  const LevelView& level = index.level[l];
  check_first_pointer(kExplain, level, l);
  for (uint64_t n = 1; n <= level.nodes; ++n) check_row_pointer(kExplain, level, l, n, pointers[n - 1], pointers[n]);
  check_last_pointer(kExplain, level, l);
  for (uint64_t node = 0; node < level.nodes; ++node)
    check_row(kExplain, index, l, node, pointers[node], pointers[node + 1], tokens);
  if (!index.variable_length) return;
  uint64_t ends = 0;
  for (uint64_t edge = 0; edge < level.edges; ++edge) {
    if (tokens[edge] == level.codes) check_end(kExplain, level, l, ends++, edge);
  }
  check_end_count(kExplain, level, l, ends);
}

// Walks the SIDs of a tail and the nodes of its first level side by side.
class TailWalk {
 public:
  explicit TailWalk(const IndexView& index) : index_(index), level_(index.csr_levels) {}

  void run() {
    read_tail(index_.tail, [&](const auto& entries) {
      for (uint64_t i = 0; i < index_.sids; ++i) {
        const Place place = place_of(i);
        check_tail_row(kExplain, index_, entries, i, place != Place::kGoesOn, place == Place::kEndedAbove);
      }
    });
    const LevelView& level = index_.level[level_];
    if (node_ != level.nodes || level.ordinals[node_] != index_.sids)
      corrupt(SectionKind::Ordinals, level_, "entry %llu is %llu, expected the next node's first ordinal, or %llu last",
              static_cast<ull>(node_), static_cast<ull>(level.ordinals[node_]), static_cast<ull>(index_.sids));
  }

 private:
  // How a SID relates to the previous one.
  enum class Place { kBegins, kGoesOn, kEndedAbove };

  Place place_of(uint64_t i) {
    const LevelView& level = index_.level[level_];
    if (node_ < level.nodes && level.ordinals[node_] == i) {
      run_ = 1;
      open_ = !is_end_node(index_, level_, node_++);
      return open_ ? Place::kBegins : Place::kEndedAbove;
    }
    if (ended_above_tail(index_, i)) {
      open_ = false;
      return Place::kEndedAbove;
    }
    if (!open_)
      corrupt(SectionKind::Ordinals, level_, "entry %llu is %llu, expected %llu: no node has that SID",
              static_cast<ull>(node_), static_cast<ull>(level.ordinals[node_]), static_cast<ull>(i));
    check_run(kExplain, index_, node_ - 1, ++run_);
    return Place::kGoesOn;
  }

  const IndexView& index_;
  int level_;
  uint64_t node_ = 0;  // the next node
  uint32_t run_ = 0;   // SIDs so far of the previous node
  bool open_ = false;  // whether the previous node may have more SIDs
};

}  // namespace

void verify_dense(const LevelView& level, int l) {
  if (level.dense_nodes == 0) return;
  uint64_t dense = 0;
  for (uint64_t w = 0; w < divide_up(level.nodes, 64); ++w) {
    if (w % (kRankBits / 64) == 0) check_dense_rank(kExplain, level, l, w / (kRankBits / 64), dense);
    for (uint64_t bits = level.dense_bits[w]; bits != 0; bits &= bits - 1) {
      const uint64_t node = w * 64 + static_cast<uint64_t>(std::countr_zero(bits));
      check_dense_bit(kExplain, level, l, node, dense);
      check_mask(kExplain, level, l, node, dense++);
    }
  }
  check_dense_count(kExplain, level, l, dense);
}

void verify_trie_level(const IndexView& index, int l) {
  const LevelView& level = index.level[l];
  with_type(level.row_pointers, [&](const auto* pointers) {
    with_type(level.tokens, [&](const auto* tokens) { verify_rows(index, l, pointers, tokens); });
  });
  verify_dense(level, l);
}

void verify_tail(const IndexView& index) {
  TailWalk(index).run();
  if (has_tail_padding(index))
    corrupt(SectionKind::TailSplits, index.csr_levels, "bits past the last, %llu, are set",
            static_cast<ull>(index.sids * tail_width(index)));
}

}  // namespace sidbeam
