// SPDX-License-Identifier: Apache-2.0
#include "schedule_cost.h"

#include <ctime>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "runner/schedule/runner.h"
#include "schedule_catalogue.h"

namespace bench {
namespace {

using namespace sidbeam;
using namespace sidbeam::runner;

double cpu_us(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

// May note its thread's CPU time from the first batch to the last, which itself takes as long as a request.
class EmptyLane final : public Lane {
 public:
  EmptyLane(bool notes, std::atomic<double>& us) : notes_(notes), us_(us) {}
  void run(const Job*, int32_t count, Ended& ended) noexcept override {
    if (notes_) {
      const double now = cpu_us(CLOCK_THREAD_CPUTIME_ID);
      if (begin_ < 0) begin_ = now;
      us_ = now - begin_;
    }
    for (int32_t i = 0; i < count; ++i) ended.ended(i, {});
  }
  int32_t levels() const override { return 3; }
  int64_t memory_bytes() const override { return 0; }

 private:
  bool notes_;
  std::atomic<double>& us_;
  double begin_ = -1;
};

// The host's tasks, run by the same thread.
struct Tasks {
  std::vector<std::pair<void (*)(void*), void*>> waiting;
  static int32_t post(void* context, void (*task)(void*), void* data) {
    static_cast<Tasks*>(context)->waiting.emplace_back(task, data);
    return 1;
  }
  void run() {
    while (!waiting.empty()) {
      const auto [task, data] = waiting.back();
      waiting.pop_back();
      task(data);
    }
  }
};

// Keeps the queue as long as it was: each done() submits the next.
struct Feed {
  Runner* runner = nullptr;
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  int64_t left = 0, sent = 0;
  bool mixed = false;

  void submit() {
    if (left == 0) return;
    --left;
    if (mixed) {
      request.priority = static_cast<int32_t>(sent * 7 % 5);
      request.deadline_us = 1000000 + sent * 13 % 1000;
    }
    ++sent;
    runner->submit(request);
  }
};

// Forward passes whose logits never change.
class ConstantForward final : public Forward {
 public:
  ConstantForward(const OutputColumns& output, int64_t rows) : output_(output) {
    uint64_t state = 1;
    for (int64_t i = 0; i < rows * output.most_columns(); ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      logits_.push_back(static_cast<float>(state >> 40) * 0x1p-22f);
    }
  }
  void prefill(const Prompt*, int32_t) override {}
  void decode(const DecodeRows&) override {}
  float* logits(int32_t) override { return logits_.data(); }
  int64_t columns(int32_t level) const override { return output_.columns(level); }
  int64_t memory_bytes() const override { return 0; }

 private:
  const OutputColumns& output_;
  std::vector<float> logits_;
};

class Nothing final : public Ended {
 public:
  void ended(int32_t, const Outcome&) override {}
};

// The same requests by a session alone: start, steps, items, stop.
void run_session(sidbeam_session* session, const LoopCase& loop, Forward& forward, const sidbeam_beams& beams,
                 std::vector<int32_t>& map, std::vector<int32_t>& sids, std::vector<int64_t>& ordinals) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  check(sidbeam_session_start(session, &start, &error), error);
  for (int32_t level = 0; level < 3; ++level) {
    int32_t row = 0;
    for (int32_t slot = 0; slot < loop.batch; ++slot) {
      const int32_t fed = level == 0 ? 1 : beams.live[slot];
      for (int32_t beam = 0; beam < loop.beams; ++beam)
        map[static_cast<size_t>(slot * loop.beams + beam)] = beam < fed ? row++ : -1;
    }
    const sidbeam_rows rows =
        sidbeam_rows_dense(forward.logits(level), SIDBEAM_DTYPE_F32, 0, row, forward.columns(level));
    sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
    step.rows = &rows;
    step.row_map = map.data();
    check(sidbeam_session_step(session, &step, &error), error);
  }
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.sids = sids.data();
  items.ordinals = ordinals.data();
  check(sidbeam_session_get_items(session, nullptr, loop.batch, &items, &error), error);
  check(sidbeam_session_stop(session, nullptr, loop.batch, nullptr, &error), error);
}

// CPU time of calls that each wake the lane's thread, without that of waiting until it is done.
double wake_us(Runner& runner, const sidbeam_request& request, int64_t requests) {
  double us = 0;
  for (int64_t i = 0; i < requests; ++i) {
    const double begin = cpu_us(CLOCK_THREAD_CPUTIME_ID);
    runner.submit(request);
    us += cpu_us(CLOCK_THREAD_CPUTIME_ID) - begin;
    runner.drain(0);
  }
  return us;
}

}  // namespace

double scheduling_us(const CostCase& cost) {
  const Catalogue3 catalogue;
  Tasks tasks;
  RunnerConfig config;
  config.allocator = default_allocator();
  config.queue_requests = static_cast<int32_t>(cost.waiting + 64);
  config.batch.requests = cost.batch;
  config.prompt_tokens = 64;
  config.lane_threads = cost.how == "threads";
  if (cost.how == "post") {
    config.post = Tasks::post;
    config.post_context = &tasks;
  }
  std::vector<std::unique_ptr<Lane>> lanes;
  std::atomic<double> lane_us{0};
  lanes.push_back(std::make_unique<EmptyLane>(cost.how == "threads" && cost.waiting == 0, lane_us));
  auto* runner = new Runner(config, std::move(lanes));
  static const int32_t tokens[64] = {};
  Feed feed;
  feed.runner = runner;
  feed.left = cost.requests;
  feed.mixed = cost.mixed;
  feed.request.tokens = tokens;
  feed.request.positions = 64;
  feed.request.group = 1;
  feed.request.constraint = catalogue.constraint.get();
  feed.request.context = &feed;
  if (cost.waiting > 0)
    feed.request.done = [](void* context, const sidbeam_result*) { static_cast<Feed*>(context)->submit(); };
  const double begin = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
  double us = 0;
  if (cost.how == "run") {
    for (int64_t i = 0; i < cost.requests; ++i) runner->run(feed.request);
  } else if (cost.waiting > 0) {
    for (int64_t i = 0; i < cost.waiting; ++i) feed.submit();
    tasks.run();
    runner->drain(0);
  } else if (cost.how == "post") {
    for (int64_t i = 0; i < cost.requests; ++i) {
      runner->submit(feed.request);
      tasks.run();
    }
  } else {
    us = wake_us(*runner, feed.request, cost.requests) + lane_us;
  }
  if (us == 0) us = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - begin;
  Runner::destroy(runner);
  return us / static_cast<double>(cost.requests);
}

LoopCost loop_us(const LoopCase& loop) {
  const Catalogue3 catalogue(loop.codes, loop.sids);
  const int32_t codes[3] = {loop.codes, loop.codes, loop.codes};
  OutputConfig output_config;
  output_config.levels = 3;
  output_config.codes = codes;
  output_config.normalization = SIDBEAM_NORMALIZE_LEVEL;
  const OutputColumns output(default_allocator(), output_config, loop.codes);
  LaneConfig config;
  config.runtime = catalogue.runtime.get();
  config.constraint = catalogue.constraint.get();
  config.output = &output;
  config.requests = loop.batch;
  config.beams = loop.beams;
  config.normalization = SIDBEAM_NORMALIZE_LEVEL;
  const int64_t all_beams = int64_t{loop.batch} * loop.beams;
  ConstantForward forward(output, all_beams);
  const auto lane = make_lane(default_allocator(), config, std::make_unique<ConstantForward>(output, all_beams));

  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_session_config by_hand = SIDBEAM_SESSION_CONFIG_INIT;
  by_hand.slots = loop.batch;
  by_hand.beams = loop.beams;
  by_hand.normalization = SIDBEAM_NORMALIZE_LEVEL;
  by_hand.constraint = catalogue.constraint.get();
  by_hand.vocabulary = &output.vocabulary();
  sidbeam_session* session = nullptr;
  check(sidbeam_session_create(catalogue.runtime.get(), &by_hand, &session, &error), error);
  const handles::Session owned(session);
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  check(sidbeam_session_get_beams(session, &beams, &error), error);
  std::vector<int32_t> map(static_cast<size_t>(all_beams)), sids(static_cast<size_t>(all_beams * 3));
  std::vector<int64_t> ordinals(static_cast<size_t>(all_beams));

  const std::atomic<bool> cancelled{false};
  const int32_t token = 1;
  std::vector<Job> jobs(static_cast<size_t>(loop.batch));
  for (Job& job : jobs) {
    job.prompt = {&token, 1, 1, nullptr};
    job.constraint = catalogue.constraint.get();
    job.beams = loop.beams;
    job.cancelled = &cancelled;
  }
  Nothing nothing;
  std::vector<double> by_lane, by_session;  // in turns; the least counts
  for (int64_t i = 0; i < loop.batches; ++i) {
    const double begin = cpu_us(CLOCK_THREAD_CPUTIME_ID);
    lane->run(jobs.data(), loop.batch, nothing);
    const double between = cpu_us(CLOCK_THREAD_CPUTIME_ID);
    run_session(session, loop, forward, beams, map, sids, ordinals);
    by_lane.push_back(between - begin);
    by_session.push_back(cpu_us(CLOCK_THREAD_CPUTIME_ID) - between);
  }
  const auto typical = [&](std::vector<double>& us) {
    std::nth_element(us.begin(), us.begin() + static_cast<std::ptrdiff_t>(us.size() / 4), us.end());
    return us[us.size() / 4] / loop.batch;
  };
  return {typical(by_lane), typical(by_session)};
}

}  // namespace bench
