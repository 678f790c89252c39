// The same questions as verify_trie.cc, verify_tail.cc and verify_sids.cc ask, of tries with SIDs of one length only, and
// without saying what is wrong: one pass in blocks, with loops without branches, many times faster. Where the answer is
// no, those find the reason. Nothing is trusted but the header's counts: the checksums may be wrong still.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "index/emit.h"
#include "index/tail.h"
#include "index/verify.h"
#include "index/verify_kernels.h"
#include "support/hashing.h"

namespace sidbeam {
namespace {

// Of a block. Where most prefixes have one continuation, a block this small often has no other ones, and no work.
constexpr uint32_t kSids = 1024;

const PlainKernels& kernels() {
#ifdef __x86_64__
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2) return kAvx2PlainKernels;
#endif
  return kThesePlainKernels;
}

// Calls body with the elements as the type that they have.
template <class Body>
auto with_elements(const UintArray& array, Body&& body) {
  if (array.width == 2) return body(static_cast<const uint16_t*>(array.data));
  if (array.width == 4) return body(static_cast<const uint32_t*>(array.data));
  return body(static_cast<const uint64_t*>(array.data));
}

bool counts_from(const UintArray& array, uint64_t at, uint64_t count, uint64_t first) {
  if (array.width == 4) return kernels().counts_u32(static_cast<const uint32_t*>(array.data) + at, count, first);
  return kernels().counts_u64(static_cast<const uint64_t*>(array.data) + at, count, first);
}

// An array that is summed as far as it is read.
struct Summed {
  SectionSums::Sum* sum = nullptr;
  uint64_t width = 0;

  Summed() = default;
  Summed(SectionSums& sums, const UintArray& array)
      : sum(sums.find(array.data)), width(static_cast<uint64_t>(array.width)) {}
  void reach(uint64_t count) const {
    if (sum != nullptr) sum->reach(count * width);
  }
};

struct SummedLevel {
  Summed row_pointers, tokens, ordinals, column;
};

// Walks the SIDs in blocks. Of each level it has the edges that the SIDs of a block go through, and where among these
// SIDs each edge begins.
class BlockWalk {
 public:
  BlockWalk(const IndexView& index, SectionSums& sums)
      : index_(index),
        kernels_(kernels()),
        digests_(static_cast<size_t>(index.levels)),
        summed_tail_(sums, index.tail.tokens) {
    for (int l = 0; l < index.levels; ++l) {
      const LevelView& level = index.level[l];
      summed_[l] = {{sums, level.row_pointers}, {sums, level.tokens}, {sums, level.ordinals}, {sums, level.column}};
    }
  }

  // SIDs [begin, end), the next. False where a section does not agree with the others.
  bool next(uint64_t begin, uint64_t end) {
    begin_ = first_edge_ = begin;
    count_ = edges_ = static_cast<uint32_t>(end - begin);
    for (uint32_t i = 0; i < count_; ++i) starts_[i] = static_cast<uint16_t>(i);
    fresh_ = next_fresh_ = true;
    if (index_.csr_levels < index_.levels && !tail_agrees()) return false;
    for (int l = index_.csr_levels - 1; l >= 0; --l) {
      const LevelView& level = index_.level[l];
      if (first_edge_ + edges_ > level.edges) return false;
      summed_[l].tokens.reach(first_edge_ + edges_);
      expand(level.tokens);
      if (!codes_agree(l) || !go_up(level.row_pointers, summed_[l].row_pointers, l)) return false;
      if (!one_each_ && !tokens_rise(level.tokens)) return false;
      if (!ordinals_agree(l)) return false;
    }
    return true;
  }

  // After the last: whether that was all there is.
  bool at_end() const {
    for (int l = 0; l < index_.levels; ++l) {
      const LevelView& level = index_.level[l];
      if (longest_[l] != level.max_children) return false;
      if (is_tail_level(index_, l) ? edge_count_[l] != level.edges : node_[l] != level.nodes) return false;
    }
    return true;
  }
  std::vector<Hash128> digests() const {
    std::vector<Hash128> out;
    for (const Stream128& digest : digests_) out.push_back(digest.value());
    return out;
  }

