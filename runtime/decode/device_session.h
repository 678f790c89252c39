// The part of a session that is on a device: the calls of session.h, once their arguments have been checked as far as
// the host can. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/device.h"
#include "sidbeam/session.h"

namespace sidbeam {

struct StartList;  // decode/session.h

class DeviceSession {
 public:
  DeviceSession(Ref<Device> device, Ref<Upload> upload, const DeviceSessionShape& shape);
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;
  ~DeviceSession() { device_->let_go(&DevicePlugin::session_destroy, handle_); }
  const DevicePlugin& plugin() const { return device_->plugin(); }
  DeviceSessionHandle* handle() const { return handle_; }
  int32_t id() const { return device_->id(); }
  // Of the session's own constraint; it stays as long as the session.
  const Ref<Upload>& upload() const { return upload_; }
  // Lets a slot hold an upload (nullptr: none) in place of the one before, which work on the stream may still use.
  void hold(int64_t slot, Ref<Upload> upload, void* stream);

 private:
  Ref<Device> device_;
  Ref<Upload> upload_;
  std::vector<Ref<Upload>> slots_;  // [S] of constraints other than the session's
  DeviceSessionHandle* handle_ = nullptr;
};

// Brings what the session needs of its constraint's index to the device.
std::unique_ptr<DeviceSession> make_device_session(const sidbeam_session& session, int32_t device_id);

// Throw where a list that the host reads is in a device's memory.
void check_host(const DeviceSession& device, const void* list, const char* name);
void check_start_lists(const DeviceSession& device, const sidbeam_start_args& args);

void start_on_device(sidbeam_session& session, const StartList& list);
void step_on_device(sidbeam_session& session, const sidbeam_step_args& args);
void stop_on_device(sidbeam_session& session, const int32_t* slots, int64_t count, void* stream);
void get_beams_on_device(const sidbeam_session& session, sidbeam_beams& out);
void fetch_from_device(sidbeam_session& session, sidbeam_beams& out, void* stream);
void get_items_on_device(const sidbeam_session& session, const int32_t* slots, int64_t count, const sidbeam_items& out);
void get_counters_of_device(const sidbeam_session& session, StepCounters& out, int64_t& memory_bytes);

}  // namespace sidbeam
