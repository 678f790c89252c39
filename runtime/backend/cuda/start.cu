// Starting and stopping slots; one block per slot. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/session.cuh"

namespace sidbeam::cuda {
namespace {

constexpr int kThreads = 128;
// The capacity of one launch: kernel arguments may take 4 KB on every device.
constexpr int kEntries = 44, kCodes = 416;
struct StartBatch {
  StartEntry entries[kEntries];
  int32_t codes[kCodes];
};
static_assert(sizeof(SessionView) + sizeof(StartBatch) + sizeof(uint32_t) <= 4096);
static_assert(kCodes >= kMaxLevels);
constexpr int kStops = 512;
struct StopBatch {
  int32_t slots[kStops];
};

__device__ void clear_beams(const SessionView& session, int32_t slot) {
  const int64_t first = beams_at(session, slot);
  for (int32_t m = thread_id(); m < session.beams; m += kThreads) {
    session.states[first + m] = kDeadState;
    session.parents[first + m] = session.tokens[first + m] = -1;
    session.scores[first + m] = -kInfinity;
    if (session.range_ends != nullptr) session.range_ends[first + m] = 0;
  }
  __syncthreads();  // before thread 0 writes the first beam
}

__device__ void start_slot(const SessionView& session, const StartEntry& entry, const int32_t* prefix) {
  const int32_t slot = entry.slot, length = entry.prefix_length;
  clear_beams(session, slot);
  if (thread_id() != 0) return;
  const int64_t first = beams_at(session, slot), history = history_at(session, slot);
  for (int32_t l = 0; l < length; ++l) {
    session.history_parents[history + int64_t{l} * session.beams] = 0;
    session.history_tokens[history + int64_t{l} * session.beams] = prefix[l];
  }
  const BeamState begin = beginning_of(session.strategy, *entry.index, prefix, length);
  const bool lives = is_live(begin.state);
  if (lives) {
    session.states[first] = begin.state;
    session.scores[first] = 0.0F;
    if (session.range_ends != nullptr) session.range_ends[first] = begin.range_end;
  }
  *workspace_of(session, slot).arrived = 0;  // a step that named the slot twice may have left a count
  session.table[slot] = {entry.index, entry.width, entry.settings};
  session.live[slot] = lives ? 1 : 0;
  session.active[slot] = lives && length < entry.index->levels ? 1 : 0;
  session.level[slot] = length;
  session.errors[slot] = 0;
}

__global__ void __launch_bounds__(kThreads)
    start_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StartBatch batch) {
  const StartEntry& entry = batch.entries[blockIdx.x];
  if (!has_slot(session, entry.slot)) return;
  start_slot(session, entry, batch.codes + entry.prefix_at);
}

// If one launch cannot take all slots, several launches store entries, and the last one starts all slots at once. If a
// launch fails, it leaves only entries of this turn, which no other turn reads, and no slot has started without the
// host's knowledge.
struct Waiting {
  StartEntry entry;
  int32_t codes[kMaxLevels];
};
static_assert(sizeof(Waiting) <= kMoreCandidates * sizeof(uint64_t));
__device__ Waiting& waiting_of(const Workspace& work) { return *reinterpret_cast<Waiting*>(work.candidates); }

__global__ void __launch_bounds__(kThreads)
    wait_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StartBatch batch, uint32_t turn) {
  const StartEntry& entry = batch.entries[blockIdx.x];
  if (!has_slot(session, entry.slot)) return;
  const Workspace work = workspace_of(session, entry.slot);
  Waiting& waiting = waiting_of(work);
  for (int32_t l = thread_id(); l < entry.prefix_length; l += kThreads)
    waiting.codes[l] = batch.codes[entry.prefix_at + l];
  if (thread_id() != 0) return;
  waiting.entry = entry;
  *work.turn = turn;
}

__global__ void __launch_bounds__(kThreads)
    start_waiting_kernel(const __grid_constant__ SessionView session, uint32_t turn) {
  if (!has_slot(session, static_cast<int32_t>(blockIdx.x))) return;
  const Workspace work = workspace_of(session, static_cast<int32_t>(blockIdx.x));
  if (*work.turn != turn) return;
  const Waiting& waiting = waiting_of(work);
  start_slot(session, waiting.entry, waiting.codes);
}

__global__ void __launch_bounds__(kThreads)
    stop_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StopBatch batch) {
  const int32_t slot = batch.slots[blockIdx.x];
  if (!has_slot(session, slot)) return;
  clear_beams(session, slot);
  if (thread_id() != 0) return;
  session.table[slot] = {};
  session.live[slot] = session.active[slot] = 0;
  session.level[slot] = -1;
  session.errors[slot] = 0;
}

// Puts as many of the entries into a batch as it takes; returns their number.
int64_t fill(StartBatch& batch, const StartEntry* entries, int64_t count, const int32_t* codes) {
  int taken = 0, used = 0;
  for (; taken < std::min<int64_t>(count, kEntries) && used + entries[taken].prefix_length <= kCodes; ++taken) {
    StartEntry& entry = batch.entries[taken] = entries[taken];
    std::copy_n(codes + entry.prefix_at, entry.prefix_length, batch.codes + used);
    entry.prefix_at = used;
    used += entry.prefix_length;
  }
  return taken;
}

}  // namespace

cudaError_t warm_start_kernels(const SessionView& session, cudaStream_t stream) {
  const LaunchShape shape{1, kThreads};
  cudaError_t error = launch(start_kernel, shape, stream, session, StartBatch{});
  if (error == cudaSuccess) error = launch(wait_kernel, shape, stream, session, StartBatch{}, 0U);
  if (error == cudaSuccess) error = launch(start_waiting_kernel, shape, stream, session, 0U);
  if (error == cudaSuccess) error = launch(stop_kernel, shape, stream, session, StopBatch{});
  return error;
}

cudaError_t launch_start(const SessionView& session, const StartEntry* entries, int64_t count, const int32_t* codes,
                         uint32_t turn, cudaStream_t stream) {
  StartBatch batch{};
  int64_t taken = fill(batch, entries, count, codes);
  if (taken == count) return launch(start_kernel, {taken, kThreads}, stream, session, batch);
  for (int64_t i = 0; i < count; i += taken) {
    taken = fill(batch, entries + i, count - i, codes);
    const cudaError_t error = launch(wait_kernel, {taken, kThreads}, stream, session, batch, turn);
    if (error != cudaSuccess) return error;
  }
  return launch(start_waiting_kernel, {session.slots, kThreads}, stream, session, turn);
}

cudaError_t launch_stop(const SessionView& session, const int32_t* slots, int64_t count, cudaStream_t stream) {
  for (int64_t i = 0; i < count; i += kStops) {
    StopBatch batch{};
    const int64_t taken = std::min<int64_t>(kStops, count - i);
    std::copy_n(slots + i, taken, batch.slots);
    const cudaError_t error = launch(stop_kernel, {taken, kThreads}, stream, session, batch);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t launch_reset(const SessionView& session, cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(
      session.workspace, 0, static_cast<size_t>(step_workspace_bytes(session.slots, session.beams)), stream);
  if (error != cudaSuccess) return error;
  return cudaMemsetAsync(session.counters, 0, kCounters * sizeof(int64_t), stream);
}

}  // namespace sidbeam::cuda