 private:
  // From the edges, or SIDs, below the nodes of a level to these nodes. The pointers rise, and have their ends.
  bool go_up(const UintArray& all_pointers, const Summed& summed, int l) {
    const uint64_t node = node_[l], last = first_edge_ + edges_, nodes = index_.level[l].nodes;
    if (node >= nodes) return false;
    summed.reach(std::min(node + edges_, nodes) + 1);
    const bool good = with_elements(all_pointers, [&](const auto* pointers) {
      row_begins_ = pointers[node] == first_edge_;
      one_each_ = node + edges_ <= nodes && row_begins_ && pointers[node + edges_] == last;
      uint64_t longest = 1;
      if (one_each_) {
        if (!counts_from(all_pointers, node, edges_, first_edge_)) return false;
      } else {
        uint64_t before = pointers[node], pointer = pointers[node + 1];
        if (before > first_edge_ || pointer <= first_edge_) return false;
        longest = pointer - before;
        uint32_t k = 1;  // starts_[0] is 0: the first edge goes on or begins here
        while (pointer < last) {
          rows_[k] = static_cast<uint16_t>(pointer - first_edge_);
          starts_[k] = starts_[rows_[k]];
          if (node + ++k > nodes) return false;
          before = pointer;
          pointer = pointers[node + k];
          if (pointer <= before) return false;
          longest = std::max(longest, pointer - before);
        }
        edges_ = k;
      }
      longest_row_ = longest;
      fresh_ = fresh_ && row_begins_;
      // The next block begins with a node of its own if it begins with an edge of its own, and that is the node's first.
      next_fresh_ = next_fresh_ && pointers[node + edges_] == last;
      return true;
    });
    if (!good) return false;
    longest_[l] = std::max(longest_[l], longest_row_);
    edges_below_ = last - first_edge_;
    first_below_ = first_edge_;
    first_edge_ = node;
    node_[l] = node + edges_ - (next_fresh_ ? 0 : 1);
    return true;
  }

  // Whether tokens rise within rows: as many of them as do not, begin a row.
  bool tokens_rise(const UintArray& all_tokens) const {
    const auto rise = [&](const auto* all, auto falls) {
      const auto* tokens = all + first_below_;
      // The first of all has none before it.
      const uint32_t skipped = first_below_ == 0 ? 1 : 0;
      uint32_t allowed = skipped == 0 && row_begins_ && tokens[0] <= tokens[-1] ? 1 : 0;
      for (uint32_t k = 1; k < edges_; ++k) allowed += tokens[rows_[k]] <= (tokens - 1)[rows_[k]];
      return falls(tokens + skipped, static_cast<uint32_t>(edges_below_) - skipped) == allowed;
    };
    if (all_tokens.width == 2) return rise(static_cast<const uint16_t*>(all_tokens.data), kernels_.falls_u16);
    return rise(static_cast<const uint32_t*>(all_tokens.data), kernels_.falls_u32);
  }

  // The codes of the SIDs at a level. Eight are written at a time: runs are short, and what is too much is written over.
  void expand(const UintArray& all_tokens) {
    if (all_tokens.width == 2 && edges_ == count_)
      return kernels_.widen(static_cast<const uint16_t*>(all_tokens.data) + first_edge_, count_, codes_);
    starts_[edges_] = static_cast<uint16_t>(count_);
    with_elements(all_tokens, [&](const auto* all) {
      const auto* tokens = all + first_edge_;
      for (uint32_t k = 0; k < edges_; ++k) {
        const auto token = static_cast<uint32_t>(tokens[k]);
        std::fill_n(codes_ + starts_[k], 8, token);
        for (uint32_t i = starts_[k] + 8, end = starts_[k + 1]; i < end; i += 8) std::fill_n(codes_ + i, 8, token);
      }
    });
  }

  bool codes_agree(int l) {
    if (kernels_.most(codes_, count_) >= index_.level[l].codes) return false;
    digests_[static_cast<size_t>(l)].add(codes_, count_ * sizeof(uint32_t));
    const UintArray& column = index_.level[l].column;
    if (!index_.has_columns) return true;
    summed_[l].column.reach(begin_ + count_);
    if (column.width == 2)
      return kernels_.equal_u16(static_cast<const uint16_t*>(column.data) + begin_, codes_, count_);
    return kernels_.equal_u32(static_cast<const uint32_t*>(column.data) + begin_, codes_, count_);
  }

  // Ordinals of the nodes.
  bool ordinals_agree(int l) const {
    const UintArray& ordinals = index_.level[l].ordinals;
    if (!ordinals) return true;
    summed_[l].ordinals.reach(first_edge_ + edges_ + 1);
    for (uint32_t k = fresh_ ? 0 : 1; k < edges_; ++k) {
      if (ordinals[first_edge_ + k] != begin_ + starts_[k]) return false;
    }
    return true;
  }

  // Goes up to the first level of the tail, of which ordinals are the row pointers, then down through it.
  bool tail_agrees() {
    const uint64_t width = tail_width(index_);
    summed_tail_.reach((begin_ + count_) * width);
    if (!go_up(index_.level[index_.csr_levels].ordinals, summed_[index_.csr_levels].ordinals, index_.csr_levels) ||
        longest_row_ > kMaxRun)
      return false;
    // longest_ is of children, which go_up() does not know here.
    longest_[index_.csr_levels] = tail_longest_;
    std::fill_n(begins_, count_, one_each_);
    begins_[0] = row_begins_;
    for (uint32_t k = 1; k < edges_; ++k) begins_[starts_[k]] = true;
    bool all_begin = one_each_;
    for (int l = index_.csr_levels; l < index_.levels; ++l) {
      if (!(all_begin ? tail_level_begins(l) : tail_level_agrees(l)) || !codes_agree(l)) return false;
      all_begin = all_begin || std::memchr(begins_, 0, count_) == nullptr;
    }
    tail_longest_ = longest_[index_.csr_levels];
    return all_begin;  // no SID twice
  }

