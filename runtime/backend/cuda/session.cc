// Makes a session on a device, and reads it for the host.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "backend/beams.h"
#include "backend/cuda/counters.h"
#include "backend/cuda/current.h"
#include "backend/cuda/functions.h"
#include "backend/cuda/vocabulary.h"
#include "support/cuda/check.h"
#include "support/cuda/range.h"
#include "support/guard.h"

namespace sidbeam::cuda {
namespace {

// The arrays of sidbeam_beams, [S, M] and [S], at the beginning of a session's memory and of its mirror.
struct BeamArrays {
  BeamArrays(int64_t slots, int64_t beams, int32_t mode, Layout& layout)
      : parents(layout.add<int32_t>(beams)),
        tokens(layout.add<int32_t>(beams)),
        scores(layout.add<float>(beams)),
        states(layout.add<int64_t>(beams)),
        live(layout.add<int32_t>(slots)),
        active(layout.add<int32_t>(slots)),
        level(layout.add<int32_t>(slots)),
        errors(layout.add<int32_t>(slots)),
        log_masses(layout.add<float>(mode != SIDBEAM_MODE_SEARCH ? beams : 0)),
        perturbed(layout.add<float>(mode == SIDBEAM_MODE_STOCHASTIC ? beams : 0)),
        log_inclusions(layout.add<float>(mode == SIDBEAM_MODE_STOCHASTIC ? beams : 0)),
        thresholds(layout.add<float>(mode == SIDBEAM_MODE_STOCHASTIC ? slots : 0)) {}
  int64_t parents, tokens, scores, states, live, active, level, errors;
  int64_t log_masses, perturbed, log_inclusions, thresholds;  // of the modes that have them
};

template <class T>
T* at(uint8_t* base, int64_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

// Fills the mirror with the state of slots that have not been started.
void fill_idle(const BeamArrays& arrays, int64_t slots, int64_t beams, int32_t mode, uint8_t* base) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  std::fill_n(at<int32_t>(base, arrays.parents), beams, -1);
  std::fill_n(at<int32_t>(base, arrays.tokens), beams, -1);
  std::fill_n(at<float>(base, arrays.scores), beams, kNothing);
  std::fill_n(at<int64_t>(base, arrays.states), beams, int64_t{-1});
  std::fill_n(at<int32_t>(base, arrays.live), slots, 0);
  std::fill_n(at<int32_t>(base, arrays.active), slots, 0);
  std::fill_n(at<int32_t>(base, arrays.level), slots, -1);
  std::fill_n(at<int32_t>(base, arrays.errors), slots, int32_t{0});
  if (mode != SIDBEAM_MODE_SEARCH) std::fill_n(at<float>(base, arrays.log_masses), beams, kNothing);
  if (mode != SIDBEAM_MODE_STOCHASTIC) return;
  std::fill_n(at<float>(base, arrays.perturbed), beams, kNothing);
  std::fill_n(at<float>(base, arrays.log_inclusions), beams, kNothing);
  std::fill_n(at<float>(base, arrays.thresholds), slots, kNothing);
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

void set_sampled_arrays(const BeamArrays& arrays, int32_t mode, uint8_t* base, SamplingView& view) {
  if (mode != SIDBEAM_MODE_SEARCH) view.log_masses = at<float>(base, arrays.log_masses);
  if (mode != SIDBEAM_MODE_STOCHASTIC) return;
  view.perturbed = at<float>(base, arrays.perturbed);
  view.log_inclusions = at<float>(base, arrays.log_inclusions);
  view.thresholds = at<float>(base, arrays.thresholds);
}

// What the modes that sample need besides, which the host does not see.
struct SampledArrays {
  SampledArrays(int64_t slots, int64_t beams, int32_t mode, Layout& layout)
      : table(layout.add<SampledSlot>(mode != SIDBEAM_MODE_SEARCH ? slots : 0)),
        draws(layout.add<int64_t>(mode == SIDBEAM_MODE_SAMPLE ? 2 * beams : 0)),
        arrivals(layout.add<float>(mode == SIDBEAM_MODE_STOCHASTIC ? beams : 0)),
        hashes(layout.add<uint64_t>(mode == SIDBEAM_MODE_STOCHASTIC ? beams : 0)),
        rows(layout.add<PerturbedRow>(mode == SIDBEAM_MODE_STOCHASTIC ? beams : 0)) {}
  int64_t table, draws, arrivals, hashes, rows;
};

void set_sampled_arrays(const SampledArrays& arrays, int32_t mode, uint8_t* base, SamplingView& view) {
  if (mode == SIDBEAM_MODE_SEARCH) return;
  view.table = at<SampledSlot>(base, arrays.table);
  if (mode == SIDBEAM_MODE_SAMPLE) {
    view.draws = at<int64_t>(base, arrays.draws);
    return;
  }
  view.arrivals = at<float>(base, arrays.arrivals);
  view.hashes = at<uint64_t>(base, arrays.hashes);
  view.rows = at<PerturbedRow>(base, arrays.rows);
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
void warm_kernels(DeviceHandle& device, int32_t mode, SessionView view) {
  view.slots = 0;
  view.beams = 1;
  using Warm = cudaError_t (*)(const SessionView&, cudaStream_t);
  const auto launch_all = [&](std::initializer_list<Warm> all) {
    for (const Warm warm : all) check(warm(view, device.work), "launch the kernels of a session");
  };
  std::call_once(device.session_kernels, [&] {
    launch_all({warm_step_kernels, warm_children_kernels, warm_start_kernels, warm_items_kernels});
  });
  if (mode == SIDBEAM_MODE_SEARCH) return;
  std::call_once(device.sampling_kernels, [&] {
    launch_all({warm_draw_kernel, warm_perturb_kernels, warm_sampled_start_kernels});
  });
}

// Lays out, allocates and initialises a session's memory.
void make_memory(const SessionShape& shape, DeviceSessionHandle& session) {
  const int64_t slots = shape.slots, beams = slots * shape.beams;
  Layout layout;
  const BeamArrays arrays(slots, beams, shape.mode, layout);
  const int64_t mirrored = layout.bytes(), table = layout.add<Slot>(slots);
  const int64_t widths = layout.add<int32_t>(slots * shape.levels);
  const int64_t ends = layout.add<uint64_t>(uses_columns(shape.strategy) ? beams : 0);
  const int64_t counters = layout.add<int64_t>(kCounters);
  const int64_t history = layout.bytes(), parents = layout.add_bytes(beams, int64_t{shape.levels} * 4),
                tokens = layout.add_bytes(beams, int64_t{shape.levels} * 4), history_end = layout.bytes();
  const bool looks_up = shape.strategy == SIDBEAM_STRATEGY_HASH_FINAL;
  const int64_t prefixes = layout.add_bytes(looks_up ? slots * kMostOpened : 0, int64_t{shape.levels} * 4);
  VocabularyBlock vocabulary(shape.vocabulary, layout);
  const int64_t sampled_begin = layout.bytes();
  const SampledArrays sampled(slots, beams, shape.mode, layout);
  const int64_t sampled_end = layout.bytes();
  const int64_t ordinals = layout.add<int64_t>(beams);
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
  view.widths = at<int32_t>(base, widths);
  view.range_ends = uses_columns(shape.strategy) ? at<uint64_t>(base, ends) : nullptr;
  view.history_parents = at<int32_t>(base, parents);
  view.history_tokens = at<int32_t>(base, tokens);
  view.prefixes = at<int32_t>(base, prefixes);
  view.counters = at<int64_t>(base, counters);
  view.workspace = base + workspace;
  view.ordinals = at<int64_t>(base, ordinals);
  session.mode = shape.mode;
  set_sampled_arrays(arrays, shape.mode, base, session.sampling);
  set_sampled_arrays(sampled, shape.mode, base, session.sampling);

  fill_idle(arrays, slots, beams, shape.mode, session.mirror.data());
  check(cudaMemcpyAsync(base, session.mirror.data(), static_cast<size_t>(mirrored), cudaMemcpyHostToDevice, stream),
        "copy to the device");
  check(cudaMemsetAsync(base + table, 0, static_cast<size_t>(history - table), stream), "clear device memory");
  check(cudaMemsetAsync(base + history, 0xFF, static_cast<size_t>(history_end - history), stream),
        "clear device memory");
  if (sampled_end > sampled_begin)
    check(cudaMemsetAsync(base + sampled_begin, 0, static_cast<size_t>(sampled_end - sampled_begin), stream),
          "clear device memory");
  view.columns = vocabulary.copy_to(base, stream);
  warm_kernels(device, shape.mode, view);
  check(launch_reset(view, stream), "launch the first kernel of a session");
  check(cudaStreamSynchronize(stream), "wait for the session");
}

// Whether a step's second kernel may begin before its first has ended. Only kernels that were compiled for it can wait
// for that end, and PTX for older devices, which the driver compiles for this one, was not.
bool overlaps(const DeviceHandle& device, int32_t mode) {
  const char* given = secure_getenv("SIDBEAM_CUDA_PDL");
  if (device.major < 9 || (given != nullptr && std::strcmp(given, "0") == 0)) return false;
  bool waits = false;
  check(mode == SIDBEAM_MODE_STOCHASTIC ? ask_perturbed_step_waits(waits) : ask_step_waits(waits),
        "look at the kernels of a step");
  return waits;
}

void show(const SessionView& view, const SamplingView& sampling, sidbeam_beams& out) {
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
  out.log_masses = sampling.log_masses;
  out.perturbed = sampling.perturbed;
  out.log_inclusions = sampling.log_inclusions;
  out.thresholds = sampling.thresholds;
}

void fetch(DeviceSessionHandle& session, void* stream, bool captured, sidbeam_beams& out) {
  const MarksEnd end(session.marks, stream, captured);
  session.fetched = true;
  check(cudaMemcpyAsync(session.mirror.data(), session.memory.data(), static_cast<size_t>(session.mirror.bytes()),
                        cudaMemcpyDeviceToHost, static_cast<cudaStream_t>(stream)),
        "copy from the device");
  SessionView view = session.view;
  SamplingView sampling;
  Layout layout;
  const BeamArrays arrays(view.slots, int64_t{view.slots} * view.beams, session.mode, layout);
  set_beam_arrays(arrays, session.mirror.data(), view);
  set_sampled_arrays(arrays, session.mode, session.mirror.data(), sampling);
  show(view, sampling, out);
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
    session->overlaps = overlaps(*device, shape->mode);
    make_memory(*shape, *session);
    session->rules = SlotRules(shape->slots, shape->levels, shape->max_listed);
    if (shape->makes_room_for_rules) session->rules.make_room(*device);
    *out = session.release();
  });
}

void session_beams(const DeviceSessionHandle* session, sidbeam_beams* out) {
  show(session->view, session->sampling, *out);
}

sidbeam_status session_fetch(DeviceSessionHandle* session, void* stream, sidbeam_beams* out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(*session->device);
    fetch(*session, stream, check_stream(session->device->id, stream), *out);
  });
}

sidbeam_status session_read(DeviceSessionHandle* session, void* stream, sidbeam_beams* out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam read");
    const Current current(*session->device);
    check_not_captured(session->device->id, stream, "speculation");
    fetch(*session, stream, false, *out);
    check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "wait for the beams");
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
    *memory_bytes = session->memory.bytes() + session->mirror.bytes() + session->rules.bytes();
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
    session->rules = SlotRules();
  });
}

}  // namespace sidbeam::cuda
