// Objects that are shared between threads and go with their last reference.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace sidbeam {

// Derive with itself: struct X : RefCounted<X>. Born with one reference.
template <class T>
class RefCounted {
 public:
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  // Whether it has a further reference, which may go, but none that comes unless somebody has one.
  bool is_shared() const { return references_.load(std::memory_order_acquire) > 1; }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete static_cast<T*>(this);
  }

 protected:
  RefCounted() = default;
  ~RefCounted() = default;

 private:
  std::atomic<int64_t> references_{1};
};

// A reference that is held.
template <class T>
class Ref {
 public:
  Ref() = default;
  // Takes a reference of its own.
  static Ref share(T* object) {
    if (object != nullptr) object->retain();
    return Ref(object);
  }
  // Takes the reference that the object was born with.
  static Ref adopt(T* object) { return Ref(object); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Ref(T* object) : object_(object) {}
  T* object_ = nullptr;
};

// Another reference to the same object, if there is one.
template <class T>
Ref<T> share(const Ref<T>& reference) {
  return Ref<T>::share(reference.get());
}

}  // namespace sidbeam
