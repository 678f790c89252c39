// SPDX-License-Identifier: Apache-2.0
#include "decode/device_session.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "decode/session.h"
#include "support/error.h"

namespace sidbeam {
namespace {

// The upload that entry i decodes with.
Ref<Upload> upload_of(const sidbeam_session& session, const sidbeam_start_args& args, int64_t i) {
  const sidbeam_index& index = *constraint_of(session, args, i)->index;
  if (&index == session.constraint->index.get()) return Ref<Upload>::share(session.device->upload().get());
  Ref<Upload> upload = index.uploads.find(session.device->id(), kinds_for(session.strategy, index.index.view));
  if (!upload)
    fail(SIDBEAM_BAD_STATE,
         "the index of constraints[%lld] is not on CUDA device %d, expected sidbeam_index_upload() before",
         static_cast<long long>(i), session.device->id());
  return upload;
}

// The codes of all prefixes, one after the other, as `starts` have their places.
std::vector<int32_t> gather_codes(const StartList& list, std::vector<DeviceStart>& starts) {
  std::vector<int32_t> codes;
  for (int64_t i = 0; i < list.count; ++i) {
    DeviceStart& start = starts[static_cast<size_t>(i)];
    start.prefix_at = static_cast<int32_t>(codes.size());
    start.prefix_length = list.prefix_length(i);
    const int32_t* prefix = list.prefixes.of(i);
    if (start.prefix_length > 0) codes.insert(codes.end(), prefix, prefix + start.prefix_length);
  }
  return codes;
}

// The slots that a list names; nullptr: 0 .. count-1.
std::vector<int32_t> list_of(const int32_t* slots, int64_t count) {
  std::vector<int32_t> listed(static_cast<size_t>(count));
  if (slots != nullptr) std::copy_n(slots, count, listed.begin());
  if (slots == nullptr) std::iota(listed.begin(), listed.end(), 0);
  return listed;
}

// The fewest columns that some level of the session's index needs: with less no step can be right. What each slot needs
// at its level is known on the device alone.
void check_columns(const sidbeam_session& session, const sidbeam_rows& rows) {
  const IndexView& index = session.constraint->view();
  int64_t fewest = columns_needed(session.vocabulary, index, 0);
  for (int32_t level = 1; level < index.levels; ++level)
    fewest = std::min(fewest, columns_needed(session.vocabulary, index, level));
  if (rows.columns < fewest)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.columns is %lld, expected at least %lld for the codes of any level",
         static_cast<long long>(rows.columns), static_cast<long long>(fewest));
}

}  // namespace

DeviceSession::DeviceSession(Ref<Device> device, Ref<Upload> upload, const DeviceSessionShape& shape)
    : device_(std::move(device)), upload_(std::move(upload)), slots_(static_cast<size_t>(shape.slots)) {
  call_plugin(plugin().session_create, device_->handle(), &shape, &handle_);
}

void DeviceSession::hold(int64_t slot, Ref<Upload> upload, void* stream) {
  Ref<Upload>& held = slots_[static_cast<size_t>(slot)];
  if (upload.get() == upload_.get()) upload = {};
  if (held && held.get() != upload.get()) held->mark(stream);
  held = std::move(upload);
}

std::unique_ptr<DeviceSession> make_device_session(const sidbeam_session& session, int32_t device_id) {
  sidbeam_index& index = *session.constraint->index;
  sidbeam_upload_config config = SIDBEAM_UPLOAD_CONFIG_INIT;
  config.device_id = device_id;
  config.kinds = kinds_for(session.strategy, index.index.view);
  Ref<Device> device = session.runtime->devices.open(device_id);
  Ref<Upload> upload = index.uploads.bring(index.runtime->devices, index.index, config);
  DeviceSessionShape shape;
  shape.slots = session.slots;
  shape.beams = session.beams;
  shape.levels = session.levels;
  shape.strategy = session.strategy;
  shape.normalization = session.normalization;
  shape.top_k = session.top_k;
  shape.vocabulary = device_vocabulary(session.vocabulary);
  return std::make_unique<DeviceSession>(std::move(device), std::move(upload), shape);
}

void check_host(const DeviceSession& device, const void* list, const char* name) {
  call_plugin(device.plugin().check_host, list, name);
}

void check_start_lists(const DeviceSession& device, const sidbeam_start_args& args) {
  check_host(device, args.slots, "slots");
  check_host(device, args.constraints, "constraints");
  check_host(device, args.widths, "widths");
  check_host(device, args.prefixes, "prefixes");
  check_host(device, args.prefix_lengths, "prefix_lengths");
  check_host(device, args.inverse_temperatures, "inverse_temperatures");
  check_host(device, args.soft_caps, "soft_caps");
}

void start_on_device(sidbeam_session& session, const StartList& list) {
  const sidbeam_start_args& args = list.args;
  DeviceSession& device = *session.device;
  std::vector<DeviceStart> starts(static_cast<size_t>(list.count));
  std::vector<Ref<Upload>> uploads;
  uploads.reserve(starts.size());
  for (int64_t i = 0; i < list.count; ++i) {
    uploads.push_back(upload_of(session, args, i));
    DeviceStart& start = starts[static_cast<size_t>(i)];
    start.slot = args.slots != nullptr ? args.slots[i] : static_cast<int32_t>(i);
    start.width = list.width(i, session.beams);
    start.inverse_temperature = args.inverse_temperatures != nullptr ? args.inverse_temperatures[i] : 0.0F;
    start.soft_cap = args.soft_caps != nullptr ? args.soft_caps[i] : 0.0F;
    start.upload = uploads.back()->handle();
  }
  const std::vector<int32_t> codes = gather_codes(list, starts);
  call_plugin(device.plugin().session_start, device.handle(), starts.data(), list.count, codes.data(), args.stream);
  for (size_t i = 0; i < starts.size(); ++i) device.hold(starts[i].slot, std::move(uploads[i]), args.stream);
}

void step_on_device(sidbeam_session& session, const sidbeam_step_args& args) {
  check_columns(session, *args.rows);
  call_plugin(session.device->plugin().session_step, session.device->handle(), &args);
}

void stop_on_device(sidbeam_session& session, const int32_t* slots, int64_t count, void* stream) {
  DeviceSession& device = *session.device;
  const std::vector<int32_t> listed = list_of(slots, count);
  call_plugin(device.plugin().session_stop, device.handle(), listed.data(), count, stream);
  for (const int32_t slot : listed) device.hold(slot, {}, stream);
}

void get_beams_on_device(const sidbeam_session& session, sidbeam_beams& out) {
  session.device->plugin().session_beams(session.device->handle(), &out);
}

void fetch_from_device(sidbeam_session& session, sidbeam_beams& out, void* stream) {
  call_plugin(session.device->plugin().session_fetch, session.device->handle(), stream, &out);
}

void get_items_on_device(const sidbeam_session& session, const int32_t* slots, int64_t count,
                         const sidbeam_items& out) {
  const std::vector<int32_t> listed = list_of(slots, count);
  call_plugin(session.device->plugin().session_items, session.device->handle(), listed.data(), count, &out);
}

void get_counters_of_device(const sidbeam_session& session, StepCounters& out, int64_t& memory_bytes) {
  call_plugin(session.device->plugin().session_stats, session.device->handle(), &out, &memory_bytes);
  memory_bytes += session.vocabulary.maps.bytes() + session.marks.bytes();
}

}  // namespace sidbeam
