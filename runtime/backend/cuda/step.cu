// One step of a session: a block a row, then a block a slot.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/finish.cuh"
#include "backend/cuda/row_scan.cuh"
#include "sidbeam/builder.h"

namespace sidbeam::cuda {
namespace {

template <int kThreads>
__device__ void scan_beam(const SessionView& session, const StepView& step, const Entry& entry, int32_t m, int64_t room,
                          RowShared<kThreads>& shared) {
  const Workspace work = workspace_of(session, entry.slot);
  const uint32_t most_keys = keys_of_row(session.beams, entry.live);
  uint64_t* keys = work.keys + int64_t{m} * most_keys;
  const int64_t at = beams_at(session, entry.slot) + m, state = session.states[at];
  Note note;
  if (is_ended(state)) {
    note.found = Found::kCandidates;
    note.count = note.groups = 1;
    if (thread_id() == 0) keys[0] = key_of(session.scores[at], place_of(m, 0));
  } else if (is_live(state)) {
    BeamRow beam;
    const float* lse = nullptr;
    if (find_row(session, step, entry, m, beam, lse)) {
      Children children = children_of_beam(session, entry, m);
      if (children.probes && session.strategy == SIDBEAM_STRATEGY_HASH_FINAL) {
        const int64_t history = history_at(session, entry.slot);
        if (thread_id() == 0)
          beam_codes(session.history_parents + history, session.history_tokens + history, session.beams, entry.level, m,
                     shared.prefix);
        __syncthreads();
        children.prefix = shared.prefix;
      }
      note = scan_row<kThreads>(session, beam, children, lse, room, most_keys, keys, shared);
    } else {
      note.found = Found::kNoRow;
    }
  }
  if (thread_id() == 0) work.notes[m] = note;
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads, 1024 / kThreads)
    row_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StepView step, int64_t room) {
  let_next_begin();
  Entry entry;
  const auto m = static_cast<int32_t>(blockIdx.x % static_cast<unsigned>(session.beams));
  if (!find_entry(session, step, blockIdx.x / static_cast<unsigned>(session.beams), entry) || m >= entry.live) return;
  scan_beam<kThreads>(session, step, entry, m, room, shared_memory<RowShared<kThreads>>());
}

template <int kThreads, int kMostBeams>
__global__ void __launch_bounds__(kThreads, 1)
    finish_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StepView step) {
  wait_for_kernel();
  if (blockIdx.x == 0 && thread_id() == 0) add_to_counter(session, kSteps, 1);
  Entry entry;
  if (!find_entry(session, step, blockIdx.x, entry)) return;
  Finish<kThreads, kMostBeams>(session, step, entry, shared_memory<FinishShared<kThreads, kMostBeams>>()).run();
}

// Floats of a row that are kept for the children.
int64_t held_columns(const SessionView& session, const StepView& step) {
  if (step.lse != nullptr) return 0;
  if (session.normalization == SIDBEAM_NORMALIZE_FULL) return step.columns <= kMostHeld ? step.columns : 0;
  return session.normalization == SIDBEAM_NORMALIZE_LEVEL ? std::min(step.columns, kMostHeld) : 0;
}

template <int kThreads>
cudaError_t launch_rows(const SessionView& session, const StepView& step, cudaStream_t stream) {
  const int64_t room = held_columns(session, step);
  const LaunchShape shape{step.count * session.beams, kThreads,
                          sizeof(RowShared<kThreads>) + static_cast<size_t>(room) * sizeof(float)};
  return launch(row_kernel<kThreads>, shape, stream, session, step, room);
}

template <int kThreads, int kMostBeams>
cudaError_t launch_finish(const SessionView& session, const StepView& step, cudaStream_t stream) {
  const LaunchShape shape{step.count, kThreads, sizeof(FinishShared<kThreads, kMostBeams>), true};
  return launch(finish_kernel<kThreads, kMostBeams>, shape, stream, session, step);
}

}  // namespace

int64_t step_workspace_bytes(int32_t slots, int32_t beams) { return slots * slot_workspace_bytes(beams); }

cudaError_t launch_step(const SessionView& session, const StepView& step, cudaStream_t stream) {
  // Depends on the number of columns alone, as the bits of a sum do.
  const cudaError_t error =
      step.columns <= 1024 ? launch_rows<128>(session, step, stream) : launch_rows<256>(session, step, stream);
  if (error != cudaSuccess) return error;
  return session.beams <= 256 ? launch_finish<256, 256>(session, step, stream)
                              : launch_finish<512, SIDBEAM_MAX_BEAMS>(session, step, stream);
}

}  // namespace sidbeam::cuda
