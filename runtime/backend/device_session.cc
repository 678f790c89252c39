// SPDX-License-Identifier: Apache-2.0
#include "backend/device_session.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "backend/take.h"
#include "backend/upload.h"
#include "support/error.h"

namespace sidbeam {
namespace {

// The fewest columns that any level of an index needs; with fewer, no step can be right. Only the device knows what
// each slot needs at its level.
int64_t fewest_columns(const VocabularyView& vocabulary, const IndexView& index) {
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (int32_t l = 0; l < index.levels; ++l)
    fewest = std::min(fewest, vocabulary.columns[l].needed(index.level[l].codes, index.variable_length));
  return fewest;
}

// The slots that a list names; nullptr: 0 .. count-1.
std::vector<int32_t> list_of(const int32_t* slots, int64_t count) {
  std::vector<int32_t> listed(static_cast<size_t>(count));
  if (slots != nullptr) std::copy_n(slots, count, listed.begin());
  if (slots == nullptr) std::iota(listed.begin(), listed.end(), 0);
  return listed;
}

// What a slot keeps from its start to its stop, or its next start.
struct HeldSlot {
  Ref<Constraint> constraint;
  Ref<Upload> upload;      // of its index; null: the session's own
  Ref<FilterCopy> filter;  // that its rules read; null: none
};

class DeviceSession final : public SessionBackend {
 public:
  DeviceSession(Ref<Device> device, const SessionShape& shape, const Constraint& constraint)
      : device_(std::move(device)),
        strategy_(shape.strategy),
        fewest_columns_(fewest_columns(shape.vocabulary, constraint.view())),
        index_(&constraint.view()),
        upload_(constraint.bring_upload(device_->id(), kinds_for(shape.strategy, constraint.view()))),
        levels_(shape.levels),
        slots_(static_cast<size_t>(shape.slots)),
        widths_(static_cast<size_t>(shape.slots) * static_cast<size_t>(shape.levels)) {
    constraint.bring_filter(device_->id());  // rather than by the first start
    call_plugin(plugin().session_create, device_->handle(), &shape, &handle_);
  }
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;
  ~DeviceSession() override {
    device_->let_go(&DevicePlugin::session_destroy, handle_);
    upload_->outlive(*device_);
    for (const HeldSlot& slot : slots_) {
      if (slot.upload) slot.upload->outlive(*device_);
      if (slot.filter) slot.filter->upload().outlive(*device_);
    }
  }

  void check_host(const void* list, const char* name) const override {
    call_plugin(plugin().check_host, device_->handle(), list, name);
  }
  void start(const SlotStart* starts, int64_t count, void* stream) override;
  void stop(const int32_t* slots, int64_t count, void* stream) override;
  void take_beams(const StepLists& lists, int64_t count, SessionBackend& from, void* stream) override;
  void step(const sidbeam_step_args& args) override;
  void children(const int32_t* slots, int64_t count, const ChildColumns& out) const override {
    call_plugin(plugin().session_children, handle_, slots, count, &out);
  }
  sidbeam_beams beams() const override {
    sidbeam_beams out = SIDBEAM_BEAMS_INIT;
    plugin().session_beams(handle_, &out);
    return out;
  }
  sidbeam_beams fetch(void* stream) override {
    sidbeam_beams out = SIDBEAM_BEAMS_INIT;
    call_plugin(plugin().session_fetch, handle_, stream, &out);
    return out;
  }
  sidbeam_beams read(void* stream) override {
    sidbeam_beams out = SIDBEAM_BEAMS_INIT;
    call_plugin(plugin().session_read, handle_, stream, &out);
    return out;
  }
  void items(const int32_t* slots, int64_t count, const sidbeam_items& out) const override;
  SessionCounts counts() const override {
    SessionCounts out;
    call_plugin(plugin().session_stats, handle_, &out.counters, &out.memory_bytes);
    return out;
  }

 private:
  const DevicePlugin& plugin() const { return device_->plugin(); }
  int32_t* widths_of(int32_t slot) { return widths_.data() + static_cast<size_t>(slot) * static_cast<size_t>(levels_); }
  Upload* copy_of(const HeldSlot& slot) const { return slot.upload ? slot.upload.get() : upload_.get(); }
  HeldSlot held_for(const SlotStart& start, int64_t i) const;
  void hold(int64_t slot, HeldSlot next, void* stream);

