// Where the work ends that uses some memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <mutex>
#include <vector>

namespace sidbeam::cuda {

// An event for each stream that such work was enqueued on. Any number of threads may call at a time; the device must be
// current.
class Marks {
 public:
  Marks() = default;
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;
  ~Marks() { clear(); }
  // Marks the end of what is enqueued on a stream now. The stream must not be captured: that enqueues nothing, and
  // nobody can see when the graph is launched.
  void add(cudaStream_t stream) noexcept;
  // Lets what will be enqueued on a stream come after all that is marked.
  void order(cudaStream_t stream);
  // Waits for all that is marked.
  void wait();
  void clear();

 private:
  struct Mark {
    unsigned long long stream = 0;  // its id: a handle may name another stream when its own is gone
    cudaEvent_t event = nullptr;
  };
  bool record(cudaStream_t stream);
  Mark* mark_for(unsigned long long stream);

  std::mutex mutex_;
  std::vector<Mark> marks_;
};

// For a scope that enqueues work, marks its end, also where a launch fails after others.
class MarksEnd {
 public:
  MarksEnd(Marks& marks, void* stream, bool captured)
      : marks_(marks), stream_(static_cast<cudaStream_t>(stream)), captured_(captured) {}
  MarksEnd(const MarksEnd&) = delete;
  MarksEnd& operator=(const MarksEnd&) = delete;
  ~MarksEnd() {
    if (!captured_) marks_.add(stream_);
  }

 private:
  Marks& marks_;
  cudaStream_t stream_;
  bool captured_;
};

}  // namespace sidbeam::cuda
