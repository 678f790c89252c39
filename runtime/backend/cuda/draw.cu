// A step of independent draws in one launch: one block per row, the last of a slot's blocks ends its step. Draws stay
// in their rows, so nothing is selected, and each block replaces its own beam in place.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/draw_row.cuh"
#include "backend/cuda/step.cuh"

namespace sidbeam::cuda {
namespace {

// A beam before and after a step.
struct DrawnBeam {
  BeamState state;
  float score = -kInfinity, log_mass = -kInfinity;
  int32_t parent = -1, code = -1;
};

template <int kThreads>
struct DrawBlock {
  Entry entry;
  DrawnBeam parent;
  const int64_t* draws;  // of the slot
  int32_t rows;          // that the slot reads
  uint32_t live, ended, bad_row, bad_lse, no_row;
  uint32_t counters[kCounters];
  DrawShared<kThreads> draw;  // last
};
static_assert(sizeof(DrawBlock<kRowThreads>) + kMostHeld * sizeof(float) <= kSharedBytes);

__device__ DrawnBeam beam_at(const SessionView& session, const SamplingView& sampling, int32_t slot, int32_t m) {
  const int64_t at = beams_at(session, slot) + m;
  return {{session.states[at], uses_columns(session.strategy) ? session.range_ends[at] : 0},
          session.scores[at],
          sampling.log_masses[at],
          m,
          -1};
}

__device__ void write_beam(const SessionView& session, const SamplingView& sampling, const Entry& entry, int32_t m,
                           const DrawnBeam& beam) {
  const int64_t at = beams_at(session, entry.slot) + m;
  const int64_t history = history_at(session, entry.slot) + int64_t{entry.level} * session.beams + m;
  session.states[at] = beam.state.state;
  if (uses_columns(session.strategy)) session.range_ends[at] = beam.state.range_end;
  session.scores[at] = beam.score;
  sampling.log_masses[at] = beam.log_mass;
  session.parents[at] = session.history_parents[history] = beam.parent;
  session.tokens[at] = session.history_tokens[history] = beam.code;
}

// Reads what the slot's blocks share and, for the row of beam m, what the beam needs; called by the first thread.
template <int kThreads>
__device__ void open_row(const SessionView& session, const SamplingView& sampling, const StepView& step, int32_t m,
                         DrawBlock<kThreads>& shared) {
  const Entry& entry = shared.entry;
  const SampledSlot& slot = sampling.table[entry.slot];
  const int32_t now = slot.now & 1;
  shared.draw.how = slot.of[now];
  shared.draws = sampling.draws + (2 * int64_t{entry.slot} + now) * session.beams;
  shared.rows = slot.fresh != 0 ? 1 : entry.width;
  if (m >= shared.rows) return;
  shared.parent = beam_at(session, sampling, entry.slot, m);
  shared.draw.row.m = m;
  shared.draw.row.feed = feed_of_beam(session, step, entry, m, shared.draw.row);
  const IndexView& index = *entry.index;
  const int64_t elements = std::max<int64_t>(step.columns, symbols_at(index, entry.level));
  const bool fits = can_truncate(shared.draw.how.truncation, elements);  // which the host cannot see
  if (shared.draw.row.feed == Feed::kRow && !fits) shared.draw.row.feed = Feed::kNoRow;
}

// The beam of draw m from a listed row. `bad` if its score exceeds the range of f32.
template <int kThreads>
__device__ DrawnBeam draw_one(const DrawBlock<kThreads>& shared, int32_t m, bool& bad) {
  const Sampling& how = shared.draw.how;
  const DrawnBeam& parent = shared.parent;
  const uint64_t bits = draw_bits(how.seed, how.request, shared.draws[m], RandomUse::kCode, shared.entry.level);
  const Drawn drawn = draw_child(bits, shared.draw);
  DrawnBeam beam;
  beam.score = parent.score + drawn.log_prob;
  beam.log_mass = parent.log_mass + shared.draw.listed.log_mass;
  bad = bad || beam.score == kInfinity || beam.log_mass == kInfinity;
  if (!(fabsf(beam.score) < kInfinity && fabsf(beam.log_mass) < kInfinity)) return {};
  beam.state = shared.draw.row.children.next(drawn.child, drawn.code);
  beam.parent = parent.parent;
  beam.code = static_cast<int32_t>(drawn.code);
  return beam;
}

// Draws from the row of a beam: its next code, or those of all beams if the slot has just started.
template <int kThreads>
__device__ void draw_row(const SessionView& session, const SamplingView& sampling, int64_t room,
                         DrawBlock<kThreads>& shared) {
  const Entry& entry = shared.entry;
  RowOutcome outcome = RowOutcome::kEmpty;
  if (shared.draw.row.feed == Feed::kRow)
    outcome = list_row<kThreads>(session.normalization, session.top_k, room, shared.draw);
  const int32_t m = shared.draw.row.m;  // read now: in a register it would leave room for fewer blocks
  const Feed feed = shared.draw.row.feed;
  bool bad = false;
  const int32_t begin = shared.rows == 1 ? 0 : m, end = shared.rows == 1 ? entry.width : m + 1;
  for (int32_t i = begin + thread_id(); i < end; i += kThreads) {
    DrawnBeam beam;
    if (feed == Feed::kEnded) beam = shared.parent;
    if (outcome == RowOutcome::kReady) beam = draw_one(shared, i, bad);
    write_beam(session, sampling, entry, i, beam);
  }
  if (__syncthreads_or(bad)) outcome = RowOutcome::kBad;
  if (thread_id() != 0) return;
  Note note;
  note.found = feed == Feed::kNoRow ? RowFound::kNoRow : found_by(outcome);
  note.read = feed == Feed::kRow;
  if (note.read) {
    note.count = shared.draw.row.children.count;
    note.kind = kind_of(shared.draw.row.children);
  }
  workspace_of(session, entry.slot).notes[m] = note;
}

__device__ void read_note(const Note& note, uint32_t* counters, uint32_t& bad_row, uint32_t& bad_lse,
                          uint32_t& no_row) {
  if (note.found == RowFound::kNoRow) atomicExch(&no_row, 1U);
  if (note.found == RowFound::kBad) atomicExch(&bad_row, 1U);
  if (note.found == RowFound::kBadLse) atomicExch(&bad_lse, 1U);
  if (note.found == RowFound::kBad || note.found == RowFound::kBadLse) atomicAdd(&counters[kRowsBad], 1U);
  if (!note.read) return;
  atomicAdd(&counters[kRowsRead], 1U);
  if (note.found != RowFound::kCandidates) return;
  atomicAdd(&counters[kCandidates], note.count);
  atomicAdd(&counters[note.kind], 1U);
}

// What a slot's draws amount to, once all of its rows are drawn from.
template <int kThreads>
__device__ void finish_draws(const SessionView& session, const SamplingView& sampling, DrawBlock<kThreads>& shared) {
  const Entry& entry = shared.entry;
  for (int i = thread_id(); i < kCounters; i += kThreads) shared.counters[i] = 0;
  if (thread_id() == 0) shared.live = shared.ended = shared.bad_row = shared.bad_lse = shared.no_row = 0;
  __syncthreads();
  const Workspace work = workspace_of(session, entry.slot);
  for (int32_t m = thread_id(); m < entry.width; m += kThreads) {
    const int64_t state = session.states[beams_at(session, entry.slot) + m];
    if (is_live(state)) atomicAdd(&shared.live, 1U);
    if (is_ended(state)) atomicAdd(&shared.ended, 1U);
    if (m < shared.rows) read_note(work.notes[m], shared.counters, shared.bad_row, shared.bad_lse, shared.no_row);
  }
  __syncthreads();
  if (thread_id() != 0) return;
  const auto live = static_cast<int32_t>(shared.live);
  session.errors[entry.slot] |= (shared.bad_row != 0 ? SIDBEAM_SLOT_BAD_ROW : 0) |
                                (shared.bad_lse != 0 ? SIDBEAM_SLOT_BAD_LSE : 0) |
                                (shared.no_row != 0 ? SIDBEAM_SLOT_BAD_MAP : 0);
  session.live[entry.slot] = live;
  session.active[entry.slot] = active_after(*entry.index, entry.level, live, static_cast<int32_t>(shared.ended));
  session.level[entry.slot] = entry.level + 1;
  sampling.table[entry.slot].fresh = 0;
  shared.counters[kSlotSteps] = 1;
  shared.counters[kDeadBeams] = static_cast<uint32_t>(entry.width - live);
  for (int i = 0; i < kCounters; ++i)
    if (shared.counters[i] != 0) add_to_counter(session, i, shared.counters[i]);
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads, 3)
    draw_kernel(const __grid_constant__ SessionView session, const __grid_constant__ SamplingView sampling,
                const __grid_constant__ StepView step, int64_t room) {
  if (blockIdx.x == 0 && thread_id() == 0) add_to_counter(session, kSteps, 1);
  auto& shared = shared_memory<DrawBlock<kThreads>>();
  const auto m = static_cast<int32_t>(blockIdx.x % static_cast<unsigned>(session.beams));
  if (!find_slot(session, step, blockIdx.x / static_cast<unsigned>(session.beams), shared.entry)) return;
  if (thread_id() == 0) open_row(session, sampling, step, m, shared);
  __syncthreads();
  if (m < shared.rows) draw_row<kThreads>(session, sampling, room, shared);
  if (is_last(session, shared.entry)) finish_draws<kThreads>(session, sampling, shared);
}

}  // namespace

cudaError_t warm_draw_kernel(const SessionView& session, cudaStream_t stream) {
  StepView step;
  step.count = 1;  // an entry that names no slot of the session
  return launch_draws(session, {}, step, stream);
}

cudaError_t launch_draws(const SessionView& session, const SamplingView& sampling, const StepView& step,
                         cudaStream_t stream) {
  const int64_t room = room_of_draws(session.normalization, step.columns);
  const LaunchShape shape{step.count * session.beams, kRowThreads,
                          sizeof(DrawBlock<kRowThreads>) + static_cast<size_t>(room) * sizeof(float)};
  return launch(draw_kernel<kRowThreads>, shape, stream, session, sampling, step, room);
}

}  // namespace sidbeam::cuda
