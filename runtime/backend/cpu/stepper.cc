// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/beams.h"
#include "backend/cpu/chain.h"
#include "backend/cpu/only_children.h"
#include "backend/cpu/write_beams.h"
#include "index/state.h"
#include "support/float_mode.h"

namespace sidbeam::cpu {
namespace {

SlotScan scan_of(const Kernels& kernels, const StepJob& job, const SlotStep& slot) {
  SlotScan scan;
  scan.kernels = &kernels;
  scan.index = slot.index;
  scan.level = slot.level;
  scan.strategy = job.strategy;
  scan.normalization = job.normalization;
  scan.top_k = job.top_k;
  scan.columns = job.columns[slot.level];
  scan.column_count = job.rows->columns;
  scan.elements = {job.rows->data, job.rows->dtype, slot.settings.inverse_temperature, slot.settings.soft_cap};
  decide(scan, job.lse != nullptr);
  return scan;
}

int64_t row_number(const StepJob& job, const SlotStep& slot, int32_t beam) {
  return job.row_map != nullptr ? job.row_map[slot.batch * job.beams + beam] : beam;
}

const void* row_data(const StepJob& job, const SlotStep& slot, int64_t row) {
  const sidbeam_rows& rows = *job.rows;
  const int64_t offset = (job.row_map != nullptr ? 0 : slot.batch * rows.slot_stride) + row * rows.row_stride;
  return static_cast<const char*>(rows.data) + offset * element_bytes(rows.dtype);
}

RowTask task_for(const StepJob& job, const SlotStep& slot, int32_t beam) {
  const sidbeam_rows& rows = *job.rows;
  const int64_t row = row_number(job, slot, beam);
  RowTask task;
  task.data = row_data(job, slot, row);
  if (job.lse != nullptr) task.lse = job.lse + (job.row_map != nullptr ? row : slot.batch * rows.rows + row);
  task.node = state_node(slot.states[beam]);
  if (uses_columns(job.strategy)) task.range_end = slot.range_ends[beam];
  task.row.score = slot.scores[beam];
  task.row.place_base = place_of(beam, 0);
  return task;
}

// Of scores that are NaN where there is none.
void raise(float& best, float score) {
  if (!(best >= score) && !std::isnan(score)) best = score;
}

bool is_bad_lse(const RowTask& task) {
  return task.lse != nullptr && (std::isnan(*task.lse) || *task.lse == std::numeric_limits<float>::infinity());
}

// Scores fall with m and log-probs never rise above 0: neither such a row nor a bad one could be seen in the result.
bool may_skip(const StepJob& job, const Piece& piece, int32_t m) {
  return job.may_skip && piece.slot->scores[m] < piece.found->selection.threshold();
}

// Whether no row can be skipped yet.
bool skips_none(const StepJob& job, const Piece& piece) {
  return !job.may_skip || piece.found->selection.threshold() == -std::numeric_limits<float>::infinity();
}

// Returns how many of the n beams from `first` on are done with, since each has one child, and finds the only children
// of the others. Candidates come in the order of beams: after one that is left to scan_beam, since it has not one child
// or odd numbers, all are.
int32_t push_only_children(const StepJob& job, const SlotScan& scan, const Piece& piece, int32_t first, int32_t n,
                           const OnlyEdges& edges, uint32_t* only, Lane& lane) {
  const SlotStep& slot = *piece.slot;
  Selection& selection = piece.found->selection;
  int64_t* next = piece.found->only_next.data() + first;
  const Room room = selection.room_for(n);
  const bool direct = room.count > 0;
  if (!direct && scan.sums_ahead) {  // some rows may have been skipped
    find_only_children(*slot.index, slot.level, {slot.states + first, n, only, next});
    return 0;
  }
  float scores[kMostTogether];
  uint32_t places[kMostTogether];
  const ChainOut out{direct ? room.scores : scores, direct ? room.places : places, next};
  const int32_t done = score_only_children(job, scan, slot, first, n, edges, only, out);
  if (direct) {
    selection.take(done);
  } else {
    selection.append({0.0F, {}, false, 0}, scores, places, done);
  }
  lane.counters.rows_read += done;
  lane.counters.single_rows += done;
  lane.counters.candidates += done;
  return done;
}

// A beam of a dense node whose row was summed in place: there is nothing left to do but to note where the row and the
// mask are. False where there is more to it. (By scan_beam a step of 140 such beams took 1.7 us longer.)
bool note_dense(const StepJob& job, const SlotScan& scan, const Piece& piece, int32_t m, int32_t i, Lane& lane) {
  const SlotStep& slot = *piece.slot;
  const LevelView& level = slot.index->level[slot.level];
  const NodeRow& node = piece.found->rows[m];
  const LogSum& sum = lane.logs[i];
  if (node.dense < 0 || node.row.count >= level.codes || may_skip(job, piece, m)) return false;
  if (!(sum.ref > -std::numeric_limits<float>::infinity())) return false;
  Slice slice = slice_in_row(scan, row_data(job, slot, row_number(job, slot, m)));
  slice.mask = mask_of(level, node.dense);
  slice.maxima = lane.maxima != nullptr ? lane.maxima + i * lane.workspace.maxima_room : nullptr;
  slice.valid = node.row.count;
  piece.found->selection.append_slice({slot.scores[m], sum, true, place_of(m, 0)}, slice);
  ++lane.counters.rows_read;
  ++lane.counters.dense_rows;
  lane.counters.candidates += slice.valid;
  return true;
}

// Adds a lane's to the session's. Leaves the lane's 0 for the next step, which need not clear them then: gcc 12 would do so by
// `rep stos`.
void move_counters(StepCounters& from, StepCounters& to) {
  using Stats = StepCounters;
  constexpr int64_t Stats::*kCounted[] = {
      &Stats::slot_steps,  &Stats::rows_read,   &Stats::rows_skipped, &Stats::rows_bad,   &Stats::candidates,
      &Stats::dead_beams,  &Stats::shrinks,     &Stats::list_rows,    &Stats::dense_rows, &Stats::unconstrained_rows,
      &Stats::probed_rows, &Stats::single_rows, &Stats::split_slots};
  for (int64_t Stats::*counter : kCounted) to.*counter += std::exchange(from.*counter, 0);
}

}  // namespace

Lane::Lane(const Kernels& kernels, const Allocator& allocator, const StepLimits& limits, bool shares)
    : workspace(kernels, allocator, limits),
      found(kernels, allocator, limits.beams),
      states(allocator, limits.beams),
      range_ends(allocator, limits.beams),
      prefix(allocator, limits.levels) {
  for (Found& part : shared)
    if (shares) part = Found(kernels, allocator, limits.beams);
}

int64_t Lane::memory_bytes() const {
  return workspace.memory_bytes() + found.memory_bytes() + shared[0].memory_bytes() + shared[1].memory_bytes() +
         states.bytes() + range_ends.bytes() + prefix.bytes();
}

void CpuStepper::reserve(const StepLimits& wanted) {
  StepLimits limits = wanted;
  limits.codes = std::max(limits.codes, limits_.codes);
  limits.levels = std::max(limits.levels, limits_.levels);
  if (limits_.beams == limits.beams && limits_.codes == limits.codes && limits_.levels == limits.levels) return;
  // All is taken before anything is given back: a failure leaves the old sizes usable.
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
  constexpr int64_t kChildrenOnly = 64;  // elements that a row costs where only its children are read
  // What a request costs besides: its first level is one row, yet takes 1.9 us (M = 70, V = 2048). And the thread that
  // stepped it there has its beams in the cache at the next level, which without this was 5 % slower.
  constexpr int64_t kRequest = 32768;
  constexpr int64_t kLongest = int64_t{1} << 28;  // worth every thread there may be, and no product overflows
  const int64_t elements =
      reads_rows ? rows * std::min(job.rows->columns, kLongest) + job.slot_count * kRequest : rows * kChildrenOnly;
  return std::clamp<int64_t>(elements / grain_, 1, std::min<int64_t>(static_cast<int64_t>(lanes_.size()), rows));
}

void CpuStepper::step(const StepJob& job, StepCounters& counters) {
  int64_t rows = 0;
  for (int64_t i = 0; i < job.slot_count; ++i) {
    job.slots[i].rows = std::max(1, *job.slots[i].live);  // kept: lanes that are done change `live`
    rows += job.slots[i].rows;
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
      scan_beams(job, piece, lane);
      if (whole) {
        finish_slot(job, piece, lane);
      } else {
        lane.pieces[lane.piece_count++] = piece;
      }
    }
    first = last;
  }
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
      whole.found->selection.append(piece.found->selection);
      const Found& later = *piece.found;
      whole.found->all_only = whole.found->all_only && later.all_only;
      std::copy_n(later.only_next.data() + piece.begin, piece.end - piece.begin,
                  whole.found->only_next.data() + piece.begin);
      std::copy_n(later.rows.data() + piece.begin, piece.end - piece.begin, whole.found->rows.data() + piece.begin);
      raise(whole.best_bad.row, piece.best_bad.row);
      raise(whole.best_bad.lse, piece.best_bad.lse);
    }
  }
  if (whole.slot != nullptr) finish_slot(job, whole, own);
}

