// SPDX-License-Identifier: Apache-2.0
#include "runner/draft/decoder.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "runner/draft/checks.h"
#include "support/arguments.h"
#include "support/error.h"
#include "support/parallel.h"

namespace sidbeam::runner {
namespace {

int32_t strategy_of(int32_t verification) {
  if (verification == SIDBEAM_DRAFT_VERIFY_TRIE) return SIDBEAM_STRATEGY_TRIE;
  return verification == SIDBEAM_DRAFT_VERIFY_HASH ? SIDBEAM_STRATEGY_HASH_FINAL : SIDBEAM_STRATEGY_NONE;
}

Workers workers_of(const sidbeam_draft_config& config, std::unique_ptr<Executor>& executor) {
  Workers workers;
  workers.target = capi::read_cpu_target(config.cpu_target);
  if (config.threads > 1)
    executor = std::make_unique<HostExecutor>(config.threads, config.execute, config.execute_context);
  workers.executor = executor.get();
  return workers;
}

}  // namespace

DraftDecoder::DraftDecoder(sidbeam_runtime* runtime, const sidbeam_draft_config& config) {
  check_draft_config(config);
  capi::require(config.head, "config.head");
  capi::require(config.index, "config.index");
  const Allocator allocator = capi::read_allocator(config.allocator, "config.allocator");
  head_ = Ref<DraftHead>::share(reinterpret_cast<DraftHead*>(config.head));
  check_catalogue(head_->shape, config.index, config.verification);
  most_requests_ = std::max(config.requests, 1);
  most_beams_ = config.beams;
  levels_ = head_->shape.levels;
  hold_catalogue(config.index);
  const Workers workers = workers_of(config, executor_);
  make_session(runtime, config);
  forward_ = std::make_unique<DraftForward>(allocator, *head_, workers, most_requests_, most_beams_);
  allocate(allocator);
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
  session.constraint = constraint_.get();
  sidbeam_session* made = nullptr;
  check_status(sidbeam_session_create(runtime, &session, &made, &error), error);
  session_.reset(made);
  check_status(sidbeam_session_get_beams(made, &beams_, &error), error);
}

void DraftDecoder::allocate(const Allocator& allocator) {
  const int64_t beams = int64_t{most_requests_} * most_beams_;
  for (Buffer<int32_t>* of_requests : {&slots_, &running_, &live_, &errors_})
    *of_requests = Buffer<int32_t>(allocator, most_requests_);
  std::iota(slots_.begin(), slots_.end(), 0);
  for (Buffer<int32_t>* of_beams : {&row_map_, &beam_rows_, &beam_rows_before_})
    *of_beams = Buffer<int32_t>(allocator, beams);
  for (Buffer<int32_t>* of_rows : {&row_requests_, &row_parents_, &row_codes_})
    *of_rows = Buffer<int32_t>(allocator, forward_->most_rows());
  sids_ = Buffer<int32_t>(allocator, checked_bytes(beams, levels_));
  scores_ = Buffer<float>(allocator, beams);
  ordinals_ = Buffer<int64_t>(allocator, beams);
}

void DraftDecoder::run(const sidbeam_draft_args& args, const sidbeam_rows& hidden, sidbeam_draft_result& out) {
  const HiddenStates states = resolve_hidden(head_->shape, hidden, most_requests_);
  check_constraints(args, states.requests);
  requests_ = static_cast<int32_t>(states.requests);
  start(args);
  // Slots hold their constraints until they are stopped, and the caller may want to swap these.
  const auto stopper = [](DraftDecoder* decoder) { decoder->stop(); };
  const std::unique_ptr<DraftDecoder, decltype(stopper)> stopped(this, stopper);
  forward_->begin(states);
  run_levels();
  harvest();
  out.requests = requests_;
  out.beams = most_beams_;
  out.levels = levels_;
  out.live = live_.data();
  out.errors = errors_.data();
  out.sids = sids_.data();
  out.scores = scores_.data();
  out.ordinals = ordinals_.data();
}

void DraftDecoder::check_constraints(const sidbeam_draft_args& args, int64_t count) const {
  for (int64_t i = 0; args.constraints != nullptr && i < count; ++i)
    if (args.constraints[i] != nullptr) check_constraint(head_->shape, args.constraints[i], i);
}

void DraftDecoder::start(const sidbeam_draft_args& args) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.slots = slots_.data();
  start.count = requests_;
  start.constraints = args.constraints;
  start.widths = args.widths;
  check_status(sidbeam_session_start(session_.get(), &start, &error), error);
}

void DraftDecoder::run_levels() {
  for (int32_t l = 0; l < levels_; ++l) {
    list_rows(l);
    if (running_count_ == 0) return;
    if (l > 0 && !forward_->has_row_per_request())
      forward_->advance(l - 1, row_parents_.data(), row_codes_.data(), rows_);
    step(l);
  }
}

void DraftDecoder::list_rows(int32_t level) {
  std::swap(beam_rows_, beam_rows_before_);
  running_count_ = rows_ = 0;
  if (forward_->has_row_per_request()) {
    std::copy_n(slots_.data(), requests_, row_requests_.data());
    rows_ = requests_;
  }
  for (int32_t slot = 0; slot < requests_; ++slot) {
    if (beams_.active[slot] == 0) continue;
    running_[running_count_] = slot;
    int32_t* const map = row_map_.data() + int64_t{running_count_++} * most_beams_;
    for (int32_t m = 0; m < most_beams_; ++m) {
      const int64_t beam = int64_t{slot} * most_beams_ + m;
      map[m] = m >= beams_.live[slot] ? -1 : forward_->has_row_per_request() ? slot : add_row(level, beam);
    }
  }
}

int32_t DraftDecoder::add_row(int32_t level, int64_t beam) {
  const int64_t slot = beam / most_beams_;
  row_requests_[rows_] = static_cast<int32_t>(slot);
  if (level > 0) {
    row_parents_[rows_] = beam_rows_before_[slot * most_beams_ + beams_.parents[beam]];
    row_codes_[rows_] = beams_.codes[beam];
  }
  return beam_rows_[beam] = rows_++;
}

void DraftDecoder::step(int32_t level) {
  const ConstRows logits = forward_->logits(level, row_requests_.data(), rows_);
  const sidbeam_rows rows = sidbeam_rows_dense(logits.data, SIDBEAM_DTYPE_F32, 0, logits.count, logits.columns);
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = running_.data();
  args.count = running_count_;
  args.rows = &rows;
  args.row_map = row_map_.data();
  check_status(sidbeam_session_step(session_.get(), &args, &error), error);
}

void DraftDecoder::harvest() {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals_.data();
  items.sids = sids_.data();
  check_status(sidbeam_session_get_items(session_.get(), slots_.data(), requests_, &items, &error), error);
  std::copy_n(beams_.scores, int64_t{requests_} * most_beams_, scores_.data());
  for (int32_t i = 0; i < requests_; ++i) {
    errors_[i] = beams_.errors[i];
    live_[i] = errors_[i] == 0 ? beams_.live[i] : 0;
    const int64_t from = int64_t{i} * most_beams_ + live_[i], to = int64_t{i + 1} * most_beams_;
    std::fill(ordinals_.data() + from, ordinals_.data() + to, -1);
    std::fill(scores_.data() + from, scores_.data() + to, -std::numeric_limits<float>::infinity());
    std::fill(sids_.data() + from * levels_, sids_.data() + to * levels_, -1);
  }
}

void DraftDecoder::stop() noexcept { (void)!sidbeam_session_stop(session_.get(), nullptr, 0, nullptr, nullptr); }

}  // namespace sidbeam::runner
