// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/cuda_draft.h"

#include "runner/cuda/cuda_draft_head.h"
#include "runner/cuda/load.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(function(arguments..., &error), error);
}

// What the host does not see it does not decide: every request has as many rows at a level as it may have beams.
class CudaDraft final : public DraftDecoder {
 public:
  CudaDraft(sidbeam_runtime* runtime, const sidbeam_draft_config& config)
      : DraftDecoder(runtime, config),
        device_(load_runner_plugin().draft),
        device_id_(config.device_id),
        arrays_(load_runner_plugin().forward, device_id_) {
    slots_ = static_cast<const int32_t*>(arrays_.put_bytes_of(slots(), most_requests(), SIDBEAM_DTYPE_F32));
    make_device();  // last: what throws afterwards would leave it behind
  }
  CudaDraft(const CudaDraft&) = delete;
  CudaDraft& operator=(const CudaDraft&) = delete;
  ~CudaDraft() override { arrays_.process().let_go(device_.destroy, handle_); }

 private:
  void decode_levels(const sidbeam_rows& hidden, void* stream, sidbeam_draft_result& out) override;
  void make_device();
  void step(int32_t level, int64_t requests, void* stream);
  void find_items(int64_t requests, void* stream);

  const DraftDevice& device_;
  int32_t device_id_;
  DeviceArrays arrays_;
  DeviceDraftConfig config_;
  DeviceDraft* handle_ = nullptr;
  DeviceDraftView view_;
  const int32_t* slots_ = nullptr;  // [B] 0, 1, 2 .., on the device
};

void CudaDraft::make_device() {
  config_ = device_draft_config(head(), device_id_, most_requests(), most_beams());
  call(device_.create, &config_, &handle_);
  view_ = device_.view(handle_);
}

void CudaDraft::decode_levels(const sidbeam_rows& hidden, void* stream, sidbeam_draft_result& out) {
  arrays_.process().check(device_id_);
  call(device_.begin, handle_, &hidden, stream);
  for (int32_t l = 0; l < config_.levels; ++l) {
    call(device_.logits, handle_, l);
    step(l, hidden.slots, stream);
    if (l + 1 < config_.levels && config_.transition != SIDBEAM_DRAFT_TRANSITION_NONE)
      call(device_.advance, handle_, l, &beams());
  }
  find_items(hidden.slots, stream);
  call(device_.finish, handle_, &beams());
  out.live = view_.live;
  out.errors = view_.errors;
  out.sids = view_.sids;
  out.scores = view_.scores;
  out.ordinals = view_.ordinals;
}

void CudaDraft::step(int32_t level, int64_t requests, void* stream) {
  const int64_t columns = head().shape.codes[level], of_request = config_.rows[level];
  sidbeam_rows rows = sidbeam_rows_dense(view_.logits, SIDBEAM_DTYPE_F32, requests, of_request, columns);
  rows.device_type = SIDBEAM_DEVICE_CUDA, rows.device_id = device_id_;
  rows.row_stride = draft_stride(columns), rows.slot_stride = of_request * rows.row_stride;
  if (head().shape.transition == SIDBEAM_DRAFT_TRANSITION_NONE)
    rows.rows = config_.beams, rows.row_stride = SIDBEAM_BROADCAST;  // one row for all beams of a request
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = slots_, args.count = requests;
  args.rows = &rows;
  args.stream = stream;
  call(sidbeam_session_step, session(), &args);
}

void CudaDraft::find_items(int64_t requests, void* stream) {
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = view_.ordinals;
  items.sids = view_.sids;
  items.stream = stream;
  call(sidbeam_session_get_items, session(), slots(), requests, &items);
}

}  // namespace

std::unique_ptr<DraftDecoder> make_cuda_draft(sidbeam_runtime* runtime, const sidbeam_draft_config& config) {
  return std::make_unique<CudaDraft>(runtime, config);
}

}  // namespace sidbeam::runner
