// Makes a session on a device, and reads it for the host.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "backend/beams.h"
#include "backend/cuda/check.h"
#include "backend/cuda/counters.h"
#include "backend/cuda/current.h"
#include "backend/cuda/functions.h"
#include "backend/cuda/range.h"
#include "backend/cuda/vocabulary.h"
#include "support/guard.h"

namespace sidbeam::cuda {
namespace {

// The arrays of sidbeam_beams, [S, M] and [S], at the beginning of a session's memory and of its mirror.
struct BeamArrays {
  explicit BeamArrays(int64_t slots, int64_t beams, Layout& layout)
      : parents(layout.add<int32_t>(beams)),
        tokens(layout.add<int32_t>(beams)),
        scores(layout.add<float>(beams)),
        states(layout.add<int64_t>(beams)),
        live(layout.add<int32_t>(slots)),
        active(layout.add<int32_t>(slots)),
        level(layout.add<int32_t>(slots)),
        errors(layout.add<int32_t>(slots)) {}
  int64_t parents, tokens, scores, states, live, active, level, errors;
};

template <class T>
T* at(uint8_t* base, int64_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

// Fills the mirror with the state of slots that have not been started.
void fill_idle(const BeamArrays& arrays, int64_t slots, int64_t beams, uint8_t* base) {
  std::fill_n(at<int32_t>(base, arrays.parents), beams, -1);
  std::fill_n(at<int32_t>(base, arrays.tokens), beams, -1);
  std::fill_n(at<float>(base, arrays.scores), beams, -std::numeric_limits<float>::infinity());
  std::fill_n(at<int64_t>(base, arrays.states), beams, int64_t{-1});
  std::fill_n(at<int32_t>(base, arrays.live), slots, 0);
  std::fill_n(at<int32_t>(base, arrays.active), slots, 0);
  std::fill_n(at<int32_t>(base, arrays.level), slots, -1);
  std::fill_n(at<int32_t>(base, arrays.errors), slots, int32_t{0});
}

void set_beam_arrays(const BeamArrays& arrays, uint8_t* base, SessionView& view) {
  view.parents = at<int32_t>(base, arrays.parents);
  view.tokens = at<int32_t>(base, arrays.tokens);
  view.scores = at<float>(base, arrays.scores);
  view.states = at<int64_t>(base, arrays.states);
  view.live = at<int32_t>(base, arrays.live);
  view.active = at<int32_t>(base, arrays.active);
  view.level = at<int32_t>(base, arrays.level);
  view.errors = at<int32_t>(base, arrays.errors);
}

SessionView view_of(const SessionShape& shape) {
  SessionView view;
  view.slots = shape.slots;
  view.beams = shape.beams;
  view.levels = shape.levels;
  view.strategy = shape.strategy;
  view.normalization = shape.normalization;
  view.top_k = shape.top_k;
  return view;
}

// The first launches of a device's first session, of no slots. They come before the reset, as they count as steps.
void warm_kernels(DeviceHandle& device, SessionView view) {
  view.slots = 0;
  view.beams = 1;
  std::call_once(device.session_kernels, [&] {
    for (cudaError_t (*const warm)(const SessionView&, cudaStream_t) :
         {warm_step_kernels, warm_start_kernels, warm_items_kernels})
      check(warm(view, device.work), "launch the kernels of a session");
  });
}

// Lays out, allocates and initialises a session's memory.
void make_memory(const SessionShape& shape, DeviceSessionHandle& session) {
  const int64_t slots = shape.slots, beams = slots * shape.beams;
  Layout layout;
  const BeamArrays arrays(slots, beams, layout);
  const int64_t mirrored = layout.bytes(), table = layout.add<Slot>(slots);
  const int64_t ends = layout.add<uint64_t>(uses_columns(shape.strategy) ? beams : 0);
  const int64_t history = layout.bytes(), parents = layout.add_bytes(beams, int64_t{shape.levels} * 4),
                tokens = layout.add_bytes(beams, int64_t{shape.levels} * 4), history_end = layout.bytes();
  const int64_t counters = layout.add<int64_t>(kCounters);
  VocabularyBlock vocabulary(shape.vocabulary, layout);
  const int64_t workspace = layout.add_bytes(step_workspace_bytes(shape.slots, shape.beams), 1);

  DeviceHandle& device = *session.device;
  const cudaStream_t stream = device.work;
  const WaitsForWork waits(device);
  session.mirror = PinnedMemory(mirrored);
  session.memory = DeviceMemory(device, layout.bytes(), stream, device.release);
  uint8_t* base = session.memory.data();
  SessionView& view = session.view = view_of(shape);
  set_beam_arrays(arrays, base, view);
  view.table = at<Slot>(base, table);
  view.range_ends = uses_columns(shape.strategy) ? at<uint64_t>(base, ends) : nullptr;
  view.history_parents = at<int32_t>(base, parents);
  view.history_tokens = at<int32_t>(base, tokens);
  view.counters = at<int64_t>(base, counters);
  view.workspace = base + workspace;

  fill_idle(arrays, slots, beams, session.mirror.data());
  check(cudaMemcpyAsync(base, session.mirror.data(), static_cast<size_t>(mirrored), cudaMemcpyHostToDevice, stream),
        "copy to the device");
  check(cudaMemsetAsync(base + table, 0, static_cast<size_t>(history - table), stream), "clear device memory");
  check(cudaMemsetAsync(base + history, 0xFF, static_cast<size_t>(history_end - history), stream),
        "clear device memory");
  view.columns = vocabulary.copy_to(base, stream);
  warm_kernels(device, view);
  check(launch_reset(view, stream), "launch the first kernel of a session");
  check(cudaStreamSynchronize(stream), "wait for the session");
}

// Whether a step's second kernel may begin before its first has ended. Only kernels that were compiled for it can wait
// for that end, and PTX for older devices, which the driver compiles for this one, was not.
bool overlaps(const DeviceHandle& device) {
  const char* given = secure_getenv("SIDBEAM_CUDA_PDL");
  if (device.major < 9 || (given != nullptr && std::strcmp(given, "0") == 0)) return false;
  bool waits = false;
  check(ask_step_waits(waits), "look at the kernels of a step");
  return waits;
}

void show(const SessionView& view, sidbeam_beams& out) {
  out.slots = view.slots;
  out.beams = view.beams;
  out.levels = view.levels;
  out.parents = view.parents;
  out.codes = view.tokens;
  out.scores = view.scores;
  out.states = view.states;
  out.live = view.live;
  out.active = view.active;
  out.level = view.level;
  out.errors = view.errors;
}

// The counters are the fields of StepCounters in their order.
static_assert(sizeof(StepCounters) == (kSplitSlots + 1) * sizeof(int64_t) && kSplitSlots < kCounters);

}  // namespace

sidbeam_status session_create(DeviceHandle* device, const SessionShape* shape, DeviceSessionHandle** out,
                              sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam session_create");
    const Current current(*device);
    auto session = std::make_unique<DeviceSessionHandle>();
    session->device = device;
    session->overlaps = overlaps(*device);
    make_memory(*shape, *session);
    *out = session.release();
  });
}

