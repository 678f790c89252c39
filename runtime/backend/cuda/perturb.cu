// One step of stochastic beams: one block per row, then one block per slot.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/draw.cuh"
#include "backend/cuda/perturb.cuh"
#include "backend/cuda/step.cuh"

namespace sidbeam::cuda {
namespace {

// Threads for the end of a step, in sessions of few beams and of many.
constexpr int kFewBeams = 255, kFewThreads = 256, kManyThreads = 512;

template <int kThreads>
struct PerturbBlock {
  Entry entry;
  NodeNoise noise;
  float log_mass;
  typename BlockFold<float, kThreads>::Storage fold;
  typename BlockFold<uint64_t, kThreads>::Storage weights;
  RowShared<kThreads> row;  // last: the launch adds to its end
};
template <int kThreads, int kMostBeams>
using FinishBlock = OfSlot<FinishShared<kThreads, kMostBeams, ByNoise>>;
static_assert(sizeof(PerturbBlock<kRowThreads>) + kMostHeld * sizeof(float) <= kSharedBytes);
static_assert(sizeof(FinishBlock<kFewThreads, kFewBeams>) <= kSharedBytes);
static_assert(sizeof(FinishBlock<kManyThreads, SIDBEAM_MAX_BEAMS>) <= kSharedBytes);

struct Less {
  __device__ float operator()(float a, float b) const { return a < b ? a : b; }
};

// The normaliser of children over themselves; x(i) is as in sum_values(). With noise it is made of integer weights, so
// that it has the bits that the CPU gives it: with sums of floats, whose order is another here, the last bits of scores
// differed. Without noise it is that of the search under VALID, whose bits are promised.
template <int kThreads, class X>
__device__ __forceinline__ RowOutcome normalize_over(const X& x, PerturbBlock<kThreads>& shared, RowScore& score) {
  RowShared<kThreads>& row = shared.row;
  const uint32_t count = row.children.count;
  if (shared.noise.scale == 0.0F) return use_sum(sum_values<kThreads>(count, x, row), score);
  const float largest = largest_of<kThreads>(count, x, shared.fold);
  const RowOutcome outcome = outcome_of_largest(largest);
  if (outcome != RowOutcome::kReady) return outcome;
  const int bits = weight_bits(symbols_at(*row.children.index, row.children.level));
  score.normalizer = log_of_weights(total_weight<kThreads>(count, {largest, bits}, x, shared.weights), largest, bits);
  score.clamp = true;
  return outcome;
}

// Normalises the children of the row over themselves, after the row as P wants it. Leaves the former in row.beam.score,
// and adds what lies between to shared.log_mass.
template <int kThreads>
__device__ __forceinline__ RowOutcome normalize_children(int32_t normalization, int64_t room,
                                                         PerturbBlock<kThreads>& shared) {
  RowShared<kThreads>& row = shared.row;
  const bool over_valid = normalization == SIDBEAM_NORMALIZE_VALID;
  RowScore score = row.beam.score;
  RowOutcome outcome = normalize<kThreads>(over_valid ? SIDBEAM_NORMALIZE_NONE : normalization, 0, room, row, score);
  if (outcome != RowOutcome::kReady) return outcome;
  __syncthreads();  // all threads have read the score as it was
  if (thread_id() == 0) row.beam.score = score;
  __syncthreads();
  const auto x = [&](uint32_t i) { return term_of(SumOver::kChildren, row.beam, row.children, i); };
  if (over_valid && row.lse != nullptr) {
    bool bad = false;
    for (uint32_t i = static_cast<uint32_t>(thread_id()); i < row.children.count; i += kThreads)
      bad = bad || is_bad_value(row.beam.score, x(i));
    return __syncthreads_or(bad) != 0 ? RowOutcome::kBad : RowOutcome::kReady;
  }
  score = row.beam.score;
  outcome = normalize_over<kThreads>(x, shared, score);
  if (outcome != RowOutcome::kReady) return outcome;
  __syncthreads();
  if (thread_id() == 0) {
    if (!over_valid) shared.log_mass += log_mass_of(row.beam.score, score.normalizer);
    row.beam.score = score;
  }
  __syncthreads();
  return outcome_of_mass(shared.log_mass);
}

// The time of the first child.
template <int kThreads>
__device__ __forceinline__ float earliest_of(PerturbBlock<kThreads>& shared) {
  const BeamRow& beam = shared.row.beam;
  const Children& children = shared.row.children;
  float own = kInfinity;
  for (uint32_t i = static_cast<uint32_t>(thread_id()); i < children.count; i += kThreads) {
    uint32_t token = 0;
    if (!children.at_number(i, token)) continue;
    const float log_prob = log_prob_of(beam.score, beam.x(token, children.codes));
    own = Less()(shared.noise.child(token, log_prob).time, own);
  }
  return BlockFold<float, kThreads>::all(own, Less(), shared.fold);
}

// Scans the row of shared.row, and returns the findings.
template <int kThreads>
__device__ __forceinline__ Note perturb_row(int32_t normalization, int64_t room, PerturbBlock<kThreads>& shared) {
  RowShared<kThreads>& row = shared.row;
  Note note;
  note.read = true;
  const RowOutcome outcome = normalize_children<kThreads>(normalization, room, shared);
  note.found = found_by(outcome);
  if (outcome != RowOutcome::kReady) return note;
  const float earliest = earliest_of<kThreads>(shared);
  if (thread_id() == 0) shared.noise.earliest = earliest;
  __syncthreads();
  note.count = row.children.count;
  note.groups = groups_of(note.count, row.most_keys);
  write_keys<kThreads>(
      note, [&](uint32_t i, bool&) { return perturbed_key(row.beam, row.children, shared.noise, i); }, row.keys);
  note.normalizer = row.beam.score.normalizer;
  note.clamp = row.beam.score.clamp;
  note.kind = kind_of(row.children);
  return note;
}

template <int kThreads>
__device__ void perturb_beam(const SessionView& session, const SamplingView& sampling, const StepView& step, int32_t m,
                             int64_t room, PerturbBlock<kThreads>& shared) {
  const Entry& entry = shared.entry;
  if (thread_id() == 0) {
    shared.row.m = m;
    shared.row.feed = feed_of_beam(session, step, entry, m, shared.row);
    shared.noise = noise_of_beam(session, sampling, entry, m);
    shared.log_mass = sampling.log_masses[beams_at(session, entry.slot) + m];
  }
  __syncthreads();
  Note note;
  if (shared.row.feed == Feed::kRow) note = perturb_row<kThreads>(session.normalization, room, shared);
  if (thread_id() != 0) return;
  m = shared.row.m;
  const int64_t at = beams_at(session, entry.slot) + m;
  if (shared.row.feed == Feed::kNoRow) note.found = RowFound::kNoRow;
  if (shared.row.feed == Feed::kEnded) {
    note.found = RowFound::kCandidates;
    note.count = note.groups = 1;
    *keys_of_beam(session, entry, m) = key_of(sampling.perturbed[at], place_of(m, 0, entry.number_bits));
  }
  if (note.read && note.found == RowFound::kCandidates) sampling.rows[at] = {shared.log_mass, shared.noise.earliest};
  workspace_of(session, entry.slot).notes[m] = note;
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads, 3)
    perturb_kernel(const __grid_constant__ SessionView session, const __grid_constant__ SamplingView sampling,
                   const __grid_constant__ StepView step, int64_t room) {
  let_next_begin();
  auto& shared = shared_memory<PerturbBlock<kThreads>>();
  const auto m = static_cast<int32_t>(blockIdx.x % static_cast<unsigned>(session.beams));
  if (!find_slot(session, step, blockIdx.x / static_cast<unsigned>(session.beams), shared.entry)) return;
  if (m < shared.entry.live) perturb_beam<kThreads>(session, sampling, step, m, room, shared);
}

template <int kThreads, int kMostBeams>
__global__ void __launch_bounds__(kThreads, 512 / kThreads)
    finish_perturbed_kernel(const __grid_constant__ SessionView session, const __grid_constant__ SamplingView sampling,
                            const __grid_constant__ StepView step) {
  wait_for_kernel();
  if (blockIdx.x == 0 && thread_id() == 0) add_to_counter(session, kSteps, 1);
  auto& shared = shared_memory<FinishBlock<kThreads, kMostBeams>>();
  if (!find_slot(session, step, blockIdx.x, shared.entry)) return;
  const ByNoise rank{session, sampling, step, shared.entry};
  Finish<kThreads, kMostBeams, ByNoise>(session, step, shared.entry, rank, shared.part).run();
}

cudaError_t launch_rows(const SessionView& session, const SamplingView& sampling, const StepView& step,
                        cudaStream_t stream) {
  const int64_t room = held_columns(session, step);
  const LaunchShape shape{step.count * session.beams, kRowThreads,
                          sizeof(PerturbBlock<kRowThreads>) + static_cast<size_t>(room) * sizeof(float)};
  return launch(perturb_kernel<kRowThreads>, shape, stream, session, sampling, step, room);
}

template <int kThreads, int kMostBeams>
cudaError_t launch_finish(const SessionView& session, const SamplingView& sampling, const StepView& step, bool overlaps,
                          cudaStream_t stream) {
  const LaunchShape shape{step.count, kThreads, sizeof(FinishBlock<kThreads, kMostBeams>), overlaps};
  return launch(finish_perturbed_kernel<kThreads, kMostBeams>, shape, stream, session, sampling, step);
}

}  // namespace

cudaError_t warm_perturb_kernels(const SessionView& session, cudaStream_t stream) {
  StepView step;
  step.count = 1;  // an entry that names no slot of the session
  cudaError_t error = launch_rows(session, {}, step, stream);
  if (error == cudaSuccess) error = launch_finish<kFewThreads, kFewBeams>(session, {}, step, false, stream);
  if (error == cudaSuccess) error = launch_finish<kManyThreads, SIDBEAM_MAX_BEAMS>(session, {}, step, false, stream);
  return error;
}

cudaError_t ask_perturbed_step_waits(bool& out) {
  return ask_waits(out, finish_perturbed_kernel<kFewThreads, kFewBeams>,
                   finish_perturbed_kernel<kManyThreads, SIDBEAM_MAX_BEAMS>);
}

cudaError_t launch_perturbed_step(const SessionView& session, const SamplingView& sampling, const StepView& step,
                                  bool overlaps, cudaStream_t stream) {
  const cudaError_t error = launch_rows(session, sampling, step, stream);
  if (error != cudaSuccess) return error;
  return session.beams <= kFewBeams
             ? launch_finish<kFewThreads, kFewBeams>(session, sampling, step, overlaps, stream)
             : launch_finish<kManyThreads, SIDBEAM_MAX_BEAMS>(session, sampling, step, overlaps, stream);
}

}  // namespace sidbeam::cuda
