// SPDX-License-Identifier: Apache-2.0
#include "runner/draft/cpu_decoder.h"

#include <algorithm>
#include <limits>

#include "support/arguments.h"
#include "support/error.h"
#include "support/parallel.h"

namespace sidbeam::runner {
namespace {

Workers workers_of(const sidbeam_draft_config& config, std::unique_ptr<Executor>& executor) {
  Workers workers;
  workers.target = capi::read_cpu_target(config.cpu_target);
  if (config.threads > 1)
    executor = std::make_unique<HostExecutor>(config.threads, config.execute, config.execute_context);
  workers.executor = executor.get();
  return workers;
}

}  // namespace

CpuDraftDecoder::CpuDraftDecoder(sidbeam_runtime* runtime, const sidbeam_draft_config& config)
    : DraftDecoder(runtime, config) {
  const Allocator allocator = capi::read_allocator(config.allocator, "config.allocator");
  const Workers workers = workers_of(config, executor_);
  forward_ = std::make_unique<DraftForward>(allocator, head(), workers, most_requests(), most_beams());
  allocate(allocator);
}

void CpuDraftDecoder::allocate(const Allocator& allocator) {
  const int64_t beams = int64_t{most_requests()} * most_beams();
  for (Buffer<int32_t>* of_requests : {&running_, &live_, &errors_})
    *of_requests = Buffer<int32_t>(allocator, most_requests());
  for (Buffer<int32_t>* of_beams : {&row_map_, &beam_rows_, &beam_rows_before_})
    *of_beams = Buffer<int32_t>(allocator, beams);
  for (Buffer<int32_t>* of_rows : {&row_requests_, &row_parents_, &row_codes_})
    *of_rows = Buffer<int32_t>(allocator, forward_->most_rows());
  sids_ = Buffer<int32_t>(allocator, checked_bytes(beams, levels()));
  scores_ = Buffer<float>(allocator, beams);
  ordinals_ = Buffer<int64_t>(allocator, beams);
}

void CpuDraftDecoder::decode_levels(const sidbeam_rows& hidden, void*, sidbeam_draft_result& out) {
  requests_ = static_cast<int32_t>(hidden.slots);
  forward_->begin({hidden.data, static_cast<Dtype>(hidden.dtype), hidden.slots, hidden.slot_stride, hidden.row_stride});
  run_levels();
  harvest();
  out.live = live_.data();
  out.errors = errors_.data();
  out.sids = sids_.data();
  out.scores = scores_.data();
  out.ordinals = ordinals_.data();
}

void CpuDraftDecoder::run_levels() {
  for (int32_t l = 0; l < levels(); ++l) {
    list_rows(l);
    if (running_count_ == 0) return;
    if (l > 0 && !forward_->has_row_per_request())
      forward_->advance(l - 1, row_parents_.data(), row_codes_.data(), rows_);
    step(l);
  }
}

void CpuDraftDecoder::list_rows(int32_t level) {
  std::swap(beam_rows_, beam_rows_before_);
  running_count_ = rows_ = 0;
  if (forward_->has_row_per_request()) {
    std::copy_n(slots(), requests_, row_requests_.data());
    rows_ = requests_;
  }
  for (int32_t slot = 0; slot < requests_; ++slot) {
    if (beams().active[slot] == 0) continue;
    running_[running_count_] = slot;
    int32_t* const map = row_map_.data() + int64_t{running_count_++} * most_beams();
    for (int32_t m = 0; m < most_beams(); ++m) {
      const int64_t beam = int64_t{slot} * most_beams() + m;
      map[m] = m >= beams().live[slot] ? -1 : forward_->has_row_per_request() ? slot : add_row(level, beam);
    }
  }
}

int32_t CpuDraftDecoder::add_row(int32_t level, int64_t beam) {
  const int64_t slot = beam / most_beams();
  row_requests_[rows_] = static_cast<int32_t>(slot);
  if (level > 0) {
    row_parents_[rows_] = beam_rows_before_[slot * most_beams() + beams().parents[beam]];
    row_codes_[rows_] = beams().codes[beam];
  }
  return beam_rows_[beam] = rows_++;
}

void CpuDraftDecoder::step(int32_t level) {
  const ConstRows logits = forward_->logits(level, row_requests_.data(), rows_);
  const sidbeam_rows rows = sidbeam_rows_dense(logits.data, SIDBEAM_DTYPE_F32, 0, logits.count, logits.columns);
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = running_.data();
  args.count = running_count_;
  args.rows = &rows;
  args.row_map = row_map_.data();
  check_status(sidbeam_session_step(session(), &args, &error), error);
}

void CpuDraftDecoder::harvest() {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals_.data();
  items.sids = sids_.data();
  check_status(sidbeam_session_get_items(session(), slots(), requests_, &items, &error), error);
  std::copy_n(beams().scores, int64_t{requests_} * most_beams(), scores_.data());
  for (int32_t i = 0; i < requests_; ++i) {
    errors_[i] = beams().errors[i];
    live_[i] = errors_[i] == 0 ? beams().live[i] : 0;
    const int64_t from = int64_t{i} * most_beams() + live_[i], to = int64_t{i + 1} * most_beams();
    std::fill(ordinals_.data() + from, ordinals_.data() + to, -1);
    std::fill(scores_.data() + from, scores_.data() + to, -std::numeric_limits<float>::infinity());
    std::fill(sids_.data() + from * levels(), sids_.data() + to * levels(), -1);
  }
}

}  // namespace sidbeam::runner
