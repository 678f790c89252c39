// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/row_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backend/cpu/distinct_codes.h"
#include "backend/cpu/sum_ahead.h"
#include "backend/half.h"
#include "backend/partial_sum.h"

namespace sidbeam::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A row while it is scanned.
struct Scan {
  const SlotScan& slot;
  RowTask& task;
  RowWorkspace& workspace;
  Selection& selection;
  StepCounters& counters;
  const Kernels& kernels;
  const LevelView& level;

  Elements elements(int64_t column) const {
    Elements result = slot.elements;
    result.data = static_cast<const char*>(task.data) + column * element_bytes(result.dtype);
    return result;
  }
  // The end is a column of its own, and only an index of variable length has one.
  bool has_end_column() const { return slot.index->variable_length && slot.columns.end_column >= 0; }
};

// The element of a code in a mapped level. One without a column is no candidate, and no sum feels it.
float mapped_element(const Elements& elements, int32_t column) {
  return column >= 0 ? element_at(elements, column) : -kInfinity;
}

// x and token of each code of a list; in the workspace.
int32_t gather(const Scan& scan, const TokenList& list) {
  float* x = scan.workspace.x.data();
  uint32_t* tokens = scan.workspace.tokens.data();
  const LevelColumns& columns = scan.slot.columns;
  if (columns.map == nullptr)
    return scan.kernels.gather(scan.elements(0), columns.offset, list, scan.level.codes, x, tokens);
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
  return n;
}

float end_value(const Scan& scan) {
  float x[1 + kVectorSlack] = {element_at(scan.elements(0), scan.slot.columns.end_column)};
  scan.kernels.transform(scan.slot.elements, x, 1);
  return x[0];
}

