// Runs a grid: block after block, the threads of a block as fibers in an order drawn anew at every turn.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "emulator_run.h"

#if defined(EMULATOR_UNDER_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulator {

const Place* place = nullptr;

namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kMostThreads = 1024;  // of a block
// Stacks begin at different lines of a page: otherwise those of a block would share a few sets of the caches.
constexpr size_t kLine = 64, kLinesOfPage = 64;

#if defined(__x86_64__)
// Saves the registers that a call must preserve, and changes stacks. swapcontext() would ask the kernel for the signal
// mask every time.
extern "C" void emulator_switch(void** save, void* load);
asm(R"(
.text
.type emulator_switch,@function
emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulator_switch,.-emulator_switch
)");
#endif

enum class Wait : uint8_t { kNone, kBarrier, kWarp, kDone };

struct Site {
  const char* file = nullptr;
  int line = 0;
  bool operator==(const Site& other) const { return line == other.line && file == other.file; }
};

struct Fiber {
#if !defined(__x86_64__)
  ucontext_t context{};
#endif
  char* stack = nullptr;
  void* fake_stack = nullptr;
  Place place{};
  Site site;
  Combine combine = Combine::kOr;
  int vote = 0;
  uint32_t mask = 0;
  uint64_t value = 0;
};

class Machine {
 public:
  void run(const dim3& blocks, const dim3& threads, size_t shared_bytes, const std::function<void()>& kernel) {
    // Never nullptr: kernels name what they do not touch.
    shared_.reset(static_cast<unsigned char*>(std::malloc(std::max<size_t>(shared_bytes, 1))));
    shared_bytes_ = shared_bytes;
    count_ = threads.x * threads.y * threads.z;
    kernel_ = &kernel;
    fibers_.reserve(kMostThreads);
    while (fibers_.size() < count_) add_fiber();
    values_.resize((count_ + 31) / 32 * 32);
    warps_.resize((count_ + 31) / 32);
    const uint64_t total = uint64_t{blocks.x} * blocks.y * blocks.z;
    const uint64_t first = total > 0 ? draw() % total : 0;
    for (uint64_t i = 0; i < total; ++i) run_block((first + i) % total, blocks, threads);
    place = nullptr;
  }
  void seed(uint64_t value) { random_ = value; }
  void* shared() const { return shared_.get(); }
  uint32_t lane() const { return current_ % 32; }

  int barrier(Site site, Combine combine, int vote) {
    Fiber& own = fibers_[current_];
    own.site = site;
    own.combine = combine;
    own.vote = vote;
    waits_[current_] = Wait::kBarrier;
    ++arrived_;
    if (!release_barrier()) yield();
    return result_;
  }

  const uint64_t* exchange(Site site, uint32_t mask, uint64_t value) {
    Fiber& own = fibers_[current_];
    const uint32_t first = current_ / 32 * 32, end = std::min(first + 32, count_);
    if (end - first < 32) mask &= (1U << (end - first)) - 1;
    if ((mask >> (current_ - first) & 1) == 0) fail("a lane is outside its own mask", own, site);
    own.site = site;
    own.mask = mask;
    own.value = value;
    waits_[current_] = Wait::kWarp;
    Warp& warp = warps_[first / 32];
    if ((warp.left & mask) != 0) fail("a lane of the mask has left", own, site);
    warp.waiting |= 1U << (current_ - first);
    if (!all_wait_there(warp, first, own)) {
      yield();
    } else {
      warp.waiting &= ~mask;
      for (uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
        const uint32_t t = first + static_cast<uint32_t>(std::countr_zero(lanes));
        values_[t] = fibers_[t].value;
        waits_[t] = Wait::kNone;
      }
    }
    return &values_[first];
  }

 private:
  struct Free {
    void operator()(unsigned char* memory) const { std::free(memory); }
  };

  // Lanes, a bit each.
  struct Warp {
    uint32_t waiting = 0;  // for other lanes
    uint32_t left = 0;     // the kernel
  };

