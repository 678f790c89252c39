// Memory of devices and of the host, with guards around it, and copies.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator_world.h"

#if defined(EMULATOR_UNDER_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

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
  if (EmulatedPool* pool = found->second.pool.get()) {
    pool->used -= static_cast<int64_t>(found->second.bytes);
    pool->kept += static_cast<int64_t>(found->second.bytes);
  }
  std::fill_n(found->second.block, found->second.bytes + kGuard, kGoneByte);
  ASAN_POISON_MEMORY_REGION(found->second.block, found->second.bytes + 2 * kGuard);
  w.gone.push_back(std::move(found->second));
  w.memory.erase(found);
  return cudaSuccess;
}

namespace {

cudaError_t allocate_now(void** pointer, size_t bytes, bool on_device) {
  World& w = world();
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
  w.memory[reinterpret_cast<uintptr_t>(*pointer)] = {bytes, on_device, current_device(), block, nullptr};
  w.live_bytes += static_cast<int64_t>(bytes);
  return cudaSuccess;
}

void take_from(const std::shared_ptr<EmulatedPool>& pool, const void* pointer, int64_t bytes) {
  const int64_t again = std::min(pool->kept, bytes);
  pool->kept -= again;
  pool->used += bytes;
  world().mapped_bytes += bytes - again;
  world().memory[reinterpret_cast<uintptr_t>(pointer)].pool = pool;
}

std::shared_ptr<EmulatedPool> make_pool() {
  auto pool = std::make_shared<EmulatedPool>();
  world().pools[pool.get()] = pool;
  return pool;
}

std::shared_ptr<EmulatedPool> pool_of(cudaMemPool_t pool) {
  if (pool != nullptr) return world().pools[pool];
  auto& standard = world().default_pools[current_device()];
  if (standard == nullptr) standard = make_pool();
  return standard;
}

// A copy that is done late must find the memory that it was enqueued with.
void copy(void* to, const void* from, size_t bytes, bool to_known, bool from_known) {
  uintptr_t base = 0;
  if ((to_known && find(to, &base) == nullptr) || (from_known && find(from, &base) == nullptr)) {
    std::fprintf(stderr, "emulator: memory of a copy was freed before the copy\n");
    std::abort();
  }
  if (bytes > 0) std::memmove(to, from, bytes);
}

}  // namespace

void settle_memory() {
  for (const auto& [handle, pool] : world().pools) {
    const uint64_t least = std::min(pool->threshold, static_cast<uint64_t>(INT64_MAX));
    pool->kept = std::min(pool->kept, std::max<int64_t>(0, static_cast<int64_t>(least) - pool->used));
  }
  if (!world().line.empty()) return;
  for (const Allocation& gone : world().gone) {
    ASAN_UNPOISON_MEMORY_REGION(gone.block, gone.bytes + 2 * kGuard);
    // All bytes are the first one. (A loop over them took a third of some tests' time.)
    if (gone.block[0] != kGoneByte || std::memcmp(gone.block, gone.block + 1, kGuard + gone.bytes - 1) != 0) {
      std::fprintf(stderr, "emulator: memory was written after it was freed\n");
      std::abort();
    }
    std::free(gone.block);
  }
  world().gone.clear();
}

cudaError_t allocate(Call call, void** pointer, size_t bytes, bool on_device) {
  const Lock lock(world().mutex);
  if (const cudaError_t error = allow(call); error != cudaSuccess) return error;
  return allocate_now(pointer, bytes, on_device);
}

cudaError_t allocate_async(Call call, void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const Lock lock(world().mutex);
  EmulatedStream* on = stream_of(stream);
  if (const cudaError_t error = allow(call, on); error != cudaSuccess) return error;
  if (!world().has_pools) return result(cudaErrorNotSupported);
  const cudaError_t error = allocate_now(pointer, bytes, true);
  if (error != cudaSuccess || *pointer == nullptr) return error;
  if (on->capture != nullptr) {
    on->capture->memory->pointers.push_back(*pointer);
  } else {
    take_from(pool_of(pool), *pointer, static_cast<int64_t>(bytes));
  }
  return cudaSuccess;
}

}  // namespace emulator

