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

struct EmulatedContext {
  int device = 0;
};
// Of a device: bytes in use, and those kept for the next allocation.
struct EmulatedPool {
  int64_t used = 0, kept = 0;
  uint64_t threshold = 0;  // a synchronisation takes back what is kept beyond
};
struct EmulatedStream {
  uint64_t id = 0;  // of no other stream, now or later
  CUcontext context = nullptr;
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
  bool recorded = false, captured = false;  // captured: last recorded on a stream that was being captured
  uint64_t number = 0;                      // of the work that it marks the end of
  std::shared_ptr<std::chrono::steady_clock::time_point> time =
      std::make_shared<std::chrono::steady_clock::time_point>();
};

namespace emulator {

struct Allocation {
  size_t bytes = 0;
  bool on_device = false;
  int device = 0;
  unsigned char* block = nullptr;  // with guards around it
  std::shared_ptr<EmulatedPool> pool;
};

// Work on a stream; `after` is the number of work of another stream that must be done before, 0: none.
struct Entry {
  uint64_t number = 0, after = 0;
  uint64_t stream = 0;  // its id; 0: the legacy stream and all that are not non-blocking
  Work work;
};

struct World {
  std::recursive_mutex mutex;
  std::map<uintptr_t, Allocation> memory;
  std::vector<Allocation> gone;  // freed, and kept until all work is done, which must not have written there
  std::deque<Entry> line;
  uint64_t enqueued = 0, lot = 1;
  std::vector<EmulatedStream*> capturing;
  std::set<std::pair<const void*, int>> launched;  // kernels, and on which device
  std::map<int, std::unique_ptr<EmulatedContext>> primary;
  std::vector<std::unique_ptr<EmulatedContext>> foreign;
  std::map<int, std::shared_ptr<EmulatedPool>> default_pools;
  std::map<cudaMemPool_t, std::shared_ptr<EmulatedPool>> pools;  // all of them
  uint64_t last_stream = 0;
  int64_t fail_in = 0, fail_launch_in = 0, fail_wait_in = 0;
  int64_t live_bytes = 0, launches = 0, overlapping = 0, mapped_bytes = 0;
  int devices = 1, driver = 13000, capability = 90, ptx_version = 90, binary_version = 90;
  int processors = 4;  // of a device
  bool eager = false, has_pools = true, newest_first = false;
  cudaError_t sticky = cudaSuccess;
  EmulatedStream legacy;

  World();
  void set_seed(uint64_t seed);
};
World& world();
using Lock = std::lock_guard<std::recursive_mutex>;

// This thread's context, nullptr: none yet, and the device whose primary context the runtime then makes.
inline thread_local CUcontext t_context = nullptr;
inline thread_local int t_device = 0;
inline thread_local cudaStreamCaptureMode t_mode = cudaStreamCaptureModeGlobal;
// Keeps an error for cudaGetLastError.
cudaError_t result(cudaError_t error);

int current_device();
// The primary context of a device, made when it is first asked for.
CUcontext primary_context(int device);
EmulatedStream* stream_of(cudaStream_t stream);
// Begins a call, about a stream and an event where it has them: an error, and the end of captures, where the table of
// rules forbids it now. Makes a context where the thread has none and the call needs one.
cudaError_t allow(Call call, EmulatedStream* stream = nullptr, const EmulatedEvent* event = nullptr);
// `after` is the number of work that must be done before; 0: none.
cudaError_t enqueue(cudaStream_t stream, Work work, uint64_t after = 0);
// Does all work.
void drain();
// What a synchronisation does to memory: takes it back from pools and, where all work is done, looks at what was
// freed.
void settle_memory();
bool is_done(uint64_t number);
// Does some work that is ready.
void do_one();
// Gives memory back, after checking the guards around it.
cudaError_t release(void* pointer, bool on_device);

}  // namespace emulator

// Begins a call of the table: CALLED(name, stream, event), the last two where it has them.
#define CALLED(name, ...)                                                                               \
  [[maybe_unused]] World& w = emulator::world();                                                        \
  const emulator::Lock lock(w.mutex);                                                                   \
  if (const cudaError_t refused = emulator::allow(emulator::Call::k_##name __VA_OPT__(, ) __VA_ARGS__); \
      refused != cudaSuccess)                                                                           \
  return refused
