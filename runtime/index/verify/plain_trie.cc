// Checks the same as verify_trie.cc and verify_sids.cc for tries whose SIDs all have the same length, but does not say
// what is wrong. A single pass over blocks, made of branch-free loops, is many times faster. If it fails, those files
// find the reason. Trusts only the header's counts; the checksums may still be wrong.
// SPDX-License-Identifier: Apache-2.0
#include "index/verify/plain_trie.h"

#include <algorithm>
#include <vector>

#include "index/tail.h"
#include "index/verify/bulk_arrays.h"
#include "index/verify/checks.h"
#include "index/verify/header_fingerprint.h"
#include "index/verify/sid_edges.h"

namespace sidbeam {
namespace {

struct SummedLevel {
  Summed row_pointers, tokens, ordinals, column;
};

// Walks the SIDs in blocks. For each level it determines the edges that the SIDs of a block go through, and at which of
// these SIDs each edge begins.
class BlockWalk {
 public:
  BlockWalk(const IndexView& index, SectionSums& sums)
      : tail_(bulk_kernels(index.target)),
        index_(index),
        kernels_(bulk_kernels(index.target)),
        digests_(static_cast<size_t>(index.levels), Stream128(index.target)),
        summed_tail_(sums, index.tail.tokens) {
    for (uint32_t i = 0; i <= kSids; ++i) each_[i] = static_cast<uint16_t>(i);
    for (int l = 0; l < index.levels; ++l) {
      const LevelView& level = index.level[l];
      summed_[l] = {{sums, level.row_pointers}, {sums, level.tokens}, {sums, level.ordinals}, {sums, level.column}};
    }
  }

  // Checks the next SIDs, [begin, end). Returns false if a section contradicts the others.
  bool next(uint64_t begin, uint64_t end) {
    begin_ = first_edge_ = begin;
    count_ = edges_ = static_cast<uint32_t>(end - begin);
    starts_ = each_;
    fresh_ = next_fresh_ = true;
    if (index_.csr_levels < index_.levels && !tail_agrees()) return false;
    for (int l = index_.csr_levels - 1; l >= 0; --l) {
      const LevelView& level = index_.level[l];
      if (first_edge_ + edges_ > level.edges) return false;
      summed_[l].tokens.reach(first_edge_ + edges_);
      if (!codes_agree(l, expand(level.tokens)) || !go_up(level.row_pointers, summed_[l].row_pointers, l)) return false;
      if (!one_each_ && !tokens_rise(level.tokens)) return false;
      if (!ordinals_agree(l)) return false;
    }
    return true;
  }

  // After the last block: returns whether all nodes were visited and the header's counts agree.
  bool at_end() const {
    for (int l = 0; l < index_.levels; ++l) {
      const LevelView& level = index_.level[l];
      const bool good = is_tail_level(index_, l)
                            ? tail_.edges(l) == level.edges && tail_.longest(l) == level.max_children
                            : node_[l] == level.nodes && longest_[l] == level.max_children;
      if (!good) return false;
    }
    return true;
  }
  const std::vector<Stream128>& digests() const { return digests_; }

 private:
  // Goes up from the edges (or SIDs) below the nodes of a level to these nodes. Checks that the pointers rise.
  bool go_up(const UintArray& pointers, const Summed& summed, int l) {
    const uint64_t node = node_[l], last = first_edge_ + edges_, nodes = index_.level[l].nodes;
    if (node >= nodes) return false;
    summed.reach(std::min(node + edges_, nodes) + 1);
    row_begins_ = pointers[node] == first_edge_;
    one_each_ = node + edges_ <= nodes && row_begins_ && pointers[node + edges_] == last;
    longest_row_ = 1;
    if (one_each_) {
      const bool counts = with_pointers(kernels_, pointers, [&](const auto* all, const auto& loops) {
        return loops.counts(all + node, edges_, first_edge_);
      });
      if (!counts) return false;
    } else {
      if (pointers[node] > first_edge_ || pointers[node + 1] <= first_edge_) return false;
      // The first edge continues an earlier block or begins here.
      const uint32_t more = follow(pointers, node + 1, nodes - node, last);
      if (more == kFalls) return false;
      edges_ = 1 + more;
      start_rows();
    }
    fresh_ = fresh_ && row_begins_;
    // The next block begins a node if it begins an edge and that edge is the node's first.
    next_fresh_ = next_fresh_ && pointers[node + edges_] == last;
    longest_[l] = std::max(longest_[l], longest_row_);
    edges_below_ = last - first_edge_;
    first_below_ = first_edge_;
    first_edge_ = node;
    node_[l] = node + edges_ - (next_fresh_ ? 0 : 1);
    return true;
  }

