// What the parts of the emulator's host side share: devices, memory, streams and what is enqueued on them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "emulator_run.h"

using Work = std::function<void()>;

struct EmulatedStream {
  int device = 0;
  bool blocking = true;
  std::unique_ptr<EmulatedGraph> capture;  // under way, by a thread in a mode
  std::thread::id by;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  bool invalidated = false;
};
// Allocated while a graph was captured: there as long as the graph, at the same address in every replay.
struct GraphMemory {
  std::vector<void*> pointers;
  GraphMemory() = default;
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  ~GraphMemory();
};
struct EmulatedGraph {
  std::vector<Work> work;
  std::shared_ptr<GraphMemory> memory = std::make_shared<GraphMemory>();
};
struct EmulatedGraphExec {
  std::shared_ptr<std::vector<Work>> work;
  std::shared_ptr<GraphMemory> memory;
};
struct EmulatedEvent {
  int device = 0;
  bool recorded = false;
  uint64_t number = 0;  // of the work that it marks the end of
  std::shared_ptr<std::chrono::steady_clock::time_point> time =
      std::make_shared<std::chrono::steady_clock::time_point>();
};

namespace emulator {

struct Allocation {
  size_t bytes = 0;
  bool on_device = false;
  int device = 0;
  unsigned char* block = nullptr;  // with guards around it
};

// Work on a stream; `after` is the number of work of another stream that must be done before, 0: none.
struct Entry {
  uint64_t number = 0, after = 0;
  const EmulatedStream* stream = nullptr;
  Work work;
};

struct World {
  std::recursive_mutex mutex;
  std::map<uintptr_t, Allocation> memory;
  std::deque<Entry> line;
  uint64_t enqueued = 0, lot = 1;
  std::vector<EmulatedStream*> capturing;
  std::set<std::pair<const void*, int>> loaded;  // kernels, and on which device
  int64_t fail_in = 0, fail_launch_in = 0, live_bytes = 0, launches = 0;
  int devices = 1, driver = 13000, capability = 90;
  bool eager = false;
  cudaError_t sticky = cudaSuccess;
  EmulatedStream legacy;

  World();
  void set_seed(uint64_t seed);
};
World& world();
using Lock = std::lock_guard<std::recursive_mutex>;

// The current device of this thread.
inline thread_local int t_device = 0;
inline thread_local cudaStreamCaptureMode t_mode = cudaStreamCaptureModeGlobal;
// Keeps an error for cudaGetLastError.
cudaError_t result(cudaError_t error);

EmulatedStream* stream_of(cudaStream_t stream);
// `after` is the number of work that must be done before; 0: none.
cudaError_t enqueue(cudaStream_t stream, Work work, uint64_t after = 0);
// Begins a call that allocates or waits: if the thread's mode and a capture forbid that, it is an error and the end of
// the capture.
cudaError_t unsafe_call();
// Whether this thread captures, not in relaxed mode.
bool captures();
// An unsafe call that does all work.
cudaError_t wait_all();
bool is_done(uint64_t number);
// Does some work that is ready.
void do_one();
// Gives memory back, after checking the guards around it.
cudaError_t release(void* pointer, bool on_device);

}  // namespace emulator

#define GUARDED(...)                             \
  [[maybe_unused]] World& w = emulator::world(); \
  const emulator::Lock lock(w.mutex);            \
  __VA_ARGS__
