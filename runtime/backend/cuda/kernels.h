// The interface between the host side of the CUDA plugin and its kernels. All work is enqueued on the given stream;
// nothing here allocates, synchronises or reads device memory on the host. Views are kernel arguments. They hold what
// is fixed for the life of a session or a call, including device addresses, so that a captured graph stays valid when
// slots start, stop or change their index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/backend.h"
#include "backend/level_columns.h"
#include "backend/rows.h"
#include "backend/truncation.h"
#include "index/rules/subset.h"
#include "index/views.h"
#include "sidbeam/session.h"

namespace sidbeam::cuda {

// An entry of a session's slot table, on the device. Kernels reach an index only through it, and rules: with those as
// a parameter of the kernels' templates, chosen at launch, a captured step would not serve a start under other rules.
struct Slot {
  const IndexView* index = nullptr;  // device address of a view whose pointers are device addresses; nullptr: idle
  RowSettings settings{0.0F, 0.0F};  // 0: not given
  const RulesView* rules = nullptr;  // the same, without masks; nullptr: every item is allowed
};

// The most groups of children that the end of a slot's step scans at a time: one per warp.
inline constexpr int kMostOpened = 16;

// A session's arrays, as in sidbeam_beams and cpu/session.h, on the device.
struct SessionView {
  int32_t slots = 0, beams = 0, levels = 0;  // S, M, L
  int32_t strategy = 0, normalization = 0, top_k = 0;
  const LevelColumns* columns = nullptr;                                            // [L], maps on the device
  Slot* table = nullptr;                                                            // [S]
  int32_t* widths = nullptr;                                                        // [S, L]
  int64_t* states = nullptr;                                                        // [S, M]
  uint64_t* range_ends = nullptr;                                                   // [S, M], for the sorted strategies
  float* scores = nullptr;                                                          // [S, M]
  int32_t *parents = nullptr, *tokens = nullptr;                                    // [S, M]
  int32_t *history_parents = nullptr, *history_tokens = nullptr;                    // [S, L, M]
  int32_t *live = nullptr, *active = nullptr, *level = nullptr, *errors = nullptr;  // [S]
  int64_t* counters = nullptr;  // [kCounters]: StepCounters (counters.h)
  void* workspace = nullptr;    // [step_workspace_bytes(S, M)]
  int64_t* ordinals = nullptr;  // [S, M] of the distinct items that are being listed
  // [S, kMostOpened, L] codes of prefixes that the end of a step looks up in the hash set: of hash_final alone.
  int32_t* prefixes = nullptr;
};

inline constexpr int kCounters = 16;

// How a slot is sampled; see SlotSampling.
struct Sampling {
  uint64_t seed = 0;
  int64_t request = 0;
  Truncation truncation;
  float noise_scale = 1.0F;
};
// There are two of each: what the slot follows, and room for what a start brings in launches before its last.
struct SampledSlot {
  Sampling of[2];
  int32_t now = 0;    // the one that the slot follows
  int32_t fresh = 0;  // no step since the start: all draws come from row 0
};

// What winners of stochastic beams need of their parent's row, beside its note.
struct PerturbedRow {
  float log_mass = 0.0F;  // of the beams behind it
  float earliest = 0.0F;
};

// What a session of the modes that sample has besides, on the device.
struct SamplingView {
  SampledSlot* table = nullptr;  // [S]
  int64_t* draws = nullptr;      // [S, 2, M] of mode SAMPLE, by SampledSlot::now
  float* log_masses = nullptr;   // [S, M]
  // Of mode STOCHASTIC, as in cpu/step_job.h.
  float *perturbed = nullptr, *log_inclusions = nullptr, *arrivals = nullptr;  // [S, M]
  uint64_t* hashes = nullptr;                                                  // [S, M]
  PerturbedRow* rows = nullptr;                                                // [S, M]
  float* thresholds = nullptr;                                                 // [S]
};

// Launch every kernel once, for a session of no slots and one beam, or for a set of nothing: called before a session or
// set is captured, since CUDA loads a kernel and reserves its local memory at its first launch, which during a capture
// is an error or a stall. They change nothing but the session's counters; `memory` is any eight bytes of the device's.
cudaError_t warm_step_kernels(const SessionView& session, cudaStream_t stream);
cudaError_t warm_children_kernels(const SessionView& session, cudaStream_t stream);
cudaError_t warm_start_kernels(const SessionView& session, cudaStream_t stream);
cudaError_t warm_items_kernels(const SessionView& session, cudaStream_t stream);
cudaError_t warm_draw_kernel(const SessionView& session, cudaStream_t stream);
cudaError_t warm_perturb_kernels(const SessionView& session, cudaStream_t stream);
cudaError_t warm_sampled_start_kernels(const SessionView& session, cudaStream_t stream);
cudaError_t warm_take_kernel(cudaStream_t stream);
cudaError_t warm_set_kernels(const void* memory, cudaStream_t stream);
cudaError_t warm_sample_kernel(const void* memory, cudaStream_t stream);

int64_t step_workspace_bytes(int32_t slots, int32_t beams);
// Clears the workspace and the counters once, before the first step. The host side initialises everything else.
cudaError_t launch_reset(const SessionView& session, cudaStream_t stream);

// One step. Pointers are device addresses.
struct StepView {
  const int32_t* slots = nullptr;  // [count] -1: none; nullptr: entry i is slot i. Idle and done slots are skipped
  int64_t count = 0;
  const void* data = nullptr;  // rows, as in sidbeam_rows
  int32_t dtype = 0;
  int64_t rows = 0, columns = 0, slot_stride = 0, row_stride = 0;
  const int32_t* row_map =
      nullptr;                 // [count, M]; a beam that must be fed and has no row puts its slot in error, and so
                               // do rows with fewer columns than LevelColumns::needed() says
  const float* lse = nullptr;  // [count, rows], with a row map [rows]
  // For all slots, or per entry of `slots`; 0: the slot's own.
  RowSettings settings{0.0F, 0.0F};
  const float *inverse_temperatures = nullptr, *soft_caps = nullptr;
};
// Whether a step's kernels were compiled such that one can wait for the end of another.
cudaError_t ask_step_waits(bool& out);
// `overlaps`: a kernel may begin before the one that it waits for has ended; the device must have 9.0.
cudaError_t launch_step(const SessionView& session, const StepView& step, bool overlaps, cudaStream_t stream);
// The same in mode SAMPLE, which has one kernel, and in mode STOCHASTIC.
cudaError_t launch_draws(const SessionView& session, const SamplingView& sampling, const StepView& step,
                         cudaStream_t stream);
cudaError_t ask_perturbed_step_waits(bool& out);
cudaError_t launch_perturbed_step(const SessionView& session, const SamplingView& sampling, const StepView& step,
                                  bool overlaps, cudaStream_t stream);

// The columns that the next step reads of the beams of `count` slots, as sidbeam_session_children() has them; of
// strategy TRIE.
cudaError_t launch_children(const SessionView& session, const int32_t* slots, int64_t count, const ChildColumns& out,
                            cudaStream_t stream);

// Starting and stopping. Arrays are in host memory; their contents travel as kernel arguments, so there is no staging
// buffer or copy to wait for.
struct StartEntry {
  int32_t slot = 0, width = 0;
  int32_t prefix_length = 0, prefix_at = 0;  // codes[prefix_at ...]
  RowSettings settings{0.0F, 0.0F};
  const IndexView* index = nullptr;  // device address
  int32_t width_levels = 0;          // 0: `width` at every level
  const RulesView* rules = nullptr;  // device address; nullptr: every item is allowed
};
struct StartList {
  const StartEntry* entries = nullptr;  // [count]
  const LevelWidths* widths = nullptr;  // [count], read where an entry has width_levels
  const int32_t* codes = nullptr;
  int64_t count = 0;
};
// Starts all slots or, if a launch fails, none. `turn` differs from call to call and is never 0.
cudaError_t launch_start(const SessionView& session, const StartList& starts, uint32_t turn, cudaStream_t stream);
cudaError_t launch_stop(const SessionView& session, const int32_t* slots, int64_t count, cudaStream_t stream);
// The same in the modes that sample: the slot of entries[i] is sampled as how[i] says; draws are in host memory too.
cudaError_t launch_sampled_start(const SessionView& session, const SamplingView& sampling, const StartList& starts,
                                 const SlotSampling* how, uint32_t turn, cudaStream_t stream);
cudaError_t launch_sampled_stop(const SessionView& session, const SamplingView& sampling, const int32_t* slots,
                                int64_t count, cudaStream_t stream);

// Gives `count` slots, a list on the device, the beams of the same slots of another session; see
// SessionBackend::take_beams().
cudaError_t launch_take(const SessionView& to, const SamplingView& noise, const SessionView& from,
                        const SamplingView& from_noise, const int32_t* slots, int64_t count, cudaStream_t stream);

// The items of beams. Fields are as in sidbeam_items: device addresses, any of which may be nullptr. `slots` is in host
// memory.
struct ItemsView {
  int64_t limit_per_sid = 0, limit = 0;  // 0: none
  int64_t* ordinals = nullptr;
  int32_t *sids = nullptr, *lengths = nullptr;
  int64_t *rows = nullptr, *offsets = nullptr;
  int32_t* truncated = nullptr;
  bool distinct = false;
};
cudaError_t launch_items(const SessionView& session, const int32_t* slots, int64_t count, const ItemsView& items,
                         cudaStream_t stream);

// The stateless calls. Tables of constraints, [constraints] addresses of views, are on the device.
struct ConstraintTable {
  const IndexView* const* indexes = nullptr;  // device array
  const RulesView* const* rules = nullptr;    // the same; nullptr: no constraint has any, or this one has none
  int32_t count = 0;
  const int32_t* which = nullptr;  // [rows]; nullptr: all rows follow indexes[0]; out of range: the row is dead
};
cudaError_t launch_prefix_states(const ConstraintTable& table, const PrefixArray& prefixes, const int32_t* lengths,
                                 int64_t count, int64_t* out, cudaStream_t stream);
cudaError_t launch_advance(const ConstraintTable& table, const int64_t* in, int64_t in_count, const int32_t* parents,
                           const int32_t* tokens, int64_t count, int64_t* out, cudaStream_t stream);
// Rows of [rows, columns]: StepView's data, dtype, rows, columns, row_stride.
cudaError_t launch_mask(const ConstraintTable& table, const LevelColumns* columns, const int64_t* states,
                        const StepView& rows, cudaStream_t stream);
cudaError_t launch_bitmask(const ConstraintTable& table, const LevelColumns* columns, const int64_t* states,
                           int64_t count, uint32_t* words, int64_t words_per_row, cudaStream_t stream);
// `codes` is the width of the widest level of all indexes in the table, without the end; the same for both calls.
int64_t topk_workspace_bytes(int64_t rows, int32_t k, uint32_t codes);
cudaError_t launch_topk(const ConstraintTable& table, const LevelColumns* columns, const int64_t* states,
                        const StepView& rows, int32_t normalization, int32_t k, uint32_t codes, int32_t* tokens,
                        float* log_probs, int64_t* next, void* workspace, cudaStream_t stream);
// One draw per row. The host has not seen the entries of `how`: one that is not allowed makes its row bad.
cudaError_t launch_sample(const ConstraintTable& table, const LevelColumns* columns, const int64_t* states,
                          const StepView& rows, const SetSampling& how, const sidbeam_sampled& out,
                          cudaStream_t stream);

// Checks the structure of an uploaded index, as verify=full does for the sections that are on the device. Adds the
// number of faults to *damage (on the device).
cudaError_t launch_verify(const IndexView* index, uint64_t* damage, cudaStream_t stream);

}  // namespace sidbeam::cuda
