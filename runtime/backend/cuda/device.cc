// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device.h"

#include "backend/cuda/current.h"
#include "support/cuda/check.h"
#include "support/error.h"
#include "support/guard.h"

namespace sidbeam {
namespace {

constexpr int64_t kArrayAlignment = 256;

}  // namespace

DeviceHandle::DeviceHandle(int32_t device_id, const sidbeam_device_allocator* given) : id(device_id) {
  major = cuda::check_device(id);
  if (given != nullptr) allocator = *given;
  context = cuda::primary_context(id);
  const cuda::Current current(*this);
  try {
    make();
  } catch (...) {
    destroy();
    throw;
  }
}

DeviceHandle::~DeviceHandle() {
  guarded(nullptr, [&] {
    const cuda::Current current(*this);
    destroy();
  });
}

void DeviceHandle::make() {
  cuda::check(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking), "make a stream");
  cuda::check(cudaStreamCreateWithFlags(&release, cudaStreamNonBlocking), "make a stream");
  int has_pools = 0;
  cuda::check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, id), "ask for memory pools");
  if (has_pools == 0 || allocator.allocate != nullptr) return;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = id;
  cuda::check(cudaMemPoolCreate(&workspaces, &properties), "make a memory pool");
  uint64_t kept = UINT64_MAX;
  cuda::check(cudaMemPoolSetAttribute(workspaces, cudaMemPoolAttrReleaseThreshold, &kept), "make a memory pool");
}

// Waits for nothing; the streams' work still completes, and what the pool has lent out comes back to it.
void DeviceHandle::destroy() {
  if (workspaces != nullptr) cudaMemPoolDestroy(workspaces);
  if (release != nullptr) cudaStreamDestroy(release);
  if (work != nullptr) cudaStreamDestroy(work);
}

namespace cuda {

DeviceMemory::DeviceMemory(const DeviceHandle& device, int64_t bytes, cudaStream_t stream, cudaStream_t release,
                           cudaMemPool_t pool)
    : device_(&device), bytes_(bytes), release_(release) {
  if (bytes == 0) return;
  void* memory = nullptr;
  if (device.allocator.allocate == nullptr) {
    const auto size = static_cast<size_t>(bytes);
    const cudaError_t status =
        pool != nullptr ? cudaMallocFromPoolAsync(&memory, size, pool, stream) : cudaMallocAsync(&memory, size, stream);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      fail(SIDBEAM_OUT_OF_MEMORY, "CUDA device %d has no %lld bytes left", device.id, static_cast<long long>(bytes));
    }
    if (status == cudaErrorNotSupported) {
      cudaGetLastError();
      fail(SIDBEAM_UNSUPPORTED, "CUDA device %d has no memory pools, expected runtime_config.device_allocator there",
           device.id);
    }
    check(status, "allocate device memory");
  } else {
    memory = device.allocator.allocate(device.allocator.context, device.id, bytes, stream);
    if (memory == nullptr)
      fail(SIDBEAM_OUT_OF_MEMORY, "device_allocator gave no %lld bytes of CUDA device %d",
           static_cast<long long>(bytes), device.id);
    if (reinterpret_cast<uintptr_t>(memory) % kArrayAlignment != 0) {
      device.allocator.release(device.allocator.context, device.id, memory, bytes, stream);
      fail(SIDBEAM_INVALID_ARGUMENT, "device_allocator gave %p, expected a multiple of %lld", memory,
           static_cast<long long>(kArrayAlignment));
    }
  }
  data_ = static_cast<uint8_t*>(memory);
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(release_, other.release_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (data_ == nullptr) return;
  if (device_->allocator.release != nullptr) {
    device_->allocator.release(device_->allocator.context, device_->id, data_, bytes_, release_);
  } else {
    cudaFreeAsync(data_, release_);
  }
}

PinnedMemory::PinnedMemory(int64_t bytes) : bytes_(bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, static_cast<size_t>(bytes), cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    fail(SIDBEAM_OUT_OF_MEMORY, "no %lld bytes of pinned memory are left", static_cast<long long>(bytes));
  }
  check(status, "allocate pinned memory");
  data_ = static_cast<uint8_t*>(memory);
}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr) cudaFreeHost(data_);
}

int64_t Layout::add_bytes(int64_t count, int64_t size) {
  const int64_t at = end_;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, at + kArrayAlignment - 1, &end_))
    fail(SIDBEAM_OUT_OF_MEMORY, "out of device memory: a size overflows");
  end_ -= end_ % kArrayAlignment;
  return at;
}

}  // namespace cuda
}  // namespace sidbeam