  // The same where every SID begins an edge above.
  bool tail_level_begins(int l) {
    const uint64_t width = tail_width(index_), first = tail_entry(index_, begin_, l);
    row_[l] = 1;
    longest_[l] = std::max<uint64_t>(longest_[l], 1);
    edge_count_[l] += count_;
    const bool good = read_tail(index_.tail, [&](const auto& entries) {
      bool all = true;
      for (uint32_t i = 0; i < count_; ++i) {
        codes_[i] = entries.token(first + i * width);
        all &= entries.split(first + i * width);
      }
      return all;
    });
    last_code_[l] = codes_[count_ - 1];
    return good;
  }

  // A SID begins an edge where it begins one above, or where its code is greater than the one before.
  bool tail_level_agrees(int l) {
    const uint64_t width = tail_width(index_), first = tail_entry(index_, begin_, l);
    std::memcpy(above_, begins_, count_);
    read_tail(index_.tail, [&](const auto& entries) {
      for (uint32_t i = 0; i < count_; ++i) {
        codes_[i] = entries.token(first + i * width);
        begins_[i] = entries.split(first + i * width);
      }
    });
    const auto begins = [&](uint32_t i, uint32_t before) {
      const uint32_t rises = codes_[i] > before, falls = codes_[i] < before;
      return ((above_[i] | rises) ^ begins_[i]) | (falls & (above_[i] ^ 1u));
    };
    uint32_t wrong = begins(0, last_code_[l]);
    for (uint32_t i = 1; i < count_; ++i) wrong |= begins(i, codes_[i - 1]);
    last_code_[l] = codes_[count_ - 1];
    uint64_t row = row_[l], longest = longest_[l], begun = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      row = above_[i] != 0 ? 1 : row + begins_[i];
      longest = std::max(longest, row);
      begun += begins_[i];
    }
    row_[l] = row;
    longest_[l] = longest;
    edge_count_[l] += begun;
    return wrong == 0;
  }

  const IndexView& index_;
  const PlainKernels& kernels_;
  std::vector<Stream128> digests_;
  SummedLevel summed_[kMaxLevels];
  Summed summed_tail_;
  uint64_t node_[kMaxLevels] = {};  // the first that the next block goes through
  uint64_t longest_[kMaxLevels] = {}, longest_row_ = 0, tail_longest_ = 0;
  uint64_t begin_ = 0, first_edge_ = 0, first_below_ = 0, edges_below_ = 0;
  uint32_t count_ = 0, edges_ = 0;
  bool fresh_ = true, next_fresh_ = true;  // the first edge begins with this block; the next block's begins with it
  bool one_each_ = false, row_begins_ = false;
  uint64_t row_[kMaxLevels] = {}, edge_count_[kMaxLevels] = {};  // of the tail
  uint32_t last_code_[kMaxLevels] = {};
  uint8_t begins_[kSids], above_[kSids];  // whether a SID begins an edge of this level of the tail, of the one above
  uint16_t starts_[kSids + 1], rows_[kSids];  // rows_ only where not one_each_
  alignas(64) uint32_t codes_[kSids + 8];
};

bool has_outer_entries(const IndexView& index, int l) {
  const LevelView& level = index.level[l];
  if (level.ordinals && (level.ordinals[0] != 0 || level.ordinals[level.nodes] != index.sids)) return false;
  if (level.ends != 0) return false;
  return is_tail_level(index, l) || (level.row_pointers[0] == 0 && level.row_pointers[level.nodes] == level.edges);
}

}  // namespace

bool has_plain_sids(const Index& index, SectionSums& sums) {
  const IndexView& view = index.view;
  if (view.variable_length || !view.has_trie) return false;
  if (index.header.info.shortest != view.levels || index.header.info.longest != view.levels) return false;
  for (int l = 0; l < view.levels; ++l) {
    if (!has_outer_entries(view, l)) return false;
  }
  if (view.csr_levels < view.levels && has_tail_padding(view)) return false;
  BlockWalk walk(view, sums);
  for (uint64_t begin = 0; begin < view.sids; begin += kSids) {
    if (!walk.next(begin, std::min<uint64_t>(view.sids, begin + kSids))) return false;
  }
  if (!walk.at_end()) return false;
  SectionSums::Sum* ids = sums.find(view.ids);
  if (ids == nullptr) return is_fingerprint(index, fingerprint(view, walk.digests()));
  ids->reach(ids->bytes);
  const Hash128 digest = ids->stream.value();
  return is_fingerprint(index, fingerprint(view, walk.digests(), &digest));
}

}  // namespace sidbeam
