// Lists of a speculation's steps: pinned memory that the host writes, and its copy on the device.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <mutex>

#include "backend/cuda/current.h"
#include "backend/cuda/functions.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/marks.h"
#include "support/cuda/check.h"
#include "support/cuda/range.h"
#include "support/guard.h"

namespace sidbeam {

// Both memories: slots [S], then the row map [S, M].
struct DeviceListsHandle {
  DeviceHandle* device = nullptr;
  int64_t slots = 0, beams = 0;
  cuda::DeviceMemory memory;
  cuda::PinnedMemory here;
  cuda::Marks marks;  // of copies, and of what reads them
};

namespace cuda {

sidbeam_status lists_create(DeviceHandle* device, int64_t slots, int64_t beams, DeviceListsHandle** out,
                            StepListArrays* arrays, sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam lists_create");
    const Current current(*device);
    auto lists = std::make_unique<DeviceListsHandle>();
    lists->device = device;
    lists->slots = slots;
    lists->beams = beams;
    const int64_t entries = slots * (1 + beams), bytes = entries * static_cast<int64_t>(sizeof(int32_t));
    const WaitsForWork waits(*device);
    lists->here = PinnedMemory(bytes);
    lists->memory = DeviceMemory(*device, bytes, device->work, device->release);
    arrays->slots = reinterpret_cast<int32_t*>(lists->here.data());
    arrays->slots_there = reinterpret_cast<const int32_t*>(lists->memory.data());
    arrays->row_map = arrays->slots + slots;
    arrays->row_map_there = arrays->slots_there + slots;
    arrays->memory_bytes = 2 * bytes;
    std::fill_n(arrays->slots, entries, -1);
    std::call_once(device->take_kernel,
                   [&] { check(warm_take_kernel(device->work), "launch the kernel of a speculation"); });
    check(cudaStreamSynchronize(device->work), "wait for device memory");
    *out = lists.release();
  });
}

sidbeam_status lists_send(DeviceListsHandle* lists, int64_t count, void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(*lists->device);
    const auto bytes = static_cast<size_t>(lists->slots + count * lists->beams) * sizeof(int32_t);
    check(cudaMemcpyAsync(lists->memory.data(), lists->here.data(), bytes, cudaMemcpyHostToDevice,
                          static_cast<cudaStream_t>(stream)),
          "copy to the device");
  });
}

void lists_mark(DeviceListsHandle* lists, void* stream) {
  guarded(nullptr, [&] {
    const Current current(*lists->device);
    lists->marks.add(static_cast<cudaStream_t>(stream));
  });
}

void lists_destroy(DeviceListsHandle* lists) {
  guarded(nullptr, [&] {
    const std::unique_ptr<DeviceListsHandle> owned(lists);
    const Current current(*lists->device);
    lists->marks.order(lists->device->release);
    lists->marks.wait();  // pinned memory is not freed in the order of a stream
    lists->marks.clear();
    lists->memory = DeviceMemory();
    lists->here = PinnedMemory();
  });
}

}  // namespace cuda
}  // namespace sidbeam
