// SPDX-License-Identifier: Apache-2.0
#include "index/verify/plain_sids.h"

#include <algorithm>
#include <vector>

#include "index/verify/header_fingerprint.h"
#include "index/verify/plain_trie.h"
#include "index/verify/sid_edges.h"

namespace sidbeam {
namespace {

// Checks the same as verify_sids.cc for sorted columns without a trie, but does not say what is wrong. Trusts only the
// header's counts.
class ColumnWalk {
 public:
  ColumnWalk(const IndexView& index, SectionSums& sums)
      : index_(index),
        kernels_(bulk_kernels(index.target)),
        digests_(static_cast<size_t>(index.levels), Stream128(index.target)),
        edges_(kernels_) {
    for (int l = 0; l < index.levels; ++l) summed_[l] = {sums, index.level[l].column};
  }

  // Checks the next SIDs, [begin, end). Returns false if they do not rise or a code is out of range.
  bool next(uint64_t begin, uint64_t end) {
    const auto count = static_cast<uint32_t>(end - begin);
    const uint16_t first = 0;
    edges_.begin_block(count, &first, begin == 0 ? 1 : 0);
    for (int l = 0; l < index_.levels; ++l) {
      summed_[l].reach(end);
      const bool good =
          index_.level[l].column.width == 2 ? add<uint16_t>(l, begin, count) : add<uint32_t>(l, begin, count);
      if (!good) return false;
    }
    return edges_.all_begin();
  }

  // After the last block: returns whether the header's counts agree.
  bool at_end() const {
    for (int l = 0; l < index_.levels; ++l) {
      const LevelView& level = index_.level[l];
      if (edges_.edges(l) != level.edges || edges_.longest(l) != level.max_children || level.ends != 0) return false;
    }
    return true;
  }
  const std::vector<Stream128>& digests() const { return digests_; }

 private:
  template <class Code>
  bool add(int l, uint64_t begin, uint32_t count) {
    const Code* codes = static_cast<const Code*>(index_.level[l].column.data) + begin;
    const uint32_t* wide = codes_;
    uint32_t most = 0;
    if constexpr (sizeof(Code) == 2) {
      most = kernels_.widen(codes, count, codes_);
    } else {
      most = kernels_.most(codes, count);
      wide = codes;
    }
    digests_[static_cast<size_t>(l)].add(wide, count * sizeof *wide);
    return most < index_.level[l].codes && edges_.add_level(l, codes);
  }

  const IndexView& index_;
  const BulkKernels& kernels_;
  std::vector<Stream128> digests_;
  Summed summed_[kMaxLevels];
  SidEdges edges_;
  alignas(64) uint32_t codes_[kSids];
};

bool has_plain_columns(const Index& index, SectionSums& sums, SidPairs& pairs) {
  const IndexView& view = index.view;
  ColumnWalk walk(view, sums);
  for (uint64_t begin = 0; begin < view.sids; begin += kSids) {
    const uint64_t end = std::min<uint64_t>(view.sids, begin + kSids);
    if (!walk.next(begin, end)) return false;
    pairs.reach(end);
  }
  return walk.at_end() && is_fingerprint_of(index, walk.digests(), sums);
}

}  // namespace

bool has_plain_sids(const Index& index, SectionSums& sums, SidPairs& pairs) {
  if (index.view.variable_length) return false;
  if (index.header.info.shortest != index.view.levels || index.header.info.longest != index.view.levels) return false;
  return index.view.has_trie ? has_plain_trie(index, sums, pairs) : has_plain_columns(index, sums, pairs);
}

}  // namespace sidbeam