// All codes of the level: in place where the row already holds their x, else in the workspace.
Slice level_slice(const Scan& scan) {
  const auto codes = static_cast<int64_t>(scan.level.codes);
  const LevelColumns& columns = scan.slot.columns;
  if (columns.map == nullptr && !scan.slot.elements.transformed()) return slice_in_row(scan.slot, scan.task.data);
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

// x of a slice, one after the other.
const float* slice_x(const Scan& scan, const Slice& slice) {
  if (slice.dtype == SIDBEAM_DTYPE_F32) return static_cast<const float*>(slice.data) + slice.first_column;
  scan.kernels.load({slice.data, slice.dtype}, slice.first_column, slice.codes, scan.workspace.x.data());
  return scan.workspace.x.data();
}

RowOutcome use_sum(const PartialSum& sum, RowScore& row) {
  row.normalizer = log_of(sum);
  return use_computed(row);
}

// Of a level whose codes are copied: those and the end. Leaves the maxima where the slice is given.
PartialSum sum_level(const Scan& scan, Slice* slice) {
  const Slice codes = slice != nullptr ? *slice : level_slice(scan);
  float* maxima = slice != nullptr ? scan.workspace.maxima_of(codes.codes) : nullptr;
  if (slice != nullptr) slice->maxima = maxima;
  const PartialSum sum = sum_of(scan.kernels, {codes.data, codes.dtype}, codes.codes, maxima);
  if (!scan.has_end_column()) return sum;
  return merge(sum, sum_of(scan.kernels, scan.elements(scan.slot.columns.end_column), 1));
}

// The normaliser, but for NORMALIZE_VALID, which waits for the children.
RowOutcome normalize(const Scan& scan, Slice* slice) {
  RowTask& task = scan.task;
  if (scan.slot.sums_ahead) {
    // With FULL and a map the slice is a copy, whose blocks are others than the row's.
    if (slice != nullptr && scan.slot.columns.map == nullptr) slice->maxima = task.maxima;
    return use_computed(task.row);
  }
  if (!scan.slot.reads_row) return use_given(task.lse, task.row);
  if (scan.slot.normalization == SIDBEAM_NORMALIZE_FULL)
    return use_sum(sum_of(scan.kernels, scan.elements(0), scan.slot.column_count), task.row);
  return use_sum(sum_level(scan, slice), task.row);
}

// Scores the children in the workspace: tokens [n], x [n].
bool append_children(const Scan& scan, int32_t n) {
  const float* x = scan.workspace.x.data();
  if (!scan.slot.reads_row) {
    if (scan.task.lse == nullptr && scan.slot.normalization == SIDBEAM_NORMALIZE_VALID) {
      const RowOutcome outcome = use_sum(sum_of(scan.kernels, {x, SIDBEAM_DTYPE_F32, 1.0F, 0.0F}, n), scan.task.row);
      if (outcome != RowOutcome::kReady) return outcome == RowOutcome::kEmpty;
    } else if (is_bad_value(scan.task.row, scan.kernels.largest(x, n))) {
      return false;
    }
  }
  scan.counters.candidates += n;
  scan.selection.append(scan.task.row, x, scan.workspace.tokens.data(), n);
  return true;
}

bool append_end(const Scan& scan) {
  scan.selection.push(score_of_one(scan.task.row, end_value(scan)), scan.task.row.place_base | scan.level.codes);
  return true;
}

// The children of a list, and the end where `with_end`.
bool append_list(const Scan& scan, const TokenList& list, bool with_end) {
  const SlotScan& slot = scan.slot;
  const bool is_plain =
      slot.columns.map == nullptr && !slot.elements.transformed() && slot.elements.dtype == SIDBEAM_DTYPE_F32;
  if (slot.reads_row && is_plain) {
    scan.counters.candidates += list.count + (with_end ? 1 : 0);
    const auto* data = static_cast<const float*>(scan.task.data) + slot.columns.offset;
    scan.selection.append_list(scan.task.row, data, list, scan.level.codes);
    return !with_end || append_end(scan);
  }
  int32_t n = gather(scan, list);
  if (with_end) {
    scan.workspace.x[n] = end_value(scan);
    scan.workspace.tokens[n++] = scan.level.codes;
  }
  return append_children(scan, n);
}

// Scores every code of the slice that its mask allows, and the end where `with_end`.
bool append_slice(const Scan& scan, const Slice& slice, bool with_end) {
  if (!scan.slot.reads_row && is_bad_value(scan.task.row, scan.kernels.largest(slice_x(scan, slice), slice.codes)))
    return false;
  scan.selection.append_slice(scan.task.row, slice);
  // A copy of the codes, or of maxima made here, lies where the next row's will.
  if (!scan.slot.sums_ahead || scan.slot.columns.map != nullptr) scan.selection.flush();
  return !with_end || append_end(scan);
}

bool scan_list(const Scan& scan, const Row& children, bool with_end) {
  const LevelView& level = scan.level;
  const auto codes = static_cast<int32_t>(children.count - (with_end ? 1 : 0));
  ++scan.counters.list_rows;
  const auto width = static_cast<uint64_t>(level.tokens.width);
  const auto* tokens = static_cast<const char*>(level.tokens.data) + children.begin * width;
  const auto readable = static_cast<int64_t>(level.edges - children.begin);
  return append_list(scan, {tokens, level.tokens.width, codes, readable}, with_end);
}

// A node of the tail of a compact trie: few children, always by list.
bool scan_tail(const Scan& scan) {
  const RowOutcome outcome = normalize(scan, nullptr);
  if (outcome != RowOutcome::kReady) return outcome == RowOutcome::kEmpty;
  const IndexView& index = *scan.slot.index;
  const Run run = run_of(index, scan.slot.level, scan.task.node);
  if (run.count == 0) return true;
  uint32_t tokens[kMaxRun];
  auto n = static_cast<int32_t>(tail_children(index, scan.slot.level, run, tokens));
  const bool with_end = n > 0 && tokens[n - 1] == scan.level.codes;
  n -= with_end ? 1 : 0;
  ++scan.counters.list_rows;
  return append_list(scan, {tokens, 4, n, n}, with_end && scan.has_end_column());
}

// How the children of a node are found: dense nodes and those where all codes are valid in the row, if it is read
// anyway.
bool scan_trie(const Scan& scan) {
  if (!scan.slot.by_row) return scan_tail(scan);
  const LevelView& level = scan.level;
  const Row& children = scan.task.found->row;
  const bool with_end =
      scan.has_end_column() && children.count > 0 && level.tokens[children.begin + children.count - 1] == level.codes;
  const uint32_t codes = children.count - (with_end ? 1 : 0);
  const bool all = scan.slot.reads_row && codes == level.codes;
  const int64_t dense = scan.slot.reads_row && !all ? scan.task.found->dense : -1;
  if (!all && dense < 0) {
    const RowOutcome outcome = normalize(scan, nullptr);
    if (outcome != RowOutcome::kReady) return outcome == RowOutcome::kEmpty;
    return children.count == 0 || scan_list(scan, children, with_end);
  }
  Slice slice = level_slice(scan);
  const RowOutcome outcome = normalize(scan, &slice);
  if (outcome != RowOutcome::kReady) return outcome == RowOutcome::kEmpty;
  if (dense >= 0) slice.mask = mask_of(level, dense);
  slice.valid = codes;
  ++(dense >= 0 ? scan.counters.dense_rows : scan.counters.unconstrained_rows);
  scan.counters.candidates += codes;
  return append_slice(scan, slice, with_end);
}

// Whether every code follows the root: what the header counted is enough to know.
bool follows_all(const Scan& scan) { return scan.slot.level == 0 && scan.level.edges == scan.level.codes; }

// The codes of the ordinals [node, range_end).
bool scan_sorted(const Scan& scan) {
  const LevelView& level = scan.level;
  const IndexView& index = *scan.slot.index;
  uint32_t* tokens = scan.workspace.tokens.data();
  uint32_t n = level.codes;
  if (follows_all(scan)) {
    std::iota(tokens, tokens + n, 0u);
  } else {
    const uint64_t end = std::min(scan.task.range_end, index.sids), begin = std::min(scan.task.node, end);
    n = distinct_codes(level.column, begin, end, level.codes + (index.variable_length ? 1 : 0), tokens);
  }
  const bool with_end = n > 0 && tokens[n - 1] == level.codes;
  n -= with_end ? 1 : 0;
  ++scan.counters.list_rows;
  return append_list(scan, {tokens, 4, static_cast<int32_t>(n), n}, with_end && scan.has_end_column());
}

bool is_valid_code(const Scan& scan, uint32_t code) {
  const IndexView& index = *scan.slot.index;
  if (scan.slot.strategy == SIDBEAM_STRATEGY_SORTED_TOPK) {
    const OrdinalRange found = column_range(index, scan.slot.level, {scan.task.node, scan.task.range_end}, code);
    return found.lo < found.hi;
  }
  int32_t* codes = scan.workspace.codes.data();
  std::copy(scan.task.prefix, scan.task.prefix + scan.slot.level, codes);
  codes[scan.slot.level] = static_cast<int32_t>(code);
  return hash_find(index, codes) >= 0;
}

// The best top_k codes by x, looked up one by one. They are put back in the order of codes, which the selection counts
// on.
bool scan_probed(const Scan& scan) {
  const uint32_t codes = scan.level.codes;
  const Slice slice = level_slice(scan);
  const bool with_end = scan.has_end_column();
  const float end = with_end ? end_value(scan) : -kInfinity;
  if (!(scan.kernels.largest(slice_x(scan, slice), codes) < kInfinity && end < kInfinity)) return false;
  Selection& best = scan.workspace.best;
  const RowScore plain{0.0F, {}, false, 0};
  best.reset(static_cast<int32_t>(std::min<int64_t>(scan.slot.top_k, int64_t{codes} + 1)));
  best.append_slice(plain, slice);
  best.push(score_of_one(plain, end), codes);
  const int32_t count = best.finish();
  uint32_t* tokens = scan.workspace.tokens.data();
  std::copy(best.places(), best.places() + count, tokens);
  std::sort(tokens, tokens + count);
  const bool keeps_end = count > 0 && tokens[count - 1] == codes && is_valid_code(scan, codes);
  int32_t n = 0;
  for (int32_t i = 0; i < count; ++i)
    if (tokens[i] < codes && is_valid_code(scan, tokens[i])) tokens[n++] = tokens[i];
  ++scan.counters.probed_rows;
  return append_list(scan, {tokens, 4, n, n}, keeps_end);
}

bool scan_all(const Scan& scan) {
  Slice slice = level_slice(scan);
  const RowOutcome outcome = normalize(scan, &slice);
  if (outcome != RowOutcome::kReady) return outcome == RowOutcome::kEmpty;
  ++scan.counters.unconstrained_rows;
  scan.counters.candidates += scan.level.codes;
  return append_slice(scan, slice, false);
}

}  // namespace

