// One step of a session: one block per row, then one block per slot; in a single launch if there are few rows.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/finish.cuh"
#include "backend/cuda/step.cuh"
#include "sidbeam/builder.h"

namespace sidbeam::cuda {
namespace {

// Threads for the end of a step, in sessions of few beams and of many.
constexpr int kFewBeams = 256, kFewThreads = 256, kManyThreads = 512;
static_assert(kFewThreads == kRowThreads, "a step in one launch has both");

template <int kThreads>
using RowBlock = OfSlot<RowShared<kThreads>>;
template <int kThreads, int kMostBeams>
using FinishBlock = OfSlot<FinishShared<kThreads, kMostBeams, ByScore>>;
static_assert(sizeof(RowBlock<kRowThreads>) + kMostHeld * sizeof(float) <= kSharedBytes);
static_assert(sizeof(FinishBlock<kFewThreads, kFewBeams>) <= kSharedBytes);
static_assert(sizeof(FinishBlock<kManyThreads, SIDBEAM_MAX_BEAMS>) <= kSharedBytes);

template <int kThreads>
__device__ void scan_beam(const SessionView& session, const StepView& step, const Entry& entry, int32_t beam,
                          int64_t room, RowShared<kThreads>& shared) {
  if (thread_id() == 0) {
    shared.m = beam;
    shared.feed = feed_of_beam(session, step, entry, beam, shared);
  }
  __syncthreads();
  Note note;
  if (shared.feed == Feed::kRow) note = scan_row<kThreads>(session.normalization, session.top_k, room, shared);
  if (thread_id() != 0) return;
  const int32_t m = shared.m;
  if (shared.feed == Feed::kNoRow) note.found = RowFound::kNoRow;
  if (shared.feed == Feed::kEnded) {
    note.found = RowFound::kCandidates;
    note.count = note.groups = 1;
    *keys_of_beam(session, entry, m) =
        key_of(session.scores[beams_at(session, entry.slot) + m], place_of(m, 0, entry.number_bits));
  }
  workspace_of(session, entry.slot).notes[m] = note;
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads, 3)
    row_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StepView step, int64_t room) {
  let_next_begin();
  auto& shared = shared_memory<RowBlock<kThreads>>();
  const auto m = static_cast<int32_t>(blockIdx.x % static_cast<unsigned>(session.beams));
  if (!find_slot(session, step, blockIdx.x / static_cast<unsigned>(session.beams), shared.entry)) return;
  if (m < shared.entry.live) scan_beam<kThreads>(session, step, shared.entry, m, room, shared.part);
}

template <int kThreads, int kMostBeams>
__global__ void __launch_bounds__(kThreads, 512 / kThreads)
    finish_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StepView step) {
  wait_for_kernel();
  if (blockIdx.x == 0 && thread_id() == 0) add_to_counter(session, kSteps, 1);
  auto& shared = shared_memory<FinishBlock<kThreads, kMostBeams>>();
  if (!find_slot(session, step, blockIdx.x, shared.entry)) return;
  Finish<kThreads, kMostBeams, ByScore>(session, step, shared.entry, {session, shared.entry}, shared.part).run();
}

// Both parts in one launch: the last block to arrive ends the slot's step. Blocks of absent beams arrive too; otherwise
// one that begins late would find the beams of the next level.
template <int kThreads, int kMostBeams>
__global__ void __launch_bounds__(kThreads, 2)
    step_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StepView step, int64_t room) {
  if (blockIdx.x == 0 && thread_id() == 0) add_to_counter(session, kSteps, 1);
  auto& shared = shared_memory<RowBlock<kThreads>>();
  const auto m = static_cast<int32_t>(blockIdx.x % static_cast<unsigned>(session.beams));
  if (!find_slot(session, step, blockIdx.x / static_cast<unsigned>(session.beams), shared.entry)) return;
  if (m < shared.entry.live) scan_beam<kThreads>(session, step, shared.entry, m, room, shared.part);
  if (!is_last(session, shared.entry)) return;
  auto& finish = shared_memory<FinishBlock<kThreads, kMostBeams>>();  // the slot is where it was
  Finish<kThreads, kMostBeams, ByScore>(session, step, finish.entry, {session, finish.entry}, finish.part).run();
}

template <int kThreads>
size_t row_bytes(int64_t room) {
  return sizeof(RowBlock<kThreads>) + static_cast<size_t>(room) * sizeof(float);
}

template <int kThreads>
cudaError_t launch_rows(const SessionView& session, const StepView& step, cudaStream_t stream) {
  const int64_t room = held_columns(session, step);
  const LaunchShape shape{step.count * session.beams, kThreads, row_bytes<kThreads>(room)};
  return launch(row_kernel<kThreads>, shape, stream, session, step, room);
}

template <int kThreads, int kMostBeams>
cudaError_t launch_finish(const SessionView& session, const StepView& step, bool overlaps, cudaStream_t stream) {
  const LaunchShape shape{step.count, kThreads, sizeof(FinishBlock<kThreads, kMostBeams>), overlaps};
  return launch(finish_kernel<kThreads, kMostBeams>, shape, stream, session, step);
}

template <int kThreads, int kMostBeams>
cudaError_t launch_whole(const SessionView& session, const StepView& step, cudaStream_t stream) {
  const int64_t room = held_columns(session, step);
  const LaunchShape shape{step.count * session.beams, kThreads,
                          std::max(row_bytes<kThreads>(room), sizeof(FinishBlock<kThreads, kMostBeams>))};
  return launch(step_kernel<kThreads, kMostBeams>, shape, stream, session, step, room);
}

// Two blocks per multiprocessor of an H200, which can run at the same time. Up to there, saving a launch should be
// worth more than the additional registers that the rows' part of the kernel takes. (Reasoned, not measured.)
#if defined(SIDBEAM_EMULATED)
constexpr int64_t kFewRows = 24;  // so that small tests take both ways
#else
constexpr int64_t kFewRows = 264;
#endif

}  // namespace

cudaError_t warm_step_kernels(const SessionView& session, cudaStream_t stream) {
  StepView step;
  step.count = 1;  // an entry that names no slot of the session
  cudaError_t error = launch_whole<kRowThreads, kFewBeams>(session, step, stream);
  if (error == cudaSuccess) error = launch_rows<kRowThreads>(session, step, stream);
  if (error == cudaSuccess) error = launch_finish<kFewThreads, kFewBeams>(session, step, false, stream);
  if (error == cudaSuccess) error = launch_finish<kManyThreads, SIDBEAM_MAX_BEAMS>(session, step, false, stream);
  return error;
}

cudaError_t ask_step_waits(bool& out) {
  return ask_waits(out, finish_kernel<kFewThreads, kFewBeams>, finish_kernel<kManyThreads, SIDBEAM_MAX_BEAMS>);
}

int64_t step_workspace_bytes(int32_t slots, int32_t beams) { return slots * slot_workspace_bytes(beams); }

cudaError_t launch_step(const SessionView& session, const StepView& step, bool overlaps, cudaStream_t stream) {
  if (session.beams <= kFewBeams && step.count * session.beams <= kFewRows)
    return launch_whole<kRowThreads, kFewBeams>(session, step, stream);
  const cudaError_t error = launch_rows<kRowThreads>(session, step, stream);
  if (error != cudaSuccess) return error;
  return session.beams <= kFewBeams ? launch_finish<kFewThreads, kFewBeams>(session, step, overlaps, stream)
                                    : launch_finish<kManyThreads, SIDBEAM_MAX_BEAMS>(session, step, overlaps, stream);
}

}  // namespace sidbeam::cuda
