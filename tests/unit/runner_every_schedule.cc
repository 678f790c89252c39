// The runner's queue in every order of a few calls, tasks and refusals: each call returns, each request that was taken
// is done once, nobody waits while a lane is free, and who goes before whom is decided by priority and arrival.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "every_schedule.h"
#include "runner/schedule/runner.h"
#include "runner_fakes.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

using fakes::Choices;
using fakes::Turns;

enum class Kind { kRun, kSubmit, kCancel, kClose, kDrain };

// What a thread of a world calls.
struct Call {
  Kind kind = Kind::kRun;
  int32_t priority = 0;
  bool hurried = false;   // it has a deadline
  bool again = false;     // done() submits another request
  int64_t cancelled = 0;  // the number that it cancels
};

enum class Hands { kCallers, kThreads, kTasks };  // who runs what is submitted

struct World {
  Hands hands = Hands::kTasks;
  int32_t lanes = 1;
  BatchLimits batch;
  std::vector<Call> calls;
  int32_t delays = 0;
  int32_t posts = 3;  // what the host may do with a task: 1: take it, 2: or refuse it, 3: or run it at once
};

constexpr int64_t kDeadlineUs = 1000;
constexpr int32_t kDelays = SIDBEAM_SANITIZED ? 1 : 2;

// A request as its caller and its done() saw it. Times are steps.
struct Sent {
  Call call;
  int64_t number = 0;
  int64_t arrival = 0;  // of the call
  bool taken = false, over = false;
  int32_t calls = 0;
  sidbeam_status status = -1;
  std::string message;
  int64_t left = kNever;  // when it left the queue
  bool ran = false;

  int64_t deadline() const { return call.hurried ? arrival + kDeadlineUs * 1000 : kNever; }
  bool before(const Sent& other) const {
    return call.priority != other.call.priority ? call.priority > other.call.priority : number < other.number;
  }
  bool waits_at(int64_t time) const { return taken && arrival <= time && time < left; }
};

// One schedule of a world.
class Schedule {
 public:
  Schedule(const World& world, Choices& choices, sidbeam_constraint* constraint)
      : world_(world), choices_(choices), turns_(choices, world.delays), constraint_(constraint) {
    RunnerConfig config;
    config.allocator = default_allocator();
    config.queue_requests = 8;
    config.batch = world.batch;
    config.lane_threads = world.hands == Hands::kThreads;
    if (world.hands == Hands::kTasks) config.post = post;
    config.post_context = this;
    config.clock = &turns_;
    std::vector<std::unique_ptr<Lane>> lanes;
    for (int32_t i = 0; i < world.lanes; ++i) lanes.push_back(std::make_unique<SteppedLane>(*this));
    runner_ = new Runner(config, std::move(lanes));
    for (const Call& call : world.calls) turns_.add([this, call] { make(call); }, true);
  }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // What is wrong with it; "" if nothing is.
  std::string run() {
    turns_.run([this] { look(); });
    if (returned_ != world_.calls.size()) return "a call never returns";
    turns_.add([this] { runner_->close(); }, false);
    turns_.run([] {});
    if (!turns_.all_ended()) return "close() never returns";
    Runner::destroy(runner_);
    for (const auto& sent : sent_) check(*sent);
    for (const auto& one : sent_)
      for (const auto& other : sent_) check_order(*one, *other);
    for (const int64_t time : steps_) check_heads(time);
    return wrong_;
  }

 private:
  class SteppedLane final : public Lane {
   public:
    explicit SteppedLane(Schedule& schedule) : schedule_(schedule) {}
    void run(const Job* jobs, int32_t count, Ended& ended) noexcept override {
      ++schedule_.running_;
      schedule_.turns_.pause();
      const auto batch = static_cast<size_t>(schedule_.batches_.size());
      schedule_.batches_.push_back({schedule_.sent_of(jobs[0]), kNever});
      for (int32_t i = 0; i < count; ++i) {
        schedule_.sent_of(jobs[i])->ran = true;
        ended.ended(i, *jobs[i].cancelled ? Outcome{SIDBEAM_CANCELLED, "while it ran"} : Outcome{});
      }
      --schedule_.running_;
      schedule_.batches_[batch].ended = schedule_.turns_.now();
    }
    int32_t levels() const override { return 1; }
    int64_t memory_bytes() const override { return 0; }

   private:
    Schedule& schedule_;
  };
  struct Batch {
    const Sent* first;  // it left the queue when the batch took its lane
    int64_t ended;
  };

  static Sent* sent_of(const Job& job) { return static_cast<Told*>(job.context)->sent; }
  struct Told {
    Schedule* schedule;
    Sent* sent;
  };

  static int32_t post(void* context, void (*task)(void*), void* data) {
    auto& self = *static_cast<Schedule*>(context);
    ++self.posting_;
    self.turns_.pause();
    const int32_t what = self.choices_.choose(self.world_.posts);
    if (what == 0) {
      self.turns_.add([=] { task(data); }, false);
      self.turns_.pause();
    } else if (what == 1) {
      ++self.refusals_;
    } else {
      task(data);
    }
    --self.posting_;
    return what == 1 ? 0 : 1;
  }

