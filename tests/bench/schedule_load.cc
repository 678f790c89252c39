// SPDX-License-Identifier: Apache-2.0
#include "schedule_load.h"

#include <ctime>

#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include "../unit/ideal_queue.h"
#include "../unit/virtual_time.h"
#include "runner/schedule/runner.h"
#include "schedule_catalogue.h"

namespace bench {
namespace {

using namespace sidbeam;
using namespace sidbeam::runner;

int64_t nanoseconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

// Where requests come from and services pass: the system's time, or a virtual one.
class Time {
 public:
  explicit Time(const LoadCase& load) : spin_(load.spin) {
    if (load.on_virtual_clock) virtual_ = std::make_unique<fakes::VirtualTime>();
  }
  Clock& clock() { return virtual_ != nullptr ? *virtual_ : steady_clock(); }
  int64_t now() { return clock().now(); }
  void serve(int64_t service) {
    if (virtual_ != nullptr) {
      virtual_->sleep(service);
    } else if (spin_) {
      const int64_t end = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) + service;
      while (nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) < end) {
      }
    } else {
      sleep_until(now() + service);
    }
  }
  // Of the thread that submits.
  void pass_until(int64_t time) { virtual_ != nullptr ? virtual_->advance(time) : sleep_until(time); }
  void begin(int32_t threads) {
    if (virtual_ != nullptr) virtual_->expect(threads);
  }
  void end(Runner& runner) {
    if (virtual_ != nullptr) {
      virtual_->advance(virtual_->now() + int64_t{1000000000} * 3600);
      virtual_->end();
    } else {
      runner.drain(0);
    }
  }

 private:
  static void sleep_until(int64_t time) {
    const timespec until{time / 1000000000, time % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
  }

  bool spin_;
  std::unique_ptr<fakes::VirtualTime> virtual_;
};

struct Sent {
  Time* time;
  int64_t arrival = 0, submitted = 0, begin = 0, latency = fakes::kRefused, service = 0;
  size_t start = 0;  // how many started before it
};

class TimedLane final : public Lane {
 public:
  TimedLane(Time& time, const std::vector<int64_t>& services, std::atomic<size_t>& started)
      : time_(time), services_(services), started_(started) {}
  void run(const Job* jobs, int32_t, Ended& ended) noexcept override {
    const size_t start = started_++;
    auto& sent = *static_cast<Sent*>(jobs[0].context);
    sent.start = start;
    sent.begin = time_.now();
    time_.serve(services_[start % services_.size()]);
    ended.ended(0, {});
  }
  int32_t levels() const override { return 1; }
  int64_t memory_bytes() const override { return 0; }

 private:
  Time& time_;
  const std::vector<int64_t>& services_;
  std::atomic<size_t>& started_;
};

// How long a service takes when it is asked to take the mean.
double real_service(Time& time, const LoadCase& load) {
  if (load.on_virtual_clock) return static_cast<double>(load.service_ns);
  const int64_t begin = time.now();
  constexpr int kRuns = 50;
  for (int i = 0; i < kRuns; ++i) time.serve(load.service_ns);
  return static_cast<double>(time.now() - begin) / kRuns;
}

void done(void* context, const sidbeam_result*) {
  auto& sent = *static_cast<Sent*>(context);
  const int64_t now = sent.time->now();
  sent.latency = now - sent.arrival;
  sent.service = now - sent.begin;
}

}  // namespace

LoadResult run_load(const LoadCase& load) {
  Time time(load);
  const Catalogue3 catalogue;
  std::mt19937_64 random(1);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  std::vector<int64_t> services;
  for (int i = 0; i < 1000; ++i)
    services.push_back(static_cast<int64_t>((0.5 + uniform()) * static_cast<double>(load.service_ns)));
  const double gap = real_service(time, load) / (load.load * load.lanes);

  std::atomic<size_t> started{0};
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int32_t i = 0; i < load.lanes; ++i) lanes.push_back(std::make_unique<TimedLane>(time, services, started));
  RunnerConfig config;
  config.allocator = default_allocator();
  config.queue_requests = load.queue_requests;
  config.lane_threads = true;
  config.clock = &time.clock();
  auto* runner = new Runner(config, std::move(lanes));
  time.begin(load.lanes);

  std::vector<Sent> sent(static_cast<size_t>(load.requests), Sent{&time});
  LoadResult result;
  const int64_t begin = time.now() + 1000000;
  double at = static_cast<double>(begin);
  for (Sent& one : sent) {
    at -= std::log(uniform()) * gap;
    one.arrival = static_cast<int64_t>(at);
    time.pass_until(one.arrival);
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.group = 1;
    request.constraint = catalogue.constraint.get();
    request.done = done;
    request.context = &one;
    one.submitted = time.now();
    result.late_us.push_back(static_cast<double>(one.submitted - one.arrival) / 1e3);
    try {
      runner->submit(request);
    } catch (const Failure&) {
      result.refusal_us.push_back(static_cast<double>(time.now() - one.submitted) / 1e3);
    }
  }
  time.end(*runner);
  Runner::destroy(runner);

  std::vector<int64_t> submitted, measured(started);
  for (const Sent& one : sent) {
    submitted.push_back(one.submitted);
    if (one.latency == fakes::kRefused) continue;
    measured[one.start] = one.service;
    result.latency_us.push_back(static_cast<double>(one.latency) / 1e3);
    result.service_us.push_back(static_cast<double>(one.service) / 1e3);
  }
  const std::vector<int64_t> ideal = fakes::ideal_latencies(submitted, measured, load.lanes, load.queue_requests);
  for (size_t i = 0; i < sent.size(); ++i) {
    if (ideal[i] == fakes::kRefused) {
      ++result.ideal_refused;
    } else {
      result.ideal_us.push_back(static_cast<double>(ideal[i] + submitted[i] - sent[i].arrival) / 1e3);
    }
  }
  return result;
}

}  // namespace bench
