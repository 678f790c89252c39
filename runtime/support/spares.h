// Working memory that calls of several threads use one at a time, and leave to later calls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace sidbeam {

// As many objects as have been in use at one time; any thread may take one.
template <class T>
class Spares {
  struct Spare {
    explicit Spare(T made) : object(std::move(made)) {}
    T object;
    std::unique_ptr<Spare> next;
  };

 public:
  // An object that nobody else has meanwhile.
  class Taken {
   public:
    Taken(Spares& all, std::unique_ptr<Spare> own) : all_(all), own_(std::move(own)) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken() { all_.give_back(std::move(own_)); }
    T& operator*() const { return own_->object; }

   private:
    Spares& all_;
    std::unique_ptr<Spare> own_;
  };

  // Makes one only where all others are in use; may throw what that throws.
  template <class Make>
  Taken take(const Make& make) {
    std::unique_ptr<Spare> own = take_idle();
    if (own == nullptr) own = std::make_unique<Spare>(make());
    return Taken(*this, std::move(own));
  }

 private:
  std::unique_ptr<Spare> take_idle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Spare> own = std::move(idle_);
    if (own != nullptr) idle_ = std::move(own->next);
    return own;
  }
  void give_back(std::unique_ptr<Spare> own) {
    const std::lock_guard<std::mutex> lock(mutex_);
    own->next = std::move(idle_);
    idle_ = std::move(own);
  }

  std::mutex mutex_;
  std::unique_ptr<Spare> idle_;  // the one given back last, which the caches have
};

}  // namespace sidbeam
