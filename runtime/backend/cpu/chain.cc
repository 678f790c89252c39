// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/only_children.h"
#include "index/read/state.h"

namespace sidbeam::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Where the rows of beams from `first` on are.
struct Rows {
  const char* data;  // code 0 of row 0
  int64_t stride;    // elements
  const int32_t* map;
  const float* lse;
  const LogSum* sums;  // by beam, in place of lse

  int64_t row(int32_t i) const { return map != nullptr ? map[i] : i; }
};

Rows rows_of(const StepJob& job, const SlotScan& scan, const SlotStep& slot, int32_t first, const LogSum* sums) {
  const sidbeam_rows& rows = *job.rows;
  const bool mapped = job.row_map != nullptr;
  const int64_t batch = mapped ? 0 : slot.batch, row = mapped ? 0 : first;
  const int64_t offset = batch * rows.slot_stride + row * rows.row_stride + scan.columns.offset;
  return {static_cast<const char*>(rows.data) + offset * element_bytes(rows.dtype), rows.row_stride,
          mapped ? job.row_map + slot.batch * job.beams + first : nullptr,
          job.lse != nullptr ? job.lse + batch * rows.rows + row : nullptr, sums};
}

// Whether vectors of 32-bit offsets reach all that a chain reads.
bool is_small(const StepJob& job, const SlotScan& scan, const SlotStep& slot) {
  constexpr uint64_t kMost = uint64_t{1} << 30;
  const LevelView& level = slot.index->level[slot.level];
  const sidbeam_rows& rows = *job.rows;
  const int64_t most_rows = job.row_map != nullptr ? rows.rows : kMostInChain;
  return !is_tail_level(*slot.index, slot.level) && level.row_pointers.width == 4 && level.tokens.width == 2 &&
         level.nodes < kMost && level.edges < kMost && level.edges >= 2 && rows.dtype == SIDBEAM_DTYPE_F32 &&
         scan.column_count < int64_t{kMost} && rows.row_stride >= 0 && rows.row_stride < int64_t{kMost} &&
         most_rows < int64_t{kMost} && rows.row_stride * most_rows < int64_t{kMost};
}

// Every field is named: gcc 12 clears one that is not, and then all of them by `rep stos`.
Chain chain_of(const SlotStep& slot, int32_t first, const Rows& rows) {
  const LevelView& level = slot.index->level[slot.level];
  const UintArray ahead = looked_up_next(*slot.index, slot.level);
  return {.states = slot.states + first,
          .scores = slot.scores + first,
          .first_beam = static_cast<uint32_t>(first),
          .pointers = static_cast<const uint32_t*>(level.row_pointers.data),
          .tokens = static_cast<const uint16_t*>(level.tokens.data),
          .nodes = static_cast<uint32_t>(level.nodes),
          .edges = static_cast<uint32_t>(level.edges),
          .codes = level.codes,
          .next_level = encode_state({slot.level + 1, false, NodeKind::kTrie, 0}),
          .data = reinterpret_cast<const float*>(rows.data),
          .stride = static_cast<int32_t>(rows.stride),
          .map = rows.map,
          .lse = rows.lse,
          .sums = rows.sums,
          .next_pointers = ahead.width == 4 ? static_cast<const uint32_t*>(ahead.data) : nullptr};
}

// Beams [begin, end) by themselves: the same in scalars, for all dtypes. Returns where it stopped.
template <class Element>
int32_t score_each(const Rows& rows, const float* before, int32_t first, const uint32_t* only, int32_t begin,
                   int32_t end, const ChainOut& out) {
  const auto* elements = reinterpret_cast<const Element*>(rows.data);
  for (int32_t i = begin; i < end; ++i) {
    if (only[i] == kNotOne) return i;
    const int64_t row = rows.row(i);
    const float x = float_of(elements[row * rows.stride + only[i]]);
    const LogSum given{rows.lse != nullptr ? rows.lse[row] : 0.0F, 0.0F};
    const LogSum normalizer = rows.sums != nullptr ? rows.sums[i] : given;
    const float score = score_of_one({before[i], normalizer, rows.sums != nullptr, 0}, x);
    if (!(x < kInfinity && std::fabs(normalizer.ref) < kInfinity && std::fabs(score) < kInfinity)) return i;
    out.scores[i] = score;
    out.places[i] = place_of(first + i, only[i]);
  }
  return end;
}

}  // namespace

void find_only_edges(const StepJob& job, const SlotScan& scan, const SlotStep& slot, int32_t first, int32_t n,
                     OnlyEdges& found) {
  if (is_small(job, scan, slot)) {
    found.chain = chain_of(slot, first, rows_of(job, scan, slot, first, found.sums));
    found.count = scan.kernels->find_edges(found.chain, n, found.edges);
  }
  if (scan.sums_ahead) fetch_children(*slot.index, slot.level, slot.states + first + found.count, n - found.count);
}

int32_t score_only_children(const StepJob& job, const SlotScan& scan, const SlotStep& slot, int32_t first, int32_t n,
                            const OnlyEdges& found, uint32_t* only, const ChainOut& out) {
  const int32_t done = found.count > 0 ? scan.kernels->follow_chain(found.chain, found.edges, found.count, out) : 0;
  if (done == n) return n;
  find_only_children(*slot.index, slot.level, {slot.states + first + done, n - done, only + done, out.next + done});
  fetch_next(*slot.index, slot.level, out.next + done, n - done);
  const Rows rows = rows_of(job, scan, slot, first, found.sums);
  const float* before = slot.scores + first;
  if (job.rows->dtype == SIDBEAM_DTYPE_F32) return score_each<float>(rows, before, first, only, done, n, out);
  if (job.rows->dtype == SIDBEAM_DTYPE_F16) return score_each<F16>(rows, before, first, only, done, n, out);
  return score_each<Bf16>(rows, before, first, only, done, n, out);
}

}  // namespace sidbeam::cpu
