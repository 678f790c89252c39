// The children of a row, for what samples them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "backend/cpu/row_pieces.h"

namespace sidbeam::cpu {
namespace {

// The children by the plan's path, as append_list() takes them.
RowOutcome list_of_row(const RowScan& scan, uint32_t* run, Listing& list) {
  switch (scan.plan.path) {
    case Path::kProbes:
      if (!scan.plan.truncation.any()) return list_probed(scan, list);
      list = list_kept(scan);
      break;
    case Path::kAllCodes:
      std::iota(scan.workspace.tokens.begin(), scan.workspace.tokens.begin() + scan.level.codes, 0U);
      list = listing_of(scan, scan.workspace.tokens.data(), scan.level.codes);
      break;
    case Path::kRanges:
      list = list_range(scan);
      break;
    default: {
      if (scan.in_tail()) {
        list = list_run(scan, run);
        break;
      }
      if (scan.plan.rules != nullptr) {
        list = list_allowed(scan);
        break;
      }
      const NodeCodes node = codes_of_node(scan);
      list = {list_of_node(scan, node.codes), node.with_end};
    }
  }
  return RowOutcome::kReady;
}

// Keeps the children in the workspace that lie within the boundary; returns their number.
int32_t keep_within(const RowScan& scan, int32_t n) {
  float* x = scan.workspace.x.data();
  uint32_t* tokens = scan.workspace.tokens.data();
  int32_t kept = 0;
  for (int32_t i = 0; i < n; ++i) {
    const uint32_t code = tokens[i];
    if (!scan.task.boundary.keeps(x[i], position_of(scan, code))) continue;
    x[kept] = x[i];
    tokens[kept++] = code;
  }
  return kept;
}

// Lists a row's children that truncation keeps in the workspace.
RowOutcome list_in_workspace(const RowScan& scan, RowChildren& children) {
  uint32_t run[kMaxRun];
  Listing list;
  const RowOutcome outcome = list_of_row(scan, run, list);
  if (outcome != RowOutcome::kReady) return outcome;
  const bool of_node =
      scan.plan.strategy == SIDBEAM_STRATEGY_TRIE && !scan.plan.in_tail() && !scan.added && scan.plan.rules == nullptr;
  float largest = 0.0F;
  int32_t count = gather(scan, list.codes, &largest);
  const bool whole = of_node && count == list.codes.count && !scan.plan.truncation.any();
  if (list.with_end) {
    scan.workspace.x[count] = end_value(scan);
    scan.workspace.tokens[count++] = scan.level.codes;
  }
  scan.counters.candidates += count;
  if (scan.plan.truncation.any()) count = keep_within(scan, count);
  if (scan.plan.truncation.any() || list.with_end) largest = scan.kernels.largest(scan.workspace.x.data(), count);
  const UintArray tokens{scan.workspace.tokens.data(), sizeof(uint32_t)};
  children = {count, whole ? scan.task.found->row.begin : kNoEdge, largest, scan.workspace.x.data(), tokens};
  return outcome;
}

// Whether every code of the level may follow, and the row holds their x.
bool all_in_place(const RowScan& scan) {
  const SlotPlan& plan = scan.plan;
  if (!plan.in_place || plan.elements.dtype != SIDBEAM_DTYPE_F32 || plan.truncation.any()) return false;
  if (plan.path == Path::kAllCodes) return !scan.has_end_column();
  if (plan.strategy != SIDBEAM_STRATEGY_TRIE || scan.in_tail() || plan.rules != nullptr) return false;
  const auto [codes, with_end] = codes_of_node(scan);
  return codes == scan.level.codes && !with_end;
}

RowChildren children_in_place(const RowScan& scan) {
  const auto n = static_cast<int32_t>(scan.level.codes);
  const float* x = static_cast<const float*>(scan.task.data) + scan.plan.columns.offset;
  const bool has_edges = scan.plan.path != Path::kAllCodes && !scan.added;
  const uint64_t first_edge = has_edges ? scan.task.found->row.begin : kNoEdge;
  return {n, first_edge, scan.kernels.largest(x, n), x, {}};
}

}  // namespace

DrawWorkspace::DrawWorkspace(const Allocator& allocator, uint32_t codes)
    : powers(allocator, int64_t{codes} + 1 + kVectorSlack),
      cumulative(allocator, std::max(int64_t{codes} + 1, kMostCopied) / kDrawBlock + kMostTogether),
      exponentials(allocator, int64_t{codes} + 1 + kVectorSlack),
      copies(allocator, kMostTogether),
      rows(allocator, kMostTogether),
      copied(allocator, std::min(kVectorSlack * (int64_t{codes} + 1), kMostCopied)) {}

RowOutcome list_children(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, StepCounters& counters,
                         RowChildren& children) {
  const RowScan scan = scan_of(plan, task, workspace, workspace.best, counters);
  const RowOutcome outcome = normalize(scan, nullptr);
  return outcome == RowOutcome::kReady ? list_in_workspace(scan, children) : outcome;
}

RowOutcome find_children(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, StepCounters& counters,
                         RowChildren& children) {
  const RowScan scan = scan_of(plan, task, workspace, workspace.best, counters);
  const RowOutcome outcome = normalize(scan, nullptr);
  if (outcome != RowOutcome::kReady) return outcome;
  if (!all_in_place(scan)) return list_in_workspace(scan, children);
  children = children_in_place(scan);
  counters.candidates += children.count;
  return outcome;
}

}  // namespace sidbeam::cpu
