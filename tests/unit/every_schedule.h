// Every order in which a few threads can go on: a search over the choices of a scheduler that runs them in turn, on one
// thread of the system, with condition variables that wake nobody whom nobody has notified, and time that passes only
// when it is chosen.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runner/schedule/clock.h"
#include "runner/schedule/queue.h"
#include "runner/schedule/state.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIDBEAM_TEST_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(SIDBEAM_TEST_ASAN)
#include <sanitizer/common_interface_defs.h>
#else
inline void __sanitizer_start_switch_fiber(void**, const void*, size_t) {}
inline void __sanitizer_finish_switch_fiber(void*, const void**, size_t*) {}
#endif

namespace sidbeam::runner::fakes {

// Sequences of choices, depth first.
class Choices {
 public:
  int32_t choose(int32_t count) {
    if (count <= 1) return 0;
    if (at_ == path_.size()) path_.push_back({0, count});
    return path_[at_++].taken;
  }
  // Goes on to the next sequence; false: there is none.
  bool next() {
    while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    at_ = 0;
    return true;
  }
  std::string text() const {
    std::string all;
    for (const Choice& choice : path_) all += std::to_string(choice.taken) + " ";
    return all;
  }

 private:
  struct Choice {
    int32_t taken, count;
  };
  std::vector<Choice> path_;
  size_t at_ = 0;
};

// Threads that take turns. Whoever runs goes on until it waits or pauses; a step is what happens between. All steps
// have different times, a microsecond apart.
class Turns final : public Clock {
 public:
  static constexpr int64_t kTick = 1000;

  Turns(Choices& choices, int32_t delays) : choices_(choices), left_(delays) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  ~Turns() {
    for (auto& thread : threads_) spare_stacks().push_back(std::move(thread->stack));
  }

  // `away`: as of pause(), until it begins.
  void add(std::function<void()> body, bool away) {
    auto& thread = *threads_.emplace_back(std::make_unique<Thread>());
    thread.body = std::move(body);
    thread.turns = this;
    thread.away = away;
    thread.stack = take_stack();
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = kStack;
    thread.context.uc_link = &main_;
    const auto address = reinterpret_cast<uintptr_t>(&thread);
    makecontext(&thread.context, reinterpret_cast<void (*)()>(begin), 2, static_cast<uint32_t>(address >> 32),
                static_cast<uint32_t>(address));
  }
  std::thread start(void (*work)(void*), void* data) override {
    add([=] { work(data); }, false);
    return {};
  }

  // Until no thread can go on; `between` is called between steps.
  void run(const std::function<void()>& between) {
    while (step()) between();
  }
  bool all_ended() const {
    return std::all_of(threads_.begin(), threads_.end(), [](const auto& t) { return t->state == State::kEnded; });
  }
  // Every thread waits, has ended, or is away.
  bool settled() const {
    return std::all_of(threads_.begin(), threads_.end(),
                       [](const auto& t) { return t->state == State::kEnded || t->state == State::kWaits || t->away; });
  }

  // Others may go on here: what this thread does takes its time.
  void pause() {
    Thread& self = *current_;
    self.away = true;
    leave(self);
    self.away = false;
  }

  int64_t now() override { return now_; }
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, int64_t until) override {
    Thread& self = *current_;
    self.waits_for = &changed;
    self.until = until;
    self.state = State::kWaits;
    lock.unlock();
    leave(self);
    self.waits_for = nullptr;
    if (!lock.try_lock()) std::abort();  // a thread was put off while it held the lock
  }
  void notify_one(std::condition_variable& changed) override {
    std::vector<Thread*> waiting;
    for (const auto& thread : threads_)
      if (thread->state == State::kWaits && thread->waits_for == &changed) waiting.push_back(thread.get());
    if (!waiting.empty()) waiting[static_cast<size_t>(delayed_choice(waiting.size()))]->state = State::kReady;
  }
  void notify_all(std::condition_variable& changed) override {
    for (const auto& thread : threads_)
      if (thread->state == State::kWaits && thread->waits_for == &changed) thread->state = State::kReady;
  }

