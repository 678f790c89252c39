// Streams, events, graphs. Enqueued work waits until somebody waits for it. Then the streams' work is done in an order
// drawn by lot among those that streams and events allow (with odd seeds, what came last is done first), so that nobody
// can rely on an order that nothing ensures. The default stream and those that are not non-blocking are one.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "emulator_world.h"

namespace emulator {
namespace {

// The first of each stream that need not wait for another.
std::vector<size_t> ready() {
  const auto& line = world().line;
  std::vector<size_t> found;
  std::vector<uint64_t> seen;
  for (size_t i = 0; i < line.size(); ++i) {
    if (std::count(seen.begin(), seen.end(), line[i].stream) != 0) continue;
    seen.push_back(line[i].stream);
    if (line[i].after == 0 || is_done(line[i].after)) found.push_back(i);
  }
  return found;
}
// What entries of the line have of their stream.
uint64_t key_of(const EmulatedStream& stream) { return stream.blocking ? 0 : stream.id; }
bool is_idle(uint64_t stream) {
  const auto& line = world().line;
  return std::none_of(line.begin(), line.end(), [stream](const Entry& entry) { return entry.stream == stream; });
}

}  // namespace

void drain() {
  while (!world().line.empty()) do_one();
  settle_memory();
}

EmulatedStream* stream_of(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread ? &world().legacy : stream;
}

bool is_done(uint64_t number) {
  const auto& line = world().line;
  return std::none_of(line.begin(), line.end(), [number](const Entry& entry) { return entry.number == number; });
}
void do_one() {
  World& w = world();
  const std::vector<size_t> choices = ready();
  w.lot = w.lot * 6364136223846793005U + 1442695040888963407U;
  const size_t drawn = w.newest_first ? choices.size() - 1 : (w.lot >> 33) % choices.size();
  const auto at = static_cast<std::ptrdiff_t>(choices[drawn]);
  w.line[static_cast<size_t>(at)].work();
  w.line.erase(w.line.begin() + at);
}
cudaError_t enqueue(cudaStream_t stream, Work work, uint64_t after) {
  World& w = world();
  EmulatedStream* on = stream_of(stream);
  if (w.sticky != cudaSuccess) return result(w.sticky);
  if (on->capture != nullptr) {
    on->capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  w.line.push_back({++w.enqueued, after, key_of(*on), std::move(work)});
  if (w.eager) drain();
  return cudaSuccess;
}

cudaError_t load(Call call, const void*, cudaFuncAttributes* attributes) {
  const Lock lock(world().mutex);
  if (const cudaError_t error = allow(call); error != cudaSuccess) return error;
  if (attributes != nullptr) *attributes = {0, world().ptx_version, world().binary_version};
  return result(cudaSuccess);
}

namespace {

// Whether a launch may begin before its predecessor's end. On a real device that is an error of nobody's but a race,
// where the kernel has no instruction that waits.
bool overlaps(const cudaLaunchConfig_t& config) {
  return config.numAttrs > 0 && config.attrs[0].id == cudaLaunchAttributeProgrammaticStreamSerialization &&
         config.attrs[0].val.programmaticStreamSerializationAllowed != 0;
}

cudaError_t check_launch(const void* kernel, const cudaLaunchConfig_t& config, EmulatedStream& on) {
  World& w = world();
  const uint64_t threads = uint64_t{config.blockDim.x} * config.blockDim.y * config.blockDim.z;
  const uint64_t blocks = uint64_t{config.gridDim.x} * config.gridDim.y * config.gridDim.z;
  if (threads < 1 || threads > 1024 || blocks < 1 || config.gridDim.y > 65535 || config.gridDim.z > 65535 ||
      config.gridDim.x > 0x7FFFFFFFU || config.dynamicSmemBytes > 227 * 1024)
    return cudaErrorInvalidConfiguration;
  if (&on != &w.legacy && on.context != t_context) return cudaErrorInvalidResourceHandle;
  if (overlaps(config) && (w.ptx_version < 90 || w.binary_version < 90 || w.capability < 90))
    return cudaErrorNotSupported;
  if (on.capture == nullptr || w.launched.count({kernel, current_device()}) != 0) return cudaSuccess;
  on.invalidated = true;
  return cudaErrorStreamCaptureUnsupported;
}

}  // namespace

cudaError_t launch(const void* kernel_id, const cudaLaunchConfig_t& config, std::function<void()> kernel) {
  World& w = world();
  const Lock lock(w.mutex);
  EmulatedStream* on = stream_of(config.stream);
  if (const cudaError_t error = allow(Call::k_cudaLaunchKernelEx, on); error != cudaSuccess) return error;
  if (const cudaError_t error = check_launch(kernel_id, config, *on); error != cudaSuccess) return result(error);
  if (w.fail_launch_in > 0 && --w.fail_launch_in == 0) return result(cudaErrorLaunchOutOfResources);
  w.launched.insert({kernel_id, current_device()});
  w.overlapping += overlaps(config) ? 1 : 0;
  ++w.launches;
  return enqueue(config.stream, [grid = config.gridDim, block = config.blockDim, bytes = config.dynamicSmemBytes,
                                 run = std::move(kernel)] { run_grid(grid, block, bytes, run); });
}

}  // namespace emulator

using emulator::current_device;
using emulator::do_one;
using emulator::enqueue;
using emulator::is_done;
using emulator::is_idle;
using emulator::key_of;
using emulator::Lock;
using emulator::result;
using emulator::settle_memory;
using emulator::stream_of;
using emulator::t_context;
using emulator::t_mode;
using emulator::World;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  CALLED(cudaStreamCreateWithFlags);
  if (w.devices == 0) return result(cudaErrorNoDevice);
  *stream = new EmulatedStream;
  (*stream)->id = ++w.last_stream;
  (*stream)->context = t_context;
  (*stream)->device = current_device();
  (*stream)->blocking = (flags & cudaStreamNonBlocking) == 0;
  return result(cudaSuccess);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  CALLED(cudaStreamCreate);
  return cudaStreamCreateWithFlags(stream, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  CALLED(cudaStreamDestroy, stream);  // waits for nothing: what is enqueued is still done
  delete stream;
  return result(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  CALLED(cudaStreamSynchronize, stream_of(stream));
  while (!is_idle(key_of(*stream_of(stream)))) do_one();
  settle_memory();
  int64_t& fails_in = emulator::world().fail_wait_in;
  return result(fails_in > 0 && --fails_in == 0 ? cudaErrorLaunchFailure : cudaSuccess);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  CALLED(cudaStreamQuery, stream_of(stream));
  if (is_idle(key_of(*stream_of(stream)))) return result(cudaSuccess);
  do_one();
  return is_idle(key_of(*stream_of(stream))) ? result(cudaSuccess) : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  CALLED(cudaStreamWaitEvent, stream_of(stream), event);
  EmulatedStream* on = stream_of(stream);
  if (on->capture == nullptr && event->captured) return result(cudaErrorCapturedEvent);  // CUDA would capture it too
  if (on->capture != nullptr && !event->captured) {
    on->invalidated = true;
    return result(cudaErrorStreamCaptureIsolation);
  }
  if (!event->recorded || event->captured) return result(cudaSuccess);
  return enqueue(
      stream, [] {}, event->number);
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  CALLED(cudaStreamGetDevice, stream_of(stream));
  *device = stream_of(stream) == &w.legacy ? current_device() : stream->device;
  return result(cudaSuccess);
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  CALLED(cudaStreamGetId, stream_of(stream));
  *id = stream_of(stream)->id;
  return result(cudaSuccess);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  CALLED(cudaStreamIsCapturing, stream_of(stream));
  const EmulatedStream* on = stream_of(stream);
  *status = on->capture == nullptr ? cudaStreamCaptureStatusNone
            : on->invalidated      ? cudaStreamCaptureStatusInvalidated
                                   : cudaStreamCaptureStatusActive;
  return result(cudaSuccess);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  CALLED(cudaStreamBeginCapture, stream_of(stream));
  EmulatedStream* on = stream_of(stream);
  if (on == &w.legacy || on->capture != nullptr) return result(cudaErrorStreamCaptureUnsupported);
  on->capture = std::make_unique<EmulatedGraph>();
  on->invalidated = false;
  on->by = std::this_thread::get_id();
  on->mode = mode;
  w.capturing.push_back(on);
  return result(cudaSuccess);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  CALLED(cudaThreadExchangeStreamCaptureMode);
  std::swap(*mode, t_mode);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  CALLED(cudaStreamEndCapture, stream_of(stream));
  EmulatedStream* on = stream_of(stream);
  *graph = nullptr;
  if (on->capture == nullptr) return result(cudaErrorInvalidValue);
  if (on->mode != cudaStreamCaptureModeRelaxed && on->by != std::this_thread::get_id()) {
    on->invalidated = true;
    return result(cudaErrorStreamCaptureWrongThread);
  }
  std::erase(w.capturing, on);
  *graph = on->invalidated ? nullptr : on->capture.release();
  on->capture.reset();
  return on->invalidated ? result(cudaErrorStreamCaptureInvalidated) : result(cudaSuccess);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  CALLED(cudaGraphInstantiate);
  if (graph == nullptr) return result(cudaErrorInvalidValue);
  *exec = new EmulatedGraphExec{std::make_shared<std::vector<Work>>(graph->work), graph->memory};
  return result(cudaSuccess);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  CALLED(cudaGraphLaunch, stream_of(stream));
  return enqueue(stream, [work = exec->work, memory = exec->memory] {
    for (const Work& one : *work) one();
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  CALLED(cudaGraphExecDestroy);
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  CALLED(cudaGraphDestroy);
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  CALLED(cudaEventCreateWithFlags);
  if (w.devices == 0) return result(cudaErrorNoDevice);
  *event = new EmulatedEvent;
  (*event)->device = current_device();
  return result(cudaSuccess);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  CALLED(cudaEventCreate);
  return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  CALLED(cudaEventDestroy);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  CALLED(cudaEventRecord, stream_of(stream));
  const EmulatedStream* on = stream_of(stream);
  if (on != &w.legacy && on->device != event->device) return result(cudaErrorInvalidResourceHandle);
  const cudaError_t error = enqueue(stream, [time = event->time] { *time = std::chrono::steady_clock::now(); });
  if (error != cudaSuccess) return error;
  event->captured = on->capture != nullptr;
  if (event->captured) return cudaSuccess;
  event->recorded = true;
  event->number = w.enqueued;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  CALLED(cudaEventQuery, nullptr, event);
  if (!event->recorded || is_done(event->number)) return result(cudaSuccess);
  do_one();
  return is_done(event->number) ? result(cudaSuccess) : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  CALLED(cudaEventSynchronize, nullptr, event);
  while (event->recorded && !is_done(event->number)) do_one();
  settle_memory();
  return result(cudaSuccess);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  CALLED(cudaEventElapsedTime, nullptr, end);
  if (!is_done(begin->number) || !is_done(end->number)) return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *begin->time).count();
  return result(cudaSuccess);
}

}  // extern "C"
