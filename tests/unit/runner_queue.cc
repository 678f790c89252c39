// Forming batches: which requests leave, which have expired, when to look again. SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace sidbeam::runner {
namespace {

constexpr int32_t kEntries = 64;

// Entries have the numbers of arrival, unless a test says otherwise.
class QueueTest : public ::testing::Test {
 protected:
  void insert(int32_t entry, int32_t priority = 0, int64_t rows = 1, int64_t deadline = kNever, bool alone = false) {
    Waiting waiting;
    waiting.number = ++number_;
    waiting.arrival = now_;
    waiting.deadline = deadline;
    waiting.rows = rows;
    waiting.priority = priority;
    waiting.alone = alone;
    queue_.insert(entry, waiting);
  }
  Formation form_now() { return form(queue_, now_, limits_, entries_); }
  std::vector<int32_t> batch() {
    const Formation formation = form_now();
    return {entries_, entries_ + formation.batch};
  }
  void leave() {
    for (const int32_t entry : batch()) queue_.remove(entry);
  }

  Queue queue_{default_allocator(), 8, kEntries};
  BatchLimits limits_;
  int64_t now_ = 0, number_ = 0;
  int32_t entries_[kEntries] = {};
};

using Entries = std::vector<int32_t>;

TEST_F(QueueTest, NothingLeavesAnEmptyQueue) {
  const Formation formation = form_now();
  EXPECT_EQ(formation.batch, 0);
  EXPECT_EQ(formation.expired, -1);
  EXPECT_EQ(formation.look_again, kNever);
}

TEST_F(QueueTest, ThePriorityDecidesThenTheArrival) {
  limits_.requests = 8;
  insert(5);
  insert(3, 1);
  insert(4, -1);
  insert(9, 1);
  insert(1);
  EXPECT_EQ(batch(), (Entries{3, 9, 5, 1, 4}));
  queue_.remove(5);
  EXPECT_EQ(batch(), (Entries{3, 9, 1, 4}));
}

TEST_F(QueueTest, ABatchTakesSoManyRequests) {
  limits_.requests = 2;
  for (const int32_t entry : {0, 1, 2}) insert(entry);
  EXPECT_EQ(batch(), (Entries{0, 1}));
  leave();
  EXPECT_EQ(batch(), (Entries{2}));
}

TEST_F(QueueTest, ABatchTakesSoManyRows) {
  limits_ = {8, 100, 1000};
  insert(0, 0, 60);
  EXPECT_EQ(batch(), Entries{});
  insert(1, 0, 41);  // does not fit: nothing can follow, so that waiting is of no use
  insert(2, 0, 1);   // would fit, but comes later
  EXPECT_EQ(batch(), (Entries{0}));
  leave();
  EXPECT_EQ(batch(), Entries{});
  insert(3, 0, 58);
  EXPECT_EQ(batch(), (Entries{1, 2, 3}));
}

TEST_F(QueueTest, ARequestOfMoreRowsThanABatchHasLeavesByItself) {
  limits_ = {8, 100, 1000};
  insert(0, 0, 500);
  insert(1);
  EXPECT_EQ(batch(), (Entries{0}));
}

TEST_F(QueueTest, TheOldestWaitsForItsQuotaAndNoLonger) {
  limits_ = {4, 0, 1000};
  now_ = 50;
  insert(0);
  now_ = 60;
  insert(1, 1);
  EXPECT_EQ(form_now().batch, 0);
  EXPECT_EQ(form_now().look_again, 1050);
  now_ = 1049;
  EXPECT_EQ(form_now().batch, 0);
  now_ = 1050;
  EXPECT_EQ(batch(), (Entries{1, 0}));
  leave();
  insert(2);
  EXPECT_EQ(form_now().look_again, 2050);
}

TEST_F(QueueTest, AFullBatchDoesNotWait) {
  limits_ = {2, 0, 1000};
  insert(0);
  insert(1);
  EXPECT_EQ(batch(), (Entries{0, 1}));
}

TEST_F(QueueTest, WithADeadlineARequestWaitsForHalfOfItAtMost) {
  limits_ = {4, 0, 1000};
  insert(0);
  insert(1, 0, 1, 600);
  EXPECT_EQ(form_now().look_again, 300);
  now_ = 300;
  EXPECT_EQ(batch(), (Entries{0, 1}));
}

TEST_F(QueueTest, WhatHasPassedItsDeadlineDoesNotLeave) {
  limits_.requests = 8;
  insert(0, 0, 1, 100);
  insert(1, 0, 1, 200);
  insert(2, 0, 1, 100);
  insert(3);
  now_ = 99;
  EXPECT_EQ(form_now().expired, -1);
  EXPECT_EQ(form_now().next_deadline, 100);
  EXPECT_EQ(batch(), (Entries{0, 1, 2, 3}));
  now_ = 100;
  EXPECT_EQ(form_now().expired, 0);
  EXPECT_EQ(form_now().next_deadline, 200);
  EXPECT_EQ(batch(), (Entries{1, 3}));
  queue_.remove(0);
  EXPECT_EQ(form_now().expired, 2);
  queue_.remove(2);
  EXPECT_EQ(form_now().expired, -1);
}

TEST_F(QueueTest, ARequestThatRunsAloneEndsTheBatchBeforeIt) {
  limits_ = {4, 0, 1000};
  insert(0);
  insert(1, 0, 1, kNever, true);
  insert(2);
  EXPECT_EQ(batch(), (Entries{0}));
  leave();
  EXPECT_EQ(batch(), (Entries{1}));
  leave();
  EXPECT_EQ(batch(), Entries{});
  EXPECT_EQ(queue_.submitted(), 1);
}

TEST_F(QueueTest, AQuotaThatNeverEndsDoesNotOverflow) {
  limits_ = {4, 0, kNever};
  now_ = 5;
  insert(0);
  EXPECT_EQ(form_now().look_again, kNever);
  EXPECT_EQ(form_now().batch, 0);
}

// The rules once more, in the words of queue.h: slow, and without an order that is kept.
Formation slow_form(const std::map<int32_t, Waiting>& waiting, int64_t now, const BatchLimits& limits, Entries& batch) {
  Entries order;
  Formation formation;
  for (const auto& [entry, w] : waiting) {
    if (w.deadline > now) {
      order.push_back(entry);
      formation.next_deadline = std::min(formation.next_deadline, w.deadline);
    } else if (formation.expired < 0 || w.priority > waiting.at(formation.expired).priority ||
               (w.priority == waiting.at(formation.expired).priority &&
                w.number < waiting.at(formation.expired).number)) {
      formation.expired = entry;
    }
  }
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const Waiting &x = waiting.at(a), &y = waiting.at(b);
    return x.priority > y.priority || (x.priority == y.priority && x.number < y.number);
  });
  // The longest prefix that is allowed.
  const auto allowed = [&](size_t count) {
    int64_t rows = 0;
    bool alone = false;
    for (size_t i = 0; i < count; ++i) {
      rows += waiting.at(order[i]).rows;
      alone = alone || waiting.at(order[i]).alone;
    }
    return count <= 1 ||
           (static_cast<int64_t>(count) <= limits.requests && !alone && (limits.rows == 0 || rows <= limits.rows));
  };
  size_t count = order.size();
  while (!allowed(count)) --count;
  batch.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
  int64_t rows = 0, leaves = kNever;
  for (const int32_t entry : batch) {
    const Waiting& w = waiting.at(entry);
    rows += w.rows;
    const int64_t half = w.deadline == kNever ? kNever : (w.deadline - w.arrival) / 2;
    leaves = std::min(leaves, w.arrival + std::min(limits.wait, half));
  }
  const bool full = count > 0 && (count < order.size() || static_cast<int64_t>(count) == limits.requests ||
                                  (limits.rows > 0 && rows >= limits.rows) || waiting.at(batch[0]).alone);
  formation.look_again = formation.next_deadline;
  if (!full && now < leaves) {
    batch.clear();
    formation.look_again = std::min(formation.look_again, leaves);
  }
  formation.batch = static_cast<int32_t>(batch.size());
  return formation;
}