RowWorkspace::RowWorkspace(const Kernels& kernels, const Allocator& allocator, const StepLimits& limits)
    : x(allocator, int64_t{limits.codes} + 1 + kVectorSlack),
      tokens(allocator, int64_t{limits.codes} + 1 + kVectorSlack),
      maxima(allocator, rows_with_maxima(limits.codes) * maxima_size(2 * int64_t{limits.codes} + kChunk)),
      codes(allocator, limits.levels),
      best(limits.top_k > 0 ? Selection(kernels, allocator, std::min<int64_t>(limits.top_k, int64_t{limits.codes} + 1))
                            : Selection()),
      maxima_rows(rows_with_maxima(limits.codes)),
      maxima_room(maxima.size() / maxima_rows) {}

void decide(SlotScan& slot, bool lse_given) {
  slot.reads_row =
      !lse_given && (slot.normalization == SIDBEAM_NORMALIZE_FULL || slot.normalization == SIDBEAM_NORMALIZE_LEVEL);
  const bool computed = slot.reads_row || lse_given || slot.normalization == SIDBEAM_NORMALIZE_NONE;
  slot.sums_ahead = slot.reads_row && !slot.elements.transformed() &&
                    (slot.normalization == SIDBEAM_NORMALIZE_FULL || slot.columns.map == nullptr);
  slot.by_row = slot.strategy == SIDBEAM_STRATEGY_TRIE && !is_tail_level(*slot.index, slot.level);
  slot.notes_slices = slot.by_row && slot.sums_ahead && slot.columns.map == nullptr &&
                      !(slot.index->variable_length && slot.columns.end_column >= 0);
  const LevelView& level = slot.index->level[slot.level];
  slot.wants_maxima = slot.strategy != SIDBEAM_STRATEGY_TRIE || level.dense_nodes > 0 || slot.level == 0;
  const bool all_dense = slot.by_row && level.dense_nodes == level.nodes;  // to look for only children took 0.6 us
  slot.singles = !all_dense && slot.strategy == SIDBEAM_STRATEGY_TRIE && computed && slot.columns.map == nullptr &&
                 !slot.elements.transformed();
}

