// SPDX-License-Identifier: Apache-2.0
#include "runner/draft/decoder.h"

#include <algorithm>
#include <numeric>

#include "runner/cuda/cuda_draft.h"
#include "runner/draft/checks.h"
#include "runner/draft/cpu_decoder.h"
#include "support/arguments.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

int32_t strategy_of(int32_t verification) {
  if (verification == SIDBEAM_DRAFT_VERIFY_TRIE) return SIDBEAM_STRATEGY_TRIE;
  return verification == SIDBEAM_DRAFT_VERIFY_HASH ? SIDBEAM_STRATEGY_HASH_FINAL : SIDBEAM_STRATEGY_NONE;
}

}  // namespace

DraftDecoder::DraftDecoder(sidbeam_runtime* runtime, const sidbeam_draft_config& config)
    : device_type_(config.device_type), device_id_(config.device_id) {
  check_draft_config(config);
  capi::require(config.head, "config.head");
  capi::require(config.index, "config.index");
  const Allocator allocator = capi::read_allocator(config.allocator, "config.allocator");
  head_ = Ref<DraftHead>::share(reinterpret_cast<DraftHead*>(config.head));
  check_catalogue(head_->shape, config.index, config.verification);
  most_requests_ = std::max(config.requests, 1);
  most_beams_ = config.beams;
  hold_catalogue(config.index);
  make_session(runtime, config);
  slots_ = Buffer<int32_t>(allocator, most_requests_);
  std::iota(slots_.begin(), slots_.end(), 0);
}

void DraftDecoder::hold_catalogue(sidbeam_index* index) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint* made = nullptr;
  config.index = index;
  check_status(sidbeam_constraint_create(&config, &made, &error), error);
  constraint_.reset(made);
}

void DraftDecoder::make_session(sidbeam_runtime* runtime, const sidbeam_draft_config& config) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_session_config session = SIDBEAM_SESSION_CONFIG_INIT;
  session.slots = most_requests_;
  session.beams = most_beams_;
  session.strategy = strategy_of(config.verification);
  session.normalization = config.normalization;
  session.top_k = config.top_k;
  session.max_listed = config.max_listed;
  session.constraint = constraint_.get();
  session.device_type = config.device_type;
  session.device_id = config.device_id;
  sidbeam_session* made = nullptr;
  check_status(sidbeam_session_create(runtime, &session, &made, &error), error);
  session_.reset(made);
  check_status(sidbeam_session_get_beams(made, &beams_, &error), error);
}

void DraftDecoder::run(const sidbeam_draft_args& args, const sidbeam_rows& hidden, sidbeam_draft_result& out) {
  sidbeam_rows rows = hidden;
  check_hidden(head_->shape, {device_type_, device_id_}, most_requests_, rows);
  start(args, rows);
  // Slots hold their constraints until they are stopped, and the caller may want to swap these.
  const auto stop = [&](DraftDecoder* decoder) {
    decoder->stop_slots(0, decoder->started_, args.stream);
    decoder->started_ = 0;
  };
  const std::unique_ptr<DraftDecoder, decltype(stop)> stopped(this, stop);
  decode_checked(rows, args.stream, out);
}

void DraftDecoder::start(const sidbeam_draft_args& args, const sidbeam_rows& hidden) {
  check_count(hidden, most_requests_);
  for (int64_t i = 0; args.constraints != nullptr && i < hidden.slots; ++i)
    if (args.constraints[i] != nullptr) check_constraint(head_->shape, args.constraints[i], i);
  start_slots(args, hidden.slots);
}

void DraftDecoder::start_slots(const sidbeam_draft_args& args, int64_t count) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.slots = slots_.data();
  start.count = count;
  start.constraints = args.constraints;
  start.widths = args.widths;
  start.width_levels = args.width_levels;
  start.stream = args.stream;
  check_status(sidbeam_session_start(session_.get(), &start, &error), error);
  stop_slots(count, started_, args.stream);  // nothing is found of a request that is not started
  started_ = count;
}

void DraftDecoder::stop_slots(int64_t from, int64_t to, void* stream) {
  if (from < to) (void)!sidbeam_session_stop(session_.get(), slots_.data() + from, to - from, stream, nullptr);
}

void DraftDecoder::decode(const sidbeam_draft_args& args, const sidbeam_rows& hidden, sidbeam_draft_result& out) {
  sidbeam_rows rows = hidden;
  check_hidden(head_->shape, {device_type_, device_id_}, most_requests_, rows);
  decode_checked(rows, args.stream, out);
}

void DraftDecoder::decode_checked(const sidbeam_rows& hidden, void* stream, sidbeam_draft_result& out) {
  out.requests = static_cast<int32_t>(hidden.slots);
  out.beams = most_beams_;
  out.levels = levels();
  decode_levels(hidden, stream, out);
}

std::unique_ptr<DraftDecoder> make_draft_decoder(sidbeam_runtime* runtime, const sidbeam_draft_config& config) {
  if (config.device_type == SIDBEAM_DEVICE_CUDA) return make_cuda_draft(runtime, config);
  return std::make_unique<CpuDraftDecoder>(runtime, config);
}

}  // namespace sidbeam::runner
