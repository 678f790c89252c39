// Enforces capture_rules.h, and keeps contexts. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "emulator_world.h"

namespace emulator {
namespace {

// By the rules of cudaThreadExchangeStreamCaptureMode.
bool forbids_unsafe_calls(const EmulatedStream& captured) {
  return captured.by == std::this_thread::get_id()
             ? captured.mode != cudaStreamCaptureModeRelaxed && t_mode != cudaStreamCaptureModeRelaxed
             : captured.mode == cudaStreamCaptureModeGlobal && t_mode == cudaStreamCaptureModeGlobal;
}

// An error where any capture is one that conflicts, which ends it.
template <class Conflicts>
cudaError_t end_captures(cudaError_t error, const Conflicts& conflicts) {
  bool any = false;
  for (EmulatedStream* stream : world().capturing) {
    if (!conflicts(*stream)) continue;
    stream->invalidated = any = true;
  }
  return any ? result(error) : cudaSuccess;
}

cudaError_t end_capture_of(EmulatedStream& stream) {
  stream.invalidated = true;
  return result(cudaErrorStreamCaptureUnsupported);
}

// The legacy stream would wait for streams that are being captured and not non-blocking.
cudaError_t allow_legacy(Rule rule) {
  const auto conflicts = [](const EmulatedStream& stream) {
    return stream.blocking && stream.device == current_device();
  };
  const auto& capturing = world().capturing;
  if (rule != Rule::kAllowed) return end_captures(cudaErrorStreamCaptureImplicit, conflicts);
  return std::any_of(capturing.begin(), capturing.end(), [&](const EmulatedStream* one) { return conflicts(*one); })
             ? result(cudaErrorStreamCaptureImplicit)
             : cudaSuccess;
}

cudaError_t allow_there(Rule rule, EmulatedStream* stream, const EmulatedEvent* event) {
  const bool captured = stream != nullptr && stream->capture != nullptr;
  switch (rule) {
    case Rule::kFree:
    case Rule::kAllowed:
      return cudaSuccess;
    case Rule::kRecordedHere:
      if (!captured) return end_captures(cudaErrorStreamCaptureUnsupported, forbids_unsafe_calls);
      [[fallthrough]];
    case Rule::kRecorded:
      return captured && stream->invalidated ? result(cudaErrorStreamCaptureInvalidated) : cudaSuccess;
    case Rule::kEnqueued:
      return captured ? end_capture_of(*stream) : cudaSuccess;
    case Rule::kUnsafeThere:
      if (captured) return end_capture_of(*stream);
      if (event != nullptr && event->captured) return result(cudaErrorCapturedEvent);
      [[fallthrough]];
    case Rule::kUnsafe:
      return end_captures(cudaErrorStreamCaptureUnsupported, forbids_unsafe_calls);
    case Rule::kWhole:
      return end_captures(cudaErrorStreamCaptureUnsupported,
                          [](const EmulatedStream& one) { return one.device == current_device(); });
  }
  return cudaErrorInvalidValue;
}

CUresult get_device(CUdevice* device, int ordinal) {
  const Lock lock(world().mutex);
  *device = ordinal;
  return ordinal >= 0 && ordinal < world().devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult retain_primary(CUcontext* context, CUdevice device) {
  const Lock lock(world().mutex);
  *context = primary_context(device);
  return CUDA_SUCCESS;
}
CUresult get_current(CUcontext* context) {
  *context = t_context;
  return static_cast<CUresult>(world().sticky);
}
CUresult set_current(CUcontext context) {
  t_context = context;
  return static_cast<CUresult>(world().sticky);
}

struct DriverFunction {
  Call call;
  void* address;
};
const DriverFunction kDriver[] = {{Call::k_cuDeviceGet, reinterpret_cast<void*>(get_device)},
                                  {Call::k_cuDevicePrimaryCtxRetain, reinterpret_cast<void*>(retain_primary)},
                                  {Call::k_cuCtxGetCurrent, reinterpret_cast<void*>(get_current)},
                                  {Call::k_cuCtxSetCurrent, reinterpret_cast<void*>(set_current)}};

}  // namespace

int current_device() { return t_context != nullptr ? t_context->device : t_device; }

CUcontext primary_context(int device) {
  auto& context = world().primary[device];
  if (context == nullptr) context = std::make_unique<EmulatedContext>(EmulatedContext{device});
  return context.get();
}

cudaError_t allow(Call call, EmulatedStream* stream, const EmulatedEvent* event) {
  const Rule rule = rule_of(call).rule;
  if (rule == Rule::kFree) return cudaSuccess;
  if (t_context == nullptr && t_device < world().devices) t_context = primary_context(t_device);
  if (stream == &world().legacy)
    if (const cudaError_t error = allow_legacy(rule); error != cudaSuccess) return error;
  return allow_there(rule, stream, event);
}

}  // namespace emulator

using emulator::result;
using emulator::World;

extern "C" {

cudaError_t cudaSetDevice(int device) {
  CALLED(cudaSetDevice);
  if (device < 0 || device >= w.devices) return result(cudaErrorInvalidDevice);
  emulator::t_device = device;
  emulator::t_context = emulator::primary_context(device);
  return result(cudaSuccess);
}
cudaError_t cudaGetDevice(int* device) {
  CALLED(cudaGetDevice);
  if (w.devices == 0) return result(cudaErrorNoDevice);
  *device = emulator::current_device();
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  CALLED(cudaGetDriverEntryPointByVersion);
  *function = nullptr;
  for (const emulator::DriverFunction& one : emulator::kDriver)
    if (std::strcmp(symbol, rule_of(one.call).call) == 0) *function = one.address;
  *found = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return result(cudaSuccess);
}

int emulator_primary_contexts() { return static_cast<int>(emulator::world().primary.size()); }
CUcontext emulator_make_context(int device) {
  auto& foreign = emulator::world().foreign;
  return foreign.emplace_back(std::make_unique<EmulatedContext>(EmulatedContext{device})).get();
}
CUcontext emulator_context() { return emulator::t_context; }
void emulator_use_context(CUcontext context) {
  emulator::t_context = context;
  if (context == nullptr) emulator::t_device = 0;  // as in a new thread
}

}  // extern "C"
