// Rows of the strategies that look codes up, in the hash set or by searching a column.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/probes.h"
#include "backend/cpu/row_pieces.h"

namespace sidbeam::cpu {
namespace {

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

// Whether a code is among a row's best top_k, of equal ones the lower.
bool is_among_best(const RowScan& scan, const float* x, uint32_t code) {
  const auto codes = static_cast<int64_t>(scan.level.codes);
  const float own = x[code];
  const int64_t before = scan.kernels.above(x, codes, std::nextafter(own, kInfinity), nullptr).count;
  if (before >= scan.plan.top_k) return false;
  if (scan.kernels.above(x, codes, own, nullptr).count <= scan.plan.top_k) return true;
  return before + std::count(x, x + code, own) < scan.plan.top_k;
}

// Those of the best top_k codes that exist, found from the other side: lists what exists, and ranks each among all
// codes. Returns false if to look up the best costs less.
bool list_ranked(const RowScan& scan, const Slice& slice, Listing& list, RowOutcome& outcome) {
  const int64_t codes = scan.level.codes;
  const int64_t most = scan.plan.strategy == SIDBEAM_STRATEGY_HASH_FINAL ? most_listed(scan.plan.top_k, codes) : 0;
  if (most == 0) return false;
  uint32_t* tokens = scan.workspace.tokens.data();
  const int32_t n = list_siblings(*scan.plan.index, scan.task.prefix, std::min(most, codes), tokens);
  if (n < 0) return false;
  const float* x = slice_x(scan, slice);
  outcome = scan.kernels.largest(x, codes) < kInfinity ? RowOutcome::kReady : RowOutcome::kBad;
  if (outcome != RowOutcome::kReady) return true;
  int32_t kept = 0;
  for (int32_t i = 0; i < n; ++i)
    if (x[tokens[i]] > -kInfinity && is_among_best(scan, x, tokens[i])) tokens[kept++] = tokens[i];
  list = listing_of(scan, tokens, static_cast<uint32_t>(kept));
  ++scan.counters.probed_rows;
  return true;
}

// The least x that may be kept.
float least_finite(const Boundary& boundary) { return std::max(boundary.x, std::numeric_limits<float>::lowest()); }

}  // namespace

RowOutcome list_probed(const RowScan& scan, Listing& list) {
  const Slice slice = level_slice(scan);
  RowOutcome outcome = RowOutcome::kReady;
  if (list_ranked(scan, slice, list, outcome)) return outcome;
  Chosen best;
  outcome = find_best(scan, slice, best);
  if (outcome != RowOutcome::kReady) return outcome;
  std::copy_n(best.places, best.count, scan.workspace.tokens.data());
  list = list_existing(scan, best.count);
  return outcome;
}

int64_t position_of(const RowScan& scan, uint32_t code) {
  const LevelColumns& columns = scan.plan.columns;
  if (scan.plan.over_level) return code;
  return code == scan.level.codes ? columns.end_column : columns.column(code);
}

// (The best codes by x would not do: of equal ones they are the lower codes, truncation keeps the lower columns.)
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
RowOutcome list_passing(const RowScan& scan, const Slice& slice, Listing& list) {
  RowOutcome outcome = RowOutcome::kReady;
  if (list_ranked(scan, slice, list, outcome)) return outcome;
  Chosen best;
  outcome = find_best(scan, slice, best);
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
  list = list_existing(scan, n);
  return outcome;
}

}  // namespace sidbeam::cpu