  // Whether the lanes of the fiber's mask have all arrived where it is.
  bool all_wait_there(const Warp& warp, uint32_t first, const Fiber& own) const {
    if ((warp.waiting & own.mask) != own.mask) return false;
    for (uint32_t lanes = own.mask; lanes != 0; lanes &= lanes - 1) {
      const Fiber& other = fibers_[first + static_cast<uint32_t>(std::countr_zero(lanes))];
      if (other.mask != own.mask || !(other.site == own.site)) return false;
    }
    return true;
  }

  uint64_t draw() {
    random_ += 0x9E3779B97F4A7C15U;
    uint64_t z = random_;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
  }

  [[noreturn]] static void fail(const char* what, const Fiber& fiber, Site site) {
    std::fprintf(stderr, "emulator: %s: block %u thread %u at %s:%d\n", what, fiber.place.block.x, fiber.place.thread.x,
                 site.file == nullptr ? "?" : site.file, site.line);
    std::abort();
  }

  void run_block(uint64_t number, const dim3& blocks, const dim3& threads) {
    // A block may not count on what another left.
    std::memset(shared_.get(), static_cast<unsigned char>(0xA5 ^ number), shared_bytes_);
    arrived_ = 0;
    alive_ = count_;
    std::fill(warps_.begin(), warps_.end(), Warp{});
    for (uint32_t t = 0; t < count_; ++t) {
      Fiber& fiber = fibers_[t];
      waits_[t] = Wait::kNone;
      fiber.place.thread = {t % threads.x, t / threads.x % threads.y, t / threads.x / threads.y};
      fiber.place.block = {static_cast<unsigned>(number % blocks.x),
                           static_cast<unsigned>(number / blocks.x % blocks.y),
                           static_cast<unsigned>(number / blocks.x / blocks.y)};
      fiber.place.threads = threads;
      fiber.place.blocks = blocks;
    }
    while (alive_ > 0) {
      // Every turn visits all threads in an order of its own.
      const uint64_t random = draw();
      const uint32_t first = static_cast<uint32_t>(random % count_);
      const uint32_t step = std::has_single_bit(count_) ? static_cast<uint32_t>(random >> 32) % count_ | 1 : 1;
      bool moved = false;
      for (uint32_t i = 0, t = first, next; i < count_; ++i, t = next) {
        next = t + step < count_ ? t + step : t + step - count_;
        prefetch_stack(next);
        if (waits_[t] != Wait::kNone) continue;
        moved = true;
        resume(t);
      }
      if (!moved) report_deadlock();
    }
  }

  [[noreturn]] void report_deadlock() const {
    for (uint32_t t = 0; t < count_; ++t) {
      const Fiber& fiber = fibers_[t];
      if (waits_[t] == Wait::kDone) continue;
      std::fprintf(stderr, "emulator: thread %u waits for %s at %s:%d\n", t,
                   waits_[t] == Wait::kWarp ? "lanes" : "the block", fiber.site.file, fiber.site.line);
    }
    fail("no thread can go on", fibers_[0], fibers_[0].site);
  }

  bool release_barrier() {
    if (arrived_ < alive_) return false;
    const Fiber* first = nullptr;
    int any = 0, all = 1, count = 0;
    for (uint32_t t = 0; t < count_; ++t) {
      Fiber& fiber = fibers_[t];
      if (waits_[t] == Wait::kDone) continue;
      if (first == nullptr) first = &fiber;
      if (!(fiber.site == first->site)) fail("threads wait at different barriers", fiber, first->site);
      any |= fiber.vote;
      all &= fiber.vote;
      count += fiber.vote;
      waits_[t] = Wait::kNone;
    }
    arrived_ = 0;
    result_ = first == nullptr                  ? 0
              : first->combine == Combine::kOr  ? any
              : first->combine == Combine::kAnd ? all
                                                : count;
    return true;
  }

