// A draft head in memory, packed for products. Immutable and shared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runner/draft/format.h"
#include "runner/math/product.h"
#include "support/memory.h"
#include "support/process.h"
#include "support/ref_counted.h"

namespace sidbeam::runner {

struct DraftLevel {
  Matrix on_hidden, on_state;  // [V_l, D]; without outputs where the input does not have it
  Buffer<float> bias;          // [V_l]; empty: none
  // Of the transition to the next level: per code what it adds, W_i e + b_i, or e itself with TRANSITION_ADD. As a
  // table, so that no run multiplies embeddings; the embeddings themselves are not needed any more.
  Buffer<float> moves;           // [V_l, G]
  Matrix recurrent;              // [G, D]
  Buffer<float> recurrent_bias;  // [G]; empty: none

  int64_t memory_bytes() const;
};

// On CUDA devices, at most one each (runner/cuda/cuda_draft_head.h). The mutex is held as long as an upload takes.
struct CudaDraftHead;
struct CudaDraftHeads {
  std::mutex mutex;
  std::vector<std::shared_ptr<const CudaDraftHead>> made;
};

struct DraftHead : RefCounted<DraftHead> {
  DraftShape shape;
  std::vector<DraftLevel> levels;
  sidbeam_draft_head_info info = SIDBEAM_DRAFT_HEAD_INFO_INIT;
  mutable OfProcess<CudaDraftHeads> on_cuda;  // a forked child has none of its parent's
};

// One reference. Throws Failure as sidbeam_draft_head_open() says.
DraftHead* open_draft_head(const char* path, const Allocator& allocator);
// The same of a file's bytes.
DraftHead* make_draft_head(std::span<const uint8_t> file, const Allocator& allocator);

}  // namespace sidbeam::runner
