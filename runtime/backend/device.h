// A device that a plugin drives, and the indexes on it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backend/device_plugin.h"
#include "support/device_process.h"
#include "support/ref_counted.h"

namespace sidbeam {

// Calls function(arguments ..., error) of a plugin; throws what it reports.
template <class... Parameters, class... Arguments>
void call_plugin(sidbeam_status (*function)(Parameters...), Arguments... arguments) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(function(arguments..., &error), error);
}

// In a forked child asking for the plugin fails.
class Device final : public RefCounted<Device>, public Backend {
 public:
  Device(const DevicePlugin& plugin, int32_t id, const sidbeam_device_allocator* allocator);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() override { let_go(&DevicePlugin::close, handle_); }
  std::unique_ptr<SessionBackend> make_session(const SessionShape& shape, Constraint& constraint,
                                               const Allocator& allocator) override;
  std::unique_ptr<SetBackend> make_set(const SetShape& shape, const Allocator& allocator) override;
  std::unique_ptr<StepLists> make_step_lists(int64_t slots, int64_t beams, const Allocator& allocator) override;
  const DevicePlugin& plugin() const {
    process_.check(id_);
    return plugin_;
  }
  // Calls a function of the plugin's that frees an object of this device, or prepares that.
  template <class... Handles>
  void let_go(void (*DevicePlugin::*function)(Handles*...), Handles*... handles) const {
    process_.let_go(plugin_.*function, handles...);
  }
  DeviceHandle* handle() const { return handle_; }
  int32_t id() const { return id_; }

 private:
  const DevicePlugin& plugin_;
  int32_t id_;
  DeviceProcess process_;
  DeviceHandle* handle_ = nullptr;
};

// The CUDA devices of a runtime, each opened when it is first asked for.
class Devices {
 public:
  // Before the first open().
  void configure(const char* library, const sidbeam_device_allocator* allocator);
  // The device stays as long as this, in this process.
  Device& open(int32_t id);

 private:
  struct Opened {
    std::mutex mutex;
    const DevicePlugin* plugin = nullptr;
    std::map<int32_t, Ref<Device>> devices;
  };

  std::string library_;
  sidbeam_device_allocator allocator_{};  // struct_size 0: none
  OfProcess<Opened> opened_;
};

// The sections of some kinds of an index, on a device; or an overlay and its delta's, beside an upload of their base;
// or, of no kind and without the header, a filter's bits.
class Upload final : public RefCounted<Upload> {
 public:
  // Memory for it: a header of kUploadHeaderBytes and sections, which are copied in at most chunk_bytes at a time.
  Upload(Ref<Device> device, int32_t kinds, int64_t bytes, int64_t chunk_bytes, void* stream, Ref<Upload> below = {});
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
  ~Upload() { device_->let_go(&DevicePlugin::upload_free, handle_); }
  const Device& device() const { return *device_; }
  UploadHandle* handle() const { return handle_; }
  int32_t kinds() const { return kinds_; }
  int64_t bytes() const { return bytes_ + repeat_bytes_.load(std::memory_order_relaxed); }
  const uint8_t* base() const { return base_; }         // on the device
  const Upload* below() const { return below_.get(); }  // of the base; null: of no overlay
  void copy(int64_t at, const void* from, int64_t bytes) {
    call_plugin(device_->plugin().upload_copy, handle_, at, from, bytes);
  }
  // Waits for the copies; returns the number of faults where `verify` looks for them.
  int64_t finish(const IndexView& view, bool verify);
  void finish();
  // Sees to it that the copy knows these repeats of its index, for work that comes after; on a stream that is not
  // captured, the first time. Any number of threads may call at a time.
  void bring_repeats(const RepeatsView& repeats, void* stream);
  // What is enqueued on the stream by now may use it.
  void mark(void* stream) const { device_->plugin().upload_mark(handle_, stream); }
  // Work of a session or set of `device` that is gone may use it.
  void outlive(const Device& device) const { device.let_go(&DevicePlugin::upload_outlive, handle_, device.handle()); }

 private:
  Ref<Device> device_;
  Ref<Upload> below_;  // goes after this, in the order of the same stream, and so after the same work
  UploadHandle* handle_ = nullptr;
  const uint8_t* base_ = nullptr;
  int32_t kinds_;
  int64_t bytes_;
  std::mutex bringing_;  // of repeats
  std::atomic<int64_t> repeat_bytes_{0};
};

}  // namespace sidbeam
