// The work that a session enqueues.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "backend/cuda/current.h"
#include "backend/cuda/functions.h"
#include "backend/cuda/session.h"
#include "backend/cuda/step_view.h"
#include "backend/cuda/upload.h"
#include "support/cuda/check.h"
#include "support/cuda/range.h"
#include "support/guard.h"

namespace sidbeam::cuda {
namespace {

void check_known(int32_t device_id, const void* address, const char* name, const void*& known) {
  if (address == known) return;
  check_address(device_id, address, name);
  known = address;
}

cudaError_t launch_step_of_mode(const DeviceSessionHandle& session, const StepView& step, cudaStream_t stream) {
  if (session.mode == SIDBEAM_MODE_SAMPLE) return launch_draws(session.view, session.sampling, step, stream);
  if (session.mode == SIDBEAM_MODE_STOCHASTIC)
    return launch_perturbed_step(session.view, session.sampling, step, session.overlaps, stream);
  return launch_step(session.view, step, session.overlaps, stream);
}

}  // namespace

sidbeam_status session_start(DeviceSessionHandle* session, const DeviceStart* starts, int64_t count,
                             const int32_t* codes, void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam start");
    const Current current(*session->device);
    check_not_captured(session->device->id, stream, "start");
    const auto work = static_cast<cudaStream_t>(stream);
    for (int64_t i = 0; i < count; ++i)
      if (starts[i].rules.rules != nullptr) session->rules.make_room(*session->device);
    const MarksEnd end(session->marks, stream, false);
    std::vector<StartEntry> entries;
    std::vector<LevelWidths> widths;
    for (int64_t i = 0; i < count; ++i) {
      const DeviceStart& start = starts[i];
      widths.push_back(start.widths);
      entries.push_back({start.slot, start.widths.at(0), start.prefix_length, start.prefix_at, start.settings,
                         start.upload->view(), start.widths.levels > 1 ? start.widths.levels : 0,
                         start.rules.rules != nullptr ? session->rules.send(start.slot, start.rules, work) : nullptr});
    }
    const StartList list{entries.data(), widths.data(), codes, count};
    std::vector<SlotSampling> how;
    if (session->mode != SIDBEAM_MODE_SEARCH)
      for (int64_t i = 0; i < count; ++i) how.push_back(starts[i].sampling);
    session->turn += session->turn == UINT32_MAX ? 2 : 1;
    check(session->mode == SIDBEAM_MODE_SEARCH
              ? launch_start(session->view, list, session->turn, work)
              : launch_sampled_start(session->view, session->sampling, list, how.data(), session->turn, work),
          "launch a start");
    for (int64_t i = 0; i < count; ++i)
      if (starts[i].rules.rules != nullptr) session->rules.follow(starts[i].slot);
  });
}

sidbeam_status session_stop(DeviceSessionHandle* session, const int32_t* slots, int64_t count, void* stream,
                            sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam stop");
    const Current current(*session->device);
    check_not_captured(session->device->id, stream, "stop");
    const MarksEnd end(session->marks, stream, false);
    const auto work = static_cast<cudaStream_t>(stream);
    check(session->mode == SIDBEAM_MODE_SEARCH
              ? launch_stop(session->view, slots, count, work)
              : launch_sampled_stop(session->view, session->sampling, slots, count, work),
          "launch a stop");
  });
}

sidbeam_status session_step(DeviceSessionHandle* session, const sidbeam_step_args* args, sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam step");
    const int32_t id = session->device->id;
    const Current current(*session->device);
    const bool captured = check_stream(id, args->stream);
    check_known(id, args->slots, "slots", session->slots);
    check_known(id, args->rows->data, "rows.data", session->rows);
    check_known(id, args->row_map, "row_map", session->row_map);
    check_known(id, args->lse, "lse", session->lse);
    check_known(id, args->inverse_temperatures, "inverse_temperatures", session->inverse_temperatures);
    check_known(id, args->soft_caps, "soft_caps", session->soft_caps);
    StepView step = rows_view(*args->rows);
    step.slots = args->slots;
    step.count = args->count;
    step.row_map = args->row_map;
    step.lse = args->lse;
    step.settings = {args->inverse_temperature, args->soft_cap};
    step.inverse_temperatures = args->inverse_temperatures;
    step.soft_caps = args->soft_caps;
    const MarksEnd end(session->marks, args->stream, captured);
    check(launch_step_of_mode(*session, step, static_cast<cudaStream_t>(args->stream)), "launch a step");
  });
}

sidbeam_status session_children(DeviceSessionHandle* session, const int32_t* slots, int64_t count,
                                const ChildColumns* out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam children");
    const int32_t id = session->device->id;
    const Current current(*session->device);
    const bool captured = check_stream(id, out->stream);
    check_known(id, slots, "slots", session->slots);
    check_known(id, out->offsets, "offsets", session->offsets);
    check_known(id, out->columns, "columns", session->children);
    const MarksEnd end(session->marks, out->stream, captured);
    check(launch_children(session->view, slots, count, *out, static_cast<cudaStream_t>(out->stream)),
          "launch a list of children");
  });
}

sidbeam_status session_take(DeviceSessionHandle* session, DeviceSessionHandle* from, const int32_t* slots,
                            int64_t count, void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam take");
    const Current current(*session->device);
    check_not_captured(session->device->id, stream, "speculation");
    const MarksEnd end(session->marks, stream, false), end_of_other(from->marks, stream, false);
    check(launch_take(session->view, session->sampling, from->view, from->sampling, slots, count,
                      static_cast<cudaStream_t>(stream)),
          "take beams over");
  });
}

sidbeam_status session_items(DeviceSessionHandle* session, const int32_t* slots, int64_t count,
                             const sidbeam_items* items, sidbeam_error* err) {
  return guarded(err, [&] {
    const Range range("sidbeam items");
    const int32_t id = session->device->id;
    const Current current(*session->device);
    const bool captured = check_stream(id, items->stream);
    check_address(id, items->ordinals, "out.ordinals");
    check_address(id, items->sids, "out.sids");
    check_address(id, items->lengths, "out.lengths");
    check_address(id, items->item_rows, "out.item_rows");
    check_address(id, items->offsets, "out.offsets");
    check_address(id, items->truncated, "out.truncated");
    ItemsView view;
    view.limit_per_sid = items->limit_per_sid;
    view.limit = items->limit;
    view.ordinals = items->ordinals;
    view.sids = items->sids;
    view.lengths = items->lengths;
    view.rows = items->item_rows;
    view.offsets = items->offsets;
    view.truncated = items->truncated;
    view.distinct = items->distinct != 0;
    const MarksEnd end(session->marks, items->stream, captured);
    check(launch_items(session->view, slots, count, view, static_cast<cudaStream_t>(items->stream)),
          "launch the items");
  });
}

}  // namespace sidbeam::cuda