 private:
  static constexpr size_t kStack = 256 * 1024;
  using Stack = std::unique_ptr<char[]>;
  enum class State { kReady, kWaits, kEnded };
  struct Thread {
    std::function<void()> body;
    Turns* turns = nullptr;
    ucontext_t context{};
    Stack stack;
    State state = State::kReady;
    bool away = false;
    const std::condition_variable* waits_for = nullptr;
    int64_t until = kNever;
    const WithinCallback* innermost = nullptr;
    void* fake_stack = nullptr;  // AddressSanitizer's
  };

  // Pages that have been touched once.
  static std::vector<Stack>& spare_stacks() {
    static std::vector<Stack> spare;
    return spare;
  }
  static Stack take_stack() {
    if (spare_stacks().empty()) return std::make_unique_for_overwrite<char[]>(kStack);
    Stack stack = std::move(spare_stacks().back());
    spare_stacks().pop_back();
    return stack;
  }

  static void begin(uint32_t high, uint32_t low) {
    auto& self = *reinterpret_cast<Thread*>(uintptr_t{high} << 32 | low);
    Turns& turns = *self.turns;
    __sanitizer_finish_switch_fiber(nullptr, &turns.main_stack_, &turns.main_size_);
    self.away = false;
    self.body();
    self.state = State::kEnded;
    __sanitizer_start_switch_fiber(nullptr, turns.main_stack_, turns.main_size_);
  }
  void leave(Thread& self) {
    self.innermost = std::exchange(WithinCallback::innermost(), nullptr);
    __sanitizer_start_switch_fiber(&self.fake_stack, main_stack_, main_size_);
    swapcontext(&self.context, &main_);
    __sanitizer_finish_switch_fiber(self.fake_stack, &main_stack_, &main_size_);
    WithinCallback::innermost() = self.innermost;
  }

  // The one that has just run comes first; the passing of time, nullptr, last.
  std::vector<Thread*> able() const {
    std::vector<Thread*> able;
    for (const auto& thread : threads_)
      if (thread->state == State::kReady) able.push_back(thread.get());
    const auto again = std::find(able.begin(), able.end(), current_);
    if (again != able.end()) std::rotate(able.begin(), again, again + 1);
    if (next_time() != kNever) able.push_back(nullptr);
    return able;
  }
  int64_t next_time() const {
    int64_t time = kNever;
    for (const auto& thread : threads_)
      if (thread->state == State::kWaits) time = std::min(time, thread->until);
    return time;
  }

  // All but the first are put off for the i-th, which costs i delays: few faults need many (delay-bounded scheduling).
  int32_t delayed_choice(size_t count) {
    const int32_t chosen = choices_.choose(static_cast<int32_t>(std::min(count, static_cast<size_t>(left_) + 1)));
    left_ -= chosen;
    return chosen;
  }

  bool step() {
    const std::vector<Thread*> all = able();
    if (all.empty()) return false;
    const int32_t chosen = delayed_choice(all.size());
    Thread* const next = all[static_cast<size_t>(chosen)];
    now_ += kTick;
    if (next == nullptr) {
      pass();
    } else {
      current_ = next;
      void* fake_stack = nullptr;
      __sanitizer_start_switch_fiber(&fake_stack, next->stack.get(), kStack);
      swapcontext(&main_, &next->context);
      __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
    }
    return true;
  }
  void pass() {
    now_ = std::max(now_, next_time());
    for (const auto& thread : threads_)
      if (thread->state == State::kWaits && thread->until <= now_) thread->state = State::kReady;
  }

  ucontext_t main_{};
  Choices& choices_;
  int32_t left_;
  int64_t now_ = 0;
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread* current_ = nullptr;
  const void* main_stack_ = nullptr;  // AddressSanitizer's
  size_t main_size_ = 0;
};

}  // namespace sidbeam::runner::fakes
