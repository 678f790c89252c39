// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/row_pieces.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "backend/cpu/distinct_codes.h"
#include "backend/cpu/truncate.h"
#include "backend/partial_sum.h"

namespace sidbeam::cpu {
namespace {

RowOutcome use_sum(const PartialSum& sum, RowScore& row) {
  row.normalizer = log_of(sum);
  return use_computed(row);
}

// The sum over a level: its codes, which are copied, and the end. Stores the maxima in the slice, if one is given.
PartialSum sum_level(const RowScan& scan, Slice* slice) {
  const Slice codes = slice != nullptr ? *slice : level_slice(scan);
  float* maxima = slice != nullptr ? scan.workspace.maxima_of(codes.codes) : nullptr;
  if (slice != nullptr) slice->maxima = maxima;
  const PartialSum sum = sum_of(scan.kernels, {codes.data, codes.dtype}, codes.codes, maxima);
  if (!scan.has_end_column()) return sum;
  return merge(sum, sum_of(scan.kernels, scan.elements(scan.plan.columns.end_column), 1));
}

NodeCodes codes_of_node(const SlotPlan& plan, const LevelView& level, const Row& children) {
  const bool with_end = has_end(*plan.index, plan.columns) && children.count > 0 &&
                        level.tokens[children.begin + children.count - 1] == level.codes;
  return {children.count - (with_end ? 1 : 0), with_end};
}

TokenList first_of_node(const LevelView& level, const Row& children, uint32_t codes) {
  const UintArray& all = level.tokens;
  const auto* tokens = static_cast<const char*>(all.data) + children.begin * static_cast<uint64_t>(all.width);
  const auto readable = static_cast<int64_t>(level.edges - children.begin);
  return {tokens, all.width, static_cast<int32_t>(codes), readable};
}

}  // namespace

RowScan scan_of_snapshot(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, Selection& selection,
                         StepCounters& counters) {
  const NodePlace place = node_place(plan, task.node);
  return {plan,          task,         workspace,   selection,    counters,
          *plan.kernels, *place.level, place.added, place.joined, place.node};
}

int32_t gather(const RowScan& scan, const TokenList& list, float* largest) {
  float* x = scan.workspace.x.data();
  uint32_t* tokens = scan.workspace.tokens.data();
  const LevelColumns& columns = scan.plan.columns;
  if (columns.map == nullptr)
    return scan.kernels.gather(scan.elements(0), columns.offset, list, scan.level.codes, x, tokens, largest);
  const Elements elements = scan.elements(0);
  const UintArray codes{list.data, list.width};
  int32_t n = 0;
  for (int32_t i = 0; i < list.count; ++i) {
    const auto code = static_cast<uint32_t>(codes[static_cast<uint64_t>(i)]);
    if (code >= scan.level.codes) continue;
    x[n] = mapped_element(elements, columns.map[code]);
    tokens[n++] = code;
  }
  scan.kernels.transform(elements, x, n);
  if (largest != nullptr) *largest = scan.kernels.largest(x, n);
  return n;
}

float end_value(const RowScan& scan) {
  float x[1 + kVectorSlack] = {element_at(scan.elements(0), scan.plan.columns.end_column)};
  scan.kernels.transform(scan.plan.elements, x, 1);
  return x[0];
}

Slice level_slice(const RowScan& scan) {
  const auto codes = static_cast<int64_t>(scan.level.codes);
  const LevelColumns& columns = scan.plan.columns;
  if (scan.plan.in_place) return slice_in_row(scan.plan, scan.task.data);
  float* x = scan.workspace.x.data();
  if (columns.map == nullptr) {
    scan.kernels.load(scan.elements(0), columns.offset, codes, x);
  } else {
    const Elements elements = scan.elements(0);
    for (int64_t t = 0; t < codes; ++t) x[t] = mapped_element(elements, columns.map[t]);
    scan.kernels.transform(elements, x, codes);
  }
  return {x, SIDBEAM_DTYPE_F32, codes, 0, codes, nullptr, nullptr, codes};
}

const float* slice_x(const RowScan& scan, const Slice& slice) {
  if (slice.dtype == SIDBEAM_DTYPE_F32) return static_cast<const float*>(slice.data) + slice.first_column;
  scan.kernels.load({slice.data, slice.dtype}, slice.first_column, slice.codes, scan.workspace.x.data());
  return scan.workspace.x.data();
}

RowOutcome normalize(const RowScan& scan, Slice* slice) {
  RowTask& task = scan.task;
  switch (scan.plan.normalizer) {
    case Normalizer::kAhead:
      // Under FULL with a map the slice is a copy, whose blocks are not those of the row.
      if (slice != nullptr && scan.plan.columns.map == nullptr) slice->maxima = task.maxima;
      return use_computed(task.row);
    case Normalizer::kByRow:
      if (scan.plan.over_level) return use_sum(sum_level(scan, slice), task.row);
      return use_sum(sum_of(scan.kernels, scan.elements(0), scan.plan.column_count), task.row);
    case Normalizer::kKept: {
      const Kept kept = truncate_row(scan.plan, task.data);
      task.boundary = kept.boundary;
      task.row.normalizer = kept.normalizer;
      task.row.clamp = true;
      return kept.outcome;
    }
    default:
      return use_given(task.lse, task.row);
  }
}

NodeCodes codes_of_node(const RowScan& scan) { return codes_of_node(scan.plan, scan.level, scan.task.found->row); }

TokenList list_of_node(const RowScan& scan, uint32_t codes) {
  return first_of_node(scan.level, scan.task.found->row, codes);
}

TokenList list_of_node(const SlotPlan& plan, uint64_t node, const NodeRow& row) {
  const LevelView& level = *node_place(plan, node).level;
  return first_of_node(level, row.row, codes_of_node(plan, level, row.row).codes);
}

Listing listing_of(const RowScan& scan, uint32_t* tokens, uint32_t n) {
  const bool with_end = n > 0 && tokens[n - 1] == scan.level.codes;
  n -= with_end ? 1 : 0;
  return {{tokens, 4, static_cast<int32_t>(n), n}, with_end && scan.has_end_column()};
}

Listing list_run(const RowScan& scan, uint32_t* tokens) {
  if (scan.plan.rules != nullptr) return list_allowed_run(scan, tokens);
  const IndexView& index = *scan.plan.index;
  const Run run = run_of(index, scan.plan.level, scan.task.node);
  return listing_of(scan, tokens, run.count > 0 ? tail_children(index, scan.plan.level, run, tokens) : 0);
}

Listing list_range(const RowScan& scan) {
  const LevelView& level = scan.level;
  const IndexView& index = *scan.plan.index;
  uint32_t* tokens = scan.workspace.tokens.data();
  uint32_t n = level.codes;
  if (follows_all(scan.plan)) {
    std::iota(tokens, tokens + n, 0u);
  } else {
    const uint64_t end = std::min(scan.task.range_end, index.sids), begin = std::min(scan.task.node, end);
    n = distinct_codes(level.column, begin, end, level.codes + (index.variable_length ? 1 : 0), tokens);
  }
  return listing_of(scan, tokens, n);
}

namespace {

// Scores the children in the workspace: tokens [n], x [n].
RowOutcome append_children(const RowScan& scan, int32_t n) {
  const float* x = scan.workspace.x.data();
  if (scan.plan.normalizer == Normalizer::kChildren) {
    const RowOutcome outcome = use_sum(sum_of(scan.kernels, {x, SIDBEAM_DTYPE_F32, 1.0F, 0.0F}, n), scan.task.row);
    if (outcome != RowOutcome::kReady) return outcome;
  } else if (!scan.plan.reads_row() && is_bad_value(scan.task.row, scan.kernels.largest(x, n))) {
    return RowOutcome::kBad;
  }
  scan.counters.candidates += n;
  scan.selection.append(scan.task.row, x, scan.workspace.tokens.data(), n);
  return RowOutcome::kReady;
}

// Writes x and the code of each child of a list into the workspace where the row holds children alone. False unless
// there are just as many elements as children that have a column.
bool load_children(const RowScan& scan, const TokenList& list, bool with_end, int32_t& n) {
  float* x = scan.workspace.x.data();
  uint32_t* tokens = scan.workspace.tokens.data();
  const Elements elements = scan.elements(0);
  n = 0;
  with_type(UintArray{list.data, list.width}, [&](const auto* codes) {
    for (int32_t i = 0; i < list.count; ++i) {
      tokens[n] = static_cast<uint32_t>(codes[i]);
      n += codes[i] < scan.level.codes ? 1 : 0;
    }
  });
  if (with_end) tokens[n++] = scan.level.codes;
  const LevelColumns& columns = scan.plan.columns;
  if (columns.map == nullptr) {
    if (n != scan.task.elements) return false;
    scan.kernels.load(elements, 0, n, x);
    return true;
  }
  int64_t used = 0;
  for (int32_t i = 0; i < n; ++i) {
    const bool is_there = tokens[i] == scan.level.codes || columns.map[tokens[i]] >= 0;
    if (is_there && used == scan.task.elements) return false;
    x[i] = is_there ? element_at(elements, used++) : -std::numeric_limits<float>::infinity();
  }
  scan.kernels.transform(elements, x, n);
  return used == scan.task.elements;
}

RowOutcome append_end(const RowScan& scan) {
  scan.selection.push(score_of_one(scan.task.row, end_value(scan)), scan.task.row.place_base | scan.level.codes);
  return RowOutcome::kReady;
}

// Scores the children of a list and, if `with_end`, the end.
RowOutcome append_list(const RowScan& scan, const TokenList& list, bool with_end) {
  const SlotPlan& plan = scan.plan;
  if (plan.reads_row() && plan.in_place && plan.elements.dtype == SIDBEAM_DTYPE_F32) {
    scan.counters.candidates += list.count + (with_end ? 1 : 0);
    const auto* data = static_cast<const float*>(scan.task.data) + plan.columns.offset;
    scan.selection.append_list(scan.task.row, data, list, scan.level.codes);
    return with_end ? append_end(scan) : RowOutcome::kReady;
  }
  int32_t n = 0;
  if (plan.children_alone) return load_children(scan, list, with_end, n) ? append_children(scan, n) : RowOutcome::kBad;
  n = gather(scan, list);
  if (with_end) {
    scan.workspace.x[n] = end_value(scan);
    scan.workspace.tokens[n++] = scan.level.codes;
  }
  return append_children(scan, n);
}

// Scores every code of the slice that its mask allows and, if `with_end`, the end.
RowOutcome append_slice(const RowScan& scan, const Slice& slice, bool with_end) {
  scan.counters.candidates += slice.valid;
  if (!scan.plan.reads_row() && is_bad_value(scan.task.row, scan.kernels.largest(slice_x(scan, slice), slice.codes)))
    return RowOutcome::kBad;
  scan.selection.append_slice(scan.task.row, slice);
  // The next row overwrites a copy of the codes and maxima computed here.
  if (!scan.plan.sums_ahead() || scan.plan.columns.map != nullptr) scan.selection.flush();
  return with_end ? append_end(scan) : RowOutcome::kReady;
}

// A node that has a row, under rules.
RowOutcome take_ruled_node(const RowScan& scan) {
  if (scan.plan.reads_row() && has_allowed_mask(scan)) {
    Slice slice = level_slice(scan);
    const RowOutcome outcome = normalize(scan, &slice);
    if (outcome != RowOutcome::kReady) return outcome;
    const bool with_end = allows_end(scan);
    mask_allowed(scan, with_end, slice);
    ++scan.counters.dense_rows;
    return append_slice(scan, slice, with_end);
  }
  const RowOutcome outcome = normalize(scan, nullptr);
  if (outcome != RowOutcome::kReady) return outcome;
  const Listing list = list_allowed(scan);
  if (list.codes.count == 0 && !list.with_end) return outcome;
  ++scan.counters.list_rows;
  return append_list(scan, list.codes, list.with_end);
}

// A node that has a row. If the logits row has been read anyway, the codes of a dense node, or of a node with every
// code, are scanned in place. The children of other nodes are gathered by their list.
RowOutcome take_node(const RowScan& scan) {
  if (scan.plan.rules != nullptr) return take_ruled_node(scan);
  const LevelView& level = scan.level;
  const auto [codes, with_end] = codes_of_node(scan);
  const bool all = codes == level.codes;
  if (scan.plan.reads_row() && (all || scan.task.found->dense >= 0)) {
    Slice slice = level_slice(scan);
    const RowOutcome outcome = normalize(scan, &slice);
    if (outcome != RowOutcome::kReady) return outcome;
    if (!all) slice.mask = mask_of(level, scan.task.found->dense);
    slice.valid = codes;
    ++(all ? scan.counters.unconstrained_rows : scan.counters.dense_rows);
    return append_slice(scan, slice, with_end);
  }
  const RowOutcome outcome = normalize(scan, nullptr);
  if (outcome != RowOutcome::kReady || scan.task.found->row.count == 0) return outcome;
  ++scan.counters.list_rows;
  return append_list(scan, list_of_node(scan, codes), with_end);
}

RowOutcome take_run(const RowScan& scan) {
  const RowOutcome outcome = normalize(scan, nullptr);
  if (outcome != RowOutcome::kReady) return outcome;
  uint32_t tokens[kMaxRun];
  const Listing list = list_run(scan, tokens);
  if (list.codes.count == 0 && !list.with_end) return outcome;
  ++scan.counters.list_rows;
  return append_list(scan, list.codes, list.with_end);
}

RowOutcome take_range(const RowScan& scan) {
  const RowOutcome outcome = normalize(scan, nullptr);
  if (outcome != RowOutcome::kReady) return outcome;
  const Listing list = list_range(scan);
  ++scan.counters.list_rows;
  return append_list(scan, list.codes, list.with_end);
}

RowOutcome take_probed(const RowScan& scan) {
  Slice slice = level_slice(scan);
  Listing list;
  RowOutcome outcome = normalize(scan, &slice);
  if (outcome == RowOutcome::kReady) outcome = list_passing(scan, slice, list);
  return outcome == RowOutcome::kReady ? append_list(scan, list.codes, list.with_end) : outcome;
}

RowOutcome take_all(const RowScan& scan) {
  Slice slice = level_slice(scan);
  const RowOutcome outcome = normalize(scan, &slice);
  if (outcome != RowOutcome::kReady) return outcome;
  ++scan.counters.unconstrained_rows;
  return append_slice(scan, slice, false);
}

}  // namespace

RowWorkspace::RowWorkspace(const Kernels& kernels, const Allocator& allocator, const StepLimits& limits)
    : x(allocator, int64_t{limits.codes} + 1 + kVectorSlack),
      tokens(allocator, int64_t{limits.codes} + 1 + kVectorSlack),
      masks(allocator, (kMostSlices + 1) * ((int64_t{limits.codes} + 1 + 63) / 64)),
      maxima(allocator, rows_with_maxima(limits.codes) * maxima_size(2 * int64_t{limits.codes} + kChunk)),
      best(limits.top_k > 0 ? Selection(kernels, allocator, std::min<int64_t>(limits.top_k, int64_t{limits.codes} + 1))
                            : Selection()),
      draw(limits.draws ? DrawWorkspace(allocator, limits.codes) : DrawWorkspace()),
      lists(allocator),
      maxima_rows(rows_with_maxima(limits.codes)),
      maxima_room(maxima.size() / maxima_rows) {}

RowOutcome scan_row(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, Selection& selection,
                    StepCounters& counters) {
  const RowScan scan = scan_of(plan, task, workspace, selection, counters);
  switch (plan.path) {
    case Path::kChains:
    case Path::kNodes:
    case Path::kTail:
      return scan.in_tail() ? take_run(scan) : take_node(scan);
    case Path::kRanges:
      return take_range(scan);
    case Path::kProbes:
      return take_probed(scan);
    default:
      return take_all(scan);
  }
}

}  // namespace sidbeam::cpu
