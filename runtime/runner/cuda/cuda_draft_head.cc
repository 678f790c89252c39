// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/cuda_draft_head.h"

#include "runner/cuda/load.h"
#include "runner/draft/forward.h"

namespace sidbeam::runner {
namespace {

// Outputs one below the other, each padded with zeros; nothing where there is no such matrix.
const void* put(DeviceArrays& arrays, const Matrix& matrix, int32_t dtype) {
  if (matrix.outputs == 0) return nullptr;
  const int64_t stride = draft_weights_stride(matrix.inputs), bytes = stride * dtype_bytes(matrix.dtype);
  std::vector<std::byte> rows(static_cast<size_t>(checked_bytes(matrix.outputs, bytes)));
  for (int64_t output = 0; output < matrix.outputs; ++output)
    unpack_output(matrix, output, rows.data() + output * bytes);
  return arrays.put_bytes_of(rows.data(), matrix.outputs * stride, dtype);
}

const float* put_bias(DeviceArrays& arrays, const Buffer<float>& bias) {
  if (bias.size() == 0) return nullptr;
  std::vector<float> padded(bias.begin(), bias.end());
  padded.resize(static_cast<size_t>(draft_stride(bias.size())));
  return arrays.put(padded.data(), static_cast<int64_t>(padded.size()));
}

}  // namespace

CudaDraftHead::CudaDraftHead(const DraftHead& head, int32_t device_id)
    : arrays(load_runner_plugin().forward, device_id) {
  const auto dtype = static_cast<int32_t>(head.shape.dtype);
  for (const DraftLevel& level : head.levels) {
    DeviceDraftLevel there;
    there.codes = head.shape.codes[levels.size()];
    there.on_hidden = put(arrays, level.on_hidden, dtype);
    there.on_state = put(arrays, level.on_state, dtype);
    there.bias = put_bias(arrays, level.bias);
    if (level.moves.size() > 0) there.moves = arrays.put(level.moves.data(), level.moves.size());
    there.recurrent = put(arrays, level.recurrent, dtype);
    there.recurrent_bias = put_bias(arrays, level.recurrent_bias);
    levels.push_back(there);
  }
}

const CudaDraftHead& cuda_draft_head(const DraftHead& head, int32_t device_id) {
  CudaDraftHeads& there = head.on_cuda.get();
  const std::lock_guard lock(there.mutex);
  for (const std::shared_ptr<const CudaDraftHead>& made : there.made)
    if (made->arrays.device_id() == device_id) return *made;
  return *there.made.emplace_back(std::make_shared<const CudaDraftHead>(head, device_id));
}

DeviceDraftConfig device_draft_config(const DraftHead& head, int32_t device_id, int32_t requests, int32_t beams) {
  const DraftShape& shape = head.shape;
  DeviceDraftConfig config;
  config.device_id = device_id;
  config.dtype = static_cast<int32_t>(shape.dtype);
  config.input = shape.input, config.transition = shape.transition;
  config.levels = shape.levels;
  config.hidden = shape.hidden, config.gates = shape.gates();
  config.of_level = cuda_draft_head(head, device_id).levels.data();
  count_rows(shape, beams, 0, config.rows);
  config.requests = requests, config.beams = beams;
  return config;
}

}  // namespace sidbeam::runner
