// A lane: what one batch needs of memory (a model's forward pass, a session, scratch), and the loop over the levels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runner/models/forward.h"
#include "runner/models/output.h"
#include "sidbeam/runner.h"
#include "support/cpu_target.h"
#include "support/memory.h"

namespace sidbeam::runner {

// What a lane needs to know of a request.
struct Job {
  Prompt prompt;
  sidbeam_constraint* constraint = nullptr;  // borrowed; never nullptr
  int32_t beams = 0;                         // 1 .. M
  int64_t number = 0;
  void* context = nullptr;                       // sidbeam_request.context
  const std::atomic<bool>* cancelled = nullptr;  // looked at between levels
  int64_t seed = 0, sampling_request = 0;        // of the random numbers
  const int32_t* widths = nullptr;               // [width_levels] 1 .. beams; see sidbeam_request
  int32_t width_levels = 0;                      // 0: `beams` at every level
};

// What rounds of speculation did for a request.
struct Rounds {
  int32_t count = 0;   // each a call of the target's model
  int32_t levels = 0;  // that they gained
  int32_t drafted_levels = 0, accepted_levels = 0;
  int64_t nodes = 0;       // logits rows of the target
  int64_t draft_time = 0;  // nanoseconds
};

// How a request ended. Pointers are into the lane's memory.
struct Outcome {
  sidbeam_status status = SIDBEAM_OK;
  const char* message = "";
  int32_t live = 0;
  const int32_t* sids = nullptr;      // [live, L]
  const float* scores = nullptr;      // [live]
  const int64_t* ordinals = nullptr;  // [live]
  Rounds rounds = {};
};

class Ended {
 public:
  // On the thread of run(), once for each job, as soon as it has ended: a job that is cancelled, fails or is complete
  // early does not wait for the others. Must not throw.
  virtual void ended(int32_t job, const Outcome& outcome) = 0;

 protected:
  ~Ended() = default;
};

// One thread at a time uses a lane. make_lane() makes one where the forward pass is.
class Lane {
 public:
  virtual ~Lane() = default;
  // Runs a batch of 1 .. requests jobs. Whatever fails is the outcome of the jobs that it concerns.
  virtual void run(const Job* jobs, int32_t count, Ended& ended) noexcept = 0;
  virtual int32_t levels() const = 0;
  virtual int64_t memory_bytes() const = 0;
};

struct LaneConfig {
  sidbeam_runtime* runtime = nullptr;
  sidbeam_constraint* constraint = nullptr;  // its levels and codes are every request's
  const OutputColumns* output = nullptr;     // outlives the lane
  int32_t requests = 1;                      // of a batch
  int32_t beams = 1;                         // M
  int32_t strategy = SIDBEAM_STRATEGY_TRIE;
  int32_t normalization = SIDBEAM_NORMALIZE_FULL;
  int32_t top_k = 0;
  int32_t output_path = SIDBEAM_HIDDEN_FASTEST;  // SIDBEAM_HIDDEN_*
  int64_t max_listed = 0;                        // as in sidbeam_session_config
  float inverse_temperature = 0.0f, soft_cap = 0.0f;
  int32_t mode = SIDBEAM_MODE_SEARCH;
  CpuTarget target = CpuTarget::kBaseline;
  int32_t (*adjust)(void* context, const sidbeam_level* level) = nullptr;
  void* adjust_context = nullptr;
};

// Throws Failure, as sidbeam_runner_create() says. The forward pass has been made for the same requests, beams, levels
// and output.
std::unique_ptr<Lane> make_lane(const Allocator& allocator, const LaneConfig& config, std::unique_ptr<Forward> forward);

}  // namespace sidbeam::runner
