// A model on a CUDA device, as the runner sees it: the weights are there, and the plugin computes. This side needs no
// CUDA.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runner/cuda/forward_interface.h"
#include "runner/models/model.h"
#include "runner/models/tensors.h"
#include "support/device_process.h"

namespace sidbeam::runner {

// Arrays on the device that go with their owner. A forked child leaves them there.
class DeviceArrays {
 public:
  DeviceArrays(const ForwardDevice& device, int32_t device_id) : device_(device), device_id_(device_id) {}
  DeviceArrays(const DeviceArrays&) = delete;
  DeviceArrays& operator=(const DeviceArrays&) = delete;
  ~DeviceArrays();

  // The parts one after the other, as `dtype` (SIDBEAM_DTYPE_*).
  const void* put(const HostArray* parts, int32_t count, int32_t dtype);
  // Elements of an array of `dtype`, from `first` on.
  void write(void* array, int64_t first, const HostArray& part, int32_t dtype);
  const void* put_bytes_of(const void* data, int64_t elements, int32_t dtype);
  const float* put(const float* values, int64_t count);
  // Rows of [rows, columns] on the device; -1 is a row of zeros.
  const void* gather(const void* table, int64_t rows, int64_t columns, int32_t dtype, const int32_t* which,
                     int64_t count);
  void* zeros(int64_t bytes);
  // Memory of the host that the device copies to.
  void* pinned(int64_t bytes);
  int64_t bytes() const { return bytes_; }
  // Throws BAD_STATE in a child.
  const ForwardDevice& device() const {
    process_.check(device_id_);
    return device_;
  }
  const DeviceProcess& process() const { return process_; }
  int32_t device_id() const { return device_id_; }

 private:
  void* keep(void* array, int64_t bytes, std::vector<void*>& with, void (*release)(int32_t, void*));

  const ForwardDevice& device_;
  int32_t device_id_;
  DeviceProcess process_;
  std::vector<void*> arrays_, pinned_;
  int64_t bytes_ = 0;
};

class CudaModel final : public Model {
 public:
  // `weights`: SIDBEAM_WEIGHTS_*; all matrices are held as one type. INT8 is that of the layers alone: the output layer
  // stays as stored. Throws NO_DEVICE.
  CudaModel(ModelTensors& tensors, const ModelConfig& config, int32_t weights, int32_t device_id);
  sidbeam_model_info info() const override { return info_; }
  int32_t device_id() const override { return model_.device_id; }
  std::unique_ptr<Output> make_output(const Allocator& allocator, const OutputConfig& config) const override;
  void check_shared_kv(const sidbeam_shared_kv& kv) const override;
  std::unique_ptr<Forward> make_forward(const Allocator& allocator, const Output& output, const ForwardLimits& limits,
                                        const Workers& workers) const override;
  std::unique_ptr<TreeForward> make_tree_forward(const Allocator& allocator, const Output& output,
                                                 const ForwardLimits& limits, const Workers& workers,
                                                 const TreePlace& place) const override;
  std::unique_ptr<Forward> make_head_forward(const Allocator& allocator, const DraftHead& head,
                                             const ForwardLimits& limits, const Workers& workers) const override;

  const DeviceModel& device_model() const { return model_; }
  const std::vector<float>& encoder_buckets() const { return encoder_buckets_; }
  const std::vector<float>& decoder_buckets() const { return decoder_buckets_; }
  const ForwardDevice& device() const { return arrays_.device(); }

 private:
  DeviceArrays arrays_;
  DeviceModel model_;
  std::vector<DeviceLayer> encoder_, decoder_;
  const void* head_ = nullptr;                            // the output layer, [vocabulary, hidden]
  std::vector<float> encoder_buckets_, decoder_buckets_;  // [relative_buckets, heads] of a T5
  sidbeam_model_info info_ = SIDBEAM_MODEL_INFO_INIT;
};

}  // namespace sidbeam::runner
