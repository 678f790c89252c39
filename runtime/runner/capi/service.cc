// Runners from their configs.
// SPDX-License-Identifier: Apache-2.0
#include "runner/capi/service.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runner/capi/first_version.h"
#include "runner/capi/head.h"
#include "runner/capi/speculation.h"
#include "runner/math/workers.h"
#include "support/arguments.h"
#include "support/cpu_target.h"
#include "support/parallel.h"

namespace sidbeam::runner {
namespace {

constexpr int64_t kDefaultPrompt = 512;
constexpr int32_t kDefaultQueue = 1024, kMostLanes = 1024, kMostRequests = 1 << 20;
constexpr int64_t kMostPrompt = int64_t{1} << 20, kMostGroup = 64;
constexpr int64_t kNanosecondsPerMicrosecond = 1000, kMostWait = int64_t{3600} * 1000 * 1000;  // an hour

template <class T>
T or_default(T value, T when_zero) {
  return value == 0 ? when_zero : value;
}

void check_numbers(const sidbeam_runner_config& config) {
  check_range("config.beams", config.beams, 1, SIDBEAM_MAX_BEAMS);
  check_range("config.normalization", config.normalization, SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_NONE);
  check_range("config.mode", config.mode, SIDBEAM_MODE_SEARCH, SIDBEAM_MODE_STOCHASTIC);
  check_range("config.begin_count", config.begin_count, 0, kMostPrompt);
  check_range("config.max_prompt", config.max_prompt, 0, kMostPrompt);
  check_range("config.max_group", config.max_group, 0, kMostGroup);
  check_range("config.queue_requests", config.queue_requests, 0, kMostRequests);
  check_range("config.lanes", config.lanes, 0, kMostLanes);
  check_range("config.lane_threads", config.lane_threads, 0, 1);
  check_range("config.request_threads", config.request_threads, 0, kMaxThreads);
  check_range("config.batch_requests", config.batch_requests, 0, kMostRequests);
  check_range("config.batch_rows", config.batch_rows, 0, INT64_MAX);
  check_range("config.wait_us", config.wait_us, 0, kMostWait);
  check_range("config.output_path", config.output_path, SIDBEAM_HIDDEN_FASTEST, SIDBEAM_HIDDEN_PRODUCT);
  check_range("config.batch_requests * config.beams", or_default<int64_t>(config.batch_requests, 1) * config.beams, 1,
              INT32_MAX);
}

// As a step checks them, so that a runner that could run nothing is not made.
void check_temperature(const sidbeam_runner_config& config) {
  if (!(std::isfinite(config.inverse_temperature) && config.inverse_temperature >= 0.0F))
    fail(SIDBEAM_INVALID_ARGUMENT, "config.inverse_temperature is %g, expected a finite number above 0, or 0 for 1",
         static_cast<double>(config.inverse_temperature));
  if (!(config.soft_cap >= 0.0F))
    fail(SIDBEAM_INVALID_ARGUMENT, "config.soft_cap is %g, expected a number above 0 (+inf for none), or 0 for none",
         static_cast<double>(config.soft_cap));
}

void check_combinations(const sidbeam_runner_config& config) {
  if (config.mode == SIDBEAM_MODE_SAMPLE)
    fail(SIDBEAM_UNSUPPORTED, "config.mode is SIDBEAM_MODE_SAMPLE, %d, expected SEARCH, %d, or STOCHASTIC, %d",
         SIDBEAM_MODE_SAMPLE, SIDBEAM_MODE_SEARCH, SIDBEAM_MODE_STOCHASTIC);
  if (config.normalization == SIDBEAM_NORMALIZE_NONE && config.adjust == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.adjust is NULL, expected a function that makes log-probabilities of the logits, since "
         "config.normalization is SIDBEAM_NORMALIZE_NONE");
  if (config.lane_threads != 0 && config.post != nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.lane_threads is 1 and config.post is given, expected one of them");
  if (config.request_threads > 1 && config.execute == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.execute is NULL, expected a function, since config.request_threads is %d",
         config.request_threads);
  if (config.begin_count > 0 && config.begin_tokens == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.begin_tokens is NULL, expected %lld tokens, config.begin_count",
         static_cast<long long>(config.begin_count));
}

// Positions that follow the begin tokens: placeholders, or codes.
int32_t positions_behind(const Service& service) {
  return service.head != nullptr ? service.shape.levels : service.shape.levels - 1;
}

// Positions that a decoder alone has left for a prompt; those of a T5 have no limit.
int64_t most_prompt(const sidbeam_model_info& info, int64_t positions_behind) {
  if (info.encoder_layers > 0 || info.max_positions == 0) return kMostPrompt;
  return info.max_positions - positions_behind;
}

// The prompt is read by the draft as well, if there is one.
const Model& shorter_model(const Service& service, int64_t positions_behind) {
  const bool draft = service.draft && most_prompt(service.draft->info(), positions_behind) <
                                          most_prompt(service.model->info(), positions_behind);
  return draft ? *service.draft : *service.model;
}

void set_prompt(Service& service, const sidbeam_runner_config& config) {
  const int32_t behind = positions_behind(service);
  const Model& model = shorter_model(service, config.begin_count + behind);
  const sidbeam_model_info& info = model.info();
  const char* const whose = &model == service.model.get() ? "model" : "draft";
  const char* const what = service.head != nullptr ? "placeholders" : "codes";
  const int64_t most = most_prompt(info, config.begin_count + behind);
  if (most < 1)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.begin_count is %lld: no position is left for a prompt, since the %s has %lld and %d %s follow",
         static_cast<long long>(config.begin_count), whose, static_cast<long long>(info.max_positions), behind, what);
  service.begin_count = config.begin_count;
  service.max_prompt = or_default(config.max_prompt, std::min(kDefaultPrompt, most));
  service.max_group = or_default(config.max_group, 1);
  if (service.max_prompt > most)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.max_prompt is %lld, expected at most %lld: the %s has %lld positions, and %lld begin tokens and %d %s "
         "follow",
         static_cast<long long>(service.max_prompt), static_cast<long long>(most), whose,
         static_cast<long long>(info.max_positions), static_cast<long long>(config.begin_count), behind, what);
  for (int64_t i = 0; i < config.begin_count; ++i)
    if (config.begin_tokens[i] < 0 || config.begin_tokens[i] >= info.vocabulary)
      fail(SIDBEAM_INVALID_ARGUMENT, "config.begin_tokens[%lld] is %d, expected 0..%lld, one of the model's tokens",
           static_cast<long long>(i), config.begin_tokens[i], static_cast<long long>(info.vocabulary - 1));
}

OutputConfig output_config(const Service& service, const sidbeam_runner_config& config,
                           const sidbeam_vocabulary* vocabulary) {
  OutputConfig output;
  output.levels = service.shape.levels;
  output.codes = service.shape.codes;
  output.variable_length = service.shape.variable_length != 0;
  output.normalization = config.normalization;
  output.vocabulary = vocabulary;
  return output;
}

ForwardLimits forward_limits(const Service& service, const sidbeam_runner_config& config) {
  ForwardLimits limits;
  limits.requests = or_default(config.batch_requests, 1);
  limits.beams = config.beams;
  limits.levels = service.shape.levels;
  limits.max_group = service.max_group;
  limits.max_prompt = service.max_prompt;
  limits.begin_tokens = config.begin_tokens;
  limits.begin_count = config.begin_count;
  return limits;
}

LaneConfig lane_config(sidbeam_runtime* runtime, const Service& service, const sidbeam_runner_config& config,
                       CpuTarget target) {
  LaneConfig lane;
  lane.runtime = runtime;
  lane.constraint = service.constraint.get();
  lane.output = &service.output->columns();
  lane.requests = or_default(config.batch_requests, 1);
  lane.beams = config.beams;
  lane.strategy = config.strategy;
  lane.normalization = config.normalization;
  lane.top_k = config.top_k;
  lane.output_path = config.output_path;
  lane.max_listed = config.max_listed;
  lane.inverse_temperature = config.inverse_temperature;
  lane.soft_cap = config.soft_cap;
  lane.mode = config.mode;
  lane.target = target;
  lane.adjust = config.adjust;
  lane.adjust_context = config.adjust_context;
  return lane;
}

RunnerConfig runner_config(const Allocator& allocator, const Service& service, const sidbeam_runner_config& config) {
  RunnerConfig runner;
  runner.allocator = allocator;
  runner.queue_requests = or_default(config.queue_requests, kDefaultQueue);
  runner.batch.requests = or_default(config.batch_requests, 1);
  runner.batch.rows = config.batch_rows;
  runner.batch.wait = config.wait_us * kNanosecondsPerMicrosecond;
  runner.prompt_tokens = service.max_prompt * service.max_group;
  const int64_t levels = service.shape.levels;
  runner.levels = service.shape.levels;
  runner.decode_rows = service.head != nullptr ? levels : int64_t{config.beams} * (levels - 1);
  runner.lane_threads = config.lane_threads != 0;
  runner.post = config.post;
  runner.post_context = config.post_context;
  return runner;
}

Workers workers_of(Service& service, const sidbeam_runner_config& config) {
  Workers workers;
  workers.target = capi::read_cpu_target(config.cpu_target);
  if (config.request_threads > 1)
    service.executor = std::make_unique<HostExecutor>(config.request_threads, config.execute, config.execute_context);
  workers.executor = service.executor.get();
  return workers;
}

void make_outputs(const Allocator& allocator, const OutputConfig& config, Service& service) {
  service.output =
      service.head != nullptr ? make_output_of_head(allocator, service) : service.model->make_output(allocator, config);
  if (service.draft) service.draft_output = service.draft->make_output(allocator, config);
}

// That steps read children alone, and that the forward pass can compute these.
void check_children(const Service& service, const sidbeam_runner_config& config, const Forward* forward) {
  if (config.output_path != SIDBEAM_HIDDEN_CHILDREN) return;
  const char* const why = config.normalization != SIDBEAM_NORMALIZE_VALID ? "config.normalization is not VALID"
                          : config.strategy != SIDBEAM_STRATEGY_TRIE      ? "config.strategy is not TRIE"
                          : config.mode != SIDBEAM_MODE_SEARCH            ? "config.mode is not SEARCH"
                          : config.adjust != nullptr                      ? "config.adjust is given"
                          : service.draft                                 ? "config.draft is given"
                          : service.head != nullptr                       ? "config.head is given"
                          : !forward->has_elements() ? "config.model is on CUDA, or its weights are int8"
                                                     : nullptr;
  if (why != nullptr)
    fail(SIDBEAM_UNSUPPORTED, "config.output_path is SIDBEAM_HIDDEN_CHILDREN, expected another, since %s", why);
}

std::unique_ptr<Lane> make_service_lane(sidbeam_runtime* runtime, const Allocator& allocator, const Service& service,
                                        const sidbeam_runner_config& config, const Workers& workers) {
  const LaneConfig lane = lane_config(runtime, service, config, workers.target);
  const ForwardLimits limits = forward_limits(service, config);
  std::unique_ptr<Forward> forward;
  if (service.head != nullptr) {
    forward = make_forward_with_head(allocator, service, config, limits, workers);
  } else if (!service.draft) {
    forward = service.model->make_forward(allocator, *service.output, limits, workers);
  }
  check_children(service, config, forward.get());
  if (service.draft) return make_draft_lane(allocator, service, lane, limits, workers);
  return make_lane(allocator, lane, std::move(forward));
}

// What the configuration names, each with a reference of its own.
void hold_objects(Service& service, const sidbeam_runner_config& config) {
  service.model = Ref<Model>::share(reinterpret_cast<Model*>(config.model));
  sidbeam_constraint_retain(config.constraint);
  service.constraint.reset(config.constraint);
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  if (sidbeam_constraint_get_info(config.constraint, &service.shape, &error) != SIDBEAM_OK)
    fail(error.code, "%s", error.message);
  if (config.draft != nullptr) {
    service.draft = Ref<Model>::share(reinterpret_cast<Model*>(config.draft));
    check_draft(service);
    check_trees({service.shape.levels, config.beams, service.drafting.beams}, or_default(config.batch_requests, 1));
  }
  if (config.head != nullptr) {
    sidbeam_draft_head_retain(config.head);
    service.head.reset(config.head);
    check_head(service, config);
  }
}

}  // namespace

