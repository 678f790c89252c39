// States of the trie under rules.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/read/state.h"
#include "index/rules/subset.h"

namespace sidbeam {

// allows_state() of the base alone.
SIDBEAM_HD inline bool allows_in_base(const IndexView& index, const RulesView& rules, const State& state) {
  if (state.level == 0) return rules.sids_left > 0;
  if (state.level > index.csr_levels) {
    const Run run = run_of(index, state.level, state.node);
    return run.count > 0 && rules.allowed_of(rules.sids, run.lo, run.count) != 0;
  }
  return rules.allows(rules.level[state.level - 1].edges, state.node);
}

// Whether rules (nullptr: none) allow a trie state, that is, a SID at or below it.
SIDBEAM_HD inline bool allows_state(const IndexView& index, const RulesView* rules, const State& state) {
  if (rules == nullptr) return true;
  const IndexView* trie = &index;
  const RulesView* of_trie = rules;
  uint64_t node = state.node, base = kNoNode;
  if (in_delta(index, state.level, node)) {
    trie = index.overlay->delta;
    of_trie = rules->delta;
    node &= ~kDeltaNode;
    base = base_of(*index.overlay, state.level, node);
  }
  for (;; trie = &index, of_trie = rules, node = base, base = kNoNode) {  // one loop, as in follow()
    if (allows_in_base(*trie, *of_trie, {state.level, state.ended, state.kind, node})) return true;
    if (base == kNoNode) return false;
  }
}

// tail_children() that rules allow.
SIDBEAM_HD inline uint32_t allowed_in_tail(const IndexView& index, const RulesView& rules, int level, const Run& run,
                                           uint32_t* tokens) {
  if (run.count == 0) return 0;
  const uint64_t allowed = rules.allowed_of(rules.sids, run.lo, run.count);
  return tail_children(index, level, run, tokens, [=](uint32_t i) { return (allowed >> i & 1) != 0; });
}

// The children of a node of one trie that rules allow, one by one.
class AllowedChildren {
 public:
  SIDBEAM_HD AllowedChildren(const IndexView& index, const RulesView& rules, int level, uint64_t node)
      : level_(index.level[level]), rules_(rules), in_tail_(is_tail_level(index, level)) {
    if (in_tail_) {
      row_.count = allowed_in_tail(index, rules, level, run_of(index, level, node), run_);
    } else {
      row_ = row_of(level_, node);
      edges_ = rules.level[level].edges;
    }
    next();
  }
  SIDBEAM_HD bool has_one() const { return has_one_; }
  SIDBEAM_HD uint32_t token() const { return token_; }
  SIDBEAM_HD void next() {
    if (in_tail_) {
      has_one_ = at_ < row_.count;
      if (has_one_) token_ = run_[at_++];
      return;
    }
    for (; word_ == 0 && at_ < row_.count; at_ += 64)
      word_ = rules_.allowed_of(edges_, row_.begin + at_, std::min<uint32_t>(row_.count - at_, 64));
    has_one_ = word_ != 0;
    if (!has_one_) return;
    token_ = static_cast<uint32_t>(level_.tokens[row_.begin + at_ - 64 + bits_set((word_ & (0 - word_)) - 1)]);
    word_ &= word_ - 1;
  }

 private:
  const LevelView& level_;
  const RulesView& rules_;
  Subset edges_;
  Row row_;
  bool in_tail_, has_one_ = false;
  uint32_t at_ = 0, token_ = 0;  // the next child of the tail, or where the edges after those of the word begin
  uint64_t word_ = 0;            // of allowed edges that are still to come
  uint32_t run_[kMaxRun];
};

// The same of a node of the delta, with the children that it has in the base.
template <class Visit>
SIDBEAM_HD void for_each_allowed_merged(const IndexView& index, const RulesView& rules, int level, uint64_t node,
                                        const Visit& visit) {
  const OverlayView& overlay = *index.overlay;
  const uint64_t base = base_of(overlay, level, node);
  AllowedChildren added(*overlay.delta, *rules.delta, level, node);
  if (base == kNoNode) {
    for (; added.has_one(); added.next()) visit(added.token());
    return;
  }
  AllowedChildren kept(index, rules, level, base);
  while (added.has_one() || kept.has_one()) {
    const uint32_t token = !kept.has_one()                ? added.token()
                           : !added.has_one()             ? kept.token()
                           : added.token() < kept.token() ? added.token()
                                                          : kept.token();
    visit(token);
    if (added.has_one() && added.token() == token) added.next();
    if (kept.has_one() && kept.token() == token) kept.next();
  }
}

// Whether the code may follow a node of one trie under rules.
SIDBEAM_HD inline bool allows_child(const IndexView& index, const RulesView& rules, int level, uint64_t node,
                                    uint32_t token) {
  State state = base_state(index, level, node);
  return node != kNoNode && follow_base(index, state, token) && allows_in_base(index, rules, state);
}

// for_each_child() that rules (nullptr: none) allow.
template <class Visit>
SIDBEAM_HD void for_each_allowed_child(const IndexView& index, const RulesView* rules, const State& state,
                                       const Visit& visit) {
  if (rules == nullptr) return for_each_child(index, state, visit);
  if (in_delta(index, state.level, state.node))
    return for_each_allowed_merged(index, *rules, state.level, delta_state(state).node, visit);
  if (is_tail_level(index, state.level)) {
    uint32_t tokens[kMaxRun];
    const uint32_t count = allowed_in_tail(index, *rules, state.level, run_of(index, state.level, state.node), tokens);
    for (uint32_t i = 0; i < count; ++i) visit(tokens[i]);
    return;
  }
  const LevelView& level = index.level[state.level];
  for_each_allowed(*rules, rules->level[state.level].edges, row_of(level, state.node),
                   [&](uint64_t edge) { visit(static_cast<uint32_t>(level.tokens[edge])); });
}

}  // namespace sidbeam