// Arrivals, departures of batches, of expired and of cancelled requests in any order.
void check_history(uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const int32_t capacity = static_cast<int32_t>(1 + below(20));
  const BatchLimits limits = {static_cast<int32_t>(1 + below(5)), below(2) * (1 + below(30)), below(2) * below(50)};
  const int64_t priorities = 1 + below(4);
  Queue queue(default_allocator(), capacity, capacity);
  std::map<int32_t, Waiting> model;
  Entries free, entries(static_cast<size_t>(limits.requests)), expected;
  for (int32_t entry = 0; entry < capacity; ++entry) free.push_back(entry);
  int64_t now = 0, number = 0;
  const auto remove = [&](int32_t entry) {
    queue.remove(entry);
    model.erase(entry);
    free.push_back(entry);
  };
  for (int step = 0; step < 300; ++step) {
    now += below(4) * below(8);
    if (!free.empty() && below(3) > 0) {
      const int32_t entry = free.back();
      free.pop_back();
      Waiting w;
      w.number = ++number;
      w.arrival = now;
      if (below(3) == 0) w.deadline = now + 1 + below(60);
      w.rows = 1 + below(12);
      w.priority = static_cast<int32_t>(below(priorities));
      w.alone = below(6) == 0;
      queue.insert(entry, w);
      model[entry] = w;
    }
    if (below(9) == 0 && !model.empty())
      remove(std::next(model.begin(), below(static_cast<int64_t>(model.size())))->first);
    const Formation came = form(queue, now, limits, entries.data());
    const Formation right = slow_form(model, now, limits, expected);
    ASSERT_EQ(Entries(entries.begin(), entries.begin() + came.batch), expected) << "step " << step;
    ASSERT_EQ(came.expired, right.expired) << "step " << step;
    // The next deadline may be one that has left; it is never late.
    ASSERT_LE(came.next_deadline, right.next_deadline);
    ASSERT_LE(came.look_again, right.look_again);
    ASSERT_GT(came.look_again, now) << "step " << step;
    ASSERT_EQ(queue.full(), free.empty());
    if (came.expired < 0) queue.set_next_deadline(came.next_deadline);
    if (below(2) == 0) continue;
    if (came.expired >= 0) remove(came.expired);
    for (int32_t i = 0; i < came.batch; ++i) remove(entries[static_cast<size_t>(i)]);
  }
}

TEST(QueueHistories, AgreeWithTheRulesInTheirSlowForm) {
  for (uint64_t seed = 1; seed <= 300 && !::testing::Test::HasFatalFailure(); ++seed) check_history(seed);
}

}  // namespace
}  // namespace sidbeam::runner
