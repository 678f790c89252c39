// Tells a forked child from its parent. The child has the parent's objects but none of its other threads, and what
// those had locked stays locked for ever.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace sidbeam {

// The number of forks between the process that loaded this library and this one. A handler of fork() counts them, so
// that reading the number is one load: getpid() is a system call, and a page that the kernel wipes in children
// (MADV_WIPEONFORK) needs a fallback where the kernel lacks it. The library is never unloaded (-z nodelete), hence
// neither is the handler. Children of vfork(), posix_spawn() and raw clone() are not counted: they may do no more than
// exec.
inline std::atomic<uint64_t> fork_count{0};

inline uint64_t this_process() { return fork_count.load(std::memory_order_relaxed); }

// One T per process that asks for it. A forked child never touches its parent's: destroying it could wait for threads
// that do not exist, so its memory is lost to the child. (Handlers of fork() that take every lock before it and release
// them after would delay a fork for as long as an upload takes, and would not bring threads back.)
template <class T>
class OfProcess {
 public:
  OfProcess() = default;
  OfProcess(const OfProcess&) = delete;
  OfProcess& operator=(const OfProcess&) = delete;
  ~OfProcess() { delete own(); }

  // This process's T; nullptr if none has been made.
  T* find() const {
    Instance* made = own();
    return made != nullptr ? &made->value : nullptr;
  }

  // The same, making it if there is none. If several threads make one at a time, all get the same.
  template <class... Arguments>
  T& get(Arguments&&... arguments) {
    Instance* found = made_.load(std::memory_order_acquire);
    if (is_own(found)) return found->value;
    auto made = std::make_unique<Instance>(std::forward<Arguments>(arguments)...);
    if (!made_.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return found->value;
    return made.release()->value;
  }

 private:
  struct Instance {
    template <class... Arguments>
    explicit Instance(Arguments&&... arguments) : value(std::forward<Arguments>(arguments)...) {}
    const uint64_t process = this_process();
    T value;
  };

  static bool is_own(const Instance* made) { return made != nullptr && made->process == this_process(); }
  Instance* own() const {
    Instance* made = made_.load(std::memory_order_acquire);
    return is_own(made) ? made : nullptr;
  }

  std::atomic<Instance*> made_{nullptr};
};

}  // namespace sidbeam
