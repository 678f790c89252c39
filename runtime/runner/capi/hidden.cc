// The ABI edge of the step from hidden states.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/hidden.h"

#include <cmath>
#include <memory>

#include "runner/capi/first_version.h"
#include "runner/cuda/cuda_hidden.h"
#include "runner/hidden/hidden_step.h"
#include "support/arguments.h"
#include "support/parallel.h"
#include "support/strides.h"

using sidbeam::capi::read_struct;
using sidbeam::capi::require;

namespace sidbeam::runner {
namespace {

// What a sidbeam_hidden owns: the step, and the host's threads for it.
struct HiddenService {
  std::unique_ptr<Executor> executor;
  std::unique_ptr<HiddenSteps> step;
};

OutputLayer* object(sidbeam_output_layer* handle) { return reinterpret_cast<OutputLayer*>(handle); }
const OutputLayer* object(const sidbeam_output_layer* handle) { return reinterpret_cast<const OutputLayer*>(handle); }
HiddenService* object(sidbeam_hidden* handle) { return reinterpret_cast<HiddenService*>(handle); }
const HiddenService* object(const sidbeam_hidden* handle) { return reinterpret_cast<const HiddenService*>(handle); }

constexpr int64_t kMostWidth = int64_t{1} << 20;

// Rows are read 16 bytes at a time.
void check_device_weights(const sidbeam_output_layer_config& config) {
  constexpr int64_t kAlignment = 16;
  const int64_t stride = config.row_stride != 0 ? config.row_stride : config.width,
                bytes = stride * (config.dtype == SIDBEAM_DTYPE_F32 ? 4 : 2);
  if (reinterpret_cast<uintptr_t>(config.weights) % kAlignment != 0 || bytes % kAlignment != 0)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.weights have rows of %lld bytes, expected every one to begin at a multiple of 16 bytes on CUDA",
         static_cast<long long>(bytes));
  check_device_memory(config.device_id, config.weights, "config.weights");
  if (config.bias != nullptr) check_device_memory(config.device_id, config.bias, "config.bias");
}

void check_weights(const sidbeam_output_layer_config& config) {
  check_range("config.dtype", config.dtype, SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_BF16);
  check_range("config.device_type", config.device_type, SIDBEAM_DEVICE_CPU, SIDBEAM_DEVICE_CUDA);
  const bool cpu = config.device_type == SIDBEAM_DEVICE_CPU;
  check_range("config.device_id", config.device_id, 0, cpu ? 0 : INT32_MAX);
  check_range("config.columns", config.columns, 1, INT32_MAX);
  check_range("config.width", config.width, 1, kMostWidth);
  if (config.row_stride != 0) {
    check_range("config.row_stride", config.row_stride, config.width, INT64_MAX / 8);
    check_stride("config.row_stride", config.columns, config.row_stride);
  }
  require(config.weights, "config.weights");
  const uintptr_t element = config.dtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  if (reinterpret_cast<uintptr_t>(config.weights) % element != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.weights is not aligned to its elements of %d bytes",
         static_cast<int>(element));
  if (!cpu) check_device_weights(config);
  if (!(config.soft_cap >= 0.0F))
    fail(SIDBEAM_INVALID_ARGUMENT, "config.soft_cap is %g, expected a number above 0, or 0",
         static_cast<double>(config.soft_cap));
}

std::unique_ptr<OutputLayer> make_layer(const sidbeam_output_layer_config& config) {
  check_weights(config);
  constexpr Dtype kDtypes[] = {Dtype::kF32, Dtype::kF16, Dtype::kBf16};
  auto layer = std::make_unique<OutputLayer>();
  layer->weights = static_cast<const std::byte*>(config.weights);
  layer->dtype = kDtypes[config.dtype];
  layer->columns = config.columns;
  layer->width = config.width;
  layer->row_bytes = (config.row_stride != 0 ? config.row_stride : config.width) * dtype_bytes(layer->dtype);
  layer->bias = config.bias;
  layer->soft_cap = config.soft_cap;
  layer->target = capi::read_cpu_target(config.cpu_target);
  layer->device_type = config.device_type, layer->device_id = config.device_id;
  if (config.device_type == SIDBEAM_DEVICE_CPU) find_costs(*layer);
  return layer;
}

std::unique_ptr<HiddenService> make_hidden(const sidbeam_hidden_config& config) {
  require(config.session, "config.session");
  require(config.layer, "config.layer");
  check_range("config.path", config.path, SIDBEAM_HIDDEN_FASTEST, SIDBEAM_HIDDEN_PRODUCT);
  check_range("config.children", config.children, 0, INT32_MAX);
  check_range("config.threads", config.threads, 0, kMaxThreads);
  auto service = std::make_unique<HiddenService>();
  if (config.threads > 1) {
    if (config.execute == nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "config.execute is NULL, expected a function for %d threads", config.threads);
    service->executor = std::make_unique<HostExecutor>(config.threads, config.execute, config.execute_context);
  }
  const OutputLayer& layer = *object(config.layer);
  const HiddenConfig how{config.session, &layer, config.path, config.children, {layer.target, service->executor.get()}};
  const Allocator allocator = capi::read_allocator(config.allocator, "config.allocator");
  if (layer.device_type == SIDBEAM_DEVICE_CPU) {
    service->step = std::make_unique<HiddenStep>(allocator, how);
  } else {
    service->step = make_cuda_hidden(how);
  }
  return service;
}

}  // namespace
}  // namespace sidbeam::runner

namespace runner = sidbeam::runner;

extern "C" {

sidbeam_status sidbeam_output_layer_create(const sidbeam_output_layer_config* config, sidbeam_output_layer** out,
                                           sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(out, "out");
    *out = reinterpret_cast<sidbeam_output_layer*>(runner::make_layer(read_struct(config, "config")).release());
  });
}

void sidbeam_output_layer_destroy(sidbeam_output_layer* layer) { delete runner::object(layer); }

sidbeam_status sidbeam_hidden_create(const sidbeam_hidden_config* config, sidbeam_hidden** out, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(out, "out");
    *out = reinterpret_cast<sidbeam_hidden*>(runner::make_hidden(read_struct(config, "config")).release());
  });
}

void sidbeam_hidden_destroy(sidbeam_hidden* hidden) { delete runner::object(hidden); }

sidbeam_status sidbeam_hidden_step(sidbeam_hidden* hidden, const sidbeam_hidden_step_args* args, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(hidden, "hidden");
    const auto given = read_struct(args, "args");
    auto rows = read_struct(given.hidden, "args.hidden");
    runner::object(hidden)->step->step(given, rows);
  });
}

sidbeam_status sidbeam_hidden_get_stats(const sidbeam_hidden* hidden, sidbeam_hidden_stats* out, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(hidden, "hidden");
    sidbeam::capi::check_output(out, "out");
    sidbeam::write_struct(runner::object(hidden)->step->stats(), out);
  });
}

}  // extern "C"