void CpuStepper::scan_beams(const StepJob& job, Piece& piece, Lane& lane) const {
  const SlotStep& slot = *piece.slot;
  const SlotScan scan = scan_of(kernels_, job, slot);
  const int32_t end = std::min(piece.end, *slot.live), together = rows_together(scan, lane.workspace);
  piece.found->selection.reset(slot.width);
  piece.found->all_only = true;
  piece.best_bad = {};
  for (int32_t m = piece.begin; m < end; m += together)
    scan_together(job, scan, piece, m, std::min(together, end - m), lane);
}

// Beams [first, first + n): their sums, then their children.
void CpuStepper::scan_together(const StepJob& job, const SlotScan& scan, Piece& piece, int32_t first, int32_t n,
                               Lane& lane) const {
  const SlotStep& slot = *piece.slot;
  const int64_t* states = slot.states + first;
  uint32_t only[kMostTogether];
  int32_t done = 0;
  OnlyEdges edges;
  if (scan.sums_ahead) edges.sums = lane.logs;
  if (scan.singles) find_only_edges(job, scan, slot, first, n, edges);
  if (scan.sums_ahead) sum_beams(job, scan, piece, first, n, lane);
  if (scan.singles) {
    done = push_only_children(job, scan, piece, first, n, edges, only, lane);
  } else {
    std::fill_n(only, n, kNotOne);
    std::fill_n(piece.found->only_next.data() + first, n, kDeadState);
  }
  if (scan.by_row)
    kernels_.find_rows(slot.index->level[slot.level], states + done, n - done, only + done,
                       piece.found->rows.data() + first + done);
  if (done < n) piece.found->all_only = false;
  for (int32_t i = done; i < n; ++i) {
    const bool noted = scan.notes_slices && only[i] == kNotOne && note_dense(job, scan, piece, first + i, i, lane);
    if (!noted) scan_beam(job, scan, piece, first + i, only[i], i, lane);
  }
  piece.found->selection.flush();
}

