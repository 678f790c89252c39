// The host's side: devices, memory, streams, events, graphs. What is enqueued waits until somebody waits for it; then the
// streams' work is done in an order drawn by lot among those that streams and events allow, so that an order which
// nothing ensures is not relied on. The default stream and those that are not made non-blocking are one.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "emulator_run.h"

using Work = std::function<void()>;

struct EmulatedStream {
  int device = 0;
  bool blocking = true;
  std::unique_ptr<EmulatedGraph> capture;  // under way
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

namespace {

constexpr size_t kGuard = 256;
constexpr unsigned char kGuardByte = 0xEF, kFreshByte = 0xCD, kGoneByte = 0xDB;

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
  int64_t fail_in = 0, live_bytes = 0, launches = 0;
  int devices = 1, driver = 13000, capability = 90;
  bool eager = false;
  cudaError_t sticky = cudaSuccess;
  EmulatedStream legacy;

  World() {
    if (const char* count = std::getenv("SIDBEAM_EMULATED_DEVICES")) devices = std::atoi(count);
    if (const char* version = std::getenv("SIDBEAM_EMULATED_DRIVER")) driver = std::atoi(version);
    if (const char* number = std::getenv("SIDBEAM_EMULATED_CAPABILITY")) capability = std::atoi(number);
    eager = std::getenv("SIDBEAM_EMULATOR_EAGER") != nullptr;
    if (const char* seed = std::getenv("SIDBEAM_EMULATOR_SEED")) set_seed(std::strtoull(seed, nullptr, 10));
  }
  void set_seed(uint64_t seed) {
    lot = seed * 2 + 1;
    emulator::seed_order(seed);
  }
};
World& world() {
  static World& only = *new World;
  return only;
}
thread_local int t_device = 0;
thread_local cudaError_t t_last = cudaSuccess;
// Set while a stream captures: what would wait or allocate is an error then.
thread_local EmulatedStream* t_capturing = nullptr;

using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t result(cudaError_t error) {
  if (error == cudaSuccess) error = world().sticky;
  if (error != cudaSuccess && error != cudaErrorNotReady) t_last = error;
  return error;
}

EmulatedStream* stream_of(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread ? &world().legacy : stream;
}

bool is_done(uint64_t number) {
  const auto& line = world().line;
  return std::none_of(line.begin(), line.end(), [number](const Entry& entry) { return entry.number == number; });
}
// The first of each stream that need not wait for another.
std::vector<size_t> ready() {
  const auto& line = world().line;
  std::vector<size_t> found;
  std::vector<const EmulatedStream*> seen;
  for (size_t i = 0; i < line.size(); ++i) {
    if (std::count(seen.begin(), seen.end(), line[i].stream) != 0) continue;
    seen.push_back(line[i].stream);
    if (line[i].after == 0 || is_done(line[i].after)) found.push_back(i);
  }
  return found;
}
void do_one() {
  World& w = world();
  const std::vector<size_t> choices = ready();
  w.lot = w.lot * 6364136223846793005U + 1442695040888963407U;
  const auto at = static_cast<std::ptrdiff_t>(choices[(w.lot >> 33) % choices.size()]);
  w.line[static_cast<size_t>(at)].work();
  w.line.erase(w.line.begin() + at);
}
void drain() {
  while (!world().line.empty()) do_one();
}

cudaError_t enqueue(cudaStream_t stream, Work work, uint64_t after = 0) {
  World& w = world();
  EmulatedStream* on = stream_of(stream);
  if (w.sticky != cudaSuccess) return result(w.sticky);
  if (on->capture != nullptr) {
    on->capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  if (on == &w.legacy && t_capturing != nullptr) return result(cudaErrorStreamCaptureImplicit);
  w.line.push_back({++w.enqueued, after, on->blocking ? nullptr : on, std::move(work)});
  if (w.eager) drain();
  return cudaSuccess;
}

// Waiting is forbidden while this thread captures, and ends the capture.
cudaError_t wait_all() {
  if (t_capturing != nullptr) {
    t_capturing->invalidated = true;
    return result(cudaErrorStreamCaptureUnsupported);
  }
  drain();
  return result(cudaSuccess);
}

const Allocation* find(const void* pointer, uintptr_t* base) {
  auto& memory = world().memory;
  auto found = memory.upper_bound(reinterpret_cast<uintptr_t>(pointer));
  if (found == memory.begin()) return nullptr;
  --found;
  if (reinterpret_cast<uintptr_t>(pointer) >= found->first + std::max<size_t>(found->second.bytes, 1)) return nullptr;
  *base = found->first;
  return &found->second;
}

void check_guard(const unsigned char* guard, const char* where) {
  for (size_t i = 0; i < kGuard; ++i) {
    if (guard[i] == kGuardByte) continue;
    std::fprintf(stderr, "emulator: a byte %s an allocation was written\n", where);
    std::abort();
  }
}

cudaError_t release(void* pointer, bool on_device) {
  World& w = world();
  if (pointer == nullptr) return cudaSuccess;
  const auto found = w.memory.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == w.memory.end() || found->second.on_device != on_device) return result(cudaErrorInvalidValue);
  check_guard(found->second.block, "before");
  check_guard(found->second.block + kGuard + found->second.bytes, "after");
  w.live_bytes -= static_cast<int64_t>(found->second.bytes);
  std::fill_n(found->second.block, found->second.bytes + kGuard, kGoneByte);
  std::free(found->second.block);
  w.memory.erase(found);
  return cudaSuccess;
}

}  // namespace
GraphMemory::~GraphMemory() {
  const Lock lock(world().mutex);
  for (void* pointer : pointers) release(pointer, true);
}
namespace {

bool inside(const void* pointer, size_t bytes, bool device_wanted) {
  uintptr_t base = 0;
  const Allocation* found = find(pointer, &base);
  if (found == nullptr) return !device_wanted;
  if (device_wanted && !found->on_device) return false;
  return reinterpret_cast<uintptr_t>(pointer) + bytes <= base + found->bytes;
}
bool kinds_fit(const void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return true;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return inside(to, bytes, to_device) && inside(from, bytes, from_device);
}

}  // namespace

