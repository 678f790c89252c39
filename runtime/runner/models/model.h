// A checkpoint in memory, and what runs it. Immutable and shared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runner/models/forward.h"
#include "runner/models/output.h"
#include "support/memory.h"
#include "support/ref_counted.h"

namespace sidbeam::runner {

struct DraftHead;
struct ModelConfig;
struct Workers;

// The CPU and CUDA each hold the weights in their own way.
class Model : public RefCounted<Model> {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;
  virtual sidbeam_model_info info() const = 0;
  // CUDA device that it is on; -1: the CPU.
  virtual int32_t device_id() const = 0;
  // Throws INVALID_ARGUMENT for a vocabulary that is not of this model.
  virtual std::unique_ptr<Output> make_output(const Allocator& allocator, const OutputConfig& config) const = 0;
  // Throws INVALID_ARGUMENT for keys and values that are not where this model can read them. Pointers are checked, and
  // not what they point to.
  virtual void check_shared_kv(const sidbeam_shared_kv& kv) const = 0;
  // One lane. The model and the output must outlive it.
  virtual std::unique_ptr<Forward> make_forward(const Allocator& allocator, const Output& output,
                                                const ForwardLimits& limits, const Workers& workers) const = 0;
  // One that takes trees. `place` matters on CUDA alone.
  virtual std::unique_ptr<TreeForward> make_tree_forward(const Allocator& allocator, const Output& output,
                                                         const ForwardLimits& limits, const Workers& workers,
                                                         const TreePlace& place) const = 0;
  // One with a draft head behind it, which gives the logits; `limits` has the head's beams and levels, and a
  // placeholder per level. The head must outlive it.
  virtual std::unique_ptr<Forward> make_head_forward(const Allocator& allocator, const DraftHead& head,
                                                     const ForwardLimits& limits, const Workers& workers) const = 0;
};

// What a config says of a model, and how its matrices are held (SIDBEAM_WEIGHTS_*).
sidbeam_model_info info_of(const ModelConfig& config, int32_t weights, int64_t parameters, int64_t memory_bytes);

// Throws INVALID_ARGUMENT for begin tokens that are not of this model, or missing.
void check_begin_tokens(const ModelConfig& config, const ForwardLimits& limits);

// Throws Failure as sidbeam_model_open() says; one reference.
Model* open_model(const char* folder, const sidbeam_model_config& config);

}  // namespace sidbeam::runner
