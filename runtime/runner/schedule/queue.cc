// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/queue.h"

#include <algorithm>
#include <cstring>

namespace sidbeam::runner {
namespace {

bool before(const Waiting& a, const Waiting& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.number < b.number;
}

void move(int32_t* to, const int32_t* from, int32_t count) {
  std::memmove(to, from, static_cast<size_t>(count) * sizeof(int32_t));
}

// When it has waited long enough for others.
int64_t quota_end(const Waiting& waiting, int64_t wait) {
  if (waiting.deadline != kNever) wait = std::min(wait, (waiting.deadline - waiting.arrival) / 2);
  return waiting.arrival > kNever - wait ? kNever : waiting.arrival + wait;
}

// Finds the first that has expired, and the next deadline. Looks only if the earliest deadline that was known has
// passed, so that where deadlines are kept this is one comparison.
void find_expired(const Queue& queue, int64_t now, Formation& formation) {
  formation.next_deadline = queue.next_deadline();
  if (now < formation.next_deadline) return;
  formation.next_deadline = kNever;
  for (int32_t i = 0; i < queue.size(); ++i) {
    const int64_t deadline = queue[queue.entry(i)].deadline;
    if (deadline > now) {
      formation.next_deadline = std::min(formation.next_deadline, deadline);
    } else if (formation.expired < 0) {
      formation.expired = queue.entry(i);
    }
  }
}

}  // namespace

Queue::Queue(const Allocator& allocator, int32_t capacity, int32_t entries)
    : capacity_(capacity),
      waiting_(Buffer<Waiting>::zeroed(allocator, entries)),
      order_(Buffer<int32_t>::zeroed(allocator, 2 * int64_t{capacity})) {}

int32_t Queue::place(const Waiting& waiting) const {
  const int32_t* begin = order_.data() + first_;
  const int32_t* found = std::lower_bound(begin, begin + size_, waiting, [this](int32_t entry, const Waiting& other) {
    return before(waiting_[entry], other);
  });
  return static_cast<int32_t>(found - begin);
}

void Queue::insert(int32_t entry, const Waiting& waiting) {
  if (first_ + size_ == order_.size()) {
    move(order_.data(), order_.data() + first_, size_);
    first_ = 0;
  }
  const int32_t at = place(waiting);
  int32_t* to = order_.data() + first_ + at;
  move(to + 1, to, size_ - at);
  *to = entry;
  waiting_[entry] = waiting;
  ++size_;
  if (!waiting.alone) ++submitted_;
  next_deadline_ = std::min(next_deadline_, waiting.deadline);
}

void Queue::remove(int32_t entry) {
  const int32_t at = place(waiting_[entry]);
  --size_;
  if (!waiting_[entry].alone) --submitted_;
  if (at == 0) {
    ++first_;
  } else {
    int32_t* from = order_.data() + first_ + at;
    move(from, from + 1, size_ - at);
  }
}

Formation form(const Queue& queue, int64_t now, const BatchLimits& limits, int32_t* entries) {
  Formation formation;
  find_expired(queue, now, formation);
  formation.look_again = formation.next_deadline;
  int64_t rows = 0, leaves = kNever;
  bool full = false;
  for (int32_t i = 0; i < queue.size() && !full; ++i) {
    const int32_t entry = queue.entry(i);
    const Waiting& waiting = queue[entry];
    if (waiting.deadline <= now) continue;
    const bool fits = limits.rows == 0 || rows + waiting.rows <= limits.rows;
    if (formation.batch > 0 && (waiting.alone || !fits)) {
      full = true;
      break;
    }
    entries[formation.batch++] = entry;
    rows += waiting.rows;
    leaves = std::min(leaves, quota_end(waiting, limits.wait));
    full = waiting.alone || formation.batch == limits.requests || (limits.rows > 0 && rows >= limits.rows);
  }
  if (!full && now < leaves) {
    formation.batch = 0;
    formation.look_again = std::min(formation.look_again, leaves);
  }
  return formation;
}

}  // namespace sidbeam::runner
