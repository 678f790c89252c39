// Slots that go on from the beams of another session: a draft's, from its target's. One block per slot.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cuda/session.cuh"

namespace sidbeam::cuda {
namespace {

constexpr int kTakeThreads = 128;

// What a slot takes: the first `live` beams. Sizes are clamped, since a slot that a step named twice may hold anything.
struct Taken {
  int32_t slot = 0, live = 0, level = 0;
};

__device__ void take_beams(const SessionView& to, const SessionView& from, const Taken& taken) {
  const int64_t first = beams_at(to, taken.slot), other = beams_at(from, taken.slot);
  for (int32_t m = thread_id(); m < to.beams; m += kTakeThreads) {
    const bool live = m < taken.live;
    to.states[first + m] = live ? from.states[other + m] : kDeadState;
    to.parents[first + m] = live ? from.parents[other + m] : -1;
    to.tokens[first + m] = live ? from.tokens[other + m] : -1;
    to.scores[first + m] = live ? from.scores[other + m] : -kInfinity;
    if (to.range_ends != nullptr) to.range_ends[first + m] = live ? from.range_ends[other + m] : 0;
  }
}

__device__ void take_history(const SessionView& to, const SessionView& from, const Taken& taken) {
  const int64_t first = history_at(to, taken.slot), other = history_at(from, taken.slot);
  for (int32_t level = 0; level < taken.level; ++level) {
    const int64_t row = first + int64_t{level} * to.beams, other_row = other + int64_t{level} * from.beams;
    for (int32_t m = thread_id(); m < from.beams; m += kTakeThreads) {
      to.history_parents[row + m] = from.history_parents[other_row + m];
      to.history_tokens[row + m] = from.history_tokens[other_row + m];
    }
  }
}

__device__ void take_noise(const SessionView& to, const SamplingView& noise, const SessionView& from,
                           const SamplingView& from_noise, const Taken& taken) {
  const int64_t first = beams_at(to, taken.slot), other = beams_at(from, taken.slot);
  for (int32_t m = thread_id(); m < to.beams; m += kTakeThreads) {
    const bool live = m < taken.live;
    noise.log_masses[first + m] = live ? from_noise.log_masses[other + m] : -kInfinity;
    noise.perturbed[first + m] = live ? from_noise.perturbed[other + m] : -kInfinity;
    noise.log_inclusions[first + m] = live ? from_noise.log_inclusions[other + m] : -kInfinity;
    if (!live) continue;
    noise.arrivals[first + m] = from_noise.arrivals[other + m];
    noise.hashes[first + m] = from_noise.hashes[other + m];
  }
}

// What the noise is keyed by, so that the slot's next noise is that of the other.
__device__ void take_keys(const SamplingView& noise, const SamplingView& from_noise, int32_t slot) {
  SampledSlot& own = noise.table[slot];
  const SampledSlot& other = from_noise.table[slot];
  Sampling& how = own.of[own.now & 1];
  const Sampling& of_other = other.of[other.now & 1];
  how.seed = of_other.seed;
  how.request = of_other.request;
  how.noise_scale = of_other.noise_scale;
  own.fresh = other.fresh;
  noise.thresholds[slot] = from_noise.thresholds[slot];
}

__global__ void __launch_bounds__(kTakeThreads)
    take_kernel(const __grid_constant__ SessionView to, const __grid_constant__ SamplingView noise,
                const __grid_constant__ SessionView from, const __grid_constant__ SamplingView from_noise,
                const int32_t* slots) {
  Taken taken;
  taken.slot = slots != nullptr ? slots[blockIdx.x] : -1;
  if (!has_slot(to, taken.slot)) return;
  taken.live = std::min(std::max(from.live[taken.slot], 0), std::min(from.beams, to.beams));
  taken.level = std::min(from.level[taken.slot], to.levels);
  take_beams(to, from, taken);
  take_history(to, from, taken);
  if (noise.perturbed != nullptr) take_noise(to, noise, from, from_noise, taken);
  if (thread_id() != 0) return;
  to.live[taken.slot] = taken.live;
  to.active[taken.slot] = from.active[taken.slot];
  to.level[taken.slot] = taken.level;
  to.errors[taken.slot] = 0;
  if (noise.perturbed != nullptr) take_keys(noise, from_noise, taken.slot);
}

}  // namespace

cudaError_t warm_take_kernel(cudaStream_t stream) {
  const int32_t* const none = nullptr;
  return launch(take_kernel, {1, kTakeThreads}, stream, SessionView{}, SamplingView{}, SessionView{}, SamplingView{},
                none);
}

cudaError_t launch_take(const SessionView& to, const SamplingView& noise, const SessionView& from,
                        const SamplingView& from_noise, const int32_t* slots, int64_t count, cudaStream_t stream) {
  return launch(take_kernel, {count, kTakeThreads}, stream, to, noise, from, from_noise, slots);
}

}  // namespace sidbeam::cuda
