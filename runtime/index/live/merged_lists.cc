// SPDX-License-Identifier: Apache-2.0
#include "index/live/merged_lists.h"

#include <algorithm>

#include "index/format.h"
#include "index/read/find.h"
#include "index/rules/ruled_state.h"

namespace sidbeam {
namespace {

// The delta's node at a place among the joined ones of a level.
uint64_t joined_node(const OverlayView& overlay, int32_t level, uint64_t place) {
  const OverlayLevel& at = overlay.level[level];
  const uint64_t nodes = level > 0 ? overlay.delta->level[level].nodes : 1;
  const uint64_t after = first_where(0, divide_up(nodes, kRankBits), [&](uint64_t g) { return at.ranks[g] > place; });
  uint64_t left = place - at.ranks[after - 1], w = (after - 1) * (kRankBits / 64);
  for (; left >= bits_set(at.joined[w]); ++w) left -= bits_set(at.joined[w]);
  uint64_t word = at.joined[w];
  for (; left > 0; --left) word &= word - 1;
  return w * 64 + bits_set((word & (0 - word)) - 1);
}

// Finds the entries of a level's merged rows that lists name.
class LevelSearch {
 public:
  LevelSearch(const Tries& tries, const RulesView& rules, int32_t level, std::vector<uint64_t>& found)
      : tries_(tries), rules_(rules), level_(level), found_(found) {}

  void run() {
    found_.clear();
    look_in_delta();
    if (is_tail_level(tries_.index, level_)) {
      look_in_tail();
    } else {
      look_in_base();
    }
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  }

 private:
  const OverlayView& overlay() const { return *tries_.overlay(); }
  const OverlayLevel& joined() const { return overlay().level[level_]; }

  void look_in_delta() {
    const NumberList& listed = rules_.delta->level[level_].edges.listed;
    for (uint64_t i = 0; i < listed.count; ++i) {
      const uint64_t edge = listed.numbers[i];
      const uint64_t node = tries_.delta_parents->parent_of(tries_.delta(), level_, edge).node;
      const uint64_t place = joined_place(overlay(), level_, node);
      if (place != kNoNode) add(place, node, tries_.delta().level[level_].tokens[edge]);
    }
  }
  void look_in_base() {
    const NumberList& listed = rules_.level[level_].edges.listed;
    uint64_t place = 0;  // both rise
    for (uint64_t i = 0; i < listed.count; ++i) {
      const uint64_t edge = listed.numbers[i], node = tries_.parents.parent_of(tries_.index, level_, edge).node;
      place = first_where_near(place, joined().rows.nodes, [&](uint64_t k) { return joined().base[k] >= node; });
      if (place == joined().rows.nodes) return;
      if (joined().base[place] == node) add(place, tries_.index.level[level_].tokens[edge]);
    }
  }
  // Whose lists name SIDs: those below joined nodes.
  void look_in_tail() {
    const IndexView& index = tries_.index;
    const NumberList& listed = rules_.sids.listed;
    uint64_t after = 0;  // the places whose nodes begin up to there
    for (uint64_t i = 0; i < listed.count; ++i) {
      const uint64_t sid = listed.numbers[i];
      after = first_where_near(after, joined().rows.nodes,
                               [&](uint64_t k) { return run_of(index, level_, joined().base[k]).lo > sid; });
      if (after == 0) continue;
      const Run run = run_of(index, level_, joined().base[after - 1]);
      if (sid - run.lo >= run.count) continue;
      const uint64_t at = tail_entry(index, sid, level_);
      add(after - 1, read_tail(index.tail, [&](const auto& entries) { return entries.token(at); }));
    }
  }

  void add(uint64_t place, uint64_t token) { add(place, joined_node(overlay(), level_, place), token); }
  // A child of a joined node that one of the tries names.
  void add(uint64_t place, uint64_t node, uint64_t wide_token) {
    const auto token = static_cast<uint32_t>(wide_token);
    const bool allowed = allows_child(tries_.delta(), *rules_.delta, level_, node, token) ||
                         allows_child(tries_.index, rules_, level_, joined().base[place], token);
    if (allowed != rules_.only_listed) return;
    const uint64_t entry = find_edge(joined().rows, row_of(joined().rows, place), token);
    if (entry != kNoEdge) found_.push_back(entry);
  }

  const Tries& tries_;
  const RulesView& rules_;
  int32_t level_;
  std::vector<uint64_t>& found_;
};

}  // namespace

MergedLists::MergedLists(const Tries& tries, const RulesView& rules, const Allocator& allocator)
    : lists_(static_cast<size_t>(tries.index.levels)), levels_(allocator, tries.index.levels) {
  std::vector<uint64_t> found;
  for (int32_t l = 0; l < tries.index.levels; ++l) {
    levels_[l] = {};
    LevelSearch(tries, rules, l, found).run();
    levels_[l].edges.listed = lists_[static_cast<size_t>(l)].store(found.data(), static_cast<int64_t>(found.size()),
                                                                   tries.overlay()->level[l].rows.edges, allocator);
  }
  view_.only_listed = rules.only_listed;
  view_.level = levels_.data();
}

}  // namespace sidbeam