// The normalisers of n beams from `first` on. Beams that are not fed need no row: a map may hold anything. Where all are fed
// and rows lie one after the other no address is looked up (which took up to 1 % of a step).
void CpuStepper::sum_beams(const StepJob& job, const SlotScan& scan, const Piece& piece, int32_t first, int32_t n,
                           Lane& lane) const {
  const SlotStep& slot = *piece.slot;
  const int32_t end = std::min(piece.end, *slot.live);
  const void* rows[kMostTogether + 1];
  RowsToSum sums;
  sums.elements = scan.elements;
  sums.count = n;
  if (job.row_map == nullptr && skips_none(job, piece) && are_fed(slot.states + first, n)) {
    sums.elements.data = row_data(job, slot, first);
    sums.stride = job.rows->row_stride * element_bytes(job.rows->dtype);
  } else {
    for (int32_t i = 0; i <= n; ++i) {
      const int32_t m = first + i;
      const bool fed = m < end && node_to_feed(slot.states[m]) != kUnfed && !may_skip(job, piece, m);
      rows[i] = fed ? row_data(job, slot, row_number(job, slot, m)) : nullptr;
    }
    sums.rows = rows;
  }
  lane.maxima = sum_ahead(scan, sums, lane.workspace, lane.logs);
}

void CpuStepper::scan_beam(const StepJob& job, const SlotScan& scan, Piece& piece, int32_t m, uint32_t only, int32_t i,
                           Lane& lane) const {
  const SlotStep& slot = *piece.slot;
  Selection& selection = piece.found->selection;
  if (!is_live(slot.states[m])) return;
  if (is_ended(slot.states[m])) return selection.push(slot.scores[m], place_of(m, 0));
  if (may_skip(job, piece, m)) {
    ++lane.counters.rows_skipped;
    return;
  }
  RowTask task = task_for(job, slot, m);
  if (scan.sums_ahead) {
    if (lane.maxima != nullptr) task.maxima = lane.maxima + i * lane.workspace.maxima_room;
    task.row.normalizer = lane.logs[i];
  }
  ++lane.counters.rows_read;
  bool good;
  if (only != kNotOne) {
    good = scan_single(scan, task, only, selection);
    ++lane.counters.single_rows;
    ++lane.counters.candidates;
  } else {
    if (job.strategy == SIDBEAM_STRATEGY_HASH_FINAL && slot.level == slot.index->levels - 1) {
      tokens_of_beam({slot.history_parents, slot.history_tokens, job.beams}, slot.level, m, lane.prefix.data());
      task.prefix = lane.prefix.data();
    }
    task.found = &piece.found->rows[m];
    good = scan_row(scan, task, lane.workspace, selection, lane.counters);
  }
  if (good) return;
  ++lane.counters.rows_bad;
  raise(is_bad_lse(task) ? piece.best_bad.lse : piece.best_bad.row, slot.scores[m]);
}

void CpuStepper::finish_slot(const StepJob& job, const Piece& whole, Lane& lane) const {
  const SlotStep& slot = *whole.slot;
  Selection& selection = whole.found->selection;
  const int32_t count = write_beams(kernels_, job, slot, *whole.found, lane.states.data(), lane.range_ends.data());
  lane.counters.shrinks += selection.shrinks();
  lane.counters.dead_beams += slot.width - count;
  ++lane.counters.slot_steps;
  const float last = count > 0 ? slot.scores[count - 1] : -std::numeric_limits<float>::infinity();
  const auto matters = [&](float bad) { return !std::isnan(bad) && bad_row_matters(bad, last, count, slot.width); };
  if (matters(whole.best_bad.row)) *slot.error |= SIDBEAM_SLOT_BAD_ROW;
  if (matters(whole.best_bad.lse)) *slot.error |= SIDBEAM_SLOT_BAD_LSE;
}

}  // namespace sidbeam::cpu
