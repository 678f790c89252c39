// Calls with invalid arguments.
// SPDX-License-Identifier: Apache-2.0
#include "refusals.h"

#include <limits>

namespace shared_cases {
namespace {

using differential::expect;

struct Refused {
  sidbeam_session* session;
  int32_t code;

  template <typename Function, typename... Arguments>
  void operator()(const char* what, Function function, Arguments... arguments) const {
    sidbeam_error err = SIDBEAM_ERROR_INIT;
    const sidbeam_status status = function(session, arguments..., &err);
    expect(status == code, what, ": ", sidbeam_status_name(status), " '", static_cast<const char*>(err.message),
           "', expected ", sidbeam_status_name(code));
  }
};

void refuse_starts(const Refused& refused, const differential::World& world) {
  const int32_t beyond = static_cast<int32_t>(world.c.slots), slots[] = {0, 0}, wide = SIDBEAM_MAX_BEAMS + 1;
  const int32_t code = world.catalogues[0].codes[0], length = 1;
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = &beyond;
  args.count = 1;
  refused("a slot out of range", sidbeam_session_start, &args);
  args.slots = slots;
  args.count = 2;
  refused("a slot twice", sidbeam_session_start, &args);
  args.count = 1;
  args.widths = &wide;
  refused("too wide", sidbeam_session_start, &args);
  args.widths = nullptr;
  args.prefixes = &code;
  args.prefix_lengths = &length;
  args.prefix_stride = 1;
  refused("a code out of range", sidbeam_session_start, &args);
}

void refuse_steps(const Refused& refused, const differential::World& world, const sidbeam_rows& rows) {
  const int32_t slot = 0;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = &slot;
  args.count = 1;
  args.rows = &rows;
  args.inverse_temperature = -1;
  refused("a negative temperature", sidbeam_session_step, &args);
  args.inverse_temperature = 1;
  args.soft_cap = std::numeric_limits<float>::quiet_NaN();
  refused("a soft-cap that is no number", sidbeam_session_step, &args);
  args.soft_cap = 0;
  sidbeam_rows narrow = rows;
  narrow.columns = world.offsets[0];  // one short of code 0
  if (narrow.columns > 0) {
    args.rows = &narrow;
    refused("too narrow rows", sidbeam_session_step, &args);
  }
  sidbeam_rows two = rows;
  two.slots = 2;
  two.slot_stride = SIDBEAM_BROADCAST;
  args.rows = &two;
  refused("rows of two slots for one", sidbeam_session_step, &args);
}

}  // namespace

void make_refusals(const differential::Machine& machine, const differential::World& world,
                   const std::vector<differential::Loaded>& loaded) {
  const differential::Way& way = machine.best();
  const differential::Session session =
      differential::make_session(way.runtime.get(), *way.place, loaded[0].constraint.get(), world,
                                 static_cast<int>(world.c.strategy), static_cast<int>(world.c.slots));
  const std::vector<float> zeros(static_cast<size_t>(world.columns));
  const sidbeam_rows rows = sidbeam_rows_dense(zeros.data(), SIDBEAM_DTYPE_F32, 1, 1, world.columns);
  const int32_t slot = 0, beyond = -1;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.slots = &slot;
  step.count = 1;
  step.rows = &rows;
  Refused{session.get(), SIDBEAM_BAD_STATE}("a step of an idle slot", sidbeam_session_step, &step);
  sidbeam_rows all = rows;
  all.slots = world.c.slots;
  all.slot_stride = SIDBEAM_BROADCAST;
  sidbeam_step_args nothing = SIDBEAM_STEP_ARGS_INIT;
  nothing.rows = &all;
  Refused{session.get(), SIDBEAM_BAD_STATE}("a step where no slot is started", sidbeam_session_step, &nothing);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.slots = &slot;
  start.count = 1;
  differential::call("sidbeam_session_start", sidbeam_session_start, session.get(), &start);
  const Refused refused{session.get(), SIDBEAM_INVALID_ARGUMENT};
  refuse_starts(refused, world);
  refuse_steps(refused, world, rows);
  refused("a slot below 0", sidbeam_session_stop, &beyond, int64_t{1}, nullptr);
}

}  // namespace shared_cases
