// The tail of a compact trie: every row against the one before and against the nodes above.
// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_tail.h"

#include "index/tail.h"
#include "index/trie.h"
#include "index/verify/corrupt.h"

namespace sidbeam {
namespace {

using format::SectionKind;
using ull = unsigned long long;

// How a SID comes after the one before it.
enum class Place { kBegins, kGoesOn, kEndedAbove };

class TailCheck {
 public:
  explicit TailCheck(const IndexView& index) : index_(index), level_(index.csr_levels) {}

  void run() {
    read_tail(index_.tail, [&](const auto& entries) {
      for (uint64_t i = 0; i < index_.sids; ++i) check_row(entries, i, place_of(i));
    });
    const LevelView& level = index_.level[level_];
    if (node_ != level.nodes || level.ordinals[node_] != index_.sids)
      corrupt(SectionKind::Ordinals, level_, "entry %llu is %llu, expected the next node's first ordinal, or %llu last",
              static_cast<ull>(node_), static_cast<ull>(level.ordinals[node_]), static_cast<ull>(index_.sids));
    check_padding();
  }

 private:
  // Goes through the nodes along with the SIDs.
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
    if (++run_ > kMaxRun)
      corrupt(SectionKind::Ordinals, level_, "node %llu has more than %u SIDs", static_cast<ull>(node_ - 1), kMaxRun);
    return Place::kGoesOn;
  }

  template <class Entries>
  void check_row(const Entries& entries, uint64_t i, Place place) const {
    const uint64_t first = tail_entry(index_, i, level_), width = tail_width(index_);
    bool differs = place != Place::kGoesOn, ended = place == Place::kEndedAbove;
    for (int l = level_; l < index_.levels; ++l) {
      const uint64_t at = first + static_cast<uint64_t>(l - level_);
      const uint32_t token = entries.token(at), codes = index_.level[l].codes;
      if (token > codes || (ended ? token != codes : token == codes && !index_.variable_length))
        corrupt(SectionKind::Tail, level_, "SID %llu has %u at level %d, expected %s %u", static_cast<ull>(i), token, l,
                ended ? "the end," : "less than", codes);
      if (!differs && token != entries.token(at - width)) {
        differs = true;
        if (token < entries.token(at - width))
          corrupt(SectionKind::Tail, level_, "SID %llu falls at level %d (%u after %u)", static_cast<ull>(i), l, token,
                  entries.token(at - width));
      }
      if (entries.split(at) != (differs && !ended))
        corrupt(index_.tail.splits != nullptr ? SectionKind::TailSplits : SectionKind::Tail, level_,
                "SID %llu %s at level %d, which its codes deny", static_cast<ull>(i),
                entries.split(at) ? "begins an edge" : "begins no edge", l);
      ended = ended || token == codes;
    }
    if (!differs) corrupt(SectionKind::Tail, level_, "SID %llu is there twice", static_cast<ull>(i));
  }

  void check_padding() const {
    if (has_tail_padding(index_))
      corrupt(SectionKind::TailSplits, level_, "bits past the last, %llu, are set",
              static_cast<ull>(index_.sids * tail_width(index_)));
  }

  const IndexView& index_;
  int level_;
  uint64_t node_ = 0;  // the next one
  uint32_t run_ = 0;   // SIDs of the one before it
  bool open_ = false;  // it may have more
};

}  // namespace

void verify_tail(const IndexView& index) { TailCheck(index).run(); }

bool has_tail_padding(const IndexView& index) {
  const uint64_t entries = index.sids * tail_width(index);
  return index.tail.splits != nullptr && entries % 64 != 0 && index.tail.splits[entries / 64] >> entries % 64 != 0;
}

}  // namespace sidbeam
