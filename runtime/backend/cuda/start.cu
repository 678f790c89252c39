// Starting and stopping slots; one block per slot. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/start.cuh"

namespace sidbeam::cuda {
namespace {

// The capacity of one launch: kernel arguments may take 4 KB on every device.
constexpr int kEntries = 40, kWords = 416;
struct StartBatch {
  StartEntry entries[kEntries];
  int32_t words[kWords];
};
static_assert(sizeof(SessionView) + sizeof(StartBatch) + sizeof(uint32_t) <= 4096);
static_assert(kWords >= kEntryWords);

__global__ void __launch_bounds__(kStartThreads)
    start_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StartBatch batch) {
  const StartEntry& entry = batch.entries[blockIdx.x];
  if (!has_slot(session, entry.slot)) return;
  start_slot(session, entry, batch.words + entry.prefix_at);
}

__global__ void __launch_bounds__(kStartThreads)
    wait_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StartBatch batch, uint32_t turn) {
  const StartEntry& entry = batch.entries[blockIdx.x];
  if (!has_slot(session, entry.slot)) return;
  const Workspace work = workspace_of(session, entry.slot);
  Waiting& waiting = waiting_of(work);
  for (int32_t i = thread_id(); i < words_of(entry); i += kStartThreads)
    waiting.words[i] = batch.words[entry.prefix_at + i];
  if (thread_id() != 0) return;
  waiting.entry = entry;
  *work.turn = turn;
}

__global__ void __launch_bounds__(kStartThreads)
    start_waiting_kernel(const __grid_constant__ SessionView session, uint32_t turn) {
  if (!has_slot(session, static_cast<int32_t>(blockIdx.x))) return;
  const Workspace work = workspace_of(session, static_cast<int32_t>(blockIdx.x));
  if (*work.turn != turn) return;
  const Waiting& waiting = waiting_of(work);
  start_slot(session, waiting.entry, waiting.words);
}

__global__ void __launch_bounds__(kStartThreads)
    stop_kernel(const __grid_constant__ SessionView session, const __grid_constant__ StopBatch batch) {
  const int32_t slot = batch.slots[blockIdx.x];
  if (!has_slot(session, slot)) return;
  stop_slot(session, slot);
}

static_assert(SIDBEAM_MAX_BEAMS <= 0xFFFF);
void put_words(const StartEntry& entry, const LevelWidths& widths, const int32_t* codes, int32_t* words) {
  std::copy_n(codes + entry.prefix_at, entry.prefix_length, words);
  for (int32_t l = 0; l < entry.width_levels; l += 2)
    words[entry.prefix_length + l / 2] = widths.at(l) | widths.at(l + 1) << 16;
}

// Puts as many of the entries from `first` on into a batch as it takes; returns their number.
int64_t fill(StartBatch& batch, const StartList& starts, int64_t first) {
  int taken = 0, used = 0;
  for (; first + taken < starts.count && taken < kEntries; ++taken) {
    const StartEntry& entry = starts.entries[first + taken];
    if (used + words_of(entry) > kWords) break;
    put_words(entry, starts.widths[first + taken], starts.codes, batch.words + used);
    batch.entries[taken] = entry;
    batch.entries[taken].prefix_at = used;
    used += words_of(entry);
  }
  return taken;
}

}  // namespace

cudaError_t warm_start_kernels(const SessionView& session, cudaStream_t stream) {
  const LaunchShape shape{1, kStartThreads};
  cudaError_t error = launch(start_kernel, shape, stream, session, StartBatch{});
  if (error == cudaSuccess) error = launch(wait_kernel, shape, stream, session, StartBatch{}, 0U);
  if (error == cudaSuccess) error = launch(start_waiting_kernel, shape, stream, session, 0U);
  if (error == cudaSuccess) error = launch(stop_kernel, shape, stream, session, StopBatch{});
  return error;
}

cudaError_t launch_start(const SessionView& session, const StartList& starts, uint32_t turn, cudaStream_t stream) {
  StartBatch batch{};
  const int64_t taken = fill(batch, starts, 0);
  if (taken == starts.count) return launch(start_kernel, {taken, kStartThreads}, stream, session, batch);
  const cudaError_t error = launch_waits(session, starts, turn, stream);
  if (error != cudaSuccess) return error;
  return launch(start_waiting_kernel, {session.slots, kStartThreads}, stream, session, turn);
}

cudaError_t launch_waits(const SessionView& session, const StartList& starts, uint32_t turn, cudaStream_t stream) {
  StartBatch batch{};
  for (int64_t i = 0, taken = 0; i < starts.count; i += taken) {
    taken = fill(batch, starts, i);
    const cudaError_t error = launch(wait_kernel, {taken, kStartThreads}, stream, session, batch, turn);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t launch_stop(const SessionView& session, const int32_t* slots, int64_t count, cudaStream_t stream) {
  return launch_stops(slots, count, [&](const LaunchShape& shape, const StopBatch& batch) {
    return launch(stop_kernel, shape, stream, session, batch);
  });
}

cudaError_t launch_reset(const SessionView& session, cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(
      session.workspace, 0, static_cast<size_t>(step_workspace_bytes(session.slots, session.beams)), stream);
  if (error != cudaSuccess) return error;
  return cudaMemsetAsync(session.counters, 0, kCounters * sizeof(int64_t), stream);
}

}  // namespace sidbeam::cuda
