// Working memory that calls of several threads use one at a time, and leave to later calls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <utility>

namespace sidbeam {

// Up to kMost objects that are idle; any thread may take one. There is no lock, since a child of fork() would inherit
// it as held if another thread of its parent held it; the child lacks what was in use.
template <class T>
class Spares {
 public:
  // An object that nobody else has meanwhile.
  class Taken {
   public:
    Taken(Spares& all, std::unique_ptr<T> own) : all_(all), own_(std::move(own)) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken() { all_.give_back(std::move(own_)); }
    T& operator*() const { return *own_; }

   private:
    Spares& all_;
    std::unique_ptr<T> own_;
  };

  Spares() = default;
  Spares(const Spares&) = delete;
  Spares& operator=(const Spares&) = delete;
  ~Spares() {
    for (std::atomic<T*>& place : idle_) delete place.load(std::memory_order_acquire);
  }

  // Makes one only where none is idle; may throw what that throws.
  template <class Make>
  Taken take(const Make& make) {
    for (std::atomic<T*>& place : idle_) {
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      std::unique_ptr<T> own(place.exchange(nullptr, std::memory_order_acquire));
      if (own != nullptr) return Taken(*this, std::move(own));
    }
    return Taken(*this, std::make_unique<T>(make()));
  }

 private:
  static constexpr int kMost = 64;

  void give_back(std::unique_ptr<T> own) {
    for (std::atomic<T*>& place : idle_) {
      T* nothing = nullptr;
      if (!place.compare_exchange_strong(nothing, own.get(), std::memory_order_release, std::memory_order_relaxed))
        continue;
      static_cast<void>(own.release());
      return;
    }
  }

  std::array<std::atomic<T*>, kMost> idle_{};  // the first ones, which the caches have, are taken first
};

}  // namespace sidbeam
