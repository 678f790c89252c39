// A runner under load beside an ideal queue, on a virtual clock: every latency is the same.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ideal_queue.h"
#include "runner/schedule/runner.h"
#include "runner_fakes.h"
#include "virtual_time.h"

namespace sidbeam::runner {
namespace {

using fakes::VirtualTime;

class SleepingLane final : public Lane {
 public:
  SleepingLane(VirtualTime& time, const std::vector<int64_t>& services, size_t& started)
      : time_(time), services_(services), started_(started) {}
  void run(const Job*, int32_t count, Ended& ended) noexcept override {
    time_.sleep(services_[started_++]);
    for (int32_t i = 0; i < count; ++i) ended.ended(i, {});
  }
  int32_t levels() const override { return 1; }
  int64_t memory_bytes() const override { return 0; }

 private:
  VirtualTime& time_;
  const std::vector<int64_t>& services_;
  size_t& started_;  // one thread runs at a time
};

struct Load {
  int32_t lanes;
  double load;  // of the lanes' capacity
  int32_t capacity;
};

void compare(const Load& load, uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << load.lanes << " lanes, load " << load.load << ", seed " << seed);
  std::mt19937_64 random(seed);
  const auto exponential = [&](double mean) {
    return static_cast<int64_t>(-std::log((static_cast<double>(random() >> 11) + 0.5) * 0x1p-53) * mean);
  };
  constexpr int kRequests = 400;
  constexpr double kService = 2e6;
  std::vector<int64_t> arrivals, services;
  int64_t at = 0;
  for (int i = 0; i < kRequests; ++i) {
    at += 1 + exponential(kService / (load.load * load.lanes));
    arrivals.push_back(at);
    services.push_back(1 + exponential(kService));
  }

  VirtualTime time;
  const fakes::World world;
  const handles::Constraint constraint = fakes::make_constraint(world.runtime.get(), {3}, 3, 1);
  size_t started = 0;
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int32_t i = 0; i < load.lanes; ++i) lanes.push_back(std::make_unique<SleepingLane>(time, services, started));
  RunnerConfig config;
  config.allocator = default_allocator();
  config.queue_requests = load.capacity;
  config.lane_threads = true;
  config.clock = &time;
  auto* runner = new Runner(config, std::move(lanes));
  time.expect(load.lanes);
  struct Sent {
    VirtualTime* time;
    int64_t arrival, latency = fakes::kRefused;
  };
  std::vector<Sent> sent;
  for (const int64_t arrival : arrivals) sent.push_back({&time, arrival});
  for (Sent& one : sent) {
    time.advance(one.arrival);
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.group = 1;
    request.constraint = constraint.get();
    request.context = &one;
    request.done = [](void* context, const sidbeam_result* result) {
      auto& done = *static_cast<Sent*>(context);
      EXPECT_EQ(result->status, SIDBEAM_OK);
      done.latency = done.time->now() - done.arrival;
    };
    try {
      runner->submit(request);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, SIDBEAM_QUEUE_FULL);
    }
  }
  time.advance(arrivals.back() + int64_t{1000000000} * kRequests);
  time.end();
  Runner::destroy(runner);

  const std::vector<int64_t> ideal = fakes::ideal_latencies(arrivals, services, load.lanes, load.capacity);
  int refused = 0;
  for (size_t i = 0; i < sent.size(); ++i) {
    ASSERT_EQ(sent[i].latency, ideal[i]) << "request " << i;
    refused += ideal[i] == fakes::kRefused ? 1 : 0;
  }
  if (load.load > 1) {
    EXPECT_GT(refused, kRequests / 5);
  } else {
    EXPECT_EQ(refused, 0);
  }
}

TEST(RunnerLoad, LatenciesAreThoseOfAnIdealQueue) {
  for (const int32_t lanes : {1, 2, 3})
    for (const double share : {0.1, 0.5, 0.8, 0.95}) compare({lanes, share, 1000}, 1);
}

TEST(RunnerLoad, UnderOverloadTheSameRequestsAreRefusedAsByAnIdealQueue) {
  for (const int32_t lanes : {1, 2}) compare({lanes, 1.5, 10}, 2);
}

}  // namespace
}  // namespace sidbeam::runner
