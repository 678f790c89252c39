// The same questions as verify_trie.cc and verify_sids.cc ask, of tries with SIDs of one length only, and without saying
// what is wrong: loops without branches over blocks, several times faster. Where the answer is no, those find the reason.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "index/emit.h"
#include "index/verify.h"
#include "support/hashing.h"

namespace sidbeam {
namespace {

// Of a block. Where most prefixes have one continuation, a block this small often has no other ones, and no work.
constexpr uint64_t kNodes = 1024, kSids = 1024;

// Calls body with the elements as the type that they have.
template <class Body>
auto with_elements(const UintArray& array, Body&& body) {
  if (array.width == 2) return body(static_cast<const uint16_t*>(array.data));
  if (array.width == 4) return body(static_cast<const uint32_t*>(array.data));
  return body(static_cast<const uint64_t*>(array.data));
}

// Whether row pointers rise from 0 to the edges, each by at least 1.
template <class T>
bool pointers_rise(const LevelView& level, const T* pointers) {
  if (pointers[0] != 0 || pointers[level.nodes] != level.edges) return false;
  for (uint64_t begin = 0; begin < level.nodes; begin += kNodes) {
    const uint64_t end = std::min(level.nodes, begin + kNodes);
    unsigned falls = 0;
    for (uint64_t n = begin; n < end; ++n) falls |= pointers[n + 1] <= pointers[n];
    if (falls != 0) return false;
  }
  return true;
}

template <class T>
bool tokens_in_range(const LevelView& level, const T* tokens) {
  for (uint64_t begin = 0; begin < level.edges; begin += kNodes) {
    const uint64_t end = std::min(level.edges, begin + kNodes);
    T most = 0;
    for (uint64_t e = begin; e < end; ++e) most = std::max(most, tokens[e]);
    if (most >= level.codes) return false;
  }
  return true;
}

// Whether tokens rise within rows: as many of them as do not, begin a row. Row pointers are known to rise.
template <class P, class T>
bool tokens_rise(const LevelView& level, const P* pointers, const T* tokens) {
  for (uint64_t begin = 0; begin < level.nodes; begin += kNodes) {
    const uint64_t end = std::min(level.nodes, begin + kNodes), first = pointers[begin], last = pointers[end];
    if (last - first == end - begin) continue;  // one child each
    unsigned falls = 0, allowed = 0;            // in 32 bits, of which a vector holds more
    for (uint64_t e = first + 1; e < last; ++e) falls += tokens[e] <= tokens[e - 1];
    for (uint64_t n = begin + 1; n < end; ++n) allowed += tokens[pointers[n]] <= tokens[pointers[n] - 1];
    if (falls != allowed) return false;
  }
  return true;
}

uint64_t longest_row(const LevelView& level) {
  return with_elements(level.row_pointers, [&](const auto* pointers) {
    uint64_t longest = 1;
    for (uint64_t begin = 0; begin < level.nodes; begin += kNodes) {
      const uint64_t end = std::min(level.nodes, begin + kNodes);
      const uint64_t first = pointers[begin], last = pointers[end];
      if (last - first == end - begin) continue;
      for (uint64_t n = begin; n < end; ++n) longest = std::max<uint64_t>(longest, pointers[n + 1] - pointers[n]);
    }
    return longest;
  });
}

// Walks the SIDs in blocks. Of each level it has the edges that the SIDs of a block go through, and where among these
// SIDs each edge begins.
class BlockWalk {
 public:
  explicit BlockWalk(const IndexView& index) : index_(index), digests_(static_cast<size_t>(index.levels)) {}

  // SIDs [begin, end), the next. False where a section does not agree with the trie.
  bool next(uint64_t begin, uint64_t end) {
    count_ = edges_ = end - begin;
    for (uint64_t i = 0; i < count_; ++i) starts_[i] = static_cast<uint16_t>(i);
    first_edge_ = begin;
    fresh_ = next_fresh_ = true;
    bool good = true;
    for (int l = index_.levels - 1; l >= 0; --l) {
      if (l + 1 < index_.levels) go_up(l);
      if (l + 1 < index_.levels) good &= ordinals_agree(index_.level[l + 1].ordinals, begin);
      expand(index_.level[l].tokens);
      digests_[static_cast<size_t>(l)].add(codes_, count_ * sizeof(uint32_t));
      if (index_.has_columns) good &= column_agrees(index_.level[l].column, begin);
    }
    return good;
  }
  std::vector<Hash128> digests() const {
    std::vector<Hash128> out;
    for (const Stream128& digest : digests_) out.push_back(digest.value());
    return out;
  }

