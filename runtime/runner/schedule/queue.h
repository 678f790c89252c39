// The requests that wait for a lane, and which of them leave together: a function of what waits and of the time alone.
// Times are nanoseconds of the runner's clock. Nothing here locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "support/memory.h"

namespace sidbeam::runner {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// What decides when a request leaves.
struct Waiting {
  int64_t number = 0;  // rises with each arrival
  int64_t arrival = 0;
  int64_t deadline = kNever;  // it starts before this, or not at all
  int64_t rows = 0;           // of its passes together
  int32_t priority = 0;
  bool alone = false;  // its caller waits to run it: a batch of one, on the caller's thread
};

// Numbers of requests, given out by the owner as 0 .. entries-1, in the order priority falling, then arrival. Inserting
// and removing move what comes behind, four bytes per request: 2 us at most where 10,000 wait, and nothing in the
// common case of one priority.
class Queue {
 public:
  Queue(const Allocator& allocator, int32_t capacity, int32_t entries);

  int32_t size() const { return size_; }
  bool full() const { return size_ == capacity_; }
  // Of the i-th in order.
  int32_t entry(int32_t i) const { return order_[first_ + i]; }
  const Waiting& operator[](int32_t entry) const { return waiting_[entry]; }
  // How many are not alone.
  int32_t submitted() const { return submitted_; }
  // No deadline is earlier. (Exact where it was set since the earliest has left: form() finds it.)
  int64_t next_deadline() const { return next_deadline_; }
  void set_next_deadline(int64_t time) { next_deadline_ = time; }

  void insert(int32_t entry, const Waiting& waiting);
  void remove(int32_t entry);
  int64_t memory_bytes() const { return waiting_.bytes() + order_.bytes(); }

 private:
  // How many come before it.
  int32_t place(const Waiting& waiting) const;

  int32_t capacity_;
  int32_t first_ = 0, size_ = 0, submitted_ = 0;
  int64_t next_deadline_ = kNever;
  Buffer<Waiting> waiting_;  // [entries]
  Buffer<int32_t> order_;    // [2 * capacity], of which [first_, first_ + size_) are used
};

// When a batch is full, and how long one that is not waits for more.
struct BatchLimits {
  int32_t requests = 1;
  int64_t rows = 0;  // 0: any number
  int64_t wait = 0;
};

struct Formation {
  int32_t batch = 0;     // requests that leave now, as one batch; 0: none
  int32_t expired = -1;  // the first whose deadline has passed; -1: none
  // If nothing arrives or leaves, the answer is the same until then.
  int64_t look_again = kNever;
  int64_t next_deadline = kNever;  // of those that have not expired
};

// The batch is the longest run of requests from the first on that have not expired and fit; it stops before a request
// that runs alone. It leaves when it can take no more, when a request in it has waited limits.wait, or half of the time
// to its deadline if that is less. The first `batch` elements of entries[limits.requests] are set.
Formation form(const Queue& queue, int64_t now, const BatchLimits& limits, int32_t* entries);

}  // namespace sidbeam::runner
