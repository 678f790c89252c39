// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/lane_session.h"

#include <algorithm>

#include "support/error.h"

namespace sidbeam::runner {

LaneSession::LaneSession(const Allocator& allocator, const LaneConfig& config, const LanePlace& place)
    : LaneSession(allocator, config, Rows::kLogits, place) {}

LaneSession LaneSession::of_choices(const Allocator& allocator, const LaneConfig& given) {
  LaneConfig config = given;
  config.normalization = SIDBEAM_NORMALIZE_NONE;
  config.inverse_temperature = config.soft_cap = 0.0F;
  return {allocator, config, Rows::kChoices, {}};
}

LaneSession::LaneSession(const Allocator& allocator, const LaneConfig& config, Rows rows, const LanePlace& place)
    : config_(config), place_(place) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  check_status(sidbeam_constraint_get_info(config.constraint, &info, &error), error);
  levels_ = info.levels;
  std::copy_n(info.codes, levels_, codes_);
  most_codes_ = *std::max_element(codes_, codes_ + levels_);
  check_range("config.batch_requests * config.beams", int64_t{config.requests} * config.beams, 1, INT32_MAX);
  create(rows);
  job_ = Buffer<int32_t>::zeroed(allocator, config.requests);
  prompts_ = Buffer<Prompt>::zeroed(allocator, config.requests);
  wider_ = Buffer<int32_t>::zeroed(allocator, levels_);
}

void LaneSession::create(Rows rows) {
  int64_t offsets[SIDBEAM_MAX_LEVELS];
  for (int32_t level = 0; level < levels_; ++level) offsets[level] = choice_column(level, 0);
  sidbeam_vocabulary choices = SIDBEAM_VOCABULARY_INIT;
  choices.levels = levels_;
  choices.offsets = offsets;
  choices.end_column = most_codes_;
  sidbeam_session_config session = SIDBEAM_SESSION_CONFIG_INIT;
  session.slots = config_.requests;
  session.beams = config_.beams;
  session.strategy = config_.strategy;
  session.normalization = config_.normalization;
  session.top_k = config_.top_k;
  session.max_listed = config_.max_listed;
  session.constraint = config_.constraint;
  session.mode = config_.mode;
  session.vocabulary = rows == Rows::kLogits ? &config_.output->vocabulary() : &choices;
  session.device_type = is_on_device() ? SIDBEAM_DEVICE_CUDA : SIDBEAM_DEVICE_CPU;
  session.device_id = place_.device_id;
  sidbeam_session* made = nullptr;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_session_create(config_.runtime, &session, &made, &error), error);
  session_.reset(made);
  check_status(sidbeam_session_get_beams(made, &beams_, &error), error);
  fetch();
}

int64_t LaneSession::memory_bytes() const {
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  const bool known = sidbeam_session_get_stats(session_.get(), &stats, nullptr) == SIDBEAM_OK;
  return job_.bytes() + prompts_.bytes() + wider_.bytes() + (known ? stats.memory_bytes : 0);
}

void LaneSession::fetch() {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_session_fetch(session_.get(), &host_beams_, place_.stream, &error), error);
}

bool LaneSession::start(int32_t slot, const Job& job, sidbeam_error& error) {
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = &slot;
  args.count = 1;
  args.constraints = &job.constraint;
  args.widths = job.width_levels > 0 ? job.widths : &job.beams;
  args.width_levels = job.width_levels;
  args.inverse_temperatures = &config_.inverse_temperature;
  args.soft_caps = &config_.soft_cap;
  args.stream = place_.stream;
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = &job.seed;
  sampling.requests = &job.sampling_request;
  if (config_.mode != SIDBEAM_MODE_SEARCH) args.sampling = &sampling;
  return sidbeam_session_start(session_.get(), &args, &error) == SIDBEAM_OK;
}

bool LaneSession::allows_nothing(const sidbeam_constraint* constraint) {
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  return sidbeam_constraint_get_info(constraint, &info, nullptr) == SIDBEAM_OK && info.rules != 0 &&
         info.allowed_sids == 0;
}

int32_t LaneSession::start(const Job* jobs, int32_t count, Ended& ended) {
  jobs_ = jobs;
  ended_ = &ended;
  int32_t running = 0;
  for (int32_t i = 0; i < count; ++i) {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    if (is_cancelled(jobs[i])) {
      ended.ended(i, kCancelled);
    } else if (allows_nothing(jobs[i].constraint)) {
      ended.ended(i, {});  // its slot would be done before any level, and a step refuses such
    } else if (!start(running, jobs[i], error)) {
      ended.ended(i, {error.code, error.message});
    } else {
      job_[running] = i;
      prompts_[running++] = jobs[i].prompt;
    }
  }
  return running;
}

void LaneSession::restart(int32_t slot) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  if (!start(slot, job(slot), error)) fail(error.code, "%s", error.message);
}

void LaneSession::start_beside(const LaneSession& other, int32_t count) {
  const int32_t wider = config_.beams - other.config_.beams;
  for (int32_t slot = 0; slot < count; ++slot) {
    Job job = other.job(slot);
    job.beams += wider;
    for (int32_t l = 0; l < job.width_levels; ++l) wider_[l] = job.widths[l] + wider;
    job.widths = wider_.data();
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    if (!start(slot, job, error)) fail(error.code, "%s", error.message);
  }
}

bool LaneSession::adjust(int32_t level, int32_t slot, const LevelRows& rows) const {
  const Job& job = this->job(slot);
  sidbeam_level view{};
  view.struct_size = sizeof view;
  view.level = level;
  view.request = job.number;
  view.request_context = job.context;
  view.constraint = job.constraint;
  view.logits = rows.logits;
  view.rows = rows.rows;
  view.columns = rows.columns;
  view.row_stride = rows.row_stride != 0 ? rows.row_stride : rows.columns;
  view.columns_of = &config_.output->vocabulary();
  view.row_beams = rows.row_beams;
  view.beams = &beams_;
  view.slot = slot;
  view.stream = place_.stream;
  return config_.adjust(config_.adjust_context, &view) == 0;
}

sidbeam_rows LaneSession::rows_of(const LevelRows& rows) const {
  sidbeam_rows given = sidbeam_rows_dense(rows.logits, SIDBEAM_DTYPE_F32, 0, rows.rows, rows.columns);
  given.device_type = is_on_device() ? SIDBEAM_DEVICE_CUDA : SIDBEAM_DEVICE_CPU;
  given.device_id = place_.device_id;
  given.row_stride = rows.row_stride;
  return given;
}

void LaneSession::step(const int32_t* slots, int32_t count, const LevelRows& rows, const int32_t* row_map) {
  const sidbeam_rows given = rows_of(rows);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = slots;
  args.count = count;
  args.rows = &given;
  args.row_map = row_map;
  args.stream = place_.stream;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_session_step(session_.get(), &args, &error), error);
}

void LaneSession::get_items(const int32_t* slots, int32_t count, int32_t* sids, int64_t* ordinals) {
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals;
  items.sids = sids;
  items.stream = place_.stream;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_session_get_items(session_.get(), slots, count, &items, &error), error);
}

void LaneSession::stop(const int32_t* slots, int32_t count) {
  const sidbeam_status stopped = sidbeam_session_stop(session_.get(), slots, count, place_.stream, nullptr);
  static_cast<void>(stopped);  // slots of its own session: if it fails on a device, so does the next start, saying why
}

}  // namespace sidbeam::runner
