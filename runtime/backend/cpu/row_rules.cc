// The children of a row under rules.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cpu/row_pieces.h"
#include "index/rules/ruled_state.h"

namespace sidbeam::cpu {
namespace {

const LevelRules& rules_of(const RowScan& scan) { return scan.plan.rules->level[scan.plan.level]; }

// The mask of all children that the filter allows, and their number.
const uint64_t* filtered_mask(const RowScan& scan, uint64_t& count) {
  const LevelRules& rules = rules_of(scan);
  const int64_t dense = scan.task.found->dense;
  count = scan.task.found->row.count;
  if (rules.masks == nullptr) return mask_of(scan.level, dense);
  count = rules.mask_counts[dense];
  return rules.masks + static_cast<uint64_t>(dense) * scan.level.mask_words();
}

}  // namespace

Listing list_allowed(const RowScan& scan) {
  const RulesView& rules = *scan.plan.rules;
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
  const uint64_t last = row.begin + row.count - 1;
  return scan.level.tokens[last] == scan.level.codes && scan.plan.rules->allows(rules_of(scan).edges, last);
}

void mask_allowed(const RowScan& scan, bool with_end, Slice& slice) {
  const Row& row = scan.task.found->row;
  uint64_t count = 0;
  uint64_t* own = nullptr;
  slice.mask = filtered_mask(scan, count);
  rules_of(scan).edges.listed.for_each_in(row.begin, row.begin + row.count, [&](uint64_t edge) {
    if (own == nullptr) {
      own = scan.workspace.next_mask();
      std::copy_n(slice.mask, scan.level.mask_words(), own);
    }
    const uint64_t code = std::min<uint64_t>(scan.level.tokens[edge], scan.level.codes);
    count -= own[code / 64] >> code % 64 & 1;
    own[code / 64] &= ~(uint64_t{1} << code % 64);
  });
  if (own != nullptr) slice.mask = own;
  slice.valid = static_cast<int64_t>(count - (with_end ? 1 : 0));
}

}  // namespace sidbeam::cpu
