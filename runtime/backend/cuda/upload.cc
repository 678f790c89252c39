// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/upload.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "backend/cuda/current.h"
#include "backend/cuda/functions.h"
#include "backend/cuda/kernels.h"
#include "support/cuda/check.h"
#include "support/cuda/range.h"
#include "support/guard.h"

namespace sidbeam::cuda {

Staging::Staging(int64_t chunk_bytes, cudaStream_t stream) : stream_(stream) {
  for (PinnedMemory& buffer : buffers_) buffer = PinnedMemory(chunk_bytes);
  check(cudaEventCreateWithFlags(&copied_[0], cudaEventDisableTiming), "make an event");
  const cudaError_t status = cudaEventCreateWithFlags(&copied_[1], cudaEventDisableTiming);
  if (status != cudaSuccess) cudaEventDestroy(copied_[0]);
  check(status, "make an event");
}

Staging::~Staging() {
  cudaStreamSynchronize(stream_);
  for (const cudaEvent_t event : copied_) cudaEventDestroy(event);
}

void Staging::copy(uint8_t* to, const void* from, int64_t bytes) {
  const int turn = next_;
  check(cudaEventSynchronize(copied_[turn]), "wait for a copy to the device");
  std::memcpy(buffers_[turn].data(), from, static_cast<size_t>(bytes));
  check(cudaMemcpyAsync(to, buffers_[turn].data(), static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream_),
        "copy to the device");
  check(cudaEventRecord(copied_[turn], stream_), "record an event");
  next_ = 1 - turn;
}

sidbeam_status upload_begin(DeviceHandle* device, int64_t bytes, int64_t chunk_bytes, void* stream, UploadHandle** out,
                            const uint8_t** base, sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam upload");
    const Current current(*device);
    if (stream != nullptr) check_not_captured(device->id, stream, "an upload");
    auto upload = std::make_unique<UploadHandle>();
    upload->device = device;
    upload->memory = DeviceMemory(*device, bytes, device->work, device->release);
    check(cudaStreamSynchronize(device->work), "wait for device memory");
    upload->staging =
        std::make_unique<Staging>(chunk_bytes, stream != nullptr ? static_cast<cudaStream_t>(stream) : device->work);
    *base = upload->memory.data();
    *out = upload.release();
  });
}

sidbeam_status upload_copy(UploadHandle* upload, int64_t at, const void* from, int64_t bytes, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(*upload->device);
    upload->staging->copy(upload->memory.data() + at, from, bytes);
  });
}

sidbeam_status upload_finish(UploadHandle* upload, const IndexView* view, bool verify, int64_t* damage,
                             sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam upload: verify");
    const Current current(*upload->device);
    const cudaStream_t stream = upload->staging->stream();
    if (view == nullptr) {
      check(cudaStreamSynchronize(stream), "wait for the upload");
      upload->staging.reset();
      return;
    }
    auto* damage_there = reinterpret_cast<uint64_t*>(upload->memory.data() + sizeof(IndexView));
    uint64_t faults = 0;
    // Small copies from pageable memory are staged before the call returns.
    check(cudaMemcpyAsync(upload->memory.data(), view, sizeof *view, cudaMemcpyHostToDevice, stream),
          "copy to the device");
    check(cudaMemsetAsync(damage_there, 0, sizeof faults, stream), "clear device memory");
    if (verify) check(launch_verify(upload->view(), damage_there, stream), "launch the verification");
    check(cudaMemcpyAsync(&faults, damage_there, sizeof faults, cudaMemcpyDeviceToHost, stream),
          "copy from the device");
    check(cudaStreamSynchronize(stream), "wait for the upload");
    upload->staging.reset();
    *damage = static_cast<int64_t>(faults);
  });
}

sidbeam_status upload_repeats(UploadHandle* upload, const RepeatsView* repeats, void* stream, int64_t* bytes,
                              sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam upload: repeats");
    DeviceHandle& device = *upload->device;
    const Current current(device);
    check_not_captured(device.id, stream, "the first listing of distinct items");
    RepeatsView there = *repeats;
    struct Part {
      UintArray* array;
      int64_t bytes, at;
    };
    Layout layout;
    const auto part = [&](UintArray& array, uint64_t count) {
      const auto all = static_cast<int64_t>(count);
      return Part{&array, all * array.width, layout.add_bytes(all, array.width)};
    };
    const Part parts[] = {part(there.rows, there.count), part(there.items, there.count),
                          part(there.offsets, there.repeated + 1), part(there.ordinals, there.count)};
    const WaitsForWork waits(device);
    DeviceMemory memory(device, layout.bytes(), device.work, device.release);
    for (const Part& one : parts) {
      const void* from = std::exchange(one.array->data, memory.data() + one.at);
      check(cudaMemcpyAsync(memory.data() + one.at, from, static_cast<size_t>(one.bytes), cudaMemcpyHostToDevice,
                            device.work),
            "copy to the device");
    }
    check(cudaMemcpyAsync(upload->memory.data() + offsetof(IndexView, repeats), &there, sizeof there,
                          cudaMemcpyHostToDevice, device.work),
          "copy to the device");
    check(cudaStreamSynchronize(device.work), "wait for the upload");
    *bytes = memory.bytes();
    upload->repeats = std::move(memory);
  });
}

void upload_mark(UploadHandle* upload, void* stream) {
  guarded(nullptr, [&] {
    const Current current(*upload->device);
    upload->marks.add(static_cast<cudaStream_t>(stream));
  });
}

void upload_outlive(UploadHandle* upload, DeviceHandle* device) {
  guarded(nullptr, [&] {
    const Current current(*device);
    upload->marks.add(device->release);
  });
}

void upload_free(UploadHandle* upload) {
  guarded(nullptr, [&] {
    const std::unique_ptr<UploadHandle> owned(upload);
    const Current current(*upload->device);
    upload->staging.reset();
    upload->marks.order(upload->device->release);
    upload->marks.clear();
    upload->memory = DeviceMemory();
    upload->repeats = DeviceMemory();
  });
}

}  // namespace sidbeam::cuda
