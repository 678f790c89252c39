// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/cpu/draws.h"
#include "backend/cpu/perturb.h"
#include "backend/cpu/scan.h"
#include "backend/cpu/write_beams.h"
#include "support/float_mode.h"

namespace sidbeam::cpu {
namespace {

// Adds a lane's counters to the session's and zeroes them here, because gcc 12 would clear them at the next step with
// `rep stos`.
void move_counters(StepCounters& from, StepCounters& to) {
  using Stats = StepCounters;
  constexpr int64_t Stats::*kCounted[] = {
      &Stats::slot_steps,  &Stats::rows_read,   &Stats::rows_skipped, &Stats::rows_bad,   &Stats::candidates,
      &Stats::dead_beams,  &Stats::shrinks,     &Stats::list_rows,    &Stats::dense_rows, &Stats::unconstrained_rows,
      &Stats::probed_rows, &Stats::single_rows, &Stats::split_slots};
  for (int64_t Stats::*counter : kCounted) to.*counter += std::exchange(from.*counter, 0);
}

// What a piece found, behind what the pieces before it found.
void append_found(const Piece& piece, Found& whole) {
  const Found& later = *piece.found;
  const int32_t n = piece.end - piece.begin;
  whole.selection.append(later.selection);
  whole.all_only = whole.all_only && later.all_only;
  std::copy_n(later.only_next.data() + piece.begin, n, whole.only_next.data() + piece.begin);
  std::copy_n(later.rows.data() + piece.begin, n, whole.rows.data() + piece.begin);
}

}  // namespace

Lane::Lane(const Kernels& kernels, const Allocator& allocator, const StepLimits& limits, bool shares)
    : workspace(kernels, allocator, limits),
      found(kernels, allocator, limits.beams + (limits.draws ? 1 : 0)),
      states(allocator, limits.beams),
      range_ends(allocator, limits.beams),
      prefix(allocator, limits.levels),
      before(allocator, limits.draws ? limits.beams : 0) {
  for (Found& part : shared)
    if (shares) part = Found(kernels, allocator, limits.beams + (limits.draws ? 1 : 0));
}

int64_t Lane::memory_bytes() const {
  return workspace.memory_bytes() + found.memory_bytes() + shared[0].memory_bytes() + shared[1].memory_bytes() +
         states.bytes() + range_ends.bytes() + prefix.bytes() + before.bytes();
}

void CpuStepper::reserve(const StepLimits& wanted) {
  StepLimits limits = wanted;
  limits.codes = std::max(limits.codes, limits_.codes);
  limits.levels = std::max(limits.levels, limits_.levels);
  if (limits_.beams == limits.beams && limits_.codes == limits.codes && limits_.levels == limits.levels) return;
  // Everything is allocated before anything is freed: a failure leaves the old sizes usable.
  const int32_t count = executor_ != nullptr ? executor_->width() : 1;
  std::vector<Lane> lanes;
  lanes.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) lanes.emplace_back(kernels_, allocator_, limits, count > 1);
  lanes_ = std::move(lanes);
  limits_ = limits;
}

int64_t CpuStepper::memory_bytes() const {
  int64_t bytes = 0;
  for (const Lane& lane : lanes_) bytes += lane.memory_bytes();
  return bytes;
}

int64_t CpuStepper::lanes_for(const StepJob& job, int64_t rows) const {
  const bool reads_rows = job.lse == nullptr &&
                          (job.normalization == SIDBEAM_NORMALIZE_FULL || job.normalization == SIDBEAM_NORMALIZE_LEVEL);
  constexpr int64_t kChildrenOnly = 64;  // the cost of a row, in elements, if only its children are read
  // The cost of a slot beyond its rows, in elements. Without it one thread would do the first level, of one row per
  // slot, and the others would not have their slots' beams in their caches at the next level.
  constexpr int64_t kRequest = 32768;
  constexpr int64_t kLongest = int64_t{1} << 28;  // worth any number of threads, and no product overflows
  const int64_t elements =
      reads_rows ? rows * std::min(job.rows->columns, kLongest) + job.slot_count * kRequest : rows * kChildrenOnly;
  return std::clamp<int64_t>(elements / grain_, 1, std::min<int64_t>(static_cast<int64_t>(lanes_.size()), rows));
}

