// The stateless draw; one block per row. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/draw_row.cuh"
#include "backend/cuda/states.cuh"

namespace sidbeam::cuda {
namespace {

constexpr int kThreads = kRowThreads;

// A row as a call writes it.
struct SampledRow {
  int32_t code = -1;
  float log_prob = -kInfinity, log_mass = -kInfinity;
  int64_t next = kDeadState;
};

__device__ void write_row(const sidbeam_sampled& out, int64_t i, const SampledRow& row) {
  if (out.codes != nullptr) out.codes[i] = row.code;  // a launch that warms the kernel up has nowhere to write
  if (out.log_probs != nullptr) out.log_probs[i] = row.log_prob;
  if (out.log_masses != nullptr) out.log_masses[i] = row.log_mass;
  if (out.next != nullptr) out.next[i] = row.next;
}

// How row i is sampled; false if that is not allowed, which only the device can see.
__device__ bool read_sampling(const SetSampling& call, int64_t i, int64_t elements, Sampling& how, int64_t& draw,
                              Transform& transform) {
  const sidbeam_sampling& arrays = call.arrays;
  const float given = call.inverse_temperatures != nullptr ? call.inverse_temperatures[i] : 0.0F;
  how.seed = static_cast<uint64_t>(arrays.seeds[i]);
  how.request = arrays.requests[i];
  how.truncation.top_k = arrays.top_ks != nullptr ? arrays.top_ks[i] : 0;
  how.truncation.top_p = arrays.top_ps != nullptr ? arrays.top_ps[i] : 1.0F;
  draw = arrays.draws != nullptr ? arrays.draws[i * (arrays.draw_stride > 0 ? arrays.draw_stride : 1)] : 0;
  transform.inverse_temperature = given == 0.0F ? 1.0F : given;
  transform.active = transform.inverse_temperature != 1.0F;
  return transform.inverse_temperature > 0.0F && transform.inverse_temperature < kInfinity &&
         how.truncation.top_k >= 0 && how.truncation.top_p > 0.0F && how.truncation.top_p <= 1.0F && draw >= 0 &&
         draw < kMostDraws && can_truncate(how.truncation, elements);
}

struct SampleShared {
  int64_t draw;
  bool allowed;
  DrawShared<kThreads> part;  // last
};
static_assert(sizeof(SampleShared) + kMostHeld * sizeof(float) <= kSharedBytes);

__device__ SampledRow sampled_row(const SampleShared& shared, bool& bad) {
  const Sampling& how = shared.part.how;
  const uint64_t bits = draw_bits(how.seed, how.request, shared.draw, RandomUse::kCode, shared.part.row.children.level);
  const Drawn drawn = draw_child(bits, shared.part);
  bad = drawn.log_prob == kInfinity;
  if (!(fabsf(drawn.log_prob) < kInfinity && fabsf(shared.part.listed.log_mass) < kInfinity)) return {};
  return {static_cast<int32_t>(drawn.code), drawn.log_prob, shared.part.listed.log_mass,
          shared.part.row.children.next(drawn.child, drawn.code).state};
}

__global__ void __launch_bounds__(kThreads, 3)
    sample_kernel(ConstraintTable table, const LevelColumns* columns, const int64_t* states, StepView rows,
                  const __grid_constant__ SetSampling call, const __grid_constant__ sidbeam_sampled out, int64_t room) {
  auto& shared = shared_memory<SampleShared>();
  const int64_t i = blockIdx.x, state = states[i];
  const Followed by = followed_by(table, i);
  if (!may_go_on(by, state)) {
    if (thread_id() == 0) write_row(out, i, {});
    return;
  }
  if (thread_id() == 0) {
    open_state(by, columns[decode_state(state).level], state, rows, i, call.normalization, shared.part.row);
    shared.allowed =
        read_sampling(call, i, std::max<int64_t>(rows.columns, symbols_at(*by.index, decode_state(state).level)),
                      shared.part.how, shared.draw, shared.part.row.beam.row.transform);
  }
  __syncthreads();
  const RowOutcome outcome =
      shared.allowed ? list_row<kThreads>(call.normalization, 0, room, shared.part) : RowOutcome::kBad;
  if (thread_id() != 0) return;
  SampledRow row;
  bool bad = outcome == RowOutcome::kBad;
  if (outcome == RowOutcome::kReady) row = sampled_row(shared, bad);
  if (bad) row.log_prob = std::numeric_limits<float>::quiet_NaN();
  write_row(out, i, row);
}

}  // namespace

cudaError_t warm_sample_kernel(const void* memory, cudaStream_t stream) {
  StepView rows;
  rows.rows = 1;
  // No constraint, so that a state, whatever it is, has no children.
  return launch_sample({}, nullptr, static_cast<const int64_t*>(memory), rows, {}, {}, stream);
}

cudaError_t launch_sample(const ConstraintTable& table, const LevelColumns* columns, const int64_t* states,
                          const StepView& rows, const SetSampling& how, const sidbeam_sampled& out,
                          cudaStream_t stream) {
  const int64_t room = room_of_draws(how.normalization, rows.columns);
  const LaunchShape shape{rows.rows, kThreads, sizeof(SampleShared) + static_cast<size_t>(room) * sizeof(float)};
  return launch(sample_kernel, shape, stream, table, columns, states, rows, how, out, room);
}

}  // namespace sidbeam::cuda
