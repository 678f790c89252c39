// What decode/ asks of a device. A backend computes; what is to be computed is decided, and every argument checked,
// before it is called. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backend/level_columns.h"
#include "index/views.h"
#include "sidbeam/session.h"
#include "sidbeam/states.h"
#include "support/executor.h"
#include "support/host_device.h"
#include "support/memory.h"

namespace sidbeam {

SIDBEAM_HD inline int64_t element_bytes(int32_t dtype) { return dtype == SIDBEAM_DTYPE_F32 ? 4 : 2; }

// Whether a strategy walks the sorted columns, with a range of ordinals for a state.
SIDBEAM_HD inline bool uses_columns(int32_t strategy) {
  return strategy == SIDBEAM_STRATEGY_SORTED || strategy == SIDBEAM_STRATEGY_SORTED_TOPK;
}

// How rows become log-probabilities, the same for all rows of a call.
struct RowRule {
  int32_t normalization = 0;
  float inverse_temperature = 1.0F, soft_cap = 0.0F;
};

// One slot of a step: the beams of the level before, replaced by those of this level. Arrays are [M].
struct SlotStep {
  const IndexView* index = nullptr;
  int32_t level = 0;  // that is decided now
  int32_t width = 0;
  int64_t slot = 0;   // of the session
  int64_t batch = 0;  // which rows are its own
  int32_t rows = 0;   // the backend's: how many of them there are to scan
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
  RowRule rule;
  const LevelColumns* columns = nullptr;  // [L]
  const sidbeam_rows* rows = nullptr;
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
  virtual void step(const StepJob& job, sidbeam_stats& stats) = 0;
  virtual int64_t memory_bytes() const = 0;
};

// A row of a stateless call: the index and the state that it follows (dead where the caller's was strange), and its
// columns by level.
struct StateRow {
  const IndexView* index = nullptr;
  int64_t state = -1;
  const LevelColumns* columns = nullptr;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::unique_ptr<Stepper> make_stepper(const Allocator& allocator) const = 0;
  virtual void mask_row(const StateRow& row, const sidbeam_rows& rows, int64_t i) const = 0;
  // Every valid column is below 32 * words_per_row.
  virtual void bitmask_row(const StateRow& row, uint32_t* words, int64_t words_per_row) const = 0;
  // The k best of each row; see sidbeam_rows_topk.
  virtual void topk_rows(const StateRow* state_rows, const sidbeam_rows& rows, const RowRule& rule, int32_t k,
                         const StepLimits& limits, const Allocator& allocator, int32_t* tokens, float* log_probs,
                         int64_t* next) const = 0;
};

// The CPU; `target` names an instruction set, nullptr the best. nullptr where it is not to be had. Steps use the
// executor (nullptr: the caller's thread alone), a thread for every `grain` elements of logits.
std::unique_ptr<Backend> make_cpu_backend(const char* target, std::unique_ptr<Executor> executor, int64_t grain);
const char* best_cpu_target();

}  // namespace sidbeam
