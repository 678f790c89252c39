// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/row_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/half.h"

namespace sidbeam::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum class Outcome { kReady, kEmpty, kBad };

Elements elements_at(const Elements& elements, int64_t column) {
  Elements result = elements;
  result.data = static_cast<const char*>(elements.data) + column * element_bytes(elements.dtype);
  return result;
}

const LevelView& level_of(const RowTask& task) { return task.index->level[task.level]; }

// The end is a column of its own, and only an index of variable length has one.
bool has_end_column(const RowTask& task) { return task.index->variable_length && task.columns.end_column >= 0; }

// Whether the normaliser reads the row itself, so that a bad element among the children cannot go unseen.
bool reads_row(const RowTask& task) {
  return task.lse == nullptr &&
         (task.normalization == SIDBEAM_NORMALIZE_FULL || task.normalization == SIDBEAM_NORMALIZE_LEVEL);
}

template <class Element>
void gather_as(const RowTask& task, const uint32_t* tokens, int64_t n, bool with_end, float* x) {
  const auto* row = static_cast<const Element*>(task.elements.data);
  for (int64_t i = 0; i < n; ++i) x[i] = float_of(row[task.columns.column(tokens[i])]);
  if (with_end) x[n] = float_of(row[task.columns.end_column]);
}

// x of every code of `tokens` [n], and after them of the end where `with_end`.
void gather(const Kernels& kernels, const RowTask& task, const uint32_t* tokens, int64_t n, bool with_end, float* x) {
  if (task.elements.dtype == SIDBEAM_F32) {
    gather_as<float>(task, tokens, n, with_end, x);
  } else if (task.elements.dtype == SIDBEAM_F16) {
    gather_as<F16>(task, tokens, n, with_end, x);
  } else {
    gather_as<Bf16>(task, tokens, n, with_end, x);
  }
  kernels.transform(task.elements, x, n + (with_end ? 1 : 0));
}

// x of all codes of the level, in place where the row already holds them.
const float* level_slice(const Kernels& kernels, const RowTask& task, RowWorkspace& workspace) {
  const uint32_t codes = level_of(task).codes;
  if (task.columns.map == nullptr) {
    if (task.elements.plain()) return static_cast<const float*>(task.elements.data) + task.columns.offset;
    kernels.load(task.elements, task.columns.offset, codes, workspace.x.data());
  } else {
    for (uint32_t t = 0; t < codes; ++t) workspace.tokens[t] = t;
    gather(kernels, task, workspace.tokens.data(), codes, false, workspace.x.data());
  }
  return workspace.x.data();
}

float end_value(const Kernels& kernels, const RowTask& task) {
  float x[1 + kVectorSlack];
  gather(kernels, task, nullptr, 0, true, x);
  return x[0];
}

Outcome use_sum(const PartialSum& sum, RowScore& row) {
  if (is_bad(sum)) return Outcome::kBad;
  if (sum.sum == 0.0) return Outcome::kEmpty;
  row.normalizer = log_of(sum);
  row.clamp = true;
  return Outcome::kReady;
}

PartialSum sum_level(const Kernels& kernels, const RowTask& task, RowWorkspace& workspace) {
  const uint32_t codes = level_of(task).codes;
  PartialSum sum = task.columns.map == nullptr
                       ? kernels.sum_exp(elements_at(task.elements, task.columns.offset), codes)
                       : kernels.sum_exp({level_slice(kernels, task, workspace), SIDBEAM_F32, 1.0F, 0.0F}, codes);
  if (has_end_column(task)) sum = merge(sum, kernels.sum_exp(elements_at(task.elements, task.columns.end_column), 1));
  return sum;
}

// The normaliser, but for NORMALIZE_VALID, which waits for the children.
Outcome normalize(const Kernels& kernels, RowTask& task, RowWorkspace& workspace) {
  task.row.clamp = false;
  task.row.normalizer = {};
  if (task.lse != nullptr) {
    if (std::isnan(*task.lse) || *task.lse == kInfinity) return Outcome::kBad;
    if (*task.lse == -kInfinity) return Outcome::kEmpty;
    task.row.normalizer.ref = *task.lse;
    return Outcome::kReady;
  }
  if (task.normalization == SIDBEAM_NORMALIZE_FULL)
    return use_sum(kernels.sum_exp(task.elements, task.column_count), task.row);
  if (task.normalization == SIDBEAM_NORMALIZE_LEVEL) return use_sum(sum_level(kernels, task, workspace), task.row);
  return Outcome::kReady;
}

bool has_bad_element(const Kernels& kernels, const float* x, int64_t n) { return kernels.largest(x, n) == kInfinity; }

// Whether x [n], read without a normaliser over them, hold NaN or +inf, or would make a score of +inf. Rounding is
// monotone: the largest x tells.
bool is_bad_run(const Kernels& kernels, const RowScore& row, const float* x, int64_t n) {
  const float largest = kernels.largest(x, n);
  return largest == kInfinity || row.score + (largest - row.normalizer.ref) == kInfinity;
}

