// What chooses in the modes that sample, from random bits to a child, as kernels of their own: check.py reads what the
// compiler makes of them. The plugin's kernels call the same functions, but beside a log-sum-exp and divisions, whose
// special-function instructions would hide one on this way. Never launched. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/draw.cuh"
#include "backend/cuda/truncation.cuh"
#include "backend/noise.h"

namespace sidbeam::cuda {

constexpr int kThreads = 256;

// A draw: the largest x, integer weights, their sums, and the child that 64 random bits choose.
__global__ void __launch_bounds__(kThreads) chosen_child(const float* x, uint32_t count, uint64_t seed, int64_t request,
                                                         const int64_t* draws, int32_t level, uint32_t* out) {
  auto& shared = shared_memory<ChoiceShared<kThreads>>();
  const auto x_of = [&](uint32_t i) { return x[i]; };
  const float largest = largest_of<kThreads>(count, x_of, shared.fold);
  const Weights weights = weigh<kThreads>(count, {largest, kWeightBits}, x_of, shared);
  const int i = thread_id();
  out[i] = choose(weights, draw_bits(seed, request, draws[i], RandomUse::kCode, level), shared.through, x_of);
}

// Stochastic beams: the normaliser of the children, made of the sum of their weights.
__global__ void __launch_bounds__(kThreads) log_of_children(const float* x, uint32_t count, LogSum* out) {
  struct Folds {
    BlockFold<float, kThreads>::Storage largest;
    BlockFold<uint64_t, kThreads>::Storage sum;
  };
  auto& folds = shared_memory<Folds>();
  const auto x_of = [&](uint32_t i) { return x[i]; };
  const float largest = largest_of<kThreads>(count, x_of, folds.largest);
  out[thread_id()] = log_of_weights(total_weight<kThreads>(count, {largest, kWeightBits}, x_of, folds.sum), largest);
}

// Truncation: the key of the last element whose mass top-p keeps.
__global__ void __launch_bounds__(kThreads)
    last_kept(const float* x, uint32_t count, float largest, uint64_t total, float top_p, uint64_t* out) {
  struct Storage {
    SelectStorage select;
    MassStorage masses;
  };
  auto& shared = shared_memory<Storage>();
  const auto keys = [&](const auto& visit) {
    for (auto i = static_cast<uint32_t>(thread_id()); i < count; i += kThreads) visit(code_key(x[i], i));
  };
  const auto weight = [&](uint64_t key) { return weight_of(score_of_key(key), largest); };
  out[thread_id()] = least_kept<kThreads>(keys, weight, mass_goal(total, top_p), shared.select, shared.masses);
}

// Stochastic beams: the perturbed score of a child, given its log-probability, and what its own children need of it.
__global__ void perturbed_child(const float* log_probs, uint64_t seed, uint64_t hash, int32_t level, float score,
                                float parent_arrival, float earliest, float scale, float* out, uint64_t* hashes) {
  const auto i = static_cast<uint32_t>(thread_id());
  const ChildNoise noise = child_noise(exponential_noise(seed, hash, i, level), log_probs[i]);
  const float arrival = arrival_of(noise, parent_arrival, earliest);
  out[3 * i] = perturbed_of(score + log_probs[i], arrival, scale);
  out[3 * i + 1] = arrival;
  out[3 * i + 2] = noise.time;
  hashes[i] = hash_after(hash, i);
}

__global__ void root_noise(uint64_t seed, int64_t request, float* out) { *out = root_arrival(seed, request); }

}  // namespace sidbeam::cuda
