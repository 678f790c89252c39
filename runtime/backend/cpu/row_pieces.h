// What the scan of a row and its sampling share: where its x are, its normaliser, and which children its beam has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/row_scan.h"

namespace sidbeam::cpu {

// A row while it is scanned.
struct RowScan {
  const SlotPlan& plan;
  RowTask& task;
  RowWorkspace& workspace;
  Selection& selection;
  StepCounters& counters;
  const Kernels& kernels;
  const LevelView& level;  // where the row is
  // Whether the node is one of the delta and, if so, joined, and its place among those (index/overlay.h).
  bool added = false, joined = false;
  uint64_t place = 0;

  Elements elements(int64_t column) const {
    Elements result = plan.elements;
    result.data = static_cast<const char*>(task.data) + column * element_bytes(result.dtype);
    return result;
  }
  bool has_end_column() const { return has_end(*plan.index, plan.columns); }
  bool in_tail() const { return plan.in_tail() && !added; }
};

// Not inline: scanning rows of plain indexes took more instructions.
RowScan scan_of_snapshot(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, Selection& selection,
                         StepCounters& counters);
inline RowScan scan_of(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, Selection& selection,
                       StepCounters& counters) {
  if (plan.index->overlay != nullptr) return scan_of_snapshot(plan, task, workspace, selection, counters);
  return {plan, task, workspace, selection, counters, *plan.kernels, plan.index->level[plan.level]};
}

// The children of a beam, apart from their x.
struct Listing {
  TokenList codes;
  bool with_end = false;
};

// The list of a node above the tail.
struct NodeCodes {
  uint32_t codes = 0;
  bool with_end = false;
};
NodeCodes codes_of_node(const RowScan& scan);
TokenList list_of_node(const RowScan& scan, uint32_t codes);

// Writes x and the code of each entry of a list into the workspace, and the largest x where it is wanted; returns how
// many there are.
int32_t gather(const RowScan& scan, const TokenList& list, float* largest = nullptr);
float end_value(const RowScan& scan);
// All codes of the level: in place if the row holds their x, else in the workspace.
Slice level_slice(const RowScan& scan);
// The x of a slice as contiguous floats.
const float* slice_x(const RowScan& scan, const Slice& slice);
// Computes the normaliser, except under NORMALIZE_VALID, which needs the children first. A slice gets the maxima of the
// sum.
RowOutcome normalize(const RowScan& scan, Slice* slice);

// The first n codes of the workspace, of which the last may be the end.
Listing listing_of(const RowScan& scan, uint32_t* tokens, uint32_t n);
// A node of the tail of a compact trie: few children. `tokens` are [kMaxRun].
Listing list_run(const RowScan& scan, uint32_t* tokens);
// The same of a node above the tail, or of the tail, under the plan's rules (row_rules.cc). Codes of a node lie in the
// workspace.
Listing list_allowed(const RowScan& scan);
Listing list_allowed_run(const RowScan& scan, uint32_t* tokens);
// Whether the allowed children of a node have a mask, and what it is: sets that of the slice and the number of its
// codes.
bool has_allowed_mask(const RowScan& scan);
void mask_allowed(const RowScan& scan, bool with_end, Slice& slice);
// Whether the end may follow a node above the tail.
bool allows_end(const RowScan& scan);
// The codes of the ordinals [node, range_end).
Listing list_range(const RowScan& scan);

// Strategies that look codes up (row_probes.cc). Those of the best top_k codes that exist:
RowOutcome list_probed(const RowScan& scan, Listing& list);
// The same after normalize(), of which a search needs only those whose scores pass its threshold.
RowOutcome list_passing(const RowScan& scan, const Slice& slice, Listing& list);
// Those that exist of the codes that truncation kept.
Listing list_kept(const RowScan& scan);
// The position of a code, or of the end, in the order in which truncation prefers equal ones.
int64_t position_of(const RowScan& scan, uint32_t code);

}  // namespace sidbeam::cpu