// Scores the children in the workspace: tokens [n], x [n].
bool append_children(const Kernels& kernels, RowTask& task, RowWorkspace& workspace, int64_t n, Selection& selection,
                     sidbeam_stats& stats) {
  const float* x = workspace.x.data();
  if (!reads_row(task)) {
    if (task.lse == nullptr && task.normalization == SIDBEAM_NORMALIZE_VALID) {
      const Outcome outcome = use_sum(kernels.sum_exp({x, SIDBEAM_F32, 1.0F, 0.0F}, n), task.row);
      if (outcome != Outcome::kReady) return outcome == Outcome::kEmpty;
    } else if (is_bad_run(kernels, task.row, x, n)) {
      return false;
    }
  }
  stats.candidates += n;
  selection.append(kernels, task.row, x, workspace.tokens.data(), 0, n);
  return true;
}

// Scores every code of the level, or those of `mask`, and the end where `with_end`.
bool append_slice(const Kernels& kernels, RowTask& task, RowWorkspace& workspace, const uint64_t* mask, bool with_end,
                  Selection& selection, sidbeam_stats& stats) {
  const uint32_t codes = level_of(task).codes;
  const float* x = level_slice(kernels, task, workspace);
  if (!reads_row(task) && is_bad_run(kernels, task.row, x, codes)) return false;
  if (mask != nullptr) {
    selection.append_masked(kernels, task.row, x, mask, codes);
  } else {
    selection.append(kernels, task.row, x, nullptr, 0, codes);
    stats.candidates += codes;
  }
  if (with_end) {
    float end[1 + kVectorSlack] = {end_value(kernels, task)};
    selection.append(kernels, task.row, end, nullptr, codes, 1);
  }
  return true;
}

template <class Token>
int64_t copy_codes(const void* from, uint64_t begin, uint32_t count, uint32_t codes, uint32_t* out) {
  const Token* tokens = static_cast<const Token*>(from) + begin;
  int64_t n = 0;
  for (uint32_t i = 0; i < count; ++i) {
    out[n] = tokens[i];
    n += out[n] < codes ? 1 : 0;
  }
  return n;
}

// Gathers the children named in the workspace's first n tokens and, after them, the end.
int64_t gather_children(const Kernels& kernels, const RowTask& task, RowWorkspace& workspace, int64_t n,
                        bool with_end) {
  gather(kernels, task, workspace.tokens.data(), n, with_end, workspace.x.data());
  if (with_end) workspace.tokens[n++] = level_of(task).codes;
  return n;
}

// A node of the tail of a compact trie: few children, always by list.
bool scan_tail(const Kernels& kernels, RowTask& task, RowWorkspace& workspace, Selection& selection,
               sidbeam_stats& stats) {
  uint32_t* tokens = workspace.tokens.data();
  const Run run = run_of(*task.index, task.level, task.node);
  if (run.count == 0) return true;
  int64_t n = tail_children(*task.index, task.level, run, tokens);
  const bool with_end = n > 0 && tokens[n - 1] == level_of(task).codes;
  n -= with_end ? 1 : 0;
  ++stats.list_rows;
  return append_children(kernels, task, workspace,
                         gather_children(kernels, task, workspace, n, with_end && has_end_column(task)), selection,
                         stats);
}

bool scan_trie(const Kernels& kernels, RowTask& task, RowWorkspace& workspace, Selection& selection,
               sidbeam_stats& stats) {
  if (is_tail_level(*task.index, task.level)) return scan_tail(kernels, task, workspace, selection, stats);
  const LevelView& level = level_of(task);
  const Row row = row_of(level, task.node);
  if (row.count == 0) return true;
  const bool with_end = has_end_column(task) && level.tokens[row.begin + row.count - 1] == level.codes;
  const uint32_t codes = row.count - (with_end ? 1 : 0);
  const int64_t dense = reads_row(task) ? dense_rank(level, task.node) : -1;
  if (reads_row(task) && codes == level.codes) {
    ++stats.unconstrained_rows;
    return append_slice(kernels, task, workspace, nullptr, with_end, selection, stats);
  }
  if (dense >= 0) {
    ++stats.dense_rows;
    stats.candidates += codes;
    return append_slice(kernels, task, workspace, level.masks + static_cast<uint64_t>(dense) * level.mask_words(),
                        with_end, selection, stats);
  }
  ++stats.list_rows;
  uint32_t* tokens = workspace.tokens.data();
  const int64_t n = level.tokens.width == 2
                        ? copy_codes<uint16_t>(level.tokens.data, row.begin, codes, level.codes, tokens)
                        : copy_codes<uint32_t>(level.tokens.data, row.begin, codes, level.codes, tokens);
  return append_children(kernels, task, workspace, gather_children(kernels, task, workspace, n, with_end), selection,
                         stats);
}