  uint32_t follow(const UintArray& pointers, uint64_t at, uint64_t count, uint64_t last) {
    return with_pointers(kernels_, pointers, [&](const auto* all, const auto& loops) {
      return loops.follow(all + at, count, first_edge_, last, rows_ + 1, longest_row_);
    });
  }

  // Translates the starts of rows from edges to SIDs.
  void start_rows() {
    if (starts_ == each_) {
      std::copy(rows_, rows_ + edges_, row_starts_);
    } else {
      for (uint32_t k = 0; k < edges_; ++k) row_starts_[k] = row_starts_[rows_[k]];
    }
    row_starts_[edges_] = static_cast<uint16_t>(count_);
    starts_ = row_starts_;
  }

  // Whether tokens rise within rows. Every token that does not rise must begin a row.
  bool tokens_rise(const UintArray& all_tokens) const {
    return with_codes(kernels_, all_tokens, [&](const auto* all, const auto& loops) {
      const auto* tokens = all + first_below_;
      // The very first token has no token before it.
      const uint32_t skipped = first_below_ == 0 ? 1 : 0;
      uint32_t allowed = skipped == 0 && row_begins_ && !rises(tokens[-1], tokens[0]) ? 1 : 0;
      for (uint32_t k = 1; k < edges_; ++k) allowed += !rises((tokens - 1)[rows_[k]], tokens[rows_[k]]);
      return loops.falls(tokens + skipped, static_cast<uint32_t>(edges_below_) - skipped) == allowed;
    });
  }

  // Writes the codes of the SIDs at a level; returns the greatest.
  uint32_t expand(const UintArray& all_tokens) {
    if (all_tokens.width == 2 && edges_ == count_)
      return kernels_.widen(static_cast<const uint16_t*>(all_tokens.data) + first_edge_, count_, codes_);
    return with_codes(kernels_, all_tokens, [&](const auto* all, const auto& loops) {
      return loops.expand(all + first_edge_, starts_, edges_, codes_);
    });
  }

  bool codes_agree(int l, uint32_t most) {
    if (most >= index_.level[l].codes) return false;
    digests_[static_cast<size_t>(l)].add(codes_, count_ * sizeof(uint32_t));
    const UintArray& column = index_.level[l].column;
    if (!index_.has_columns) return true;
    summed_[l].column.reach(begin_ + count_);
    return with_codes(kernels_, column,
                      [&](const auto* all, const auto& loops) { return loops.equal(all + begin_, codes_, count_); });
  }

  // Whether the ordinals of the nodes are right.
  bool ordinals_agree(int l) const {
    const UintArray& ordinals = index_.level[l].ordinals;
    if (!ordinals) return true;
    summed_[l].ordinals.reach(first_edge_ + edges_ + 1);
    for (uint32_t k = fresh_ ? 0 : 1; k < edges_; ++k) {
      if (ordinals[first_edge_ + k] != begin_ + starts_[k]) return false;
    }
    return true;
  }

  // Goes up to the first level of the tail, using its ordinals as row pointers, then down through the tail.
  bool tail_agrees() {
    const int first = index_.csr_levels;
    summed_tail_.add((begin_ + count_) * tail_width(index_));
    if (!go_up(index_.level[first].ordinals, summed_[first].ordinals, first) || longest_row_ > kMaxRun) return false;
    const uint32_t gone_on = row_begins_ ? 0 : 1;
    tail_.begin_block(count_, starts_ + gone_on, edges_ - gone_on);
    for (int l = first; l < index_.levels; l += kTransposed) {
      if (!levels_agree(l, std::min(l + kTransposed, index_.levels))) return false;
    }
    return tail_.all_begin();  // no SID occurs twice
  }

  // Checks the levels of the tail that are read together.
  bool levels_agree(int first, int end) {
    const bool in_words = index_.tail.tokens.width == 2 && index_.tail.splits == nullptr;
    if (in_words) read_columns(first, end);
    for (int l = first; l < end; ++l) {
      summed_tail_.fetch(begin_ * tail_width(index_) +
                         uint64_t{count_} * static_cast<uint64_t>(l + 1 - index_.csr_levels));
      if (!in_words) read_column(l, 0, wide_column_);
      if (!(in_words ? level_agrees(l, columns_[l - first], kernels_.codes_16)
                     : level_agrees(l, wide_column_, kernels_.codes_32)))
        return false;
    }
    return true;
  }

