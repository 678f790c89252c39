// Streams, events, graphs. Enqueued work waits until somebody waits for it. Then the streams' work is done in an order
// drawn by lot among those that streams and events allow, so that nobody can rely on an order that nothing ensures. The
// default stream and those that are not non-blocking are one.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "emulator_world.h"

namespace emulator {
namespace {

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
void drain() {
  while (!world().line.empty()) do_one();
}

}  // namespace

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
  const auto at = static_cast<std::ptrdiff_t>(choices[(w.lot >> 33) % choices.size()]);
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
  if (on == &w.legacy && captures()) return result(cudaErrorStreamCaptureImplicit);
  w.line.push_back({++w.enqueued, after, on->blocking ? nullptr : on, std::move(work)});
  if (w.eager) drain();
  return cudaSuccess;
}

// By the rules of cudaThreadExchangeStreamCaptureMode.
cudaError_t unsafe_call() {
  if (t_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (EmulatedStream* stream : world().capturing) {
    const bool forbids = stream->by == std::this_thread::get_id()
                             ? stream->mode != cudaStreamCaptureModeRelaxed
                             : t_mode == cudaStreamCaptureModeGlobal && stream->mode == cudaStreamCaptureModeGlobal;
    if (!forbids) continue;
    stream->invalidated = true;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error == cudaSuccess ? error : result(error);
}
bool captures() {
  const auto& capturing = world().capturing;
  return std::any_of(capturing.begin(), capturing.end(), [](const EmulatedStream* stream) {
    return stream->by == std::this_thread::get_id() && stream->mode != cudaStreamCaptureModeRelaxed;
  });
}
cudaError_t wait_all() {
  if (const cudaError_t error = unsafe_call(); error != cudaSuccess) return error;
  drain();
  return result(cudaSuccess);
}

cudaError_t load(const void* kernel) {
  const Lock lock(world().mutex);
  if (const cudaError_t error = unsafe_call(); error != cudaSuccess) return error;
  world().loaded.insert({kernel, t_device});
  return result(cudaSuccess);
}

cudaError_t launch(const void* kernel_id, const cudaLaunchConfig_t& config, std::function<void()> kernel) {
  World& w = world();
  const Lock lock(w.mutex);
  const uint64_t threads = uint64_t{config.blockDim.x} * config.blockDim.y * config.blockDim.z;
  const uint64_t blocks = uint64_t{config.gridDim.x} * config.gridDim.y * config.gridDim.z;
  if (threads < 1 || threads > 1024 || blocks < 1 || config.gridDim.y > 65535 || config.gridDim.z > 65535 ||
      config.gridDim.x > 0x7FFFFFFFU || config.dynamicSmemBytes > 227 * 1024)
    return result(cudaErrorInvalidConfiguration);
  // CUDA would load it now; whether it can, and what that waits for, is not for a graph to depend on.
  if (stream_of(config.stream)->capture != nullptr && w.loaded.count({kernel_id, t_device}) == 0) {
    stream_of(config.stream)->invalidated = true;
    return result(cudaErrorStreamCaptureUnsupported);
  }
  w.loaded.insert({kernel_id, t_device});
  if (w.fail_launch_in > 0 && --w.fail_launch_in == 0) return result(cudaErrorLaunchOutOfResources);
  ++w.launches;
  return enqueue(config.stream, [grid = config.gridDim, block = config.blockDim, bytes = config.dynamicSmemBytes,
                                 run = std::move(kernel)] { run_grid(grid, block, bytes, run); });
}

}  // namespace emulator

using emulator::do_one;
using emulator::enqueue;
using emulator::is_done;
using emulator::Lock;
using emulator::result;
using emulator::stream_of;
using emulator::t_device;
using emulator::t_mode;
using emulator::unsafe_call;
using emulator::wait_all;
using emulator::World;

extern "C" {

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
  std::erase(w.capturing, stream);
  delete stream;
  return result(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  GUARDED(EmulatedStream* on = stream_of(stream));
  if (on->capture == nullptr) return wait_all();
  on->invalidated = true;
  return result(cudaErrorStreamCaptureUnsupported);
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
  on->by = std::this_thread::get_id();
  on->mode = mode;
  w.capturing.push_back(on);
  return result(cudaSuccess);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, t_mode);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  GUARDED(EmulatedStream* on = stream_of(stream));
  *graph = nullptr;
  if (on->capture == nullptr) return result(cudaErrorInvalidValue);
  std::erase(w.capturing, on);
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
  GUARDED(if (const cudaError_t error = unsafe_call(); error != cudaSuccess) return error);
  if (!event->recorded || is_done(event->number)) return result(cudaSuccess);
  do_one();
  return is_done(event->number) ? result(cudaSuccess) : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  GUARDED(if (const cudaError_t error = unsafe_call(); error != cudaSuccess) return error);
  while (event->recorded && !is_done(event->number)) do_one();
  return result(cudaSuccess);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  GUARDED(if (!is_done(begin->number) || !is_done(end->number)) return cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *begin->time).count();
  return result(cudaSuccess);
}

}  // extern "C"
