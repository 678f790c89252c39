// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/row_scan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "backend/cpu/distinct_codes.h"
#include "backend/cpu/probes.h"
#include "backend/cpu/truncate.h"
#include "backend/partial_sum.h"
#include "support/half.h"

namespace sidbeam::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A row while it is scanned.
struct RowScan {
  const SlotPlan& plan;
  RowTask& task;
  RowWorkspace& workspace;
  Selection& selection;
  StepCounters& counters;
  const Kernels& kernels;
  const LevelView& level;

  Elements elements(int64_t column) const {
    Elements result = plan.elements;
    result.data = static_cast<const char*>(task.data) + column * element_bytes(result.dtype);
    return result;
  }
  bool has_end_column() const { return has_end(*plan.index, plan.columns); }
};

// Writes x and the code of each entry of a list into the workspace, and the largest x where it is wanted.
int32_t gather(const RowScan& scan, const TokenList& list, float* largest = nullptr) {
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

// All codes of the level: in place if the row holds their x, else in the workspace.
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

// The x of a slice as contiguous floats.
const float* slice_x(const RowScan& scan, const Slice& slice) {
  if (slice.dtype == SIDBEAM_DTYPE_F32) return static_cast<const float*>(slice.data) + slice.first_column;
  scan.kernels.load({slice.data, slice.dtype}, slice.first_column, slice.codes, scan.workspace.x.data());
  return scan.workspace.x.data();
}

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

// Computes the normaliser, except under NORMALIZE_VALID, which needs the children first. A slice gets the maxima of the
// sum.
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
  int32_t n = gather(scan, list);
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

// The list of a node above the tail.
struct NodeCodes {
  uint32_t codes = 0;
  bool with_end = false;
};
NodeCodes codes_of_node(const RowScan& scan) {
  const Row& children = scan.task.found->row;
  const bool with_end = scan.has_end_column() && children.count > 0 &&
                        scan.level.tokens[children.begin + children.count - 1] == scan.level.codes;
  return {children.count - (with_end ? 1 : 0), with_end};
}
TokenList list_of_node(const RowScan& scan, uint32_t codes) {
  const Row& children = scan.task.found->row;
  const UintArray& all = scan.level.tokens;
  const auto* tokens = static_cast<const char*>(all.data) + children.begin * static_cast<uint64_t>(all.width);
  const auto readable = static_cast<int64_t>(scan.level.edges - children.begin);
  return {tokens, all.width, static_cast<int32_t>(codes), readable};
}

// A node above the tail. If the row has been read anyway, the codes of a dense node, or of a node with every code, are
// scanned in place. The children of other nodes are gathered by their list.
RowOutcome take_node(const RowScan& scan) {
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

// The children of a beam, apart from their x.
struct Listing {
  TokenList codes;
  bool with_end = false;
};

// The first n codes of the workspace, of which the last may be the end.
Listing listing_of(const RowScan& scan, uint32_t* tokens, uint32_t n) {
  const bool with_end = n > 0 && tokens[n - 1] == scan.level.codes;
  n -= with_end ? 1 : 0;
  return {{tokens, 4, static_cast<int32_t>(n), n}, with_end && scan.has_end_column()};
}

// A node of the tail of a compact trie: few children. `tokens` are [kMaxRun].
Listing list_run(const RowScan& scan, uint32_t* tokens) {
  const IndexView& index = *scan.plan.index;
  const Run run = run_of(index, scan.plan.level, scan.task.node);
  return listing_of(scan, tokens, run.count > 0 ? tail_children(index, scan.plan.level, run, tokens) : 0);
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

// The codes of the ordinals [node, range_end).
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

RowOutcome take_range(const RowScan& scan) {
  const RowOutcome outcome = normalize(scan, nullptr);
  if (outcome != RowOutcome::kReady) return outcome;
  const Listing list = list_range(scan);
  ++scan.counters.list_rows;
  return append_list(scan, list.codes, list.with_end);
}

// Keeps the codes, or the end, that continue the row's prefix to one that exists, in order; returns their number.
int32_t keep_existing(const RowScan& scan, uint32_t* tokens, int32_t n) {
  const IndexView& index = *scan.plan.index;
  if (scan.plan.strategy == SIDBEAM_STRATEGY_HASH_FINAL)
    return keep_in_hash_set(scan.kernels, index, scan.task.prefix, tokens, n);
  const OrdinalRange range{scan.task.node, scan.task.range_end};
  const auto missing = [&](uint32_t code) {
    const OrdinalRange found = column_range(index, scan.plan.level, range, code);
    return found.lo >= found.hi;
  };
  return static_cast<int32_t>(std::remove_if(tokens, tokens + n, missing) - tokens);
}

// Those of the workspace's first n codes that exist.
Listing list_existing(const RowScan& scan, int32_t n) {
  uint32_t* tokens = scan.workspace.tokens.data();
  return listing_of(scan, tokens, static_cast<uint32_t>(keep_existing(scan, tokens, n)));
}

// The best top_k codes by x, in the order of codes, on which the selection relies; none if the outcome is not kReady.
RowOutcome find_best(const RowScan& scan, const Slice& slice, Chosen& best) {
  const uint32_t codes = scan.level.codes;
  const float end = scan.has_end_column() ? end_value(scan) : -kInfinity;
  if (!(scan.kernels.largest(slice_x(scan, slice), codes) < kInfinity && end < kInfinity)) return RowOutcome::kBad;
  const RowScore plain{0.0F, {}, false, 0};
  Selection& selection = scan.workspace.best;
  selection.reset(static_cast<int32_t>(std::min<int64_t>(scan.plan.top_k, int64_t{codes} + 1)));
  selection.append_slice(plain, slice);
  selection.push(score_of_one(plain, end), codes);
  best = selection.keep();
  ++scan.counters.probed_rows;
  return RowOutcome::kReady;
}

// Those of the best top_k codes that exist.
RowOutcome list_probed(const RowScan& scan, Listing& list) {
  Chosen best;
  const RowOutcome outcome = find_best(scan, level_slice(scan), best);
  if (outcome != RowOutcome::kReady) return outcome;
  std::copy_n(best.places, best.count, scan.workspace.tokens.data());
  list = list_existing(scan, best.count);
  return outcome;
}

// The position of a code, or of the end, in the order in which truncation prefers equal ones.
int64_t position_of(const RowScan& scan, uint32_t code) {
  const LevelColumns& columns = scan.plan.columns;
  if (scan.plan.over_level) return code;
  return code == scan.level.codes ? columns.end_column : columns.column(code);
}

// The least x that may be kept.
float least_finite(const Boundary& boundary) { return std::max(boundary.x, std::numeric_limits<float>::lowest()); }

// The codes that truncation kept, looked up one by one. (The best codes by x would not do: of equal ones they are the
// lower codes, truncation keeps the lower columns.)
Listing list_kept(const RowScan& scan) {
  const uint32_t codes = scan.level.codes;
  const float* x = slice_x(scan, level_slice(scan));
  uint32_t* tokens = scan.workspace.tokens.data();
  const auto most =
      static_cast<uint32_t>(scan.kernels.find_at_least(x, codes, least_finite(scan.task.boundary), tokens));
  int32_t n = 0;
  const auto take = [&](float value, uint32_t code) {
    if (value > -kInfinity && scan.task.boundary.keeps(value, position_of(scan, code))) tokens[n++] = code;
  };
  for (uint32_t i = 0; i < most; ++i) take(x[tokens[i]], tokens[i]);
  if (scan.has_end_column()) take(end_value(scan), codes);
  ++scan.counters.probed_rows;
  return list_existing(scan, n);
}

// Of the best codes only those are looked up whose scores pass the threshold: a lookup is a miss of all caches.
RowOutcome take_probed(const RowScan& scan) {
  Slice slice = level_slice(scan);
  Chosen best;
  RowOutcome outcome = normalize(scan, &slice);
  if (outcome == RowOutcome::kReady) outcome = find_best(scan, slice, best);
  if (outcome != RowOutcome::kReady) return outcome;
  uint32_t* tokens = scan.workspace.tokens.data();
  int32_t n = best.count;
  std::copy_n(best.places, n, tokens);
  if (scan.plan.normalizer != Normalizer::kChildren) {
    RowScore row = scan.task.row;
    row.place_base = 0;
    const Room room{scan.workspace.x.data(), tokens, n};
    n = scan.kernels.append(row, scan.selection.threshold(), best.scores, best.places, 0, n, room).kept;
  }
  const Listing list = list_existing(scan, n);
  return append_list(scan, list.codes, list.with_end);
}

RowOutcome take_all(const RowScan& scan) {
  Slice slice = level_slice(scan);
  const RowOutcome outcome = normalize(scan, &slice);
  if (outcome != RowOutcome::kReady) return outcome;
  ++scan.counters.unconstrained_rows;
  return append_slice(scan, slice, false);
}

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
      if (scan.plan.in_tail()) {
        list = list_run(scan, run);
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

}  // namespace

DrawWorkspace::DrawWorkspace(const Allocator& allocator, uint32_t codes)
    : powers(allocator, int64_t{codes} + 1 + kVectorSlack),
      cumulative(allocator, (int64_t{codes} + kDrawBlock) / kDrawBlock),
      exponentials(allocator, int64_t{codes} + 1 + kVectorSlack) {}

RowWorkspace::RowWorkspace(const Kernels& kernels, const Allocator& allocator, const StepLimits& limits)
    : x(allocator, int64_t{limits.codes} + 1 + kVectorSlack),
      tokens(allocator, int64_t{limits.codes} + 1 + kVectorSlack),
      maxima(allocator, rows_with_maxima(limits.codes) * maxima_size(2 * int64_t{limits.codes} + kChunk)),
      best(limits.top_k > 0 ? Selection(kernels, allocator, std::min<int64_t>(limits.top_k, int64_t{limits.codes} + 1))
                            : Selection()),
      draw(limits.draws ? DrawWorkspace(allocator, limits.codes) : DrawWorkspace()),
      maxima_rows(rows_with_maxima(limits.codes)),
      maxima_room(maxima.size() / maxima_rows) {}

RowOutcome list_children(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, StepCounters& counters,
                         RowChildren& children) {
  const RowScan scan{plan, task, workspace, workspace.best, counters, *plan.kernels, plan.index->level[plan.level]};
  RowOutcome outcome = normalize(scan, nullptr);
  if (outcome != RowOutcome::kReady) return outcome;
  uint32_t run[kMaxRun];
  Listing list;
  outcome = list_of_row(scan, run, list);
  if (outcome != RowOutcome::kReady) return outcome;
  const bool of_node = plan.strategy == SIDBEAM_STRATEGY_TRIE && !plan.in_tail();
  float largest = 0.0F;
  int32_t count = gather(scan, list.codes, &largest);
  const bool whole = of_node && count == list.codes.count && !plan.truncation.any();
  if (list.with_end) {
    workspace.x[count] = end_value(scan);
    workspace.tokens[count++] = scan.level.codes;
  }
  counters.candidates += count;
  if (plan.truncation.any()) count = keep_within(scan, count);
  if (plan.truncation.any() || list.with_end) largest = scan.kernels.largest(workspace.x.data(), count);
  children = {count, whole ? task.found->row.begin : kNoEdge, largest};
  return outcome;
}

RowOutcome scan_row(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, Selection& selection,
                    StepCounters& counters) {
  const RowScan scan{plan, task, workspace, selection, counters, *plan.kernels, plan.index->level[plan.level]};
  switch (plan.path) {
    case Path::kChains:
      return plan.in_tail() ? take_run(scan) : take_node(scan);
    case Path::kNodes:
      return take_node(scan);
    case Path::kTail:
      return take_run(scan);
    case Path::kRanges:
      return take_range(scan);
    case Path::kProbes:
      return take_probed(scan);
    default:
      return take_all(scan);
  }
}

}  // namespace sidbeam::cpu