  void read_columns(int first, int end) {
    const uint64_t width = tail_width(index_), at = tail_entry(index_, begin_, first);
    const uint64_t words = index_.sids * width - at;
    uint32_t done = 0;
    if (words >= kTransposed) {
      done = static_cast<uint32_t>(std::min<uint64_t>(count_, (words - kTransposed) / width + 1)) & ~15u;
      kernels_.transpose(static_cast<const uint16_t*>(index_.tail.tokens.data) + at, width, done, columns_[0],
                         kSidStride);
    }
    for (int l = first; l < end && done < count_; ++l) read_column(l, done, columns_[l - first]);
  }

  // Reads a level of the tail for the SIDs from `done` on. Marks the words where edges begin.
  template <class Word>
  void read_column(int l, uint32_t done, Word* words) const {
    const uint64_t width = tail_width(index_), first = tail_entry(index_, begin_, l);
    read_tail(index_.tail, [&](const auto& entries) {
      for (uint32_t i = done; i < count_; ++i)
        words[i] =
            static_cast<Word>(entries.token(first + i * width) | (entries.split(first + i * width) ? kMark<Word> : 0));
    });
  }

  // Checks a level whose words are marked where edges begin.
  template <class Word>
  bool level_agrees(int l, const Word* words, const CodeLoops<Word>& loops) {
    bool all_marked = false;
    const uint32_t most = loops.unmark(words, count_, codes_, all_marked);
    if (!codes_agree(l, most) || !tail_.add_level(l, codes_)) return false;
    return tail_.all_begin() ? all_marked : loops.are_marks(words, tail_.begins(), count_);
  }

  static constexpr int kTransposed = 8;
  SidEdges tail_;
  alignas(64) uint16_t columns_[kTransposed][kSidStride];
  alignas(64) uint32_t wide_column_[kSids];
  alignas(64) uint32_t codes_[kSids + 8];
  const IndexView& index_;
  const BulkKernels& kernels_;
  std::vector<Stream128> digests_;
  SummedLevel summed_[kMaxLevels];
  Summed summed_tail_;
  uint64_t node_[kMaxLevels] = {};  // the first node that the next block goes through
  uint64_t longest_[kMaxLevels] = {}, longest_row_ = 0;
  uint64_t begin_ = 0, first_edge_ = 0, first_below_ = 0, edges_below_ = 0;
  uint32_t count_ = 0, edges_ = 0;
  bool fresh_ = true, next_fresh_ = true;  // whether this block, and the next, begin an edge
  bool one_each_ = false, row_begins_ = false;
  // For each edge, the SID of the block at which it begins, followed by the number of SIDs. Points to each_ if every
  // SID begins an edge.
  const uint16_t* starts_ = each_;
  uint16_t each_[kSids + 1], row_starts_[kSids + 1];
  uint16_t rows_[1 + kSids + kPointers] = {};  // the edges at which the rows of nodes begin; unset if one_each_
};

bool has_outer_entries(const IndexView& index, int l) {
  const LevelView& level = index.level[l];
  if (level.ordinals && (level.ordinals[0] != 0 || level.ordinals[level.nodes] != index.sids)) return false;
  if (level.ends != 0) return false;
  return is_tail_level(index, l) || (level.row_pointers[0] == 0 && level.row_pointers[level.nodes] == level.edges);
}

}  // namespace

bool has_plain_trie(const Index& index, SectionSums& sums, SidPairs& pairs) {
  const IndexView& view = index.view;
  for (int l = 0; l < view.levels; ++l) {
    if (!has_outer_entries(view, l)) return false;
  }
  if (view.csr_levels < view.levels && has_tail_padding(view)) return false;
  BlockWalk walk(view, sums);
  for (uint64_t begin = 0; begin < view.sids; begin += kSids) {
    const uint64_t end = std::min<uint64_t>(view.sids, begin + kSids);
    if (!walk.next(begin, end)) return false;
    pairs.reach(end);
  }
  return walk.at_end() && is_fingerprint_of(index, walk.digests(), sums);
}

}  // namespace sidbeam