  Ref<Device> device_;
  int32_t strategy_;
  int64_t fewest_columns_;
  const IndexView* index_;       // of the session's own constraint
  Ref<Upload> upload_;           // its copy here, for the life of the session
  int32_t levels_;               // L
  std::vector<HeldSlot> slots_;  // [S]
  std::vector<int32_t> widths_;  // [S, L]
  DeviceSessionHandle* handle_ = nullptr;
  // Items have been asked for distinct, so that every started slot's copy knows its repeats: a graph may ask again.
  mutable bool lists_distinct_ = false;
};

// With what entry i of a start decodes.
HeldSlot DeviceSession::held_for(const SlotStart& start, int64_t i) const {
  const Constraint& constraint = *start.constraint;
  HeldSlot held{Ref<Constraint>::share(start.constraint), {}, {}};
  if (&constraint.view() != index_) {
    held.upload = constraint.find_upload(device_->id(), kinds_for(strategy_, constraint.view()));
    if (!held.upload)
      fail(SIDBEAM_BAD_STATE,
           "the index of constraints[%lld] is not on CUDA device %d, expected sidbeam_index_upload() before",
           static_cast<long long>(i), device_->id());
    if (held.upload.get() == upload_.get()) held.upload = {};
  }
  held.filter = constraint.bring_filter(device_->id());
  return held;
}

// Work on the stream may still use what the slot held before.
void DeviceSession::hold(int64_t slot, HeldSlot next, void* stream) {
  HeldSlot& held = slots_[static_cast<size_t>(slot)];
  if (held.upload && held.upload.get() != next.upload.get()) held.upload->mark(stream);
  if (held.filter && held.filter.get() != next.filter.get()) held.filter->upload().mark(stream);
  held = std::move(next);
}

void DeviceSession::start(const SlotStart* starts, int64_t count, void* stream) {
  const DevicePlugin& functions = plugin();  // refuses a forked child, before it could upload a filter
  std::vector<DeviceStart> there;
  std::vector<HeldSlot> held;
  std::vector<int32_t> codes;  // of all prefixes, one after the other
  there.reserve(static_cast<size_t>(count));
  held.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const SlotStart& start = starts[i];
    held.push_back(held_for(start, i));
    const HeldSlot& own = held.back();
    if (lists_distinct_) copy_of(own)->bring_repeats(start.constraint->repeats(), stream);
    there.push_back({start.slot, start.widths, start.settings, start.prefix_length, static_cast<int32_t>(codes.size()),
                     copy_of(own)->handle(), start.sampling, device_rules(*start.constraint, own.filter.get())});
    if (start.prefix_length > 0) codes.insert(codes.end(), start.prefix, start.prefix + start.prefix_length);
  }
  call_plugin(functions.session_start, handle_, there.data(), count, codes.data(), stream);
  for (size_t i = 0; i < there.size(); ++i) {
    hold(there[i].slot, std::move(held[i]), stream);
    for (int32_t l = 0; l < levels_; ++l) widths_of(there[i].slot)[l] = there[i].widths.at(l);
  }
}

void DeviceSession::items(const int32_t* slots, int64_t count, const sidbeam_items& out) const {
  if (out.distinct != 0 && !lists_distinct_) {
    for (const HeldSlot& slot : slots_)
      if (slot.constraint) copy_of(slot)->bring_repeats(slot.constraint->repeats(), out.stream);
    lists_distinct_ = true;
  }
  call_plugin(plugin().session_items, handle_, list_of(slots, count).data(), count, &out);
}

void DeviceSession::stop(const int32_t* slots, int64_t count, void* stream) {
  const std::vector<int32_t> listed = list_of(slots, count);
  call_plugin(plugin().session_stop, handle_, listed.data(), count, stream);
  for (const int32_t slot : listed) hold(slot, {}, stream);
}

void DeviceSession::take_beams(const StepLists& lists, int64_t count, SessionBackend& other, void* stream) {
  auto& from = static_cast<DeviceSession&>(other);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t slot = lists.slots[i];
    const HeldSlot &own = slots_[static_cast<size_t>(slot)], &target = from.slots_[static_cast<size_t>(slot)];
    check_take(slot, levels_, {own.constraint.get(), widths_of(slot)}, {target.constraint.get(), from.widths_of(slot)});
  }
  call_plugin(plugin().session_take, handle_, from.handle_, lists.slots_there, count, stream);
}

void DeviceSession::step(const sidbeam_step_args& args) {
  if (args.rows->columns < fewest_columns_)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.columns is %lld, expected at least %lld for the codes of any level",
         static_cast<long long>(args.rows->columns), static_cast<long long>(fewest_columns_));
  call_plugin(plugin().session_step, handle_, &args);
}

}  // namespace

std::unique_ptr<SessionBackend> make_device_session(Ref<Device> device, const SessionShape& shape,
                                                    const Constraint& constraint) {
  return std::make_unique<DeviceSession>(std::move(device), shape, constraint);
}

}  // namespace sidbeam