void session_beams(const DeviceSessionHandle* session, sidbeam_beams* out) { show(session->view, *out); }

sidbeam_status session_fetch(DeviceSessionHandle* session, void* stream, sidbeam_beams* out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(*session->device);
    const bool captured = check_stream(session->device->id, stream);
    const MarksEnd end(session->marks, stream, captured);
    session->fetched = true;
    check(cudaMemcpyAsync(session->mirror.data(), session->memory.data(), static_cast<size_t>(session->mirror.bytes()),
                          cudaMemcpyDeviceToHost, static_cast<cudaStream_t>(stream)),
          "copy from the device");
    SessionView view = session->view;
    Layout layout;
    set_beam_arrays(BeamArrays(view.slots, int64_t{view.slots} * view.beams, layout), session->mirror.data(), view);
    show(view, *out);
  });
}

sidbeam_status session_stats(DeviceSessionHandle* session, StepCounters* out, int64_t* memory_bytes,
                             sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(*session->device);
    const cudaStream_t stream = session->device->work;
    session->marks.order(stream);
    int64_t counters[kCounters];
    check(cudaMemcpyAsync(counters, session->view.counters, sizeof counters, cudaMemcpyDeviceToHost, stream),
          "copy from the device");
    check(cudaStreamSynchronize(stream), "wait for the session's work");
    std::memcpy(out, counters, sizeof *out);
    *memory_bytes = session->memory.bytes() + session->mirror.bytes();
  });
}

void session_destroy(DeviceSessionHandle* session) {
  guarded(nullptr, [&] {
    const std::unique_ptr<DeviceSessionHandle> owned(session);
    const Current current(*session->device);
    session->marks.order(session->device->release);
    if (session->fetched) session->marks.wait();  // pinned memory is not freed in the order of a stream
    session->marks.clear();
    session->memory = DeviceMemory();
    session->mirror = PinnedMemory();
  });
}

}  // namespace sidbeam::cuda
