// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/cuda_hidden.h"

#include "runner/cuda/load.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(function(arguments..., &error), error);
}

int32_t dtype_of(Dtype dtype) {
  return dtype == Dtype::kF32 ? SIDBEAM_DTYPE_F32 : dtype == Dtype::kF16 ? SIDBEAM_DTYPE_F16 : SIDBEAM_DTYPE_BF16;
}

class CudaHidden final : public HiddenSteps {
 public:
  explicit CudaHidden(const HiddenConfig& config)
      : config_(config), layer_(*config.layer), beams_(beams_of(config)), device_(load_runner_plugin().hidden) {
    layer_.process.check(layer_.device_id);
    DeviceHiddenConfig how;
    how.device_id = layer_.device_id;
    how.layer = {layer_.weights, layer_.bias,  dtype_of(layer_.dtype),
                 layer_.columns, layer_.width, layer_.row_bytes / dtype_bytes(layer_.dtype)};
    how.slots = beams_.slots, how.beams = beams_.beams;
    how.children = children_ = most_pairs(config, beams_);
    call(device_.create, &how, &handle_);
    view_ = device_.view(handle_);
    stats_.memory_bytes = view_.memory_bytes;
  }
  CudaHidden(const CudaHidden&) = delete;
  CudaHidden& operator=(const CudaHidden&) = delete;
  ~CudaHidden() override { process_.let_go(device_.destroy, handle_); }

  void step(const sidbeam_hidden_step_args& args, sidbeam_rows& hidden) override;
  sidbeam_hidden_stats stats() const override { return stats_; }

 private:
  bool list_children(const sidbeam_hidden_step_args& args);
  void step_session(const sidbeam_hidden_step_args& args, const sidbeam_rows& hidden);

  HiddenConfig config_;
  const OutputLayer& layer_;
  sidbeam_beams beams_;
  const HiddenDevice& device_;
  DeviceProcess process_;
  DeviceHidden* handle_ = nullptr;
  DeviceHiddenView view_;
  int64_t children_ = 0;
  sidbeam_hidden_stats stats_ = SIDBEAM_HIDDEN_STATS_INIT;
};

void CudaHidden::step(const sidbeam_hidden_step_args& args, sidbeam_rows& hidden) {
  process_.check(layer_.device_id);
  check_call(layer_, args, hidden);
  const int64_t count = count_slots(args, hidden, beams_.slots);
  const int64_t slots = args.row_map != nullptr ? 1 : hidden.slots, most = int64_t{beams_.slots} * beams_.beams;
  if (hidden.rows > 0 && slots > most / hidden.rows)
    fail(SIDBEAM_INVALID_ARGUMENT, "hidden.rows is %lld for each of %lld slots, expected at most %lld in all on CUDA",
         static_cast<long long>(hidden.rows), static_cast<long long>(slots), static_cast<long long>(most));
  const DeviceHiddenRows rows{&hidden, args.row_map, count, args.stream};
  if (list_children(args)) {
    call(device_.children, handle_, &rows);
    stats_.child_slots += count;
  } else {
    call(device_.product, handle_, &rows);
    stats_.product_slots += count;
  }
  step_session(args, hidden);
  ++stats_.steps;
}

// False where all columns are to be multiplied.
bool CudaHidden::list_children(const sidbeam_hidden_step_args& args) {
  const int32_t path = args.path != SIDBEAM_HIDDEN_FASTEST ? args.path : config_.path;
  if (path == SIDBEAM_HIDDEN_PRODUCT) return false;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  const sidbeam_status status =
      sidbeam_session_children(config_.session, args.slots, args.count, args.lse != nullptr ? 1 : 0, children_,
                               view_.offsets, view_.columns, args.stream, &error);
  if (status == SIDBEAM_UNSUPPORTED && path == SIDBEAM_HIDDEN_FASTEST) return false;
  check_status(status, error);
  return true;
}

// Logits rows are where the hidden states' rows are, so that the caller's row map and lse are the step's.
void CudaHidden::step_session(const sidbeam_hidden_step_args& args, const sidbeam_rows& hidden) {
  sidbeam_rows rows = sidbeam_rows_dense(view_.logits, SIDBEAM_DTYPE_F32, hidden.slots, hidden.rows, layer_.columns);
  rows.device_type = SIDBEAM_DEVICE_CUDA, rows.device_id = layer_.device_id;
  rows.row_stride = view_.row_stride, rows.slot_stride = hidden.rows * view_.row_stride;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.slots = args.slots, step.count = args.count;
  step.rows = &rows;
  step.row_map = args.row_map;
  step.lse = args.lse;
  step.soft_cap = layer_.soft_cap;
  step.inverse_temperature = args.inverse_temperature;
  step.inverse_temperatures = args.inverse_temperatures;
  step.stream = args.stream;
  call(sidbeam_session_step, config_.session, &step);
}

}  // namespace

std::unique_ptr<HiddenSteps> make_cuda_hidden(const HiddenConfig& config) {
  return std::make_unique<CudaHidden>(config);
}

void check_device_memory(int32_t device_id, const void* address, const char* name) {
  call(load_runner_plugin().forward.check_memory, device_id, address, true, name);
}

}  // namespace sidbeam::runner
