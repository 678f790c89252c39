// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/cuda_tree_forward.h"

#include "runner/cuda/cuda_exchange.h"
#include "runner/models/host_exchange.h"
#include "support/error.h"

namespace sidbeam::runner {

CudaTreeForward::CudaTreeForward(const Allocator& allocator, const CudaModel& model, const DeviceLevel* levels,
                                 const OutputColumns& columns, const ForwardLimits& limits, const TreePlace& place)
    : CudaForward(allocator, model, levels, &columns, limits, place.stream),
      fetched_(device(), device_id()),
      most_columns_(columns.most_columns()) {
  if (!place.host_logits) return;
  const int64_t elements = checked_bytes(limits.requests * limits.tree_rows, most_columns_);
  host_logits_ = static_cast<float*>(fetched_.pinned(checked_bytes(elements, sizeof(float))));
}

void CudaTreeForward::run_tree(const Prompt* prompts, const DecodeRows& nodes) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(device().run_tree(handle(), prompts, &nodes, &err), err);
  rows_ = nodes.rows;
}

float* CudaTreeForward::tree_logits(const int32_t* depths) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  float* out = nullptr;
  check_status(device().tree_logits(handle(), depths, &out, &err), err);
  if (host_logits_ == nullptr) return out;
  check_status(device().to_host(handle(), host_logits_, out, rows_ * most_columns_ * int64_t{sizeof(float)}, &err),
               err);
  check_status(device().wait(handle(), &err), err);
  return host_logits_;
}

LanePlace CudaTreeForward::place() const {
  return host_logits_ != nullptr ? LanePlace{} : LanePlace{device_id(), stream()};
}

std::unique_ptr<Exchange> CudaTreeForward::make_exchange(const Allocator& allocator) {
  if (host_logits_ != nullptr) return TreeForward::make_exchange(allocator);
  return std::make_unique<CudaExchange>(*this);
}

}  // namespace sidbeam::runner
