// A model on the CPU. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include "runner/models/model.h"
#include "runner/models/weights.h"
#include "support/process.h"

namespace sidbeam::runner {

class CpuModel final : public Model {
 public:
  CpuModel(const Allocator& allocator, ModelTensors& tensors, const ModelConfig& config, int32_t weights);
  sidbeam_model_info info() const override;
  std::unique_ptr<Output> make_output(const Allocator& allocator, const OutputConfig& config) const override;
  void check_shared_kv(const sidbeam_shared_kv& kv) const override;
  int32_t device_id() const override { return -1; }
  std::unique_ptr<Forward> make_forward(const Allocator& allocator, const Output& output, const ForwardLimits& limits,
                                        const Workers& workers) const override;
  std::unique_ptr<TreeForward> make_tree_forward(const Allocator& allocator, const Output& output,
                                                 const ForwardLimits& limits, const Workers& workers,
                                                 const TreePlace& place) const override;
  std::unique_ptr<Forward> make_head_forward(const Allocator& allocator, const DraftHead& head,
                                             const ForwardLimits& limits, const Workers& workers) const override;
  // What a draft head reads, of one beam and level.
  std::unique_ptr<StatesForward> make_states_forward(const Allocator& allocator, const ForwardLimits& limits,
                                                     const Workers& workers) const;

  const ModelConfig& config() const { return config_; }
  const ModelWeights& weights() const { return weights_; }

 private:
  // The whole output layer, packed when the first output asks for it, and then shared by all.
  struct PackedHead {
    std::mutex mutex;
    Matrix matrix;
    std::atomic<int64_t> bytes{0};  // of it when it is packed
  };
  const Matrix& packed_head() const;
  Tensor head() const { return view_of(weights_.output_table()); }
  Dtype head_dtype() const { return held_dtype(asked_, head().dtype); }

  Allocator allocator_;
  ModelConfig config_;
  ModelWeights weights_;
  sidbeam_model_info info_;
  int32_t asked_;                         // SIDBEAM_WEIGHTS_*
  mutable OfProcess<PackedHead> packed_;  // in a forked child its parent's lock may be held for ever
};

class CpuOutput final : public Output {
 public:
  // `head` is the whole output layer, `dtype` what its rows are held as; `packed` is that, or nullptr unless the
  // outputs are all of its rows, and outlives this.
  CpuOutput(const Allocator& allocator, const OutputConfig& config, const Tensor& head, Dtype dtype,
            const Matrix* packed);
  const Matrix& matrix(int32_t level) const { return columns().full() ? *packed_ : matrices_[columns().like(level)]; }
  // Columns of the level without a token.
  const Buffer<int32_t>& holes(int32_t level) const { return holes_[columns().like(level)]; }
  int64_t memory_bytes() const override;

 private:
  const Matrix* packed_;
  Matrix matrices_[SIDBEAM_MAX_LEVELS];
  Buffer<int32_t> holes_[SIDBEAM_MAX_LEVELS];
};

}  // namespace sidbeam::runner