 private:
  // From the edges of level l + 1 to those of level l, which are the nodes that they leave.
  void go_up(int l) {
    const uint64_t node = edge_[l], last = first_edge_ + edges_;
    with_elements(index_.level[l + 1].row_pointers, [&](const auto* pointers) {
      const bool one_each = pointers[node] == first_edge_ && node + edges_ <= index_.level[l + 1].nodes &&
                            pointers[node + edges_] == last;
      if (!one_each) {
        uint64_t k = 1;  // starts_[0] is 0: the first edge goes on or begins here
        for (uint64_t pointer; (pointer = pointers[node + k]) < last; ++k) starts_[k] = starts_[pointer - first_edge_];
        edges_ = k;
      }
      fresh_ = fresh_ && pointers[node] == first_edge_;
      // The next block begins with a node of its own if it begins with an edge of its own, and that is the node's first.
      next_fresh_ = next_fresh_ && pointers[node + edges_] == last;
    });
    first_edge_ = node;
    edge_[l] = node + edges_ - (next_fresh_ ? 0 : 1);
  }

  // The codes of the SIDs at a level. Four are written at a time: runs are short, and what is too much is written over.
  void expand(const UintArray& all_tokens) {
    with_elements(all_tokens, [&](const auto* all) {
      const auto* tokens = all + first_edge_;
      if (edges_ == count_) {
        for (uint64_t i = 0; i < count_; ++i) codes_[i] = static_cast<uint32_t>(tokens[i]);
        return;
      }
      starts_[edges_] = static_cast<uint16_t>(count_);
      for (uint64_t k = 0; k < edges_; ++k) {
        const auto token = static_cast<uint32_t>(tokens[k]);
        for (uint64_t i = starts_[k], end = starts_[k + 1]; i < end; i += 4) std::fill_n(codes_ + i, 4, token);
      }
    });
  }

  // Ordinals of the nodes that are the edges of this level.
  bool ordinals_agree(const UintArray& ordinals, uint64_t begin) const {
    for (uint64_t k = fresh_ ? 0 : 1; ordinals && k < edges_; ++k) {
      if (ordinals[first_edge_ + k] != begin + starts_[k]) return false;
    }
    return true;
  }

  bool column_agrees(const UintArray& column, uint64_t begin) const {
    return with_elements(column, [&](const auto* codes) {
      unsigned differs = 0;
      for (uint64_t i = 0; i < count_; ++i) differs |= codes[begin + i] != codes_[i];
      return differs == 0;
    });
  }

  const IndexView& index_;
  std::vector<Stream128> digests_;
  uint64_t edge_[kMaxLevels] = {};  // the first that the next block goes through
  uint64_t count_ = 0, edges_ = 0, first_edge_ = 0;
  bool fresh_ = true, next_fresh_ = true;  // the first edge begins with this block; the next block's begins with it
  uint16_t starts_[kSids + 1];
  uint32_t codes_[kSids + 4];
};

}  // namespace

bool is_plain_level(const IndexView& index, int l) {
  const LevelView& level = index.level[l];
  if (index.variable_length) return false;
  return with_elements(level.row_pointers, [&](const auto* pointers) {
    return with_elements(level.tokens, [&](const auto* tokens) {
      return pointers_rise(level, pointers) && tokens_in_range(level, tokens) && tokens_rise(level, pointers, tokens);
    });
  });
}

bool has_plain_sids(const Index& index) {
  const IndexView& view = index.view;
  if (view.variable_length || !view.has_trie || view.csr_levels < view.levels) return false;
  if (index.header.info.shortest != view.levels || index.header.info.longest != view.levels) return false;
  for (int l = 0; l < view.levels; ++l) {
    const LevelView& level = view.level[l];
    if (level.ends != 0 || longest_row(level) != level.max_children) return false;
    if (level.ordinals && level.ordinals[level.nodes] != view.sids) return false;
  }
  if (view.level[0].ordinals && view.level[0].ordinals[0] != 0) return false;
  BlockWalk walk(view);
  for (uint64_t begin = 0; begin < view.sids; begin += kSids) {
    if (!walk.next(begin, std::min<uint64_t>(view.sids, begin + kSids))) return false;
  }
  return is_fingerprint(index, fingerprint(view, walk.digests()));
}

}  // namespace sidbeam