  static void done(void* context, const sidbeam_result* result) {
    const Told& told = *static_cast<Told*>(context);
    Schedule& self = *told.schedule;
    Sent& sent = *told.sent;
    ++sent.calls;
    sent.taken = true;
    sent.number = result->request;
    sent.status = result->status;
    sent.message = result->message;
    sent.left = sent.arrival + result->queued_us * 1000;
    if (!sent.ran) ++self.telling_;
    self.turns_.pause();
    if (!sent.ran) --self.telling_;
    if (sent.call.again) {
      Call next = sent.call;
      next.again = false;
      next.kind = Kind::kSubmit;
      self.make_request(next);
    }
  }

  void make(const Call& call) {
    switch (call.kind) {
      case Kind::kRun:
      case Kind::kSubmit:
        make_request(call);
        break;
      case Kind::kCancel:
        try {
          cancels_ = true;
          runner_->cancel(call.cancelled);
        } catch (const Failure&) {  // a number that has not been given yet
        }
        break;
      case Kind::kClose:
        closed_ = turns_.now();
        runner_->close();
        break;
      case Kind::kDrain:
        runner_->drain(0);
        break;
    }
    ++returned_;
  }

  void make_request(const Call& call) {
    Sent& sent = *sent_.emplace_back(std::make_unique<Sent>());
    sent.call = call;
    sent.arrival = turns_.now();
    told_.push_back(std::make_unique<Told>(Told{this, &sent}));
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.group = 1;
    request.beams = 1;
    request.priority = call.priority;
    request.deadline_us = call.hurried ? kDeadlineUs : 0;
    request.constraint = constraint_;
    request.context = told_.back().get();
    request.done = done;
    sidbeam_status status = SIDBEAM_OK;
    try {
      if (call.kind == Kind::kRun) {
        runner_->run(request);
      } else {
        sent.number = runner_->submit(request);
        sent.taken = true;
      }
    } catch (const Failure& failure) {
      status = failure.status;
    }
    sent.over = true;
    if (call.kind == Kind::kRun && sent.calls > 0 && status != sent.status) fail("a call's status is not its result's");
    if (status != SIDBEAM_OK && sent.calls == 0 && status != SIDBEAM_BAD_STATE) fail("refused for no reason");
    if (status == SIDBEAM_OK && call.kind == Kind::kRun && sent.calls == 0) fail("a call returns before done()");
  }

  void fail(const char* what) {
    if (wrong_.empty()) wrong_ = what;
  }

  // Between steps: where all that could happen at once has happened, nothing that could run waits.
  void look() {
    steps_.push_back(turns_.now());
    const bool somebody_comes = posting_ > 0 || refusals_ > 0;
    if (world_.batch.wait > 0 || closed_ != kNever || somebody_comes || running_ + telling_ >= world_.lanes ||
        !turns_.settled())
      return;
    if (runner_->stats().queued > 0) fail("a request waits, a lane is free, and nobody comes");
  }

  void check(const Sent& sent) {
    const int32_t expected = sent.taken ? 1 : 0;
    if (sent.calls != expected) return fail("done() is not called once for a request that was taken, and for no other");
    if (!sent.taken && closed_ == kNever) return fail("a request was not taken");
    if (!sent.taken) return;
    switch (sent.status) {
      case SIDBEAM_OK:
        if (!sent.ran || sent.left >= sent.deadline()) fail("a request ran too late, or not at all");
        break;
      case SIDBEAM_CANCELLED:
        if (!cancels_ && closed_ == kNever) fail("cancelled by nobody");
        break;
      case SIDBEAM_DEADLINE_EXCEEDED:
        if (sent.ran || sent.left < sent.deadline()) fail("late before its deadline");
        break;
      case SIDBEAM_BAD_STATE:
        if (refusals_ == 0 || sent.call.kind == Kind::kRun) fail("the host refused nothing");
        break;
      default:
        fail("another status");
    }
  }

  // Whoever runs leaves before all that wait behind it.
  void check_order(const Sent& one, const Sent& other) {
    if (other.ran && one.before(other) && one.waits_at(other.left) && other.left < one.deadline())
      fail("a request overtakes another");
  }

  // A caller that is first in the queue has a lane if one is free.
  void check_heads(int64_t time) {
    if (time >= closed_) return;
    const auto busy = std::count_if(batches_.begin(), batches_.end(), [&](const Batch& batch) {
      return batch.first->left <= time && time < batch.ended;
    });
    const Sent* head = nullptr;
    for (const auto& sent : sent_)
      if (sent->waits_at(time) && (head == nullptr || sent->before(*head))) head = sent.get();
    if (head != nullptr && head->call.kind == Kind::kRun && busy < world_.lanes)
      fail("a caller is first in the queue, and waits while a lane is free");
  }