namespace emulator {

cudaError_t allocate(void** pointer, size_t bytes, bool on_device) {
  World& w = world();
  const Lock lock(w.mutex);
  if (t_capturing != nullptr) {
    t_capturing->invalidated = true;
    return result(cudaErrorStreamCaptureUnsupported);
  }
  if (w.sticky != cudaSuccess) return result(w.sticky);
  if (w.devices == 0) return result(cudaErrorNoDevice);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (w.fail_in > 0 && --w.fail_in == 0) return result(cudaErrorMemoryAllocation);
  if (bytes > size_t{1} << 40) return result(cudaErrorMemoryAllocation);
  auto* block = static_cast<unsigned char*>(std::aligned_alloc(256, (bytes + 2 * kGuard + 255) / 256 * 256));
  if (block == nullptr) return result(cudaErrorMemoryAllocation);
  std::fill_n(block, kGuard, kGuardByte);
  std::fill_n(block + kGuard, bytes, kFreshByte);
  std::fill_n(block + kGuard + bytes, kGuard, kGuardByte);
  *pointer = block + kGuard;
  w.memory[reinterpret_cast<uintptr_t>(*pointer)] = {bytes, on_device, t_device, block};
  w.live_bytes += static_cast<int64_t>(bytes);
  return cudaSuccess;
}

cudaError_t allocate_async(void** pointer, size_t bytes, cudaStream_t stream) {
  const Lock lock(world().mutex);
  EmulatedGraph* graph = stream_of(stream)->capture.get();
  if (graph == nullptr) return allocate(pointer, bytes, true);
  EmulatedStream* capturing = std::exchange(t_capturing, nullptr);
  const cudaError_t error = allocate(pointer, bytes, true);
  t_capturing = capturing;
  if (error == cudaSuccess) graph->memory->pointers.push_back(*pointer);
  return error;
}

cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> kernel) {
  World& w = world();
  const Lock lock(w.mutex);
  const uint64_t threads = uint64_t{config.blockDim.x} * config.blockDim.y * config.blockDim.z;
  const uint64_t blocks = uint64_t{config.gridDim.x} * config.gridDim.y * config.gridDim.z;
  if (threads < 1 || threads > 1024 || blocks < 1 || config.gridDim.y > 65535 || config.gridDim.z > 65535 ||
      config.gridDim.x > 0x7FFFFFFFU || config.dynamicSmemBytes > 227 * 1024)
    return result(cudaErrorInvalidConfiguration);
  ++w.launches;
  return enqueue(config.stream, [grid = config.gridDim, block = config.blockDim, bytes = config.dynamicSmemBytes,
                                 run = std::move(kernel)] { run_grid(grid, block, bytes, run); });
}

}  // namespace emulator