std::unique_ptr<Service> make_service(sidbeam_runtime* runtime, const sidbeam_runner_config& config) {
  check_numbers(config);
  check_temperature(config);
  check_combinations(config);
  const Drafting drafting = drafting_of(config);
  check_head_config(config);
  capi::require(config.model, "config.model");
  capi::require(config.constraint, "config.constraint");
  const Allocator allocator = capi::read_allocator(config.allocator, "config.allocator");
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  if (config.vocabulary != nullptr) vocabulary = capi::read_struct(config.vocabulary, "config.vocabulary");

  auto service = std::make_unique<Service>();
  service->beams = config.beams;
  service->drafting = drafting;
  service->draws = drafting.relaxed || config.mode != SIDBEAM_MODE_SEARCH;
  hold_objects(*service, config);
  set_prompt(*service, config);
  const int32_t lane_count = or_default(config.lanes, 1);
  const RunnerConfig scheduling = runner_config(allocator, *service, config);
  most_requests(scheduling, lane_count);  // before memory is taken for them
  const Workers workers = workers_of(*service, config);
  make_outputs(allocator, output_config(*service, config, config.vocabulary != nullptr ? &vocabulary : nullptr),
               *service);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int32_t i = 0; i < lane_count; ++i)
    lanes.push_back(make_service_lane(runtime, allocator, *service, config, workers));
  service->runner = std::make_unique<Runner>(scheduling, std::move(lanes));
  return service;
}

}  // namespace sidbeam::runner
