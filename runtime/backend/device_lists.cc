// SPDX-License-Identifier: Apache-2.0
#include "backend/device_lists.h"

#include <utility>

namespace sidbeam {
namespace {

class DeviceLists final : public StepLists {
 public:
  DeviceLists(Ref<Device> device, int64_t slot_count, int64_t beams) : device_(std::move(device)) {
    call_plugin(device_->plugin().lists_create, device_->handle(), slot_count, beams, &handle_,
                static_cast<StepListArrays*>(this));
  }
  DeviceLists(const DeviceLists&) = delete;
  DeviceLists& operator=(const DeviceLists&) = delete;
  ~DeviceLists() override { device_->let_go(&DevicePlugin::lists_destroy, handle_); }
  void send(int64_t count, void* stream) override { call_plugin(device_->plugin().lists_send, handle_, count, stream); }
  void mark(void* stream) noexcept override { device_->let_go(&DevicePlugin::lists_mark, handle_, stream); }

 private:
  Ref<Device> device_;
  DeviceListsHandle* handle_ = nullptr;
};

}  // namespace

std::unique_ptr<StepLists> make_device_lists(Ref<Device> device, int64_t slots, int64_t beams) {
  return std::make_unique<DeviceLists>(std::move(device), slots, beams);
}

}  // namespace sidbeam
