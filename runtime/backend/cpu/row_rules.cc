// The children of a row under rules.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cpu/row_pieces.h"
#include "index/rules/ruled_state.h"

namespace sidbeam::cpu {
namespace {

const LevelRules& rules_of(const RowScan& scan) {
  const RulesView& rules = *scan.plan.rules;
  if (scan.joined) return rules.merged->level[scan.plan.level];
  return (scan.added ? *rules.delta : rules).level[scan.plan.level];
}

// Those of the trie that the node is one of.
const RulesView& own_rules(const RowScan& scan) { return scan.added ? *scan.plan.rules->delta : *scan.plan.rules; }

// The mask of all children that the filter allows, and their number.
const uint64_t* filtered_mask(const RowScan& scan, uint64_t& count) {
  const LevelRules& rules = rules_of(scan);
  const int64_t dense = scan.task.found->dense;
  count = scan.task.found->row.count;
  if (rules.masks == nullptr) return mask_of(scan.level, dense);
  count = rules.mask_counts[dense];
  return rules.masks + static_cast<uint64_t>(dense) * scan.level.mask_words();
}

// A joined node: the delta's and the base's.
struct Joined {
  const OverlayView& overlay;
  uint64_t delta, base;
};

Joined joined_of(const RowScan& scan) {
  const OverlayView& overlay = *scan.plan.index->overlay;
  return {overlay, scan.task.node & ~kDeltaNode, overlay.level[scan.plan.level].base[scan.place]};
}

// What a request's lists say of the children of a node of one trie: calls visit(token) for those that are listed.
template <class Visit>
void for_each_listed_child(const IndexView& index, const RulesView& rules, int level, uint64_t node,
                           const Visit& visit) {
  if (node == kNoNode) return;
  if (is_tail_level(index, level)) {
    // The lists name SIDs there.
    const Run run = run_of(index, level, node);
    if (run.count == 0 || !rules.sids.listed.any_in(run.lo, run.lo + run.count)) return;
    uint32_t tokens[kMaxRun];
    const uint32_t count = tail_children(index, level, run, tokens);
    for (uint32_t i = 0; i < count; ++i)
      if (allows_child(index, rules, level, node, tokens[i]) == rules.only_listed) visit(tokens[i]);
    return;
  }
  const Row row = row_of(index.level[level], node);
  rules.level[level].edges.listed.for_each_in(row.begin, row.begin + row.count, [&](uint64_t edge) {
    visit(static_cast<uint32_t>(index.level[level].tokens[edge]));
  });
}

// Calls visit(token) for the children that a request's lists take from a merged row: a child stays where one of the two
// tries leaves it.
template <class Visit>
void for_each_taken(const RowScan& scan, const Visit& visit) {
  const IndexView& base = *scan.plan.index;
  const RulesView& rules = *scan.plan.rules;
  const int32_t level = scan.plan.level;
  const Joined node = joined_of(scan);
  for_each_listed_child(*node.overlay.delta, *rules.delta, level, node.delta, [&](uint32_t token) {
    if (!allows_child(base, rules, level, node.base, token)) visit(token);
  });
  for_each_listed_child(base, rules, level, node.base, [&](uint32_t token) {
    if (!allows_child(*node.overlay.delta, *rules.delta, level, node.delta, token)) visit(token);
  });
}

// Calls visit(code) for the children that a request's lists take from a row.
template <class Visit>
void for_each_excluded(const RowScan& scan, const Visit& visit) {
  if (scan.joined) return for_each_taken(scan, visit);
  const Row& row = scan.task.found->row;
  rules_of(scan).edges.listed.for_each_in(
      row.begin, row.begin + row.count, [&](uint64_t edge) { visit(static_cast<uint32_t>(scan.level.tokens[edge])); });
}

Listing list_merged(const RowScan& scan) {
  uint32_t* tokens = scan.workspace.tokens.data();
  uint32_t count = 0;
  for_each_allowed_merged(*scan.plan.index, *scan.plan.rules, scan.plan.level, scan.task.node & ~kDeltaNode,
                          [&](uint32_t token) {
                            // More than there are codes only where damaged rows do not rise.
                            if (count <= scan.level.codes) tokens[count++] = token;
                          });
  return listing_of(scan, tokens, count);
}

// Whether a request's lists name children of a merged row.
bool names_children(const RowScan& scan) {
  bool any = scan.plan.rules->only_listed;
  if (!any) for_each_taken(scan, [&](uint32_t) { any = true; });
  return any;
}

}  // namespace

Listing list_allowed(const RowScan& scan) {
  const RulesView& rules = own_rules(scan);
  if (scan.joined && names_children(scan)) return list_merged(scan);
  const Subset& edges = rules_of(scan).edges;
  const Row& row = scan.task.found->row;
  if (!rules.only_listed && edges.bits == nullptr && !edges.listed.any_in(row.begin, row.begin + row.count)) {
    const NodeCodes node = codes_of_node(scan);
    return {list_of_node(scan, node.codes), node.with_end};
  }
  uint32_t* tokens = scan.workspace.tokens.data();
  uint64_t* words = scan.workspace.next_mask();
  rules.put_allowed(edges, row, words);
  const int32_t count = scan.kernels.keep_codes(list_of_node(scan, row.count), words, tokens);
  return listing_of(scan, tokens, static_cast<uint32_t>(count));
}

Listing list_allowed_run(const RowScan& scan, uint32_t* tokens) {
  const IndexView& index = *scan.plan.index;
  const Run run = run_of(index, scan.plan.level, scan.task.node);
  return listing_of(scan, tokens, allowed_in_tail(index, *scan.plan.rules, scan.plan.level, run, tokens));
}

bool has_allowed_mask(const RowScan& scan) { return scan.task.found->dense >= 0 && !scan.plan.rules->only_listed; }

bool allows_end(const RowScan& scan) {
  const Row& row = scan.task.found->row;
  if (!scan.has_end_column() || row.count == 0) return false;
  if (scan.joined) {
    const IndexView& index = *scan.plan.index;
    const Joined node = joined_of(scan);
    const RulesView& rules = *scan.plan.rules;
    return allows_child(index, rules, scan.plan.level, node.base, scan.level.codes) ||
           allows_child(*node.overlay.delta, *rules.delta, scan.plan.level, node.delta, scan.level.codes);
  }
  const uint64_t last = row.begin + row.count - 1;
  return scan.level.tokens[last] == scan.level.codes && own_rules(scan).allows(rules_of(scan).edges, last);
}

void mask_allowed(const RowScan& scan, bool with_end, Slice& slice) {
  uint64_t count = 0;
  uint64_t* own = nullptr;
  slice.mask = filtered_mask(scan, count);
  for_each_excluded(scan, [&](uint32_t token) {
    if (own == nullptr) {
      own = scan.workspace.next_mask();
      std::copy_n(slice.mask, scan.level.mask_words(), own);
    }
    const uint64_t code = std::min<uint64_t>(token, scan.level.codes);
    count -= own[code / 64] >> code % 64 & 1;
    own[code / 64] &= ~(uint64_t{1} << code % 64);
  });
  if (own != nullptr) slice.mask = own;
  slice.valid = static_cast<int64_t>(count - (with_end ? 1 : 0));
}

}  // namespace sidbeam::cpu