// The codes of the ordinals [node, range_end), one run of equal codes after the other. Damaged columns may not rise;
// the count stays bounded.
bool scan_sorted(const Kernels& kernels, RowTask& task, RowWorkspace& workspace, Selection& selection,
                 sidbeam_stats& stats) {
  const LevelView& level = level_of(task);
  OrdinalRange rest{task.node, std::min(task.range_end, task.index->sids)};
  int64_t n = 0;
  bool with_end = false;
  while (rest.lo < rest.hi && n < static_cast<int64_t>(level.codes)) {
    const auto code = static_cast<uint32_t>(level.column[rest.lo]);
    if (code < level.codes) workspace.tokens[n++] = code;
    if (code == level.codes) with_end = has_end_column(task);
    rest.lo = std::max(column_range(*task.index, task.level, rest, code).hi, rest.lo + 1);
  }
  if (rest.lo < rest.hi && level.column[rest.hi - 1] == level.codes) with_end = has_end_column(task);
  ++stats.list_rows;
  return append_children(kernels, task, workspace, gather_children(kernels, task, workspace, n, with_end), selection,
                         stats);
}

bool is_valid_code(const RowTask& task, uint32_t code, RowWorkspace& workspace) {
  if (task.strategy == SIDBEAM_STRATEGY_SORTED_TOPK) {
    const OrdinalRange found = column_range(*task.index, task.level, {task.node, task.range_end}, code);
    return found.lo < found.hi;
  }
  std::copy(task.prefix, task.prefix + task.level, workspace.codes.data());
  workspace.codes[task.level] = static_cast<int32_t>(code);
  return hash_find(*task.index, workspace.codes.data()) >= 0;
}

// The best top_k codes by x, looked up one by one. They are put back in the order of codes, which the selection counts
// on.
bool scan_probed(const Kernels& kernels, RowTask& task, RowWorkspace& workspace, Selection& selection,
                 sidbeam_stats& stats) {
  const uint32_t codes = level_of(task).codes;
  const float* x = level_slice(kernels, task, workspace);
  const bool with_end = has_end_column(task);
  const float end[1 + kVectorSlack] = {with_end ? end_value(kernels, task) : -kInfinity};
  if (has_bad_element(kernels, x, codes) || has_bad_element(kernels, end, 1)) return false;
  Selection& best = workspace.best;
  const RowScore plain{0.0F, {}, false, 0};
  best.reset(static_cast<int32_t>(std::min<int64_t>(task.top_k, int64_t{codes} + 1)));
  best.append(kernels, plain, x, nullptr, 0, codes);
  best.append(kernels, plain, end, nullptr, codes, 1);
  const int32_t count = best.finish();
  std::copy(best.places(), best.places() + count, workspace.tokens.data());
  uint32_t* tokens = workspace.tokens.data();
  std::sort(tokens, tokens + count);
  const bool keeps_end = count > 0 && tokens[count - 1] == codes && is_valid_code(task, codes, workspace);
  int64_t n = 0;
  for (int32_t i = 0; i < count; ++i)
    if (tokens[i] < codes && is_valid_code(task, tokens[i], workspace)) tokens[n++] = tokens[i];
  ++stats.probed_rows;
  return append_children(kernels, task, workspace, gather_children(kernels, task, workspace, n, keeps_end), selection,
                         stats);
}

}  // namespace

RowWorkspace::RowWorkspace(const Allocator& allocator, const StepLimits& limits)
    : x(allocator, int64_t{limits.codes} + 1 + kVectorSlack),
      tokens(allocator, int64_t{limits.codes} + 1 + kVectorSlack),
      codes(allocator, limits.levels),
      best(limits.top_k > 0 ? Selection(allocator, std::min<int64_t>(limits.top_k, int64_t{limits.codes} + 1))
                            : Selection()) {}

bool scan_row(const Kernels& kernels, RowTask& task, RowWorkspace& workspace, Selection& selection,
              sidbeam_stats& stats) {
  const Outcome outcome = normalize(kernels, task, workspace);
  if (outcome != Outcome::kReady) return outcome == Outcome::kEmpty;
  switch (task.strategy) {
    case SIDBEAM_STRATEGY_TRIE:
      return scan_trie(kernels, task, workspace, selection, stats);
    case SIDBEAM_STRATEGY_SORTED:
      return scan_sorted(kernels, task, workspace, selection, stats);
    case SIDBEAM_STRATEGY_SORTED_TOPK:
      return scan_probed(kernels, task, workspace, selection, stats);
    case SIDBEAM_STRATEGY_HASH_FINAL:
      if (task.level == task.index->levels - 1) return scan_probed(kernels, task, workspace, selection, stats);
      break;
    default:
      break;
  }
  ++stats.unconstrained_rows;
  return append_slice(kernels, task, workspace, nullptr, false, selection, stats);
}

}  // namespace sidbeam::cpu
