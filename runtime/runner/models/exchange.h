// Arrays that a lane's host and its sessions both read and write, wherever the sessions are. On the CPU an array is
// there once. Beside a device it is there twice, and copies are enqueued on the lane's stream.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam::runner {

template <class T>
struct Exchanged {
  T* here = nullptr;   // for the host
  T* there = nullptr;  // for the sessions
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  // Zeros, which live as long as this.
  template <class T>
  Exchanged<T> take(int64_t count) {
    const Exchanged<void> made = take_bytes(count, sizeof(T));
    return {static_cast<T*>(made.here), static_cast<T*>(made.there)};
  }
  // What the host wrote, for what the sessions are given next. It must not change before the next wait.
  template <class T>
  void send(const Exchanged<T>& array, int64_t count) {
    send_bytes(array.there, array.here, count * int64_t{sizeof(T)});
  }
  // What the sessions wrote, for the host after the next wait.
  template <class T>
  void fetch(const Exchanged<T>& array, int64_t count) {
    fetch_bytes(array.here, array.there, count * int64_t{sizeof(T)});
  }
  // Until all that is enqueued is done.
  virtual void wait() = 0;
  virtual int64_t memory_bytes() const = 0;

 private:
  virtual Exchanged<void> take_bytes(int64_t count, int64_t size) = 0;
  virtual void send_bytes(void* there, const void* here, int64_t bytes) = 0;
  virtual void fetch_bytes(void* here, const void* there, int64_t bytes) = 0;
};

}  // namespace sidbeam::runner
