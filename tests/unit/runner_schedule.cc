// Which requests go when: order, batches, deadlines, a full queue, cancellation, what is counted; on a virtual clock.
// SPDX-License-Identifier: Apache-2.0
#include "runner_virtual.h"

namespace sidbeam::runner {
namespace {

TEST_F(RunnerTest, RequestsGoByPriorityThenByArrival) {
  make();
  for (const int32_t priority : {0, 5, 0, 5, 9}) submit(priority);
  EXPECT_TRUE(order_.empty());
  pump();
  EXPECT_EQ(order_, (Order{5, 2, 4, 1, 3}));
  EXPECT_EQ(records_[4]->queued_us, 0);
  EXPECT_EQ(records_[4]->run_us, 300);
  EXPECT_EQ(records_[2]->queued_us, 1200);
  EXPECT_EQ(records_[2]->batch, 1);
}

TEST_F(RunnerTest, NumbersCountFromOne) {
  make();
  for (int64_t number = 1; number <= 3; ++number) {
    const Record& taken = submit();
    EXPECT_EQ(-taken.number, number);
    pump();
    EXPECT_EQ(taken.number, number);
  }
}

TEST_F(RunnerTest, TokensAreCopied) {
  make();
  int32_t tokens[4] = {4, 3, 2, 1};
  std::vector<int32_t> seen;
  Record& taken = record();
  sidbeam_request request = this->request(taken, 0, 0);
  request.tokens = tokens;
  request.positions = 2;
  request.group = 2;
  request.context = &seen;
  request.done = [](void* context, const sidbeam_result* result) {
    static_cast<std::vector<int32_t>*>(context)->assign(result->sids, result->sids + 4);  // SlowLane's
  };
  runner_->submit(request);
  std::fill(tokens, tokens + 4, 0);
  pump();
  EXPECT_EQ(seen, (std::vector<int32_t>{4, 3, 2, 1}));
}

TEST_F(RunnerTest, ABatchWaitsForItsQuota) {
  config_.batch = {4, 0, 1000 * kUs};
  make();
  clock_.at(400 * kUs, [this] { submit(); });
  submit();
  submit();
  pump();
  EXPECT_EQ(order_, (Order{1, 2, 3}));
  EXPECT_EQ(records_[0]->batch, 3);
  EXPECT_EQ(records_[0]->queued_us, 1000);
  EXPECT_EQ(records_[2]->queued_us, 600);
  EXPECT_EQ(runner_->stats().batches, 1);
  EXPECT_EQ(runner_->stats().batch_requests, 3);
  EXPECT_EQ(runner_->stats().batch_rows, 3 * 15);
}

TEST_F(RunnerTest, AFullBatchLeavesBeforeItsQuota) {
  config_.batch = {3, 0, 1000 * kUs};
  make();
  clock_.at(400 * kUs, [this] { submit(); });
  submit();
  submit();
  pump();
  EXPECT_EQ(records_[0]->batch, 3);
  EXPECT_EQ(records_[0]->queued_us, 400);
}

TEST_F(RunnerTest, ABatchIsFullByItsRows) {
  config_.batch = {8, 2 * 15, 1000 * kUs};
  make();
  for (int i = 0; i < 5; ++i) submit();
  pump();
  EXPECT_EQ(records_[0]->batch, 2);
  EXPECT_EQ(records_[3]->batch, 2);
  EXPECT_EQ(records_[4]->batch, 1);
  EXPECT_EQ(records_[4]->queued_us, 1000);
}

TEST_F(RunnerTest, WhoIsLateNeverStarts) {
  make();
  submit();
  Record& late = submit(0, 200);
  Record& in_time = submit(0, 301);
  pump();
  EXPECT_EQ(late.status, SIDBEAM_DEADLINE_EXCEEDED);
  EXPECT_NE(late.message.find("request.deadline_us passed"), std::string::npos);
  EXPECT_EQ(late.run_us, 0);
  EXPECT_EQ(late.time, 300 * kUs);
  EXPECT_EQ(in_time.status, SIDBEAM_OK);
  EXPECT_EQ(runner_->stats().expired, 1);
  EXPECT_EQ(runner_->stats().finished, 2);
}

TEST_F(RunnerTest, ADeadlineThatHasPassedIsRefused) {
  make();
  expect_failure(SIDBEAM_DEADLINE_EXCEEDED, "request.deadline_us is -1", [&] { submit(0, -1); });
  expect_failure(SIDBEAM_DEADLINE_EXCEEDED, "request.deadline_us is -1", [&] { run(0, -1); });
  submit(0, std::numeric_limits<int64_t>::max());
  pump();
  EXPECT_EQ(records_[2]->status, SIDBEAM_OK);
  EXPECT_EQ(records_[0]->calls + records_[1]->calls, 0);
}

TEST_F(RunnerTest, AFullQueueRefusesAtOnce) {
  config_.queue_requests = 2;
  make();
  submit();
  submit();
  expect_failure(SIDBEAM_QUEUE_FULL, "2 requests are waiting", [&] { submit(); });
  EXPECT_EQ(runner_->stats().refused, 1);
  EXPECT_EQ(runner_->stats().submitted, 2);
  EXPECT_EQ(runner_->stats().queued, 2);
  pump();
  EXPECT_EQ(records_[2]->calls, 0);
  submit();
  pump();
  EXPECT_EQ(records_[3]->status, SIDBEAM_OK);
}

TEST_F(RunnerTest, TheQueueIsAllThereIsEvenWhileLanesRunAndCallbacksSubmit) {
  config_.queue_requests = 1;
  make();
  Record& first = submit();
  first.then = [this] { submit(); };
  clock_.at(50 * kUs, [this] {
    Record& waiting = submit();
    waiting.then = [this] { submit(); };
    runner_->cancel(-waiting.number);
    EXPECT_EQ(waiting.status, SIDBEAM_CANCELLED);
    expect_failure(SIDBEAM_QUEUE_FULL, "1 requests are waiting", [&] { submit(); });
    runner_->cancel(3);
  });
  pump();
  EXPECT_EQ(records_.size(), 5U);
  EXPECT_EQ(records_[4]->status, SIDBEAM_OK);
}

TEST_F(RunnerTest, AWaitingRequestIsCancelledBeforeTheCallReturns) {
  make();
  submit();
  Record& waiting = submit();
  runner_->cancel(2);
  EXPECT_EQ(waiting.calls, 1);
  EXPECT_EQ(waiting.status, SIDBEAM_CANCELLED);
  EXPECT_NE(waiting.message.find("cancelled while it waited"), std::string::npos);
  runner_->cancel(2);
  pump();
  EXPECT_EQ(order_, (Order{2, 1}));
  runner_->cancel(1);
  EXPECT_EQ(runner_->stats().cancelled, 1);
  expect_failure(SIDBEAM_INVALID_ARGUMENT, "id is 3, expected 1..2", [&] { runner_->cancel(3); });
  expect_failure(SIDBEAM_INVALID_ARGUMENT, "id is 0, expected 1..2", [&] { runner_->cancel(0); });
}

TEST_F(RunnerTest, CancellingBeforeAnythingWasSubmitted) {
  make();
  expect_failure(SIDBEAM_INVALID_ARGUMENT, "id is 1", [&] { runner_->cancel(1); });
}

TEST_F(RunnerTest, ARunningRequestIsCancelledAtItsNextLevel) {
  make();
  clock_.at(150 * kUs, [this] { runner_->cancel(1); });
  Record& running = submit();
  pump();
  EXPECT_EQ(running.status, SIDBEAM_CANCELLED);
  EXPECT_EQ(running.time, 200 * kUs);
  EXPECT_EQ(runner_->stats().cancelled, 1);
  EXPECT_EQ(runner_->stats().running, 0);
}

TEST_F(RunnerTest, StatisticsAddUp) {
  make();
  for (int i = 0; i < 10; ++i) submit();
  pump();
  clock_.advance_by(3000 * kUs);
  const sidbeam_runner_stats stats = runner_->stats();
  EXPECT_EQ(stats.lanes, 1);
  EXPECT_EQ(stats.finished, 10);
  EXPECT_EQ(stats.busy_us, 3000);
  EXPECT_EQ(stats.up_us, 6000);
  EXPECT_GT(stats.memory_bytes, 5000);
  for (const int64_t us : stats.run_us) EXPECT_NEAR(static_cast<double>(us), 300, 300 * 0.04);
  EXPECT_NEAR(static_cast<double>(stats.total_us[0]), 1500, 1500 * 0.04);
  EXPECT_NEAR(static_cast<double>(stats.total_us[1]), 2700, 2700 * 0.04);
  EXPECT_NEAR(static_cast<double>(stats.total_us[3]), 3000, 3000 * 0.04);
}

TEST(HistogramTest, IsRightToFourPercentEverywhere) {
  for (int64_t value = 1; value < int64_t{1} << 58; value = value * 9 / 8 + 1) {
    Histogram histogram;
    histogram.add(value);
    for (const int64_t permille : {1, 500, 1000}) {
      const auto came = static_cast<double>(histogram.percentile(permille, 1000));
      EXPECT_NEAR(came, static_cast<double>(value), 0.04 * static_cast<double>(value));
    }
  }
  EXPECT_EQ(Histogram().percentile(500, 1000), 0);
}

TEST_F(RunnerTest, UnderOverloadSomeAreRefusedAndNobodyWaitsLong) {
  config_.queue_requests = 8;
  make();  // a request takes 300 us; one comes every 200
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    clock_.at(i * 200 * kUs, [&] {
      try {
        submit();
      } catch (const Failure& failure) {
        EXPECT_EQ(failure.status, SIDBEAM_QUEUE_FULL);
        records_.back()->calls = -1;
        ++refused;
      }
    });
  }
  while (clock_.has_events()) {
    clock_.advance_by(200 * kUs);
    pump();
  }
  EXPECT_NEAR(refused, 1000, 20);
  for (const auto& record : records_) {
    EXPECT_TRUE(record->calls == 1 || record->calls == -1);
    EXPECT_LE(record->queued_us, 8 * 300);
  }
  const sidbeam_runner_stats stats = runner_->stats();
  EXPECT_EQ(stats.refused, refused);
  EXPECT_EQ(stats.finished, stats.submitted);
  EXPECT_GT(stats.busy_us, stats.up_us * 99 / 100);
}

// Submitted, cancelled at any time, late: each is done once, and the counts agree.

TEST_F(RunnerTest, AStormOfCancellationsLosesNothing) {
  config_.queue_requests = 50;
  config_.batch = {3, 0, 150 * kUs};
  make();
  std::mt19937_64 random(7);
  for (int i = 0; i < 4000; ++i) {
    clock_.at(static_cast<int64_t>(random() % 400000) * kUs, [&] {
      try {
        submit(static_cast<int32_t>(random() % 3), random() % 4 == 0 ? static_cast<int64_t>(1 + random() % 2000) : 0);
      } catch (const Failure&) {
        records_.back()->calls = -1;
      }
    });
    clock_.at(static_cast<int64_t>(random() % 400000) * kUs, [&] {
      const int64_t last = runner_->stats().submitted;
      if (last > 0)
        runner_->cancel(last - static_cast<int64_t>(random() % static_cast<uint64_t>(std::min<int64_t>(last, 60))));
    });
  }
  while (clock_.has_events()) {
    clock_.advance_by(100 * kUs);
    pump();
  }
  std::map<sidbeam_status, int64_t> seen;
  for (const auto& record : records_) {
    if (record->calls == -1) continue;
    EXPECT_EQ(record->calls, 1);
    ++seen[record->status];
  }
  const sidbeam_runner_stats stats = runner_->stats();
  EXPECT_EQ(stats.finished, seen[SIDBEAM_OK]);
  EXPECT_EQ(stats.cancelled, seen[SIDBEAM_CANCELLED]);
  EXPECT_EQ(stats.expired, seen[SIDBEAM_DEADLINE_EXCEEDED]);
  EXPECT_EQ(stats.submitted, stats.finished + stats.cancelled + stats.expired);
  for (const auto& [status, count] : seen) EXPECT_GT(count, 20) << status;
}

// Memory that runs out at the n-th allocation.

}  // namespace
}  // namespace sidbeam::runner