extern "C" {

#define GUARDED(...)                   \
  [[maybe_unused]] World& w = world(); \
  const Lock lock(w.mutex);            \
  __VA_ARGS__

cudaError_t cudaGetDeviceCount(int* count) {
  GUARDED(*count = w.devices);
  if (w.driver < CUDART_VERSION) return result(cudaErrorInsufficientDriver);
  return w.devices == 0 ? result(cudaErrorNoDevice) : result(cudaSuccess);
}
cudaError_t cudaSetDevice(int device) {
  GUARDED(if (device < 0 || device >= w.devices) return result(cudaErrorInvalidDevice));
  t_device = device;
  return result(cudaSuccess);
}
cudaError_t cudaGetDevice(int* device) {
  GUARDED(if (w.devices == 0) return result(cudaErrorNoDevice));
  *device = t_device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  GUARDED(if (device < 0 || device >= w.devices) return result(cudaErrorInvalidDevice));
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulator");
  properties->major = w.capability / 10;
  properties->minor = w.capability % 10;
  properties->multiProcessorCount = 4;
  properties->totalGlobalMem = size_t{1} << 34;
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  GUARDED(if (device < 0 || device >= w.devices) return result(cudaErrorInvalidDevice));
  *value = attribute == cudaDevAttrComputeCapabilityMajor    ? w.capability / 10
           : attribute == cudaDevAttrComputeCapabilityMinor  ? w.capability % 10
           : attribute == cudaDevAttrMultiProcessorCount     ? 4
           : attribute == cudaDevAttrMaxSharedMemoryPerBlock ? 48 * 1024
           : attribute == cudaDevAttrL2CacheSize             ? 1 << 20
                                                             : 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = world().driver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  GUARDED();
  return wait_all();
}
cudaError_t cudaGetLastError() {
  const cudaError_t last = world().sticky != cudaSuccess ? world().sticky : t_last;
  t_last = cudaSuccess;
  return last;
}
cudaError_t cudaPeekAtLastError() { return world().sticky != cudaSuccess ? world().sticky : t_last; }
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    default:
      return "cudaError of the emulator";
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : cudaGetErrorName(error);
}

