// Memory of devices and of the host, with guards around it, and copies.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "emulator_world.h"

namespace emulator {
namespace {

constexpr size_t kGuard = 256;
constexpr unsigned char kGuardByte = 0xEF, kFreshByte = 0xCD, kGoneByte = 0xDB;

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

cudaError_t allocate(void** pointer, size_t bytes, bool on_device) {
  World& w = world();
  const Lock lock(w.mutex);
  if (const cudaError_t error = unsafe_call(); error != cudaSuccess) return error;
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
  const cudaStreamCaptureMode mode = std::exchange(t_mode, cudaStreamCaptureModeRelaxed);
  const cudaError_t error = allocate(pointer, bytes, true);
  t_mode = mode;
  if (error == cudaSuccess) graph->memory->pointers.push_back(*pointer);
  return error;
}

}  // namespace emulator

using emulator::Allocation;
using emulator::enqueue;
using emulator::find;
using emulator::inside;
using emulator::kinds_fit;
using emulator::Lock;
using emulator::release;
using emulator::result;
using emulator::stream_of;
using emulator::wait_all;
using emulator::World;

GraphMemory::~GraphMemory() {
  const Lock lock(emulator::world().mutex);
  for (void* pointer : pointers) release(pointer, true);
}
extern "C" {

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

}  // extern "C"