  const World& world_;
  Choices& choices_;
  Turns turns_;
  sidbeam_constraint* constraint_;
  Runner* runner_ = nullptr;
  std::vector<std::unique_ptr<Sent>> sent_;
  std::vector<std::unique_ptr<Told>> told_;
  std::vector<Batch> batches_;
  std::vector<int64_t> steps_;
  int32_t running_ = 0, telling_ = 0, posting_ = 0, refusals_ = 0;
  size_t returned_ = 0;
  bool cancels_ = false;
  int64_t closed_ = kNever;
  std::string wrong_;
};

std::string text(const World& world) {
  static const char* const kinds[] = {"run", "submit", "cancel", "close", "drain"};
  static const char* const hands[] = {"callers", "threads", "tasks"};
  std::string all = std::string(hands[static_cast<int>(world.hands)]) + ", " + std::to_string(world.lanes) + " lanes";
  for (const Call& call : world.calls)
    all += std::string("; ") + kinds[static_cast<int>(call.kind)] + " priority " + std::to_string(call.priority) +
           (call.hurried ? " hurried" : "") + (call.again ? " again" : "");
  return all;
}

class EverySchedule : public ::testing::Test {
 public:
  // Number of schedules.
  int64_t explore(const World& world) {
    Choices choices;
    int64_t count = 0;
    do {
      ++count;
      auto schedule = std::make_unique<Schedule>(world, choices, constraint_.get());
      const std::string wrong = schedule->run();
      if (wrong.empty()) continue;
      ADD_FAILURE() << wrong << "\nin " << text(world) << "\nschedule " << choices.text();
      static_cast<void>(schedule.release());  // its threads may wait for ever
      return count;
    } while (choices.next());
    return count;
  }

 private:
  handles::Runtime runtime_ = fakes::make_runtime();
  handles::Constraint constraint_ = fakes::make_constraint(runtime_.get(), {3}, 3, 1);
};

// The case that was found: one lane, a submitted request that the host refuses to run, and a caller behind it.
TEST_F(EverySchedule, OfACallerBehindARequestThatTheHostRefuses) {
  World world;
  world.calls = {{Kind::kSubmit}, {Kind::kRun}};
  world.delays = 100;
  EXPECT_GT(explore(world), 50);
}

std::vector<Call> all_calls(Hands hands) {
  std::vector<Call> calls;
  for (const Kind kind : {Kind::kRun, Kind::kSubmit}) {
    if (kind == Kind::kSubmit && hands == Hands::kCallers) continue;
    calls.push_back({kind});
    calls.push_back({kind, 1});
    calls.push_back({kind, 0, true});
    if (hands != Hands::kCallers) calls.push_back({kind, 0, false, true});
  }
  calls.push_back({Kind::kCancel, 0, false, false, 1});
  calls.push_back({Kind::kCancel, 0, false, false, 2});
  calls.push_back({Kind::kClose});
  calls.push_back({Kind::kDrain});
  return calls;
}

bool takes_part(const Call& call) { return call.kind == Kind::kRun || call.kind == Kind::kSubmit; }

// Any two requests and any third call, in every schedule of so many delays.
void explore_three_calls(EverySchedule& test, World world) {
  const std::vector<Call> calls = all_calls(world.hands);
  for (size_t i = 0; i < calls.size(); ++i) {
    for (size_t j = i; j < calls.size() && takes_part(calls[j]); ++j) {
      for (size_t k = j; k < calls.size() && !test.HasFailure(); ++k) {
        world.calls = {calls[i], calls[j], calls[k]};
        test.explore(world);
      }
    }
  }
}

TEST_F(EverySchedule, OfThreeCallsWhereCallersRunAll) {
  for (const int32_t lanes : {1, 2}) explore_three_calls(*this, {Hands::kCallers, lanes, {}, {}, kDelays + 1, 0});
}

TEST_F(EverySchedule, OfThreeCallsOnTheRunnersThreads) {
  explore_three_calls(*this, {Hands::kThreads, 1, {}, {}, kDelays, 0});
  explore_three_calls(*this, {Hands::kThreads, 2, {}, {}, 1, 0});
}

TEST_F(EverySchedule, OfThreeCallsWithAHostThatTakesRefusesOrRunsEachTask) {
  explore_three_calls(*this, {Hands::kTasks, 1, {}, {}, kDelays, 3});
  explore_three_calls(*this, {Hands::kTasks, 2, {}, {}, 1, 3});
}

TEST_F(EverySchedule, OfThreeCallsWhereBatchesGather) {
  const BatchLimits gathering = {2, 0, kDeadlineUs * 1000 / 4};
  for (const int32_t lanes : {1, 2}) {
    explore_three_calls(*this, {Hands::kThreads, lanes, gathering, {}, 1, 0});
    explore_three_calls(*this, {Hands::kTasks, lanes, gathering, {}, 1, 3});
  }
}

}  // namespace
}  // namespace sidbeam::runner