void CpuStepper::step(const StepJob& job, StepCounters& counters) {
  int64_t rows = 0;
  for (int64_t i = 0; i < job.slot_count; ++i) {
    SlotStep& slot = job.slots[i];  // rows are kept: lanes that are done change `live`
    slot.rows = job.mode == SIDBEAM_MODE_SAMPLE ? rows_of_draws(slot) : std::max(1, *slot.live);
    rows += slot.rows;
  }
  if (rows == 0) return;
  const int64_t lanes = lanes_for(job, rows);
  if (lanes == 1) {
    run_lane(job, 0, 0, rows);
  } else {
    auto run = [&](int64_t lane) { run_lane(job, lane, rows * lane / lanes, rows * (lane + 1) / lanes); };
    using Run = decltype(run);
    executor_->run(
        static_cast<int32_t>(lanes),
        [](void* data, int32_t lane) {
          const DefaultFloatMode mode;  // the thread may be the host's
          (*static_cast<Run*>(data))(lane);
        },
        &run);
    merge_pieces(job, lanes);
  }
  for (int64_t lane = 0; lane < lanes; ++lane) move_counters(lanes_[static_cast<size_t>(lane)].counters, counters);
}

// Rows [begin, end) of all slots' rows.
void CpuStepper::run_lane(const StepJob& job, int64_t number, int64_t begin, int64_t end) {
  Lane& lane = lanes_[static_cast<size_t>(number)];
  lane.piece_count = 0;
  int64_t first = 0;
  for (int64_t i = 0; i < job.slot_count && first < end; ++i) {
    const SlotStep& slot = job.slots[i];
    const int64_t rows = slot.rows, last = first + rows;
    if (last > begin) {
      const bool whole = first >= begin && last <= end;
      Piece piece{&slot,
                  static_cast<int32_t>(std::max<int64_t>(begin - first, 0)),
                  static_cast<int32_t>(std::min<int64_t>(end - first, rows)),
                  whole ? &lane.found : &lane.shared[lane.piece_count],
                  {}};
      take_piece(job, piece, lane);
      if (whole) {
        finish_slot(job, piece, lane);
      } else {
        lane.pieces[lane.piece_count++] = piece;
      }
    }
    first = last;
  }
}

void CpuStepper::take_piece(const StepJob& job, Piece& piece, Lane& lane) const {
  if (job.mode == SIDBEAM_MODE_SAMPLE) return draw_piece(kernels_, job, piece, lane);
  if (job.mode == SIDBEAM_MODE_STOCHASTIC) return perturb_piece(kernels_, job, piece, lane);
  scan_piece(kernels_, job, piece, lane);
}

int32_t CpuStepper::write_slot(const StepJob& job, const SlotStep& slot, Found* found, Lane& lane) const {
  if (job.mode == SIDBEAM_MODE_SAMPLE) return finish_draws(job, slot);
  if (job.mode == SIDBEAM_MODE_STOCHASTIC) return write_perturbed(kernels_, job, slot, *found, lane);
  return write_beams(kernels_, job, slot, *found, lane.states.data(), lane.range_ends.data());
}

// The pieces of a slot lie in lanes that follow each other.
void CpuStepper::merge_pieces(const StepJob& job, int64_t lanes) {
  Lane& own = lanes_[0];
  Piece whole;
  for (int64_t i = 0; i < lanes; ++i) {
    const Lane& lane = lanes_[static_cast<size_t>(i)];
    for (int32_t p = 0; p < lane.piece_count; ++p) {
      const Piece& piece = lane.pieces[p];
      if (piece.slot != whole.slot) {
        if (whole.slot != nullptr) finish_slot(job, whole, own);
        whole = piece;
        ++own.counters.split_slots;
        continue;
      }
      if (job.mode != SIDBEAM_MODE_SAMPLE) append_found(piece, *whole.found);
      raise(whole.best_bad.row, piece.best_bad.row);
      raise(whole.best_bad.lse, piece.best_bad.lse);
    }
  }
  if (whole.slot != nullptr) finish_slot(job, whole, own);
}

void CpuStepper::finish_slot(const StepJob& job, const Piece& whole, Lane& lane) const {
  const SlotStep& slot = *whole.slot;
  const bool draws = job.mode == SIDBEAM_MODE_SAMPLE;
  const int32_t count = write_slot(job, slot, whole.found, lane);
  if (!draws) lane.counters.shrinks += whole.found->selection.shrinks();
  lane.counters.dead_beams += slot.width - count;
  ++lane.counters.slot_steps;
  const float* order = job.mode == SIDBEAM_MODE_STOCHASTIC ? slot.stochastic.perturbed : slot.scores;
  const float last = count > 0 ? order[count - 1] : -std::numeric_limits<float>::infinity();
  const auto matters = [&](float bad) {
    return !std::isnan(bad) && (draws || bad_row_matters(bad, last, count, slot.width));
  };
  if (matters(whole.best_bad.row)) *slot.error |= SIDBEAM_SLOT_BAD_ROW;
  if (matters(whole.best_bad.lse)) *slot.error |= SIDBEAM_SLOT_BAD_LSE;
}

}  // namespace sidbeam::cpu