cudaError_t cudaFree(void* pointer) {
  GUARDED(if (pointer == nullptr) return result(cudaSuccess));
  if (const cudaError_t error = wait_all(); error != cudaSuccess && w.sticky == cudaSuccess) return error;
  return release(pointer, true);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  GUARDED(const EmulatedStream* on = stream_of(stream));
  const auto* owned = on->capture != nullptr ? &on->capture->memory->pointers : nullptr;
  if (owned != nullptr && std::count(owned->begin(), owned->end(), pointer) != 0) return result(cudaSuccess);
  return enqueue(stream, [pointer] { release(pointer, true); });
}
cudaError_t cudaFreeHost(void* pointer) {
  GUARDED(if (pointer == nullptr) return result(cudaSuccess));
  if (const cudaError_t error = wait_all(); error != cudaSuccess && w.sticky == cudaSuccess) return error;
  return release(pointer, false);
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  GUARDED(*total = size_t{1} << 34);
  *free = *total - static_cast<size_t>(w.live_bytes);
  return result(cudaSuccess);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  GUARDED(if (!kinds_fit(to, from, bytes, kind)) return result(cudaErrorInvalidValue));
  uintptr_t base = 0;
  if (find(from, &base) != nullptr)
    return enqueue(stream, [=] {
      if (bytes > 0) std::memmove(to, from, bytes);
    });
  // Pageable memory is read before the call returns.
  auto copy =
      std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
  return enqueue(stream, [=] {
    if (bytes > 0) std::memmove(to, copy->data(), bytes);
  });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  GUARDED(if (const cudaError_t error = wait_all(); error != cudaSuccess) return error);
  if (!kinds_fit(to, from, bytes, kind)) return result(cudaErrorInvalidValue);
  if (bytes > 0) std::memmove(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  GUARDED(if (bytes > 0 && !inside(to, bytes, true)) return result(cudaErrorInvalidValue));
  return enqueue(stream, [=] {
    if (bytes > 0) std::memset(to, value, bytes);
  });
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  GUARDED(if (const cudaError_t error = cudaMemsetAsync(to, value, bytes, nullptr); error != cudaSuccess) return error);
  return wait_all();
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  GUARDED(uintptr_t base = 0);
  const Allocation* found = find(pointer, &base);
  *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, const_cast<void*>(pointer)};
  if (found != nullptr)
    *attributes = {found->on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost, found->device,
                   const_cast<void*>(pointer), found->on_device ? nullptr : const_cast<void*>(pointer)};
  return result(cudaSuccess);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  GUARDED(if (w.devices == 0) return result(cudaErrorNoDevice));
  *stream = new EmulatedStream;
  (*stream)->device = t_device;
  (*stream)->blocking = (flags & cudaStreamNonBlocking) == 0;
  return result(cudaSuccess);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  GUARDED();  // waits for nothing: what is enqueued is still done
  if (t_capturing == stream) t_capturing = nullptr;
  delete stream;
  return result(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  GUARDED();
  return wait_all();
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  GUARDED(if (w.line.empty()) return result(cudaSuccess));
  do_one();
  return w.line.empty() ? result(cudaSuccess) : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  GUARDED(if (!event->recorded || stream_of(stream)->capture != nullptr) return result(cudaSuccess));
  return enqueue(
      stream, [] {}, event->number);
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  GUARDED(*device = stream_of(stream) == &w.legacy ? t_device : stream->device);
  return result(cudaSuccess);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  GUARDED(const EmulatedStream* on = stream_of(stream));
  *status = on->capture == nullptr ? cudaStreamCaptureStatusNone
            : on->invalidated      ? cudaStreamCaptureStatusInvalidated
                                   : cudaStreamCaptureStatusActive;
  return result(cudaSuccess);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  GUARDED(EmulatedStream* on = stream_of(stream));
  if (on == &w.legacy || on->capture != nullptr) return result(cudaErrorStreamCaptureUnsupported);
  on->capture = std::make_unique<EmulatedGraph>();
  on->invalidated = false;
  if (mode != cudaStreamCaptureModeRelaxed) t_capturing = on;
  return result(cudaSuccess);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  GUARDED(EmulatedStream* on = stream_of(stream));
  *graph = nullptr;
  if (on->capture == nullptr) return result(cudaErrorInvalidValue);
  if (t_capturing == on) t_capturing = nullptr;
  *graph = on->invalidated ? nullptr : on->capture.release();
  on->capture.reset();
  return on->invalidated ? result(cudaErrorStreamCaptureInvalidated) : result(cudaSuccess);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  GUARDED(if (graph == nullptr) return result(cudaErrorInvalidValue));
  *exec = new EmulatedGraphExec{std::make_shared<std::vector<Work>>(graph->work), graph->memory};
  return result(cudaSuccess);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  GUARDED();
  return enqueue(stream, [work = exec->work, memory = exec->memory] {
    for (const Work& one : *work) one();
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  GUARDED(if (w.devices == 0) return result(cudaErrorNoDevice));
  *event = new EmulatedEvent;
  (*event)->device = t_device;
  return result(cudaSuccess);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  GUARDED(const bool captured = stream_of(stream)->capture != nullptr);
  const cudaError_t error = enqueue(stream, [time = event->time] { *time = std::chrono::steady_clock::now(); });
  if (captured || error != cudaSuccess) return error;
  event->recorded = true;
  event->number = w.enqueued;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  GUARDED(if (!event->recorded || is_done(event->number)) return result(cudaSuccess));
  do_one();
  return is_done(event->number) ? result(cudaSuccess) : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  GUARDED(if (t_capturing != nullptr) return wait_all());
  while (event->recorded && !is_done(event->number)) do_one();
  return result(cudaSuccess);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  GUARDED(if (!is_done(begin->number) || !is_done(end->number)) return cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *begin->time).count();
  return result(cudaSuccess);
}

void emulator_fail_allocation(int64_t n) { world().fail_in = n; }
int64_t emulator_live_allocations() {
  GUARDED();
  return static_cast<int64_t>(w.memory.size());
}
int64_t emulator_live_bytes() { return world().live_bytes; }
int64_t emulator_launches() { return world().launches; }
void emulator_set_devices(int count) { world().devices = count; }
void emulator_set_driver(int version) { world().driver = version; }
void emulator_set_capability(int major) { world().capability = 10 * major; }
void emulator_set_seed(uint64_t seed) { world().set_seed(seed); }
void emulator_set_sticky_error(cudaError_t error) { world().sticky = error; }

}  // extern "C"
