// Requests, and what becomes of them. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "caller.h"

namespace fuzz::abi {

bool Runner::draws() const {
  return config.mode == SIDBEAM_MODE_STOCHASTIC || config.speculate == SIDBEAM_SPECULATE_RELAXED;
}

namespace {

void check_result(void* context, const sidbeam_result* result) {
  auto& request = *static_cast<Runner::Request*>(context);
  const sidbeam_runner_config& config = request.runner->config;
  FUZZ_CHECK(++request.told == 1);
  FUZZ_CHECK((result->status == SIDBEAM_OK) == (result->message[0] == '\0'));
  FUZZ_CHECK(result->live >= 0 && result->live <= config.beams && (result->status == SIDBEAM_OK || result->live == 0));
  FUZZ_CHECK(result->live == 0 || result->levels == kLevels);
  for (int32_t m = 0; m < result->live; ++m) {
    FUZZ_CHECK(std::isfinite(result->scores[m]));
    if (m > 0 && !request.runner->draws()) FUZZ_CHECK(result->scores[m] <= result->scores[m - 1]);
    FUZZ_CHECK(result->ordinals[m] >= (config.strategy == SIDBEAM_STRATEGY_NONE ? -1 : 0));
    FUZZ_CHECK(result->ordinals[m] < kSids);
    for (int32_t l = 0; l < kLevels; ++l)
      FUZZ_CHECK(result->sids[m * kLevels + l] >= 0 && result->sids[m * kLevels + l] < kCodes);
  }
}

struct Asked {
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  std::vector<int32_t> tokens;
};

void draw_request(World& world, const Runner& runner, int32_t fault, Asked& asked) {
  const int64_t most = runner.config.max_prompt;
  asked.request.beams = fault == 1 ? (world.flip() ? -1 : runner.config.beams + 1) : world.in(0, runner.config.beams);
  asked.tokens = world.numbers(static_cast<size_t>(world.in(1, static_cast<int32_t>(most))), 0, kTokens - 1);
  if (fault == 2) world.any(asked.tokens) = world.flip() ? kTokens : -2;
  asked.request.positions = static_cast<int64_t>(asked.tokens.size());
  if (fault == 3) asked.request.positions = world.flip() ? 0 : most + 1;
  asked.request.tokens = asked.tokens.data();
  asked.request.priority = world.in(-1, 1);
  if (world.one_in(4)) asked.request.constraint = catalogue_constraint();
  if (fault == 4) asked.request.deadline_us = -1;
  if (fault != 5) asked.request.done = check_result;
  if (!runner.draws()) return;
  asked.request.seed = world.in(0, 3);
  asked.request.sampling_request = world.in(0, 3);
}

// By run() or submit(): `take` calls one of them.
template <class Take>
void ask(Caller& caller, bool waits, const Take& take) {
  World& world = caller.world;
  if (caller.runners.empty()) return;
  Runner& runner = *world.any(caller.runners);
  if (runner.config.max_prompt < 1 || runner.config.max_prompt > 8) return;
  const int32_t fault = world.fault(7);
  Asked asked;
  draw_request(world, runner, fault, asked);
  runner.requests.emplace_back();
  Runner::Request& request = runner.requests.back();
  request.runner = &runner;
  asked.request.context = &request;
  world.expected.fails_if(fault != 0, fault == 4 ? SIDBEAM_DEADLINE_EXCEEDED : SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(runner.closed, SIDBEAM_BAD_STATE);
  world.expected.fails_if(waits && runner.config.post == nullptr, SIDBEAM_BAD_STATE);
  if (waits) world.expected.may_fail(SIDBEAM_QUEUE_FULL);
  const In<sidbeam_request> argument(world, asked.request);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return take(fault == 6 ? nullptr : runner.handle, fault == 7 ? nullptr : argument.get(), err);
  });
  FUZZ_CHECK(status != SIDBEAM_OK || waits || request.told == 1);
  if (status != SIDBEAM_OK && request.told == 0) runner.requests.pop_back();  // it was not taken
}

void run(Caller& caller) {
  ask(caller, false, [](sidbeam_runner* runner, const sidbeam_request* request, sidbeam_error* err) {
    return ABI(runner_run)(runner, request, err);
  });
}

void submit(Caller& caller) {
  Out<int64_t> id(caller.world, 1);
  const bool wanted = caller.world.flip();
  ask(caller, true, [&](sidbeam_runner* runner, const sidbeam_request* request, sidbeam_error* err) {
    return ABI(runner_submit)(runner, request, wanted ? id.get() : nullptr, err);
  });
}

void get_stats(Caller& caller) {
  World& world = caller.world;
  if (caller.runners.empty()) return;
  const int32_t fault = world.fault(2);
  const Runner& runner = *world.any(caller.runners);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_runner_stats> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(runner_get_stats)(fault == 1 ? nullptr : runner.handle, fault == 2 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(out->finished + out->failed + out->cancelled + out->expired + out->queued + out->running ==
             out->submitted);
  FUZZ_CHECK(out->submitted == static_cast<int64_t>(runner.requests.size()));
}

void cancel(Caller& caller) {
  World& world = caller.world;
  if (caller.runners.empty()) return;
  const Runner& runner = *world.any(caller.runners);
  const auto given = static_cast<int32_t>(runner.requests.size());
  const bool known = given > 0 && !world.one_in(4);
  const int64_t id = known ? world.in(1, given) : world.flip() ? given + 1 : -world.in(0, 1);
  world.expected.fails_if(!known, SIDBEAM_INVALID_ARGUMENT);
  (void)world.attempt([&](sidbeam_error* err) { return ABI(runner_cancel)(runner.handle, id, err); });
}

void drain(Caller& caller) {
  World& world = caller.world;
  if (caller.runners.empty()) return;
  const Runner& runner = *world.any(caller.runners);
  const int32_t fault = world.fault(2);
  Out<int32_t> idle(world, 1);
  const bool wanted = world.flip();
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(runner_drain)(fault == 1 ? nullptr : runner.handle, fault == 2 ? -1 : 0, wanted ? idle.get() : nullptr,
                             err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(!wanted || *idle == 1);
  for (const Runner::Request& request : runner.requests) FUZZ_CHECK(request.told == 1);
}

void close(Caller& caller) {
  World& world = caller.world;
  if (caller.runners.empty() || !world.one_in(4)) return;
  Runner& runner = *world.any(caller.runners);
  FUZZ_CHECK(world.attempt([&](sidbeam_error* err) { return ABI(runner_close)(runner.handle, err); }) == SIDBEAM_OK);
  runner.closed = true;
  for (const Runner::Request& request : runner.requests) FUZZ_CHECK(request.told == 1);
}

}  // namespace

std::span<const RunnerOperation> request_operations() {
  static constexpr RunnerOperation kAll[] = {run, run, run, submit, submit, get_stats, cancel, drain, close};
  return kAll;
}

}  // namespace fuzz::abi
