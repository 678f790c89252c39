// Starting and stopping slots in the modes that sample. How a slot is sampled travels in launches before the one that
// starts it, as its entry does (start.cuh): into the half of its arrays that it does not follow, so that nothing has
// changed for it if a launch fails. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/start.cuh"

#include "backend/noise.h"

namespace sidbeam::cuda {
namespace {

// How a slot is sampled, and draws [at, at + count) of it, whose numbers are consecutive: nearly always all of them.
struct SampledEntry {
  Sampling how;
  int64_t first = 0;  // number of draw `at`
  int32_t slot = 0, at = 0, count = 0;
};
constexpr int kEntries = 64;
struct SampledBatch {
  SampledEntry entries[kEntries];
};
static_assert(sizeof(SessionView) + sizeof(SamplingView) + sizeof(SampledBatch) <= 4096);

__global__ void __launch_bounds__(kStartThreads)
    wait_sampled_kernel(const __grid_constant__ SessionView session, const __grid_constant__ SamplingView sampling,
                        const __grid_constant__ SampledBatch batch) {
  const SampledEntry& entry = batch.entries[blockIdx.x];
  if (!has_slot(session, entry.slot)) return;
  SampledSlot& slot = sampling.table[entry.slot];
  const int32_t other = (slot.now & 1) ^ 1;
  if (thread_id() == 0) slot.of[other] = entry.how;
  if (sampling.draws == nullptr) return;
  int64_t* const draws = sampling.draws + (2 * int64_t{entry.slot} + other) * session.beams;
  for (int32_t i = thread_id(); i < entry.count; i += kStartThreads) draws[entry.at + i] = entry.first + i;
}

// Before a slot starts or stops; all threads are done with it at the barrier of clear_beams().
__device__ void clear_sampled(const SessionView& session, const SamplingView& sampling, int32_t slot) {
  const int64_t first = beams_at(session, slot);
  for (int32_t m = thread_id(); m < session.beams; m += kStartThreads) {
    sampling.log_masses[first + m] = -kInfinity;
    if (sampling.perturbed == nullptr) continue;
    sampling.perturbed[first + m] = sampling.log_inclusions[first + m] = -kInfinity;
  }
  if (thread_id() == 0 && sampling.thresholds != nullptr) sampling.thresholds[slot] = -kInfinity;
}

__device__ void begin_sampling(const SessionView& session, const SamplingView& sampling, int32_t slot) {
  SampledSlot& sampled = sampling.table[slot];
  sampled.now = (sampled.now & 1) ^ 1;
  sampled.fresh = 1;
  if (session.live[slot] == 0) return;
  const int64_t first = beams_at(session, slot);
  sampling.log_masses[first] = 0.0F;
  if (sampling.perturbed == nullptr) return;
  const Sampling& how = sampled.of[sampled.now];
  const float arrival = root_arrival(how.seed, how.request);
  sampling.hashes[first] = hash_of_request(how.request);
  sampling.arrivals[first] = arrival;
  sampling.perturbed[first] = perturbed_of(0.0F, arrival, how.noise_scale);
  sampling.log_inclusions[first] = 0.0F;
}

__global__ void __launch_bounds__(kStartThreads)
    start_sampled_kernel(const __grid_constant__ SessionView session, const __grid_constant__ SamplingView sampling,
                         uint32_t turn) {
  const auto slot = static_cast<int32_t>(blockIdx.x);
  if (!has_slot(session, slot)) return;
  const Workspace work = workspace_of(session, slot);
  if (*work.turn != turn) return;
  clear_sampled(session, sampling, slot);
  const Waiting& waiting = waiting_of(work);
  start_slot(session, waiting.entry, waiting.words);
  if (thread_id() == 0) begin_sampling(session, sampling, slot);
}

__global__ void __launch_bounds__(kStartThreads)
    stop_sampled_kernel(const __grid_constant__ SessionView session, const __grid_constant__ SamplingView sampling,
                        const __grid_constant__ StopBatch batch) {
  const int32_t slot = batch.slots[blockIdx.x];
  if (!has_slot(session, slot)) return;
  clear_sampled(session, sampling, slot);
  stop_slot(session, slot);
}

// The draws from `at` on whose numbers are consecutive.
SampledEntry entry_of(const SlotSampling& how, int32_t slot, int32_t at, int32_t width) {
  SampledEntry entry{{how.seed, how.request, how.truncation, how.noise_scale}, at, slot, at, width - at};
  if (how.draws == nullptr) return entry;
  entry.first = how.draws[at];
  entry.count = 1;
  while (at + entry.count < width && how.draws[at + entry.count] == entry.first + entry.count) ++entry.count;
  return entry;
}

cudaError_t launch_sampled_waits(const SessionView& session, const SamplingView& sampling, const StartList& starts,
                                 const SlotSampling* how, cudaStream_t stream) {
  SampledBatch batch{};
  int64_t taken = 0;
  const auto send = [&] {
    const LaunchShape shape{taken, kStartThreads};
    taken = 0;
    return launch(wait_sampled_kernel, shape, stream, session, sampling, batch);
  };
  for (int64_t i = 0; i < starts.count; ++i)
    for (int32_t at = 0, width = starts.entries[i].width; at < width;) {
      const SampledEntry& entry = batch.entries[taken++] = entry_of(how[i], starts.entries[i].slot, at, width);
      at += entry.count;
      const cudaError_t error = taken == kEntries ? send() : cudaSuccess;
      if (error != cudaSuccess) return error;
    }
  return send();
}

}  // namespace

cudaError_t warm_sampled_start_kernels(const SessionView& session, cudaStream_t stream) {
  const LaunchShape shape{1, kStartThreads};
  cudaError_t error = launch(wait_sampled_kernel, shape, stream, session, SamplingView{}, SampledBatch{});
  if (error == cudaSuccess) error = launch(start_sampled_kernel, shape, stream, session, SamplingView{}, 0U);
  if (error == cudaSuccess) error = launch(stop_sampled_kernel, shape, stream, session, SamplingView{}, StopBatch{});
  return error;
}

cudaError_t launch_sampled_start(const SessionView& session, const SamplingView& sampling, const StartList& starts,
                                 const SlotSampling* how, uint32_t turn, cudaStream_t stream) {
  cudaError_t error = launch_waits(session, starts, turn, stream);
  if (error == cudaSuccess) error = launch_sampled_waits(session, sampling, starts, how, stream);
  if (error != cudaSuccess) return error;
  return launch(start_sampled_kernel, {session.slots, kStartThreads}, stream, session, sampling, turn);
}

cudaError_t launch_sampled_stop(const SessionView& session, const SamplingView& sampling, const int32_t* slots,
                                int64_t count, cudaStream_t stream) {
  return launch_stops(slots, count, [&](const LaunchShape& shape, const StopBatch& batch) {
    return launch(stop_sampled_kernel, shape, stream, session, sampling, batch);
  });
}

}  // namespace sidbeam::cuda
