// sidbeam_relaxed_draw() and sidbeam_relaxed_verify() in memory that is taken once. Both take their scratch from the
// allocator of their runtime, so that a lane gives them a runtime of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "sidbeam/speculate.h"
#include "support/memory.h"

namespace sidbeam::runner {

// Whose random numbers, and how many beams.
struct DrawKey {
  int64_t seed = 0, request = 0;
  int32_t level = 0;
  bool without_replacement = false;
};

// The distribution of `count` extensions, as log-probabilities.
struct Distribution {
  const float* log_probs = nullptr;
  int64_t count = 0;
};

class RelaxedDraws {
 public:
  // Of lists of up to `most` extensions.
  RelaxedDraws(const Allocator& allocator, int64_t most);
  int64_t memory_bytes() const;

  // Writes up to `draws` extensions, and returns how many there are.
  int32_t draw(const DrawKey& key, const Distribution& from, int32_t draws, int64_t* extensions);
  // Verifies drafts that were drawn from `draft`; writes `beams` extensions at most, and returns how many there are.
  int32_t verify(const DrawKey& key, const Distribution& target, const float* draft, const int64_t* drafts,
                 int32_t draft_count, int32_t beams, int64_t* extensions);

 private:
  struct Arena;
  struct RuntimeDeleter {
    void operator()(sidbeam_runtime* runtime) const { sidbeam_runtime_release(runtime); }
  };
  struct ArenaDeleter {
    void operator()(Arena* arena) const;
  };

  std::unique_ptr<Arena, ArenaDeleter> arena_;  // outlives the runtime
  std::unique_ptr<sidbeam_runtime, RuntimeDeleter> runtime_;
};

}  // namespace sidbeam::runner
