// The one symbol of the plugin: its table.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "backend/build_id.h"
#include "backend/cuda/current.h"
#include "backend/cuda/device.h"
#include "backend/cuda/functions.h"
#include "support/cuda/check.h"
#include "support/guard.h"

namespace sidbeam::cuda {
namespace {

sidbeam_status open_device(int32_t device_id, const sidbeam_device_allocator* allocator, DeviceHandle** out,
                           sidbeam_error* err) {
  return guarded(err, [&] { *out = new DeviceHandle(device_id, allocator); });
}

sidbeam_status check_host_address(DeviceHandle* device, const void* address, const char* name, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(*device);
    check_host(address, name);
  });
}

void close_device(DeviceHandle* device) { delete device; }

constexpr DevicePlugin kPlugin = {
    kDevicePluginVersion, kBuildId,       open_device,  close_device,   upload_begin,     upload_copy,
    upload_finish,        upload_repeats, upload_mark,  upload_outlive, upload_free,      check_host_address,
    session_create,       session_start,  session_stop, session_step,   session_children, session_beams,
    session_fetch,        session_read,   session_take, session_items,  session_stats,    session_destroy,
    lists_create,         lists_send,     lists_mark,   lists_destroy,  set_create,       set_destroy,
    set_prefixes,         set_advance,    set_mask,     set_bitmask,    set_topk,         set_sample,
};

}  // namespace
}  // namespace sidbeam::cuda

extern "C" __attribute__((visibility("default"))) const sidbeam::DevicePlugin* sidbeam_cuda_plugin() {
  return &sidbeam::cuda::kPlugin;
}