bool scan_single(const SlotScan& slot, RowTask& task, uint32_t token, Selection& selection) {
  RowScore& row = task.row;
  Elements elements = slot.elements;
  elements.data = task.data;
  const float x = element_at(elements, slot.columns.offset + token);
  if (slot.reads_row) {
    const RowOutcome outcome = use_computed(row);
    if (outcome != RowOutcome::kReady) return outcome == RowOutcome::kEmpty;
  } else {
    const RowOutcome outcome = use_given(task.lse, row);
    if (outcome != RowOutcome::kReady) return outcome == RowOutcome::kEmpty;
    if (is_bad_value(row, x)) return false;
  }
  selection.push(score_of_one(row, x), row.place_base | token);
  return true;
}

bool scan_row(const SlotScan& slot, RowTask& task, RowWorkspace& workspace, Selection& selection,
              StepCounters& counters) {
  const Scan scan{slot, task, workspace, selection, counters, *slot.kernels, slot.index->level[slot.level]};
  if (slot.strategy == SIDBEAM_STRATEGY_TRIE) return scan_trie(scan);
  const bool probes = slot.strategy == SIDBEAM_STRATEGY_SORTED_TOPK ||
                      (slot.strategy == SIDBEAM_STRATEGY_HASH_FINAL && slot.level == slot.index->levels - 1);
  const bool all = slot.strategy != SIDBEAM_STRATEGY_SORTED || (slot.reads_row && follows_all(scan));
  if (!probes && all) return scan_all(scan);
  const RowOutcome outcome = normalize(scan, nullptr);
  if (outcome != RowOutcome::kReady) return outcome == RowOutcome::kEmpty;
  return probes ? scan_probed(scan) : scan_sorted(scan);
}

}  // namespace sidbeam::cpu
