// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/marks.h"

#include <new>

namespace sidbeam::cuda {

void Marks::add(cudaStream_t stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (!record(stream)) cudaStreamSynchronize(stream);  // no memory for a mark: wait for the work instead
}

void Marks::order(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  for (const Mark& mark : marks_)
    if (cudaStreamWaitEvent(stream, mark.event, 0) != cudaSuccess) cudaEventSynchronize(mark.event);
}

// An error belongs to whoever enqueued the work, and reaches them.
void Marks::wait() {
  const std::lock_guard lock(mutex_);
  for (const Mark& mark : marks_) cudaEventSynchronize(mark.event);
}

void Marks::clear() {
  const std::lock_guard lock(mutex_);
  for (const Mark& mark : marks_) cudaEventDestroy(mark.event);
  marks_.clear();
}

bool Marks::record(cudaStream_t stream) {
  unsigned long long id = 0;
  if (cudaStreamGetId(stream, &id) != cudaSuccess) return false;
  Mark* mark = mark_for(id);
  if (mark == nullptr || cudaEventRecord(mark->event, stream) != cudaSuccess) return false;
  mark->stream = id;
  return true;
}

// The stream's own; else one that has passed, so that there are no more marks than work in flight; else a new one.
Marks::Mark* Marks::mark_for(unsigned long long stream) {
  for (Mark& mark : marks_)
    if (mark.stream == stream) return &mark;
  for (Mark& mark : marks_) {
    if (cudaEventQuery(mark.event) == cudaSuccess) return &mark;
    cudaGetLastError();  // "not ready" counts as one
  }
  try {
    Mark& mark = marks_.emplace_back();
    if (cudaEventCreateWithFlags(&mark.event, cudaEventDisableTiming) == cudaSuccess) return &mark;
    marks_.pop_back();
    return nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace sidbeam::cuda
