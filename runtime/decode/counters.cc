// What a session counts, as hosts see it.
// SPDX-License-Identifier: Apache-2.0
#include "decode/session.h"

namespace sidbeam {
namespace {

struct Counted {
  StepCounters counters;
  int64_t memory_bytes = 0;
};

int64_t host_bytes(const sidbeam_session& session) {
  return session.stepper->memory_bytes() + session.vocabulary.maps.bytes() + session.states.bytes() +
         session.range_ends.bytes() + session.scores.bytes() + session.parents.bytes() + session.tokens.bytes() +
         session.history_parents.bytes() + session.history_tokens.bytes() + session.live.bytes() +
         session.active.bytes() + session.level.bytes() + session.errors.bytes() + session.marks.bytes() +
         session.steps.bytes() + session.start_states.bytes() + session.start_range_ends.bytes() +
         session.slot_constraints.bytes() + session.widths.bytes() + session.inverse_temperatures.bytes() +
         session.soft_caps.bytes();
}

Counted counted(const sidbeam_session& session) {
  if (session.device == nullptr) return {session.counters, host_bytes(session)};
  Counted there;
  get_counters_of_device(session, there.counters, there.memory_bytes);
  return there;
}

struct NamedCounter {
  const char* name;
  int64_t StepCounters::*counter;
};

constexpr NamedCounter kInside[] = {
    {"slot_steps", &StepCounters::slot_steps},   {"candidates", &StepCounters::candidates},
    {"shrinks", &StepCounters::shrinks},         {"list_rows", &StepCounters::list_rows},
    {"dense_rows", &StepCounters::dense_rows},   {"unconstrained_rows", &StepCounters::unconstrained_rows},
    {"probed_rows", &StepCounters::probed_rows}, {"single_rows", &StepCounters::single_rows},
    {"split_slots", &StepCounters::split_slots},
};

}  // namespace

sidbeam_stats stats_of(const sidbeam_session& session) {
  const Counted all = counted(session);
  sidbeam_stats out = SIDBEAM_STATS_INIT;
  out.steps = all.counters.steps;
  out.rows_read = all.counters.rows_read;
  out.rows_skipped = all.counters.rows_skipped;
  out.rows_bad = all.counters.rows_bad;
  out.dead_beams = all.counters.dead_beams;
  out.memory_bytes = all.memory_bytes;
  return out;
}

int64_t get_counters(const sidbeam_session& session, int64_t capacity, const char** names, int64_t* values) {
  const StepCounters counters = counted(session).counters;
  int64_t count = 0;
  for (const NamedCounter& inside : kInside) {
    if (count < capacity) {
      if (names != nullptr) names[count] = inside.name;
      values[count] = counters.*inside.counter;
    }
    ++count;
  }
  return count;
}

}  // namespace sidbeam