  void add_fiber() {
    Fiber& fiber = fibers_.emplace_back();
    waits_.push_back(Wait::kDone);
    void* stack =
        mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) std::abort();
    fiber.stack = static_cast<char*>(stack);
    const size_t bytes = kStackBytes - fibers_.size() % kLinesOfPage * kLine;
#if defined(__x86_64__)
    auto* top = reinterpret_cast<uint64_t*>(fiber.stack + bytes) - 1;  // aligned as a call leaves it
    *--top = reinterpret_cast<uint64_t>(&Machine::enter);
    for (int i = 0; i < 6; ++i) *--top = 0;
    stack_pointers_.push_back(top);
#else
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = bytes;
    makecontext(&fiber.context, &Machine::enter, 0);
#endif
  }

  static void enter();
  void live() {
    for (;;) {
      (*kernel_)();
      waits_[current_] = Wait::kDone;
      warps_[current_ / 32].left |= 1U << current_ % 32;
      --alive_;
      if (alive_ > 0) release_barrier();
      yield();
    }
  }

  void prefetch_stack([[maybe_unused]] uint32_t t) const {
#if defined(__x86_64__)
    __builtin_prefetch(stack_pointers_[t]);
#endif
  }

  void resume(uint32_t t) {
    current_ = t;
    place = &fibers_[t].place;
    [[maybe_unused]] Fiber& fiber = fibers_[t];
#if defined(EMULATOR_UNDER_ASAN)
    __sanitizer_start_switch_fiber(&main_fake_stack_, fiber.stack, kStackBytes);
#endif
#if defined(__x86_64__)
    emulator_switch(&main_stack_pointer_, stack_pointers_[t]);
#else
    swapcontext(&main_context_, &fiber.context);
#endif
#if defined(EMULATOR_UNDER_ASAN)
    __sanitizer_finish_switch_fiber(main_fake_stack_, nullptr, nullptr);
#endif
  }

  void yield() {
    Fiber& fiber = fibers_[current_];
#if defined(EMULATOR_UNDER_ASAN)
    __sanitizer_start_switch_fiber(&fiber.fake_stack, main_stack_, main_stack_bytes_);
#endif
#if defined(__x86_64__)
    emulator_switch(&stack_pointers_[current_], main_stack_pointer_);
#else
    swapcontext(&fiber.context, &main_context_);
#endif
    entered(fiber);
  }

  void entered([[maybe_unused]] Fiber& fiber) {
#if defined(EMULATOR_UNDER_ASAN)
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &main_stack_, &main_stack_bytes_);
#endif
  }

  std::vector<Fiber> fibers_;     // their addresses stay: there is room for a whole block
  std::vector<Wait> waits_;       // of the fibers; apart, since every turn looks at all of them
  std::vector<uint64_t> values_;  // of the last exchange, by thread
  std::vector<Warp> warps_;
  std::unique_ptr<unsigned char[], Free> shared_;
  size_t shared_bytes_ = 0;
  const std::function<void()>* kernel_ = nullptr;
  uint32_t count_ = 0, current_ = 0, arrived_ = 0, alive_ = 0;
  int result_ = 0;
  uint64_t random_ = 1;
#if defined(__x86_64__)
  std::vector<void*> stack_pointers_;
  void* main_stack_pointer_ = nullptr;
#else
  ucontext_t main_context_{};
#endif
#if defined(EMULATOR_UNDER_ASAN)
  void* main_fake_stack_ = nullptr;
  const void* main_stack_ = nullptr;
  size_t main_stack_bytes_ = 0;
#endif
};

Machine& machine() {
  static Machine& only = *new Machine;
  return only;
}

void Machine::enter() {
  Machine& own = machine();
  own.entered(own.fibers_[own.current_]);
  own.live();
}

}  // namespace

int barrier(const char* file, int line, Combine combine, int value) {
  return machine().barrier({file, line}, combine, value);
}
const uint64_t* exchange(const char* file, int line, uint32_t mask, uint64_t value) {
  return machine().exchange({file, line}, mask, value);
}
void* shared_memory() { return machine().shared(); }
uint32_t lane() { return machine().lane(); }

void run_grid(const dim3& blocks, const dim3& threads, size_t shared_bytes, const std::function<void()>& kernel) {
  machine().run(blocks, threads, shared_bytes, kernel);
}
void seed_order(uint64_t seed) { machine().seed(seed); }

}  // namespace emulator