using emulator::Allocation;
using emulator::copy;
using emulator::drain;
using emulator::enqueue;
using emulator::find;
using emulator::inside;
using emulator::kinds_fit;
using emulator::Lock;
using emulator::make_pool;
using emulator::release;
using emulator::result;
using emulator::stream_of;
using emulator::World;

GraphMemory::~GraphMemory() {
  const Lock lock(emulator::world().mutex);
  for (void* pointer : pointers) release(pointer, true);
}
extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return emulator::allocate(emulator::Call::k_cudaMalloc, pointer, bytes, true);
}
cudaError_t cudaFree(void* pointer) {
  CALLED(cudaFree);
  drain();
  return release(pointer, true);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  CALLED(cudaFreeAsync, stream_of(stream));
  const EmulatedStream* on = stream_of(stream);
  const auto* owned = on->capture != nullptr ? &on->capture->memory->pointers : nullptr;
  if (owned != nullptr && std::count(owned->begin(), owned->end(), pointer) != 0) return result(cudaSuccess);
  return enqueue(stream, [pointer] { release(pointer, true); });
}
// Nothing says that it waits for copies, as cudaFree() does.
cudaError_t cudaFreeHost(void* pointer) {
  CALLED(cudaFreeHost);
  return release(pointer, false);
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  CALLED(cudaMemPoolCreate);
  if (!w.has_pools) return result(cudaErrorNotSupported);
  if (properties->allocType != cudaMemAllocationTypePinned || properties->location.type != cudaMemLocationTypeDevice ||
      properties->location.id < 0 || properties->location.id >= w.devices)
    return result(cudaErrorInvalidValue);
  *pool = make_pool().get();
  return result(cudaSuccess);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void* value) {
  CALLED(cudaMemPoolSetAttribute);
  pool->threshold = *static_cast<uint64_t*>(value);
  return result(cudaSuccess);
}
// What it still lends out keeps it alive.
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  CALLED(cudaMemPoolDestroy);
  return w.pools.erase(pool) == 1 ? result(cudaSuccess) : result(cudaErrorInvalidValue);
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  CALLED(cudaMemGetInfo);
  *total = size_t{1} << 34;
  *free = *total - static_cast<size_t>(w.live_bytes);
  return result(cudaSuccess);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  CALLED(cudaMemcpyAsync, stream_of(stream));
  if (!kinds_fit(to, from, bytes, kind)) return result(cudaErrorInvalidValue);
  uintptr_t base = 0;
  const bool to_known = find(to, &base) != nullptr;
  if (find(from, &base) != nullptr) return enqueue(stream, [=] { copy(to, from, bytes, to_known, true); });
  // Pageable memory is read before the call returns.
  auto read =
      std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
  return enqueue(stream, [=] { copy(to, read->data(), bytes, to_known, false); });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  CALLED(cudaMemcpy, &w.legacy);
  drain();
  if (!kinds_fit(to, from, bytes, kind)) return result(cudaErrorInvalidValue);
  if (bytes > 0) std::memmove(to, from, bytes);
  return result(cudaSuccess);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  CALLED(cudaMemsetAsync, stream_of(stream));
  if (bytes > 0 && !inside(to, bytes, true)) return result(cudaErrorInvalidValue);
  return enqueue(stream, [=] {
    if (bytes > 0) std::memset(to, value, bytes);
  });
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  CALLED(cudaMemset, &w.legacy);
  if (const cudaError_t error = cudaMemsetAsync(to, value, bytes, nullptr); error != cudaSuccess) return error;
  drain();
  return result(cudaSuccess);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  CALLED(cudaPointerGetAttributes);
  uintptr_t base = 0;
  const Allocation* found = find(pointer, &base);
  *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, const_cast<void*>(pointer)};
  if (found != nullptr)
    *attributes = {found->on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost, found->device,
                   const_cast<void*>(pointer), found->on_device ? nullptr : const_cast<void*>(pointer)};
  return result(cudaSuccess);
}

}  // extern "C"
