// What is derived from something immutable by the first thread that asks for it. Threads that ask at the same time all
// derive it, and one's answer is kept: with a lock a forked child might wait for a thread that it does not have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

namespace sidbeam {

template <class T>
class Lazy {
 public:
  Lazy() = default;
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;
  ~Lazy() { delete found_.load(std::memory_order_acquire); }

  // nullptr: nobody has asked yet.
  const T* known() const { return found_.load(std::memory_order_acquire); }
  // make() gives a unique_ptr<const T>, and may throw.
  template <class Make>
  const T& get(const Make& make) const {
    const T* known = found_.load(std::memory_order_acquire);
    if (known == nullptr) {
      std::unique_ptr<const T> made = make();
      if (found_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) known = made.release();
    }
    return *known;
  }

 private:
  mutable std::atomic<const T*> found_{nullptr};
};

}  // namespace sidbeam
