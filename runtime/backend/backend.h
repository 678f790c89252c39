// What decode/ asks of a device. A backend computes; what is to be computed is decided, and every argument checked,
// before it is called. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backend/level_columns.h"
#include "index/views.h"
#include "sidbeam/session.h"
#include "sidbeam/states.h"
#include "support/cpu_target.h"
#include "support/executor.h"
#include "support/host_device.h"
#include "support/memory.h"

namespace sidbeam {

SIDBEAM_HD inline int64_t element_bytes(int32_t dtype) { return dtype == SIDBEAM_DTYPE_F32 ? 4 : 2; }

// Whether a strategy walks the sorted columns, with a range of ordinals for a state.
SIDBEAM_HD inline bool uses_columns(int32_t strategy) {
  return strategy == SIDBEAM_STRATEGY_SORTED || strategy == SIDBEAM_STRATEGY_SORTED_TOPK;
}

// How logits rows become log-probabilities.
struct RowRule {
  int32_t normalization = 0;
  float inverse_temperature = 1.0F, soft_cap = 0.0F;
};

// What steps count. Hosts see the ones of sidbeam_stats as fields and all others by name; a device has them as an array
// in this order.
struct StepCounters {
  int64_t steps = 0;       // calls of step
  int64_t slot_steps = 0;  // slots stepped
  int64_t rows_read = 0, rows_skipped = 0, rows_bad = 0;
  int64_t candidates = 0;  // codes considered
  int64_t dead_beams = 0;  // beams that a step could not fill
  int64_t shrinks = 0;     // times that the selection's workspace was cut back
  int64_t list_rows = 0, dense_rows = 0, unconstrained_rows = 0, probed_rows = 0;  // by how their children were found
  int64_t single_rows = 0;  // of beams with one child, scored by themselves; not among list_rows
  int64_t split_slots = 0;  // slots whose rows were divided among threads
};

// One slot of a step: the beams of the level before, replaced by those of this level. Arrays are [M].
struct SlotStep {
  const IndexView* index = nullptr;
  int32_t level = 0;  // that is decided now
  int32_t width = 0;
  int64_t slot = 0;   // of the session
  int64_t batch = 0;  // which rows are its own
  float inverse_temperature = 1.0F, soft_cap = 0.0F;
  int32_t rows = 0;  // the backend's: how many of them there are to scan
  int64_t* states = nullptr;
  uint64_t* range_ends = nullptr;  // sorted strategies: end of a beam's ordinals
  float* scores = nullptr;
  int32_t *parents = nullptr, *tokens = nullptr;
  int32_t *history_parents = nullptr, *history_tokens = nullptr;  // [L, M] by level, which the step adds to
  int32_t *live = nullptr, *active = nullptr, *error = nullptr;   // one each
};

struct StepJob {
  SlotStep* slots = nullptr;
  int64_t slot_count = 0;
  int32_t beams = 0;  // M
  int32_t strategy = 0, top_k = 0;
  bool may_skip = false;  // log-probs never exceed 0
  int32_t normalization = 0;
  const LevelColumns* columns = nullptr;  // [L]
  const sidbeam_rows* rows = nullptr;     // strides resolved
  const int32_t* row_map = nullptr;
  const float* lse = nullptr;
};

// What a stepper must be able to hold.
struct StepLimits {
  int32_t beams = 0, levels = 0, top_k = 0;
  uint32_t codes = 0;  // widest level of any constraint, the end not counted
};

// Steps the slots of one session. One thread at a time.
class Stepper {
 public:
  virtual ~Stepper() = default;
  // Takes memory; on failure what was there is still usable.
  virtual void reserve(const StepLimits& limits) = 0;
  virtual void step(const StepJob& job, StepCounters& counters) = 0;
  virtual int64_t memory_bytes() const = 0;
};

// Codes of prefixes, one prefix per entry of a call. Stride 0: one for all.
struct PrefixArray {
  const int32_t* codes = nullptr;
  int64_t stride = 0;
  int32_t capacity = 0;  // codes that a prefix can have

  SIDBEAM_HD const int32_t* of(int64_t i) const { return codes != nullptr ? codes + i * stride : nullptr; }
};

// What the calls of a constraint set have in common; borrowed. At least one index.
struct SetView {
  const IndexView* const* indexes = nullptr;
  int32_t count = 0;
  const LevelColumns* columns = nullptr;  // by level
  uint32_t codes = 0;                     // of the widest level of any index, the end not counted
};

// Whom the entries of a call follow: which[i], or index 0 where it is null.
struct SetCall {
  const int32_t* which = nullptr;
  int64_t count = 0;
  void* stream = nullptr;
};

// The stateless forms of one set; see sidbeam/states.h. Sizes have been checked and strides resolved. Any number of
// threads at a time.
class SetBackend {
 public:
  virtual ~SetBackend() = default;
  virtual void prefixes(const SetCall& call, const PrefixArray& prefixes, const int32_t* lengths,
                        int64_t* out) const = 0;
  virtual void advance(const SetCall& call, const int64_t* in, int64_t in_count, const int32_t* parents,
                       const int32_t* codes, int64_t* out) const = 0;
  virtual void mask(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, void* data) const = 0;
  // Every valid column is below 32 * words_per_row.
  virtual void bitmask(const SetCall& call, const int64_t* states, int64_t words_per_row, uint32_t* words) const = 0;
  virtual void topk(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, int32_t normalization,
                    int32_t k, int32_t* codes, float* log_probs, int64_t* next) const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::unique_ptr<Stepper> make_stepper(const Allocator& allocator) const = 0;
  // The view must outlive it.
  virtual std::unique_ptr<SetBackend> make_set(const SetView& view, const Allocator& allocator) const = 0;
};

// The CPU, with the kernels of a target that this machine has. Steps use the executor (nullptr: the caller's thread
// alone), one thread per `grain` elements of logits.
std::unique_ptr<Backend> make_cpu_backend(CpuTarget target, std::unique_ptr<Executor> executor, int64_t grain);

}  // namespace sidbeam
