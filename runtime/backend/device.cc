// SPDX-License-Identifier: Apache-2.0
#include "backend/device.h"

#include "backend/device_lists.h"
#include "backend/device_session.h"
#include "backend/device_set.h"
#include "backend/plugin.h"

namespace sidbeam {

Device::Device(const DevicePlugin& plugin, int32_t id, const sidbeam_device_allocator* allocator)
    : plugin_(plugin), id_(id) {
  call_plugin(plugin.open, id, allocator, &handle_);
}

std::unique_ptr<SessionBackend> Device::make_session(const SessionShape& shape, Constraint& constraint,
                                                     const Allocator& /*allocator*/) {
  return make_device_session(Ref<Device>::share(this), shape, constraint);
}

std::unique_ptr<SetBackend> Device::make_set(const SetShape& shape, const Allocator& /*allocator*/) {
  return make_device_set(Ref<Device>::share(this), shape);
}

std::unique_ptr<StepLists> Device::make_step_lists(int64_t slots, int64_t beams, const Allocator& /*allocator*/) {
  return make_device_lists(Ref<Device>::share(this), slots, beams);
}

void Devices::configure(const char* library, const sidbeam_device_allocator* allocator) {
  if (library != nullptr) library_ = library;
  if (allocator != nullptr) allocator_ = *allocator;
}

Device& Devices::open(int32_t id) {
  Opened& opened = opened_.get();
  const std::lock_guard lock(opened.mutex);
  if (opened.plugin == nullptr) opened.plugin = &load_cuda_plugin(library_);
  Ref<Device>& device = opened.devices[id];
  if (!device)
    device = Ref<Device>::adopt(new Device(*opened.plugin, id, allocator_.struct_size != 0 ? &allocator_ : nullptr));
  return *device;
}

Upload::Upload(Ref<Device> device, int32_t kinds, int64_t bytes, int64_t chunk_bytes, void* stream, Ref<Upload> below)
    : device_(std::move(device)), below_(std::move(below)), kinds_(kinds), bytes_(bytes) {
  call_plugin(device_->plugin().upload_begin, device_->handle(), bytes, chunk_bytes, stream, &handle_, &base_);
}

int64_t Upload::finish(const IndexView& view, bool verify) {
  int64_t damage = 0;
  call_plugin(device_->plugin().upload_finish, handle_, &view, verify, &damage);
  return damage;
}

void Upload::finish() {
  int64_t damage = 0;
  call_plugin(device_->plugin().upload_finish, handle_, static_cast<const IndexView*>(nullptr), false, &damage);
}

void Upload::bring_repeats(const RepeatsView& repeats, void* stream) {
  if (repeats.count == 0) return;
  const DevicePlugin& plugin = device_->plugin();  // refuses a forked child, which the mutex could hold up for ever
  const std::lock_guard lock(bringing_);
  if (repeat_bytes_ > 0) return;
  int64_t bytes = 0;
  call_plugin(plugin.upload_repeats, handle_, &repeats, stream, &bytes);
  repeat_bytes_ = bytes;
}

}  // namespace sidbeam
