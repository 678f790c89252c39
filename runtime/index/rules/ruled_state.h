// States of the trie under rules.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/read/state.h"
#include "index/rules/subset.h"

namespace sidbeam {

// Whether rules (nullptr: none) allow a trie state, that is, a SID at or below it.
SIDBEAM_HD inline bool allows_state(const IndexView& index, const RulesView* rules, const State& state) {
  if (rules == nullptr) return true;
  if (state.level == 0) return rules->sids_left > 0;
  if (state.level > index.csr_levels) {
    const Run run = run_of(index, state.level, state.node);
    return run.count > 0 && rules->allowed_of(rules->sids, run.lo, run.count) != 0;
  }
  return rules->allows(rules->level[state.level - 1].edges, state.node);
}

// tail_children() that rules allow.
SIDBEAM_HD inline uint32_t allowed_in_tail(const IndexView& index, const RulesView& rules, int level, const Run& run,
                                           uint32_t* tokens) {
  if (run.count == 0) return 0;
  const uint64_t allowed = rules.allowed_of(rules.sids, run.lo, run.count);
  return tail_children(
      index, level, run, [=](uint32_t i) { return (allowed >> i & 1) != 0; }, tokens);
}

// for_each_child() that rules (nullptr: none) allow.
template <class Visit>
SIDBEAM_HD void for_each_allowed_child(const IndexView& index, const RulesView* rules, const State& state,
                                       const Visit& visit) {
  if (rules == nullptr) return for_each_child(index, state, visit);
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
