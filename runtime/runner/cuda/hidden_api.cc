// The step from hidden states as functions of the plugin's table. SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "runner/cuda/device.h"
#include "runner/cuda/hidden.h"
#include "runner/cuda/memory.h"
#include "runner/cuda/plugin.h"
#include "runner/cuda/products.h"
#include "runner/cuda/rows.h"
#include "support/cuda/check.h"
#include "support/error.h"
#include "support/guard.h"

namespace sidbeam::runner {

// The memory of a session's steps. The device must be current.
struct DeviceHidden {
  explicit DeviceHidden(const DeviceHiddenConfig& given)
      : config(given), device(cuda::device_of(given.device_id)), memory(cuda::Arena::Where::kDevice) {
    place();
    memory.allocate();
    place();
    view.memory_bytes = memory.bytes();
    products.use(workspace);
  }
  DeviceHidden(const DeviceHidden&) = delete;
  DeviceHidden& operator=(const DeviceHidden&) = delete;
  ~DeviceHidden() = default;

  void place() {
    const int64_t rows = config.slots * config.beams;
    view.row_stride = (config.layer.columns + 3) / 4 * 4;
    view.logits = memory.take<float>(rows * view.row_stride);
    view.offsets = memory.take<int64_t>(rows + 1);
    view.columns = memory.take<int32_t>(config.children);
    x = memory.take_bytes(rows * cuda::padded_width(config.layer.width),
                          config.layer.dtype == SIDBEAM_DTYPE_F32 ? 4 : 2);
    workspace = memory.take<uint8_t>(cuda::Products::kWorkspaceBytes);
  }

  DeviceHiddenConfig config;
  const cuda::Device& device;
  cuda::Arena memory;
  cuda::Products products;
  DeviceHiddenView view;
  void *x = nullptr, *workspace = nullptr;
  const void *hidden = nullptr, *row_map = nullptr;  // of the last step, found to be in the device's memory
};

namespace cuda {
namespace {

using sidbeam::cuda::check;

void check_known(int32_t device_id, const void* address, const char* name, const void*& known) {
  if (address == known) return;
  sidbeam::cuda::check_address(device_id, address, name);
  known = address;
}

// Checks where things are, and gives what both ways begin with.
InputsView begin(DeviceHidden& hidden, const DeviceHiddenRows& rows) {
  const int32_t id = hidden.device.id;
  sidbeam::cuda::check_stream(id, rows.stream);
  check_known(id, rows.hidden->data, "hidden.data", hidden.hidden);
  check_known(id, rows.row_map, "row_map", hidden.row_map);
  InputsView view;
  view.hidden = rows.hidden->data;
  view.dtype = rows.hidden->dtype;
  view.x_dtype = hidden.config.layer.dtype;
  view.rows = rows.hidden->rows;
  view.slot_stride = rows.hidden->slot_stride;
  view.row_stride = rows.hidden->row_stride;
  view.width = hidden.config.layer.width;
  view.x = hidden.x;
  view.row_map = rows.row_map;
  view.beams = static_cast<int32_t>(hidden.config.beams);
  return view;
}

void multiply_children(DeviceHidden& hidden, const DeviceHiddenRows& rows) {
  InputsView inputs = begin(hidden, rows);
  inputs.offsets = hidden.view.offsets;
  const auto stream = static_cast<cudaStream_t>(rows.stream);
  ChildrenView view;
  view.layer = hidden.config.layer;
  view.x = hidden.x;
  view.offsets = hidden.view.offsets;
  view.columns = hidden.view.columns;
  view.capacity = hidden.config.children;
  view.count = rows.slots * hidden.config.beams;
  view.row_map = rows.row_map;
  view.rows = rows.hidden->rows;
  view.beams = inputs.beams;
  view.logits = hidden.view.logits;
  view.row_stride = hidden.view.row_stride;
  check(launch_inputs(inputs, view.count, stream), "launch the inputs of children");
  check(launch_children(view, hidden.device.processors, stream), "launch the products of children");
}

void multiply_all(DeviceHidden& hidden, const DeviceHiddenRows& rows) {
  const DeviceOutputLayer& layer = hidden.config.layer;
  const InputsView inputs = begin(hidden, rows);
  const auto stream = static_cast<cudaStream_t>(rows.stream);
  const int64_t count = rows.row_map != nullptr ? rows.hidden->rows : rows.hidden->slots * rows.hidden->rows;
  check(launch_inputs(inputs, count, stream), "launch the inputs of a product");
  Product product;
  product.weights = layer.weights;
  product.x = hidden.x;
  product.y = hidden.view.logits;
  product.rows = count, product.outputs = layer.columns, product.inputs = layer.width;
  product.y_stride = hidden.view.row_stride;
  product.dtype = layer.dtype, product.y_dtype = SIDBEAM_DTYPE_F32;
  product.weights_stride = layer.row_stride, product.x_stride = padded_width(layer.width);
  product.callers = true;
  hidden.products.enqueue(product, stream);
  if (layer.bias == nullptr) return;
  check(launch_add_bias(layer.bias, hidden.view.logits, count, static_cast<int32_t>(layer.columns), stream,
                        hidden.view.row_stride),
        "launch the bias of a product");
}

}  // namespace

sidbeam_status hidden_create(const DeviceHiddenConfig* config, DeviceHidden** out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(device_of(config->device_id));
    *out = std::make_unique<DeviceHidden>(*config).release();
  });
}

void hidden_destroy(DeviceHidden* hidden) {
  guarded(nullptr, [&] {
    if (hidden == nullptr) return;
    const Current current(hidden->device);
    delete hidden;
  });
}

DeviceHiddenView hidden_view(const DeviceHidden* hidden) { return hidden->view; }

sidbeam_status hidden_children(DeviceHidden* hidden, const DeviceHiddenRows* rows, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(hidden->device);
    multiply_children(*hidden, *rows);
  });
}

sidbeam_status hidden_product(DeviceHidden* hidden, const DeviceHiddenRows* rows, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(hidden->device);
    multiply_all(*hidden, *rows);
  });
}

}  // namespace cuda
}  // namespace sidbeam::runner
